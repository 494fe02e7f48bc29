"""Stated errors against what happens: over pairs of reports exactly, and over thousands of simulated collections."""

from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from discreet import (
    METHODS,
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SeededRandom,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    estimate,
)
from discreet.estimators.linear import LinearStart
from laws import SMALL, WINDOWS, Case, cases, spelled
from packing import each
from repeated import estimates

RUNS, FEW = 4000, 250
P = {"3of7": [0.2, 0.15, 0.1, 0.12, 0.18, 0.05, 0.2], "5of5": [0.3, 0.25, 0.2, 0.15, 0.1]}


@cache
def simulated(case: Case, n: int, runs: int = RUNS) -> list[Tally]:
    """Tallies of collections whose values and reports are both drawn."""
    mechanism, channel = case.mechanism, spelled(case)
    counts = np.random.default_rng(20260101).multinomial(n, np.array(P[case.sizes]) @ channel.matrix, runs)
    support, clear = (counts @ each for each in channel.counts)
    return [Tally(mechanism.fingerprint, n, each, told) for each, told in zip(support, clear, strict=True)]


whole = [case for case in cases({"5of5": SMALL["5of5"]}, (1.0,)) if case.builder not in WINDOWS]


@pytest.mark.parametrize("case", whole, ids=str)
def test_linear_variances_are_unbiased_over_every_pair_of_reports(case: Case) -> None:
    """Plain LDP, n = 2: the mean of the stated variances is the variance, exactly, thanks to n - 1."""
    mechanism, channel, p = case.mechanism, spelled(case), np.array(P["5of5"])
    outputs, distinct = {}, p @ channel.matrix
    for block, share in zip(channel.counts[0].tolist(), distinct, strict=True):
        outputs[tuple(block)] = outputs.get(tuple(block), 0) + share
    mean, stated = np.zeros(5), np.zeros(5)
    for (first, one), (second, other) in combinations_with_replacement(outputs.items(), 2):
        chance = one * other * (1 if first == second else 2)
        tally = Tally(mechanism.fingerprint, 2, np.array(first) + second, np.zeros(0, int))
        evidence = LinearStart.of(mechanism, tally)
        variance, errors = evidence.variance(evidence.linear) * 2, estimate(mechanism, tally).standard_errors
        np.testing.assert_allclose(errors[~evidence.unseen] ** 2, variance[~evidence.unseen], rtol=1e-12)
        mean, stated = mean + chance * variance, stated + chance * errors**2
    np.testing.assert_allclose(mean, mechanism.decoder.standard_errors(2, p) ** 2, rtol=1e-9)
    # Where both reports say the same of a value, what is stated is more than that: they may agree by chance.
    assert (stated > mean).all()


# Where nothing was seen

METHODS_AND_OPTIONS = [(method, {}) for method in METHODS] + [("threshold", {"remainder": "zero"})]


@each("build", [RandomizedResponse, UnaryEncoding, SubsetSelection, LocalHashing, HadamardResponse])
@each("n", [1, 2, 30, 1000])
@each("method, options", METHODS_AND_OPTIONS)
def test_no_error_is_0_where_nothing_was_seen(build: Any, n: int, method: str, options: dict[str, Any]) -> None:
    """Whatever the method: of 24 values, many in clear that nobody told, none is known."""
    if method == "smooth" and (build is not RandomizedResponse or n != 2):
        # It takes seconds.
        return
    for sensitive in (range(8), None):
        mechanism = build(Domain(range(24), sensitive=sensitive), 2.0)
        codes = np.random.default_rng(n).choice([0, 1, 12, 13], n)
        found = estimate(mechanism, mechanism.obfuscate_codes(codes, random=SeededRandom(1)), method=method, **options)
        # Half a report is the least step that any estimate of a frequency makes.
        assert found.standard_errors.min() >= 0.5 / n
        low, high = found.interval()
        assert (high > low).all()


def test_an_unseen_value_in_clear_has_the_error_of_one_report() -> None:
    """0 +- 1/(n s), where the score interval of one standard deviation ends; no less than a value seen once."""
    mechanism = RandomizedResponse(Domain(range(4), sensitive=[0, 1]), 1.0)
    n, s = 1000, mechanism.threshold / 2**64
    tally = Tally(mechanism.fingerprint, n, np.array([600, 399]), np.array([0, 1]))
    unseen, once = estimate(mechanism, tally).standard_errors[2:]
    assert unseen == pytest.approx(1 / (n * s), rel=2e-3)
    assert once == pytest.approx(1 / (n * s), rel=2e-3)
    for method in METHODS:
        assert estimate(mechanism, tally, method=method).standard_errors[2] >= unseen


def test_an_unseen_sensitive_value_has_the_error_of_noise() -> None:
    """No symbol where noise alone would send hundreds: what is stated is what noise makes, not 0."""
    mechanism = RandomizedResponse(Domain(range(40)), 0.5)
    counts = np.array([0] + [1000] * 39)
    noise = mechanism.decoder.standard_errors(39_000, np.array([0.0] + [1 / 39] * 39))[0]
    for method in [method for method in METHODS if method != "smooth"]:
        tally = Tally(mechanism.fingerprint, 39_000, counts, np.zeros(0, int))
        assert estimate(mechanism, tally, method=method).standard_errors[0] >= noise * (1 - 1e-9)


