"""Every law with every method, from reports and from their tally: an estimate, or one of two sentences."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from discreet import Domain, Reports, SeededRandom, Tally, estimate
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, LawMechanism
from discreet.mechanisms.laws.subsets import MixedSubsets
from laws import BUILDERS, cases

METHODS = ("linear", "threshold", "norm-sub", "projected", "mle", "em")
REFUSAL = r"method.needs-reports"
SIZES = {"3of7": (7, [0, 4, 6]), "5of5": (5, None)}


def mixed(sizes: str, smaller: int = 1) -> LawMechanism:
    """Return a mechanism of a law of two sizes that is no optimum."""
    size, sensitive = SIZES[sizes]
    domain = Domain(range(size), sensitive=sensitive)
    return LawMechanism(domain, 1.0, MixedSubsets(domain.sensitive_count, smaller, 3 << 61))


def mechanisms() -> Iterator[BlockMechanism]:
    """Yield every mechanism of the list, and one that is handed the same law, with and without blocks in clear."""
    for case in cases(SIZES, (1.0,)):
        named = case.mechanism
        yield named
        yield LawMechanism(named.domain, 1.0, named.law)
        if case.builder in ("unary", "unary-clear-bits"):
            yield LawMechanism(named.domain, 1.0, named.law, clear_blocks=True)
    yield from (mixed(sizes) for sizes in ("3of7", "5of5"))


@cache
def batches() -> list[tuple[BlockMechanism, Reports, Tally]]:
    """Return every mechanism with reports and their tally."""
    found = []
    for mechanism in mechanisms():
        reports = mechanism.obfuscate(list(range(mechanism.domain.size)) * 4, random=SeededRandom(1))
        found.append((mechanism, reports, mechanism.tally(reports)))
    return found


def sufficient(mechanism: BlockMechanism, method: str) -> bool:
    """Return whether a tally is enough: for the likelihood, where it counts single values or each block."""
    return method not in ("mle", "em") or mechanism.tally_suffices


@pytest.mark.parametrize("method", METHODS)
def test_every_law_has_an_estimate_or_a_sentence(method: str) -> None:
    made = refused = 0
    for mechanism, reports, tally in batches():
        for data in (reports, tally):
            if data is tally and not sufficient(mechanism, method):
                with pytest.raises(ParameterError, match=REFUSAL):
                    estimate(mechanism, data, method=method)
                refused += 1
                continue
            found = estimate(mechanism, data, method=method)
            numbers = (found.frequencies, found.standard_errors, *found.interval(simultaneous=True))
            assert all(one.shape == (mechanism.domain.size,) and np.isfinite(one).all() for one in numbers), mechanism
            made += 1
    assert made >= len(BUILDERS) * 4
    assert (refused > 0) == (method in ("mle", "em"))
