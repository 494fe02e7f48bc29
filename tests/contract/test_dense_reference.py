"""Every linear functional of every law, against the full matrix of its channel: no sampling and no formula of a law."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

from discreet import Channel, Domain, Estimate, SeededRandom, Tally, estimate
from discreet.errors import ParameterError
from discreet.mechanisms import LawMechanism, Mechanism
from discreet.mechanisms.contributions import GroupWeights
from discreet.mechanisms.laws.subsets import MixedSubsets
from discreet.testing import outputs_of
from laws import BUILDERS, WINDOWS, expected
from packing import each

MANY = 1 << 44
WEIGHTS = np.array([5, 1, 3, 2, 4, 1])
P = WEIGHTS / WEIGHTS.sum()
SENSITIVE = {
    "LDP": None,
    "ULDP": [True, True, True, True, False, False],
    "two": [False, True, False, False, True, False],
}


def domain_of(name: str, protected: str) -> Domain:
    """Return six values; for windows they are in order, for others they are pairs."""
    sensitive = SENSITIVE[protected]
    if name in WINDOWS:
        return Domain(range(6), sensitive=sensitive)
    return Domain.product({"a": range(3), "b": range(2)}, sensitive=sensitive)


@dataclass(frozen=True)
class Dense:
    """A mechanism, with the matrix of its channel and the contribution of each output to the estimate of each value."""

    mechanism: Any
    matrix: Any
    contributions: Any
    tally: Tally

    @cached_property
    def spread(self) -> Any:
        """The covariances of the contributions of one report."""
        return self.covariances(P)

    def covariances(self, p: Any) -> Any:
        return (self.contributions.T * (p @ self.matrix)) @ self.contributions - np.outer(p, p)

    def control(self, gradient: Any, p: Any) -> float:
        """Return what the known total tells of a sum, where estimates do not sum to 1: of covered values alone."""
        if abs(self.contributions.sum(axis=1) - 1).max() < 1e-9:
            return 0.0
        inside, total = self.mechanism.domain.sensitive * 1.0, self.covariances(p).sum(axis=1)
        # Estimates of windows nearly sum to 1. Then the ratio below would be noise.
        if self.mechanism.name == "windows":
            return 0.0
        return float((gradient * inside) @ total / (inside @ total))

    def error(self, gradient: Any) -> float:
        """Return the error of a controlled sum."""
        gradient = gradient - self.control(gradient, P)
        return float(np.sqrt(gradient @ self.spread @ gradient / MANY))


@cache
def dense(name: str) -> Dense:
    mechanism = LAWS[name]
    if isinstance(mechanism, Channel):
        counts = np.rint(MANY * P @ mechanism.matrix).astype(np.int64)
        counts[0] += MANY - counts.sum()
        tally = Tally(mechanism.fingerprint, MANY, counts, counts[:0])
        return Dense(mechanism, mechanism.matrix, mechanism.decoder.inverse, tally)
    outputs = outputs_of(mechanism)
    return Dense(mechanism, outputs.matrix, outputs.contributions, expected(mechanism, WEIGHTS, MANY))


def laws() -> dict[str, Any]:
    """Return every law of the list, designs of two sizes that are no optimum, and an explicit channel."""
    found: dict[str, Mechanism] = {}
    for protected in SENSITIVE:
        for name, build in BUILDERS.items():
            try:
                found[f"{name}/{protected}"] = build(domain_of(name, protected), 1.0)
            except ParameterError:
                continue
    for smaller, protected in ((1, "LDP"), (3, "LDP"), (1, "ULDP"), (2, "ULDP")):
        domain = domain_of("", protected)
        law = MixedSubsets(domain.sensitive_count, smaller, 3 << 61)
        found[f"two sizes {smaller}/{protected}"] = LawMechanism(domain, 1.0, law)
    matrix = np.random.default_rng(8).dirichlet(np.ones(9), 6)
    matrix[:, 4] = 0
    found["channel"] = Channel(matrix / matrix.sum(axis=1, keepdims=True), domain_of("", "LDP"))
    return found


LAWS = laws()
every = each("name", LAWS)


def room(name: str) -> float:
    """Return how far a stated error may be off, as a part of itself.

    Values are taken to be in the blocks of one's own hash function independently. In a design of two sizes, shares in
    clear follow from their counts alone, which blocks may tell a little more about.
    """
    return 0.03 if name.startswith("hashing") else 2e-3 if name.startswith("design") else 1e-9


ONE, OTHER = np.array([1, 0, 1, 0, 0, 1], bool), np.array([0, 1, 0, 0, 1, 0], bool)
SCORES = np.array([-2, 0, 1, 3, 0.5, 7])


def quotient(top: Any, bottom: Any) -> Any:
    """Return a ratio of sums, with its gradient."""
    value = top @ P / (bottom @ P)
    return value, (top - value * bottom) / (bottom @ P)


FUNCTIONALS: dict[str, tuple[Callable[[Estimate], Any], Any]] = {
    "total": (lambda found: found.total(ONE), (ONE @ P, ONE)),
    "total of one": (lambda found: found.total(SCORES == 1), (P[2], np.eye(6)[2])),
    "mean": (lambda found: found.mean(SCORES), (SCORES @ P, SCORES)),
    "difference": (lambda found: found.difference(ONE, OTHER), ((1.0 * ONE - OTHER) @ P, 1.0 * ONE - OTHER)),
    "ratio": (lambda found: found.ratio(ONE, OTHER), quotient(ONE, OTHER)),
    "share": (lambda found: found.ratio(ONE, ONE | OTHER), quotient(ONE, ONE | OTHER)),
    "overlapping": (lambda found: found.ratio(ONE, SCORES > 0), quotient(ONE, SCORES > 0)),
}


@every
@each("functional", FUNCTIONALS)
def test_sums_have_the_estimates_and_errors_of_every_report(name: str, functional: str) -> None:
    ask, (value, gradient) = FUNCTIONALS[functional]
    found = ask(estimate(dense(name).mechanism, dense(name).tally))
    assert found.estimate == pytest.approx(value, abs=1e-10)
    assert found.standard_error == pytest.approx(dense(name).error(gradient), rel=room(name))


@each("name", [name for name in LAWS if not name.endswith("/two")])
def test_sums_of_any_reports_are_controlled(name: str) -> None:
    """Sets in clear, as all of these are where two values are sensitive, have counts of their own."""
    one, codes = dense(name), np.random.default_rng(3).choice(6, 400, p=P)
    mechanism = one.mechanism
    found = estimate(mechanism, mechanism.obfuscate_codes(codes, random=SeededRandom(3)))
    linear = found.frequencies
    wanted = linear @ ONE - one.control(1.0 * ONE, found.uncertainty.known_law.p) * (linear.sum() - 1)
    assert found.total(ONE).estimate == pytest.approx(wanted, rel=room(name), abs=1e-9)
    if mechanism.domain.space.parts:
        assert found.marginal("b").frequencies.sum() == pytest.approx(1, abs=1e-12)


@every
def test_tables_have_the_estimates_and_errors_of_every_report(name: str) -> None:
    """Marginals, conditions, and the share of sensitive values."""
    one, found = dense(name), estimate(dense(name).mechanism, dense(name).tally)
    domain = one.mechanism.domain
    wanted = []
    if domain.clear_count:
        share = found.sensitive_share()
        wanted.append((share.estimate, share.standard_error, domain.sensitive @ P, -1.0 * ~domain.sensitive))
    if domain.space.parts:
        marginal, inside = found.marginal("b"), found.where(a=[0, 2])
        assert marginal.frequencies.sum() == pytest.approx(1, abs=1e-9)
        assert abs(marginal.covariance().sum(axis=1)).max() < 1e-9 * abs(marginal.covariance()).max()
        columns = np.tile(np.eye(2), 3)
        wanted += zip(marginal.frequencies, marginal.standard_errors, columns @ P, columns, strict=True)
        chosen = np.array([1, 1, 0, 0, 1, 1])
        shares = [quotient(row * chosen, chosen) for row in columns]
        wanted += zip(inside.frequencies, inside.standard_errors, *zip(*shares, strict=True), strict=True)
    for value, error, true, gradient in wanted:
        assert value == pytest.approx(true, abs=1e-10)
        assert error == pytest.approx(one.error(gradient), rel=room(name))


@every
def test_values_have_the_covariances_of_every_report(name: str) -> None:
    one, found = dense(name), estimate(dense(name).mechanism, dense(name).tally)
    assert found.frequencies == pytest.approx(P, abs=1e-10)
    assert found.standard_errors**2 * MANY == pytest.approx(np.diag(one.spread), rel=1e-6)
    assert found.covariance() * MANY == pytest.approx(one.spread, abs=4 * room(name) * abs(one.spread).max())
    decoder = one.mechanism.decoder
    for p in np.random.default_rng(6).dirichlet(np.ones(6), 3):
        covariances = one.covariances(p)
        assert decoder.covariances_at(p) == pytest.approx(covariances, abs=4 * room(name) * abs(covariances).max())
        assert decoder.standard_errors(7, p) ** 2 * 7 == pytest.approx(np.diag(covariances), rel=1e-9, abs=1e-12)
        assert decoder.mse(7, p) == pytest.approx(np.trace(covariances) / 7, rel=1e-9)
        assert decoder.mse(7, p) <= decoder.worst_case_mse(7) * (1 + 1e-12)


@each("name", [name for name in LAWS if not name.startswith("hashing")])
def test_three_moments_are_those_of_every_report(name: str) -> None:
    """They give the limits, under any distribution and for any weights."""
    one, rng = dense(name), np.random.default_rng(6)
    p, weights, constant = rng.dirichlet(np.ones(6), 3), rng.normal(size=(3, 6)), rng.normal(size=3)
    asked = GroupWeights(weights, constant, np.ones((1, 6)), one.mechanism.domain.sensitive)
    found = one.mechanism.decoder.sum_contributions.powers(asked, np.broadcast_to(p[:, None], (3, 3, 6)))
    added = one.contributions @ weights.T + constant
    wanted = np.array([p @ one.matrix @ added**power for power in (1, 2, 3)])
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9 * abs(wanted).max())


def test_a_channel_of_which_two_values_are_alike_has_no_decoder() -> None:
    with pytest.raises(ParameterError, match="linearly independent"):
        Channel([[0.5, 0.5], [0.5, 0.5]]).decoder.worst_case_mse(1)
