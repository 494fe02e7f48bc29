"""A page of users' code, right and wrong: it runs, or is refused, and mypy says the same of every line.

A comment that mypy does not need is an error of `make lint`, so that each wrong line is seen to be one. pyright, which
needs Node and is asked by hand (reportUnnecessaryTypeIgnoreComment), agrees on every line.
"""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError


def test_right() -> None:
    domain = dc.Domain(["<18", "18-39", "40-64", "65+"], sensitive=["<18", "65+"])
    mechanism = dc.best(domain, epsilon=1.0)
    reports = mechanism.obfuscate(["<18", "18-39", "65+", "40-64"] * 50, random=dc.SeededRandom(1))
    estimate = dc.estimate(mechanism, reports, method="threshold", significance=0.01)
    largest: float = estimate.frequencies.max()
    assert largest <= 1
    groups = dc.estimate_groups(mechanism, reports, groups=["a", "b"] * 100, minimum=10)
    first: dc.Estimate = groups["a"]
    assert first.n == 100
    assert dc.compare(groups["a"], groups["b"]).overall is not None
    told: str = str(mechanism.guarantee)
    assert "epsilon" in told
    assert "Domain" in dir(dc)


def test_wrong() -> None:
    domain = dc.Domain(["yes", "no"])
    mechanism = dc.RandomizedResponse(domain, epsilon=1.0)
    reports = mechanism.obfuscate(["yes", "no"] * 20, random=dc.SeededRandom(1))
    with pytest.raises(AttributeError):
        dc.estimat(mechanism, reports)  # type: ignore[attr-defined]
    with pytest.raises(ParameterError):
        dc.estimate(mechanism, reports, method="mel")  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        dc.estimate(mechanism, reports, tolerence=0.1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        dc.RandomizedResponse(domain, epsilom=1.0)  # type: ignore[call-arg]
    with pytest.raises(ParameterError):
        dc.best(domain, "1.0")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        mechanism.domain = domain  # type: ignore[misc]
    assert np.isfinite(dc.estimate(mechanism, reports).frequencies).all()
