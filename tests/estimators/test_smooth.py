"""Penalised likelihood of values in order: its maximum, certificate, covariance, limits, and what it refuses."""

import warnings

import numpy as np
import pytest

import discreet as dc
from discreet import Tally
from discreet.errors import ParameterError
from discreet.estimators.linear import LinearStart
from discreet.estimators.ratio_limits import RatioLimits, fitted
from discreet.estimators.smooth import Smoother
from discreet.mechanisms import Mechanism
from papers.data.drawn_tallies import draw_tally

CLEAR = dc.Windows(dc.Domain.number(0, 10, bins=24, sensitive=[[0, 2.5], [5, 10]]), 1.0)
WHOLE = dc.Windows(dc.Domain.number(0, 10, bins=24), 2.0)
BITS = dc.UnaryEncoding(dc.Domain(range(9)), 1.0)
P = np.bincount(np.random.default_rng(2).binomial(23, 0.4, 4000), minlength=24) / 4000


def tally_of(mechanism: Mechanism, n: int, seed: int) -> Tally:
    """Return a tally drawn from its law."""
    counts = np.random.default_rng(seed).multinomial(n, P @ mechanism.decoder.matrix)  # type: ignore[attr-defined]
    size = mechanism.tally_sizes[0]
    return Tally(mechanism.fingerprint, n, counts[:size], counts[size:])


@pytest.mark.parametrize("mechanism", [WHOLE, CLEAR], ids=["whole", "ranges"])
def test_nothing_is_better_than_the_certified_maximum(mechanism: Mechanism) -> None:
    tally, random = tally_of(mechanism, 5000, 3), np.random.default_rng(4)
    found = dc.estimate(mechanism, tally, method="smooth", tolerance=1e-11)
    assert found.gap is not None
    assert found.gap <= 1e-11
    assert found.frequencies.min() > 0
    assert found.frequencies.sum() == pytest.approx(1)
    problem = Smoother.of(LinearStart.of(mechanism, tally), (24 / 256) ** 2)
    covered = mechanism.domain.sensitive
    point = found.frequencies[covered]
    if not covered.all():
        point = np.append(point, found.frequencies[~covered].sum())
    best = problem.value(point)
    for size in (1.0, 1e-2, 1e-4):
        others = (1 - size) * point + size * random.dirichlet(np.ones(len(point)), 50)
        assert max(problem.value(other) for other in others) < best
    # The gradient is that of the value, by differences.
    step = 1e-6 * random.normal(size=len(point)) * point
    slope = (problem.value(point + step) - problem.value(point - step)) / 2
    assert slope == pytest.approx(problem.gradient(point) @ step, rel=1e-3, abs=1e-13)


@pytest.mark.parametrize("mechanism", [WHOLE, CLEAR], ids=["whole", "ranges"])
def test_intervals_of_deciles_and_of_the_mean_cover(mechanism: Mechanism) -> None:
    borders = mechanism.domain.space.borders  # type: ignore[attr-defined]
    deciles, centres = np.arange(1, 10) / 10, (borders[:-1] + borders[1:]) / 2
    true = np.interp(deciles, np.append(0, np.cumsum(P)), borders)
    runs, inside, means = 60, np.zeros(9), 0
    for seed in range(runs):
        found = dc.estimate(mechanism, tally_of(mechanism, 20_000, 100 + seed), method="smooth", limits="linear")
        ends = [found.quantile(share).interval() for share in deciles]
        inside += [low <= value <= high for (low, high), value in zip(ends, true, strict=True)]
        low, high = found.mean().interval()
        means += low <= P @ centres <= high
    assert 0.92 <= inside.mean() / runs <= 0.985
    assert inside.min() / runs >= 0.85
    assert 0.88 <= means / runs <= 1


