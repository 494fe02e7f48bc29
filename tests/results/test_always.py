"""Limits that hold at all looks at once: their check values, that they hold, and how much longer they are."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.results.sums import Sums
from discreet.theory.binomial import BinomialCounts
from papers.data.drawn_tallies import draw_tally

LDP, ULDP = dc.Domain(range(8)), dc.Domain(range(12), sensitive=range(6))
WINDOWS = dc.Domain(range(16), sensitive=[*range(4), *range(8, 12)])
MECHANISMS = {
    "rr": dc.RandomizedResponse(LDP, 1.0),
    "bits": dc.UnaryEncoding(LDP, 1.0),
    "bits-uldp": dc.UnaryEncoding(ULDP, 1.0),
    "subsets-uldp": dc.SubsetSelection(ULDP, 1.0, k=3),
    "hadamard": dc.HadamardResponse(LDP, 1.0),
    "hashing": dc.LocalHashing(ULDP, 1.0),
    "design": dc.BlockDesign(ULDP, 1.0),
    "windows-uldp": dc.Windows(WINDOWS, 1.0),
    "channel": dc.Channel(np.full((4, 4), 0.1) + 0.6 * np.eye(4)),
}


def asked(found: Any) -> list[Any]:
    """Return intervals of a value, a set, a mean, and of what is made of several of them."""
    size = found.domain.size
    first, second = (np.isin(np.arange(size), codes) for codes in ([0, 1], [1, 2, size - 1]))
    return [
        found.total(np.arange(size) == 0),
        found.total(np.arange(size) >= size // 2),
        found.mean(),
        found.quantile(0.4),
        found.difference(np.arange(size) == 0, second & ~first),
        found.ratio(first, second),
    ]


def truths(p: Any) -> list[float]:
    size, places = len(p), np.arange(len(p))
    quantile = int(np.argmax(np.cumsum(p) >= 0.4 - 1e-12))
    second = p[1] + p[2] + p[-1]
    return [p[0], p[size // 2 :].sum(), p @ places, quantile, p[0] - p[2] - p[-1], (p[0] + p[1]) / second]


def tally_of(mechanism: Any, counts: list[int]) -> Tally:
    return Tally(mechanism.fingerprint, sum(counts), np.array(counts), np.zeros(0, np.int64), simulated=True)


def test_the_limits_are_those_that_were_worked_out_otherwise() -> None:
    """A prototype by dense matrices and another solver; a beta mixture has .57030002 and .93359322 here."""
    mechanism = dc.RandomizedResponse(dc.Domain(range(4)), 1.0)
    found = dc.estimate(mechanism, tally_of(mechanism, [400, 200, 200, 200]), limits="always")
    assert found[0].frequency == pytest.approx(0.74918602, abs=1e-8)
    assert found[0][4:] == pytest.approx((0.57081940, 0.93249630), abs=1e-6)
    windows = dc.Windows(dc.Domain(range(8)), 1.0)
    law = dc.estimate(windows, draw_tally(windows, np.full(8, 125), np.random.default_rng(1)), limits="always")
    known = replace(law.uncertainty.known_law, linear=np.repeat([0.175, 0.075], 4))
    upper = Sums(known, (np.arange(8) > 3)[None].astype(float))
    assert [end[0] for end in upper.limits(0.05)] == pytest.approx([0.02863137, 0.57754425], abs=1e-6)


@pytest.mark.parametrize("name", MECHANISMS)
def test_limits_hold_at_every_look_and_fixed_ones_do_not(name: str) -> None:
    """8 looks at growing reports, 4 times: each of six numbers misses in one of these at most."""
    mechanism, rng = MECHANISMS[name], np.random.default_rng(5)
    size = mechanism.domain.size
    p = np.arange(size, 0, -1.0) / np.arange(size, 0, -1.0).sum()
    missed = np.zeros(6, np.int64)
    for _ in range(4):
        batches = rng.multinomial(40, p, size=8)
        tally, out = None, np.zeros(6, np.bool_)
        for batch in batches:
            codes = np.repeat(np.arange(size), batch)
            reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(int(rng.integers(1 << 40))))
            tally = mechanism.tally(reports) if tally is None else tally + mechanism.tally(reports)
            ends = [each.interval() for each in asked(dc.estimate(mechanism, tally, limits="always"))]
            out |= [not low - 1e-9 <= true <= high + 1e-9 for (low, high), true in zip(ends, truths(p), strict=True)]
        missed += out
    assert (missed <= 1).all()


def test_limits_hold_for_a_year_of_looks_where_fixed_ones_miss_in_half_of_the_years() -> None:
    """24 years of randomized response, from the sums of one value: limits at 77 of the looks."""
    mechanism, looks, years = dc.RandomizedResponse(dc.Domain(range(4)), 1.0), 365, 24
    counted, share = mechanism.coefficients.count_law, 0.1
    counts = np.random.default_rng(3).binomial(100, counted[0] + counted[1] * share, (years, looks)).cumsum(axis=1)
    n = 100 * np.arange(1, looks + 1)
    empty = tally_of(mechanism, [25, 25, 25, 25])
    always = dc.estimate(mechanism, empty, limits="always").uncertainty
    held = np.ones((2, years), np.bool_)
    for look in [*range(40), *range(40, looks, 9), looks - 1]:
        estimates = (counts[:, look] / n[look] - counted[0]) / counted[1]
        law = replace(always.known_law, n=float(n[look]))
        rows = np.repeat(law.totals.T[:1], years, axis=0)
        rows[:, 4:6] = np.array([counts[:, look], estimates]).T
        sums = Sums(law, rows)
        for at, (low, high) in enumerate(
            (BinomialCounts(counts[:, look], int(n[look]), *counted).limits(0.05), sums.limits(0.05))
        ):
            held[at] &= (low <= share) & (share <= high)
    assert held[1].mean() >= 0.95
    assert held[0].mean() <= 0.75


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "channel"])
def test_limits_are_at_most_two_and_a_half_times_as_long(name: str) -> None:
    mechanism, rng = MECHANISMS[name], np.random.default_rng(2)
    size = mechanism.domain.size
    for n in (12_000, 300_000):
        tally = draw_tally(mechanism, rng.multinomial(n, np.full(size, 1 / size)), rng)
        pairs = zip(
            *(asked(dc.estimate(mechanism, tally, **options))[:3] for options in ({}, {"limits": "always"})),
            strict=True,
        )
        for fixed, always in pairs:
            (low, high), (least, most) = fixed.bounds(0.05), always.bounds(0.05)
            assert least <= max(low, fixed.borders[0]) <= high <= most
            assert 1 < (most - least) / (high - low) <= 2.5


def test_every_method_and_every_group_has_them_and_says_so() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["a", "b", "c"]), 2.0)
    reports = mechanism.obfuscate(["a"] * 600 + ["b"] * 400, random=dc.SeededRandom(1))
    linear = dc.estimate(mechanism, reports, limits="always")
    for method in ("mle", "norm-sub", "threshold"):
        found = dc.estimate(mechanism, reports, method=method, limits="always")
        assert np.array_equal(found.interval(), linear.interval())
        assert "for all looks" in found.remark
    grouped = dc.estimate_groups(mechanism, reports, ["n"] * 500 + ["s"] * 500, limits="always")
    assert all(each.uncertainty.always for each in grouped.values())
    table = linear.interval(simultaneous=True)
    assert (table[1] - table[0] >= linear.interval()[1] - linear.interval()[0]).all()
    with pytest.raises(ParameterError, match=r"\[comparison.always\]"):
        dc.compare(grouped["n"], grouped["s"])


def test_a_condition_holds_the_limits_of_its_parts() -> None:
    domain = dc.Domain.product({"sex": ["f", "m"], "age": [1, 2, 3]})
    mechanism = dc.SubsetSelection(domain, 2.0)
    p = np.array([0.1, 0.2, 0.2, 0.3, 0.1, 0.1])
    tally = draw_tally(mechanism, (4000 * p).astype(np.int64), np.random.default_rng(1))
    fixed, always = (dc.estimate(mechanism, tally, **options).where(sex="f") for options in ({}, {"limits": "always"}))
    truth = np.array([0.2, 0.4, 0.4])
    low, high = always.interval()
    assert ((low < truth) & (truth < high)).all()
    assert (low <= fixed.interval()[0]).all()
    assert (high >= fixed.interval()[1]).all()
    assert always.mean().interval().lower < 2.2 < always.mean().interval().upper
    ends = always.difference([1], [2]).interval()
    assert ends.lower < -0.2 < ends.upper


def test_what_has_no_such_limits_is_refused_at_once() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    reports = mechanism.obfuscate(["a"] * 50, random=dc.SeededRandom(1))
    with pytest.raises(ParameterError, match=r"\[limits.weighted\]"):
        dc.estimate(mechanism, reports, weights=[1.0, 2.0] * 25, limits="always")