def test_the_error_is_0_where_the_truth_is_known() -> None:
    """Everybody has the only value there is."""
    mechanism = RandomizedResponse(Domain(["only"]), 1.0)
    found = estimate(mechanism, mechanism.obfuscate(["only"] * 5))
    assert found.frequencies == pytest.approx([1.0])
    assert found.standard_errors == pytest.approx([0.0], abs=1e-9)


@pytest.mark.parametrize("case", [Case("unary", "3of7", 1.0), Case("hadamard", "5of5", 1.0)], ids=str)
def test_linear_intervals_cover(case: Case) -> None:
    """Pointwise and together, at n = 2000; the binomial law of the hits leaves the room."""
    p = np.array(P[case.sizes])
    found = estimates(case.mechanism, simulated(case, 2000))
    (low, high), (lowest, highest) = (found.interval(0.9, simultaneous) for simultaneous in (False, True))
    inside = (low <= p) & (p <= high)
    pointwise, hits = inside.sum(axis=0), inside[:1000].all(axis=1).sum()
    together = ((lowest <= p) & (p <= highest)).all(axis=1).sum()
    # Half a percent for the normal approximation.
    least, most = binom.ppf(1e-9, RUNS, 0.895), binom.isf(1e-9, RUNS, 0.905)
    assert least <= pointwise.min() <= pointwise.max() <= most
    assert together >= least
    # Rivals: pointwise intervals hold at once far less often than nine times in ten, and 0.95 is not 0.9.
    assert most < binom.ppf(1e-6, RUNS, 0.95)
    assert hits < binom.ppf(1e-9, 1000, 0.89)


@each(
    "builder, method, n",
    [
        *(("unary", method, 4000) for method in ("norm-sub", "projected", "mle")),
        *(("hadamard", method, 4000) for method in ("projected", "em")),
        ("unary", "threshold", 30_000),
    ],
)
def test_errors_of_the_others_are_within_a_fifth(builder: str, method: str, n: int) -> None:
    """A deviation over 250 runs is known to 4.5%, so a fifth is what the statement has for itself, less a little."""
    case, values, source = Case(builder, "3of7", 1.0), np.random.default_rng(9), SeededRandom(9)
    data: Any = simulated(case, n, FEW)
    if method == "mle":
        codes = (values.choice(case.domain.size, n, p=P[case.sizes]) for _ in range(FEW))
        data = (case.mechanism.obfuscate_codes(one, random=source) for one in codes)
    found = [estimate(case.mechanism, each, method=method) for each in data]
    stated = np.mean([each.standard_errors for each in found], axis=0)
    ratio = stated / np.std([each.frequencies for each in found], axis=0, ddof=1)
    assert 0.8 < ratio.min() <= ratio.max() < 1.2


def test_the_summed_error_of_the_threshold_is_stated() -> None:
    """Of five values among 26 at epsilon = 0.3: at the thresholded frequencies themselves half of it would be."""
    p, n, values = np.repeat([0.2, 0.0], [5, 21]), 3000, np.random.default_rng(4)
    mechanism = UnaryEncoding(Domain(range(26)), 0.3)
    numbers, squares, stated = mechanism.coefficients, np.zeros(26), np.zeros(26)
    for _ in range(100):
        true = values.multinomial(n, p)
        told = values.binomial(true, numbers.truth)
        support = told + values.binomial(n - told, numbers.inclusion)
        tally = Tally(mechanism.fingerprint, n, support, np.zeros(0, int))
        found = estimate(mechanism, tally, method="threshold")
        squares += (found.frequencies - p) ** 2
        stated += found.standard_errors**2
    assert 0.75 < np.sqrt(stated.sum() / squares.sum()) < 1.3


# Two values, of which one count decides


@each("sensitive", [None, ["yes"]])
@each("build", [RandomizedResponse, SubsetSelection])
@each("n, ones", [(50, 0), (300, 3), (1000, 500)])
def test_one_number_has_one_interval(build: Any, sensitive: Any, n: int, ones: int) -> None:
    """Simultaneous intervals of both values are those of one comparison."""
    if build is SubsetSelection and sensitive:
        return
    mechanism = build(Domain(["yes", "no"], sensitive=sensitive), 1.0)
    found = estimate(mechanism, mechanism.obfuscate_codes((np.arange(n) < ones).astype(int), random=SeededRandom(1)))
    alone, together = found.limits(0.9), found.limits(0.9, simultaneous=True)
    assert np.array_equal(alone, together)
    assert together[0] == pytest.approx(1 - together[1][::-1], abs=1e-9)


@each("share", [0.02, 0.3, 0.5])
def test_both_hold_at_once_as_often_as_they_say(share: float) -> None:
    """Every tally of 60 reports, each with its probability."""
    mechanism, n = RandomizedResponse(Domain(["yes", "no"]), 1.0), 60
    told = float(np.array([share, 1 - share]) @ mechanism.channel().matrix[:, 0])
    held = 0.0
    for count, probability in enumerate(binom.pmf(np.arange(n + 1), n, told)):
        tally = Tally(mechanism.fingerprint, n, np.array([count, n - count]), np.zeros(0, int))
        low, high = estimate(mechanism, tally).interval(0.9, simultaneous=True)
        held += probability * bool(((low <= [share, 1 - share]) & ([share, 1 - share] <= high)).all())
    assert 0.88 <= held <= 0.95
