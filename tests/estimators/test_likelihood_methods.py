"""Maximum likelihood and EM against the channel spelled out, report by report."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from discreet import (
    Channel,
    Domain,
    HadamardResponse,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    Tally,
    TranslateResponse,
    UnaryEncoding,
    estimate,
)
from discreet.mechanisms import BlockMechanism
from laws import SIZES, Case, cases, over
from packing import each

FEW = {name: SIZES[name] for name in ("1of7", "3of7", "5of5")}
MORE = {name: SIZES[name] for name in ("12of40", "40of40")}
some = over(cases(FEW, (1.0, 3.0)))
larger = over(cases(MORE, (3.0,)))


def made(mechanism: BlockMechanism, n: int = 1500, seed: int = 6) -> Reports:
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.full(mechanism.domain.size, 0.5))
    return mechanism.obfuscate_codes(random.choice(mechanism.domain.size, n, p=p), random=SeededRandom(seed))


def dense(mechanism: BlockMechanism, reports: Reports) -> Any:
    """``(n, |X|)``: how likely each report is from each value, up to a factor per report.

    From S and pi: a block is (s + (1 - s) pi) / ((1 - s) pi) times likelier for what it contains.
    """
    domain = mechanism.domain
    s, pi = mechanism.threshold / 2**64, float(mechanism.law.inclusion)
    contained = mechanism.law.contains(reports.blocks)
    if mechanism.clear_blocks:
        contained = contained[~reports.in_clear]
    rows = np.ones((reports.n, domain.size))
    unknown = np.ones(reports.n, dtype=bool) if reports.in_clear is None else ~reports.in_clear
    rows[np.ix_(unknown, domain.sensitive)] += s / ((1 - s) * pi) * contained
    rows[~unknown] = np.eye(domain.size)[reports.clear.astype(int)]
    return rows


def log_likelihood(rows: Any, p: Any) -> float:
    return float(np.log(np.maximum(rows @ p, 1e-300)).mean())


def certificate(rows: Any, p: Any) -> float:
    return float((rows / (rows @ p)[:, None]).mean(axis=0).max() - 1)


@some
@each("tolerance", [1e-3, 1e-7])
def test_mle_is_certified_by_the_channel(case: Case, tolerance: float) -> None:
    reports = made(case.mechanism)
    found = estimate(case.mechanism, reports, method="mle", tolerance=tolerance)
    rows, p = dense(case.mechanism, reports), found.frequencies
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert 0 <= found.gap <= tolerance
    assert certificate(rows, p) <= tolerance + 1e-10
    random, best = np.random.default_rng(7), log_likelihood(rows, p)
    for concentration in (0.1, 1.0, 10.0):
        for other in random.dirichlet(np.full(len(p), concentration), 5):
            near = 0.98 * p + 0.02 * other
            assert max(log_likelihood(rows, other), log_likelihood(rows, near)) <= best + found.gap + 1e-12


@larger
def test_mle_is_certified_where_there_are_more_values(case: Case) -> None:
    reports = made(case.mechanism, 4000)
    found = estimate(case.mechanism, reports, method="mle", tolerance=1e-6)
    assert certificate(dense(case.mechanism, reports), found.frequencies) <= 1e-6 + 1e-10


COUNTED = [
    RandomizedResponse,
    partial(SubsetSelection, k=1),
    HadamardResponse,
    partial(TranslateResponse, modulus=7, base=(1, 2, 4)),
]


@each("method", ["mle", "em"])
@each("build", COUNTED)
def test_where_each_block_is_counted_a_tally_is_enough(build: Any, method: str) -> None:
    mechanism = build(Domain(range(6), sensitive=[0, 3, 4]), 1.0)
    reports = made(mechanism)
    found, wanted = (estimate(mechanism, data, method=method) for data in (mechanism.tally(reports), reports))
    assert (found.frequencies == wanted.frequencies).all()
    assert (found.standard_errors == wanted.standard_errors).all()
    assert found.gap == wanted.gap
    _, seen = np.unique(np.column_stack(list(reports.blocks.values())), axis=0, return_counts=True)
    assert sorted(seen) == sorted(count for count in mechanism.tally(reports).support if count)


@over(cases({"3of7": SIZES["3of7"]}, (3.0,)))
def test_em_is_plain_em_from_the_thresholds(case: Case) -> None:
    reports = made(case.mechanism, 600)
    rows = dense(case.mechanism, reports)
    p = estimate(case.mechanism, reports, method="threshold").frequencies
    p, iterations, moved = p / p.sum(), 0, np.inf
    while moved > 3e-4:
        after = p * (rows / (rows @ p)[:, None]).mean(axis=0)
        moved, gap = abs(after - p).sum(), certificate(rows, p)
        p, iterations = after, iterations + 1
    found = estimate(case.mechanism, reports, method="em")
    np.testing.assert_allclose(found.frequencies, p, rtol=1e-9, atol=1e-13)
    assert found.passes == iterations
    assert found.gap == pytest.approx(max(gap, 0), abs=1e-9)


def test_em_starts_from_the_level_that_is_given() -> None:
    mechanism = UnaryEncoding(Domain(range(12)), 1.0)
    reports = made(mechanism, 400)
    ends = [estimate(mechanism, reports, method="em", significance=level).frequencies for level in (1e-9, 0.05, 0.999)]
    assert abs(ends[0] - ends[1]).max() > 1e-4
    assert abs(ends[1] - ends[2]).max() > 1e-4


def test_where_nothing_is_sensitive_the_shares_are_the_maximum() -> None:
    domain = Domain(range(4), sensitive=[], allow_unprotected=True)
    for build in (RandomizedResponse, UnaryEncoding, HadamardResponse):
        mechanism = build(domain, 1.0)
        reports = mechanism.obfuscate_codes([0, 0, 1, 3], random=SeededRandom(0))
        for method in ("mle", "em"):
            found = estimate(mechanism, reports, method=method)
            assert found.frequencies.tolist() == [0.5, 0.25, 0, 0.25]
            assert found.gap == 0


# An explicit channel: the same likelihood, with a = 0


def test_what_no_kept_value_could_cause_is_estimated_all_the_same() -> None:
    """EM starts from thresholded estimates, under which an output that was seen may be impossible."""
    channel = Channel([[0.98, 0.02, 0.0], [0.01, 0.99, 0.0], [0.2, 0.2, 0.6]])
    tally = Tally(channel.fingerprint, 1001, np.array([980, 20, 1]), np.zeros(0, dtype=np.int64))
    for method in ("em", "mle"):
        found = estimate(channel, tally, method=method)
        assert np.isfinite(found.frequencies).all()
        assert found.frequencies[2] > 0


def test_mle_of_a_channel_does_not_depend_on_rounding() -> None:
    """Another order of the outputs rounds sums in another way, as another processor does."""
    random = np.random.default_rng(5)
    matrix = 0.7 * random.dirichlet(np.full(40, 0.3), size=30) + 0.3 / 40
    matrix /= matrix.sum(axis=1, keepdims=True)
    order, channel = random.permutation(40), Channel(matrix)
    other = Channel(np.ascontiguousarray(matrix[:, order]))
    codes = random.choice(30, 20_000, p=random.dirichlet(np.full(30, 0.3)))
    tally = channel.tally(channel.obfuscate_codes(codes, random=SeededRandom(1)))
    moved = Tally(other.fingerprint, tally.n, tally.support[order], tally.clear)
    assert estimate(other, moved, method="mle").frequencies == pytest.approx(
        estimate(channel, tally, method="mle").frequencies, abs=1e-9
    )