@pytest.mark.filterwarnings("ignore:the likelihood ratio")
@pytest.mark.parametrize("mechanism", [WHOLE, CLEAR], ids=["whole", "ranges"])
def test_errors_of_values_say_how_much_the_method_scatters(mechanism: Mechanism) -> None:
    """Over collections: about the mean of the estimates, with what the penalty hides; and the result says so."""
    found = [
        dc.estimate(mechanism, tally_of(mechanism, 20_000, seed), method="smooth", smoothing=1.0) for seed in range(40)
    ]
    estimates = np.array([one.frequencies for one in found])
    stated = np.median([one.standard_errors for one in found], axis=0)
    away = np.sqrt(((estimates - P) ** 2).mean(axis=0))
    assert np.median(stated / estimates.std(axis=0)) > 0.9
    assert 0.7 < np.median(stated / away) < 1.5
    assert found[0].remark.startswith("Standard errors of single values only measure")
    linear = dc.estimate(mechanism, tally_of(mechanism, 20_000, 0))
    np.testing.assert_array_equal(found[0].interval(), linear.interval())
    plain = dc.estimate(mechanism, tally_of(mechanism, 20_000, 0), method="smooth", limits="linear")
    assert plain.total(np.arange(24) < 9).interval() == linear.total(np.arange(24) < 9).interval()


def test_every_tally_is_solved_to_its_certificate() -> None:
    """The gap may grow for some steps while the value climbs: of a tenth of such tallies it did."""
    mechanism = dc.Windows(dc.Domain.number(0, 1, bins=128), 1.0)
    p = np.diff(np.linspace(0, 1, 129) ** 5)
    outputs, random = p @ mechanism.decoder.matrix, np.random.default_rng(1)
    for _ in range(12):
        counts = random.multinomial(100_000, outputs)
        tally = Tally(mechanism.fingerprint, 100_000, counts, np.zeros(0, np.int64))
        found = dc.estimate(mechanism, tally, method="smooth")
        assert found.gap is not None
        assert found.gap <= 1e-6


