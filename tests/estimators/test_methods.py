"""The named estimators that need a tally only, against loops and another optimiser."""

from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from scipy.stats import norm

from discreet import METHODS, Channel, Domain, RandomizedResponse, SeededRandom, Tally, UnaryEncoding, estimate
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.estimators import MethodName, Options
from discreet.estimators.linear import LinearStart
from discreet.estimators.simplex import projection
from discreet.estimators.threshold import thresholded
from discreet.mechanisms import BlockMechanism
from laws import SMALL, Case, cases, over, sampled, spelled, with_rho
from packing import each
from refusals import refused

several = over(with_rho(cases({name: SMALL[name] for name in ("3of7", "5of5")}, (1.0,))))


# Thresholds


def cuts(case: Case, tally: Tally, significance: float) -> list[float]:
    """The thresholds, one value at a time: z times the deviation of its estimate if nobody has it."""
    domain, s = case.domain, case.mechanism.threshold / 2**64
    mass = min(max(1 - tally.clear_total / (tally.n * s), 0), 1) if domain.clear_count else 1.0
    phi, matrix = spelled(case).contributions, spelled(case).matrix
    found = []
    for x in range(domain.size):
        p = np.zeros(domain.size)
        for others, share in ((domain.sensitive_codes, mass), (domain.clear_codes, 1 - mass)):
            rest = [y for y in others if y != x]
            p[rest] = share / max(len(rest), 1)
        deviation = np.sqrt(p @ matrix @ phi[:, x] ** 2 / tally.n)
        found.append(norm.isf(significance / domain.size) * deviation)
    return found


@several
@each("significance", [0.05, 0.5, 1e-6])
def test_threshold_is_the_loop(case: Case, significance: float) -> None:
    random, kept_in_all, cut_in_all = np.random.default_rng(4), 0, 0
    for remainder in ("uniform", "zero", "uniform"):
        codes = random.choice(case.domain.size, 3000, p=random.dirichlet(np.full(case.domain.size, 0.3)))
        tally = case.mechanism.tally(case.mechanism.obfuscate_codes(codes, random=SeededRandom(4)))
        linear = case.mechanism.decoder.estimate(tally)
        wanted = [
            value if value > cut else 0.0 for value, cut in zip(linear, cuts(case, tally, significance), strict=True)
        ]
        kept = [value > 0 for value in wanted]
        if sum(wanted) > 1:
            wanted = [value / sum(wanted) for value in wanted]
        elif remainder == "uniform" and not all(kept):
            share = (1 - sum(wanted)) / kept.count(False)
            wanted = [value if keep else share for value, keep in zip(wanted, kept, strict=True)]
        options = {"significance": significance, "remainder": remainder}
        found = estimate(case.mechanism, tally, method="threshold", **options)
        np.testing.assert_allclose(found.frequencies, wanted, rtol=1e-9, atol=1e-15)
        assert found.method == f"threshold ({remainder})"
        kept_in_all, cut_in_all = kept_in_all + sum(kept), cut_in_all + kept.count(False)
    assert kept_in_all > 0
    assert cut_in_all > 0


# Projections


def tallies(case: Case) -> list[Tally]:
    """From many reports and from few, so that much is cut off."""
    found = [case.mechanism.tally(sampled(case, n, seed)) for n, seed in ((20_000, 1), (300, 2), (40, 3), (3, 4))]
    skewed = case.mechanism.obfuscate_codes(np.zeros(500, dtype=int), random=SeededRandom(5))
    return [*found, case.mechanism.tally(skewed)]


def variances(mechanism: BlockMechanism, tally: Tally) -> Any:
    """Of the linear estimates, as if every value had been seen at least once."""
    s = mechanism.threshold / 2**64
    told = tally.clear_total / (tally.n * s) if mechanism.domain.clear_count else 0
    constant, slope = mechanism.decoder.variance_of(min(max(1 - told, 0), 1))
    linear = mechanism.decoder.estimate(tally)
    at = np.clip(linear, 1 / tally.n, 1)
    return np.maximum((constant + slope * at - at**2) / tally.n, 1 / tally.n**2)