def test_heaped_values_are_smoothed_less_and_named_where_a_named_smoothing_hides_them() -> None:
    values = np.repeat([1.0, 5.0, 9.0], 4000)
    mechanism = dc.Windows(dc.Domain.number(0, 10, bins=40), 3.0)
    reports = mechanism.obfuscate(values, random=dc.SeededRandom(1))
    with pytest.warns(UserWarning, match="heaped"):
        smoothed = dc.estimate(mechanism, reports, method="smooth", smoothing=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sharp, default = (
            dc.estimate(mechanism, reports, method="smooth", smoothing=named) for named in (1 / 256, None)
        )
        even = dc.estimate(WHOLE, tally_of(WHOLE, 5000, 3), method="smooth")
    away = [
        abs(np.cumsum(found.frequencies)[[3, 20, 30]] - [0, 2 / 3, 2 / 3]).sum() for found in (smoothed, sharp, default)
    ]
    assert max(away[1:]) < away[0] / 2
    # Of a density without heaps smoothing is 1, whatever noise makes a little likelier.
    usual = dc.estimate(WHOLE, tally_of(WHOLE, 5000, 3), method="smooth", smoothing=1.0)
    assert np.array_equal(even.frequencies, usual.frequencies)


def test_evidence_is_the_integral_over_roots_of_frequencies() -> None:
    """Of two values the sphere is a quarter of a circle, along which the integral is a sum."""
    mechanism = dc.RandomizedResponse(dc.Domain(range(2)), 1.0)
    counts = np.array([620_000, 380_000])
    start = LinearStart.of(mechanism, Tally(mechanism.fingerprint, 10**6, counts, np.zeros(0, np.int64)))
    angles, evidence, integral = np.linspace(0, np.pi / 2, 200_001)[1:-1], [], []
    for strength in (0.01, 0.5):
        problem = Smoother.of(start, strength)
        evidence.append(problem.evidence(problem.maximum(1e-14, None).point, 10**6))
        shares = np.stack([np.cos(angles), np.sin(angles)]) ** 2
        values = 1e6 * np.array(
            problem.counts @ np.log(problem.rows @ shares) - strength * (np.cos(angles) - np.sin(angles)) ** 2
        )
        integral.append(values.max() + np.log(np.exp(values - values.max()).sum()) + np.log(strength) / 2)
    assert evidence[1] - evidence[0] == pytest.approx(integral[1] - integral[0], abs=1e-3)


def test_any_mechanism_of_values_in_order_will_do() -> None:
    reports = BITS.obfuscate(np.random.default_rng(1).binomial(8, 0.5, 3000), random=dc.SeededRandom(1))
    found = dc.estimate(BITS, reports, method="smooth")
    assert abs(float(found.mean()) - 4) < 4 * found.mean().standard_error
    response = dc.RandomizedResponse(dc.Domain(["low", "middle", "high"], sensitive=["low", "high"]), 1.0)
    some = dc.estimate(response, response.obfuscate(["low"] * 50 + ["middle"] * 50), method="smooth")
    assert some.frequencies.sum() == pytest.approx(1)


EMPTY = dc.Domain.number(0, 1, bins=12, sensitive=[[0, 0.25], [0.5, 0.75]])
LOGS = dc.Domain.number(1, 1000, bins=12, scale="log1p", sensitive=[[1, 10], [100, 1000]])


@pytest.mark.parametrize("n", [1, 2, 30, 3000])
@pytest.mark.parametrize("domain", [EMPTY, LOGS, dc.Domain.number(0, 1, bins=12)], ids=["ranges", "log", "whole"])
def test_an_empty_range_leaves_numbers(domain: dc.Domain, n: int) -> None:
    """In a third of such collections the frequencies or errors were no numbers, or the system was singular."""
    for epsilon in (0.5, 4.0):
        mechanism = dc.Windows(domain, epsilon)
        for place in (0, 4, 7, 11):
            counts = draw_tally(mechanism, n * np.eye(12, dtype=np.int64)[place], np.random.default_rng(n + place))
            found = dc.estimate(mechanism, counts, method="smooth")
            assert np.isfinite(found.frequencies).all()
            assert np.isfinite(found.standard_errors).all()
            assert np.isfinite(found.interval()).all()
            assert found.frequencies.sum() == pytest.approx(1)
            assert found.gap is not None
            assert found.gap < 1e-3


PLACES = np.array([9, 7, 8, 6, 5, 4, 3, 4, 2, 1, 2, 1])
EIGHT = dc.Windows(dc.Domain.number(0, 1, bins=8), 1.0)


def ratios_of(mechanism: Mechanism, counts: np.ndarray) -> RatioLimits:
    return RatioLimits(mechanism.decoder.matrix.T.copy(), counts)  # type: ignore[attr-defined]


def test_the_check_values_of_likelihood_ratios() -> None:
    """12 places of windows from the left; two solvers that share no code with this one agree."""
    inside = EIGHT.decoder.matrix > EIGHT.decoder.matrix.min(axis=0) + 1e-9  # type: ignore[attr-defined]
    from_left = [
        place for _, place in sorted((np.flatnonzero(each).sum() / each.sum(), at) for at, each in enumerate(inside.T))
    ]
    counts = np.zeros(12, np.int64)
    counts[from_left] = PLACES
    limits, upper = ratios_of(EIGHT, counts), np.arange(8) >= 4

    def family(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(upper * 1.0, (len(t), 1)), t

    found = limits.ratios(family, np.array([0.1, 0.3, 0.6]))
    assert found == pytest.approx([0.1494418, 2.1614353, 10.5446641], abs=3e-3)
    mean = limits.sum_ends(np.arange(8) / 7, 0.05)
    assert 0 <= mean[0] < float(limits.best.points[0] @ np.arange(8)) / 7 < mean[1] < 1


def test_no_distribution_with_the_sum_is_better_than_the_fit() -> None:
    random, rows = np.random.default_rng(5), EIGHT.decoder.matrix.T  # type: ignore[attr-defined]
    counts, weights = PLACES / PLACES.sum(), np.arange(8) / 7
    for t in (0.05, 0.4, 0.9):
        fits = fitted(rows, counts[None], 52, (weights[None], np.array([t])))
        assert fits.points[0] @ weights == pytest.approx(t, abs=1e-9)
        for other in random.dirichlet(np.ones(8), 200):
            ends = np.array([[1.0, *np.zeros(7)], [*np.zeros(7), 1.0]])
            mean, far = other @ weights, ends[int(other @ weights < t)]
            moved = other + (t - mean) / (far @ weights - mean) * (far - other)
            assert counts @ np.log(rows @ moved) <= fits.values[0] + 1e-3 / 52


def test_likelihood_limits_are_nested_shorter_and_hold() -> None:
    """Of 32 bins where all people are in one: chi-square alone held .39 to .70 at epsilon 3."""
    mechanism, held = dc.Windows(dc.Domain.number(0, 1, bins=32), 3.0), 0
    one, lengths = np.arange(32) == 15, []
    for run in range(12):
        random = np.random.default_rng(run)
        tally = draw_tally(mechanism, random.multinomial(100, one * 1.0), random)
        found = dc.estimate(mechanism, tally, method="smooth")
        low, high = found.total(one).interval()
        held += low <= 1 <= high
        plain = dc.estimate(mechanism, tally, method="smooth", limits="linear").total(one).interval()
        lengths.append([high - low, plain.upper - plain.lower])
    assert held >= 11
    assert np.mean(lengths, axis=0)[0] < np.mean(lengths, axis=0)[1]
    ends = [found.total(np.arange(32) < 14).interval(level) for level in (0.5, 0.8, 0.9, 0.95, 0.97, 0.99)]
    assert [one.lower for one in ends] == sorted((one.lower for one in ends), reverse=True)
    assert [one.upper for one in ends] == sorted(one.upper for one in ends)
    assert found.median().interval(0.8).lower >= found.median().interval(0.95).lower
    assert "likelihood ratio" in found.remark


PLACE = np.arange(32)
SHAPES = {
    "heaped": (np.where(PLACE % 5 == 0, 1, 0.02), 15),
    "bump": (0.2 + 3 * np.exp(-(((PLACE + 0.5) / 32 - 0.6) ** 2) / 0.001), 19),
}


@pytest.mark.filterwarnings("ignore:the likelihood ratio")
@pytest.mark.parametrize("shape", SHAPES)
def test_limits_of_a_heap_and_of_the_edge_of_a_bump_hold(shape: str) -> None:
    """The scatter of the smoothed share does not show that smoothing moves it: it held in 2 and 4 of 12 runs."""
    weights, code = SHAPES[shape]
    p, mechanism = weights / weights.sum(), dc.Windows(dc.Domain.number(0, 1, bins=32), 1.0)
    held, scattered = 0, 0
    for run in range(6):
        random = np.random.default_rng(run)
        tally = draw_tally(mechanism, random.multinomial(1000, p), random)
        found = dc.estimate(mechanism, tally, method="smooth", smoothing=1.0)
        low, high = found.total(np.arange(32) == code).interval()
        held += low <= p[code] <= high
        scattered += abs(found.frequencies[code] - p[code]) <= 1.96 * found.standard_errors[code]
    assert held >= 5
    assert scattered <= 3


def test_likelihood_limits_are_refused_where_outputs_are_not_listed() -> None:
    reports = BITS.obfuscate([1, 2, 3] * 10, random=dc.SeededRandom(1))
    with pytest.raises(ParameterError, match=r"limits.no-likelihood"):
        dc.estimate(BITS, reports, method="smooth", limits="likelihood")
    assert dc.estimate(BITS, reports, method="smooth").mean().interval() == dc.estimate(BITS, reports).mean().interval()