@several
def test_projections_are_the_nearest_distribution_in_their_metric(case: Case) -> None:
    """All values alike, or in the metric of the errors; test_simplex_and_singletons.py tests the projection."""
    cut = 0
    for tally, method in product(tallies(case), ("norm-sub", "projected")):
        linear = case.mechanism.decoder.estimate(tally)
        weights = np.ones(len(linear)) if method == "norm-sub" else 1 / variances(case.mechanism, tally)
        found = estimate(case.mechanism, tally, method=method).frequencies
        np.testing.assert_allclose(found, projection(linear, weights)[0], rtol=1e-7, atol=1e-10)
        cut += np.count_nonzero(found == 0)
    assert cut > 0


# What is refused


RR = RandomizedResponse(Domain(range(5), sensitive=[1, 2]), 1.0)
UNARY = UnaryEncoding(Domain(range(5), sensitive=[1, 2]), 1.0)
CHANNEL = Channel([[0.6, 0.4], [0.2, 0.8]])


def reports_of(mechanism: Any, n: int = 60) -> Any:
    return mechanism.obfuscate_codes(np.arange(n) % mechanism.domain.size, random=SeededRandom(1))


@each("mechanism", [RR, UNARY, CHANNEL])
@each("method", METHODS)
def test_nothing_strangers_and_other_things(mechanism: Any, method: str) -> None:
    for empty in (reports_of(mechanism, 0), mechanism.empty_tally()):
        message = refused(DataError, lambda empty=empty: estimate(mechanism, empty, method=method))
        assert "at least one report" in message
    stranger = RandomizedResponse(mechanism.domain, 1.5)
    for data in (reports_of(stranger), stranger.tally(reports_of(stranger))):
        refused(MismatchError, lambda data=data: estimate(mechanism, data, method=method))
    for data in (None, [1, 2], np.arange(3), "reports", 7):
        refused(DataError, lambda data=data: estimate(mechanism, data, method=method))


GOOD = {"significance": 0.1, "remainder": "zero", "tolerance": 1e-3, "smoothing": 1.0, "limits": "linear"} | {
    "progress": lambda *_: None
}
BAD: dict[str, tuple[Any, ...]] = {
    "significance": (0, 1, float("nan"), "0.1", None),
    "remainder": ("Zero", "", 0, None),
    "tolerance": (0, 1e-13, float("nan"), float("inf")),
    "smoothing": (0, -1.0, float("inf")),
    "limits": ("Linear", "", 0),
    "progress": (3, "bar"),
}


def test_a_method_takes_its_own_options_and_no_others() -> None:
    reports: dict[str, Any] = {"mechanism": UNARY, "data": reports_of(UNARY)}
    assert get_args(MethodName) == tuple(METHODS)
    assert GOOD.keys() == {option.name for method in METHODS.values() for option in method.options}
    assert GOOD.keys() == Options.__annotations__.keys()
    for name, method in METHODS.items():
        own = [option.name for option in method.options]
        assert np.isfinite(estimate(**reports, method=name, **{each: GOOD[each] for each in own}).frequencies).all()
        for other in GOOD.keys() - own:
            message = refused(ParameterError, lambda one=name, o=other: estimate(**reports, method=one, **{o: GOOD[o]}))
            assert f"'{name}' does not use {other}" in message
        for each_own in own:
            for wrong in BAD[each_own]:
                asked = {"method": name, each_own: wrong}
                assert each_own in refused(ParameterError, lambda asked=asked: estimate(**reports, **asked))


@pytest.mark.parametrize("rounding", [-1e-17, 1e-17])
def test_no_rounding_is_significant(rounding: float) -> None:
    """An output that did not occur, of a value in clear: estimate and threshold are 0, and a matrix product is not."""
    mechanism = RandomizedResponse(Domain(range(7), sensitive=[3]), 1.0).channel()
    start = LinearStart.of(
        mechanism, mechanism.tally(mechanism.obfuscate_codes([0, 1, 3] * 20, random=SeededRandom(1)))
    )
    vars(start)["linear"] = np.where(np.abs(start.linear) < 1e-9, rounding, start.linear)
    frequencies, _ = thresholded(start, 0.05, uniform=False)
    assert np.flatnonzero(frequencies).tolist() == [0, 1, 3]
