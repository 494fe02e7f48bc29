"""The one-step estimate: what it equals, where it falls back, its covariance, and whether it covers."""

import numpy as np
import pytest
from scipy.stats import binom

from discreet import (
    Domain,
    HadamardResponse,
    RandomizedResponse,
    SeededRandom,
    UnaryEncoding,
    estimate,
)
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.likelihood_ratios import BlockRatios, OutputRatios
from discreet.results.one_step import OneStep, one_step
from discreet.results.sums import Sums

P = np.array([0.35, 0.25, 0.2, 0.1, 0.1, 0.0])


def ratios_of(mechanism: LawMechanism | UnaryEncoding, f: np.ndarray) -> BlockRatios:
    sensitive = mechanism.domain.sensitive
    truth = mechanism.coefficients.truth
    return BlockRatios(mechanism.law, truth, mechanism.contrast, f[sensitive], float(f[~sensitive].sum()))


@pytest.mark.parametrize("build", [UnaryEncoding, HadamardResponse], ids=lambda one: one.__name__)
def test_ratios_of_blocks_are_those_of_the_spelled_out_channel(build: type) -> None:
    """Every block with its probability under f, and the moments of the contributions of reports."""
    domain = Domain(range(6), sensitive=[0, 1, 2, 5])
    mechanism = build(domain, 1.5)
    whole = np.append(P[domain.sensitive], P[~domain.sensitive])
    found = one_step(ratios_of(mechanism, P), np.ones(5), 100)
    # Values in clear as one: their rows of the channel, mixed.
    matrix = mechanism.channel().matrix
    rest = P[~domain.sensitive] @ matrix[~domain.sensitive] / P[~domain.sensitive].sum()
    point = np.append(P[domain.sensitive], whole[4:].sum())
    wanted = one_step(OutputRatios(np.vstack([matrix[domain.sensitive], rest]), point), np.ones(5), 100)
    assert found is not None
    assert wanted is not None
    for name in ("inverse", "moments", "estimates"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-9)


def test_blocks_that_are_drawn_tell_nearly_what_all_tell() -> None:
    """20 bits have a million strings: 10,000 are drawn, one for as many of each value as it sends."""
    domain = Domain(range(20), sensitive=range(18))
    mechanism = UnaryEncoding(domain, 4.0)
    p = np.arange(20, 0, -1) / 210
    step = one_step(ratios_of(mechanism, p), np.ones(19), 1000)
    assert step is not None
    point = np.append(p[:18], p[18:].sum())
    # J f = 1 up to what M = 10,000 draws leave open, v/M of each other.
    np.testing.assert_allclose(np.linalg.solve(step.inverse, point), 1, atol=0.05)
    linear = mechanism.decoder.variances(1, p)[:18]
    assert ((np.diagonal(step.covariance)[:18] / linear) < 0.9).all()
    np.testing.assert_allclose(step.moments[0, 0, :18] - point[:18] ** 2, np.diagonal(step.covariance)[:18], rtol=0.05)


def reports_of(mechanism: UnaryEncoding, n: int, seed: int) -> object:
    codes = np.random.default_rng(seed).choice(len(P), n, p=P)
    return mechanism.obfuscate_codes(codes, random=SeededRandom(seed))


def test_one_step_from_anywhere_near_is_the_same_estimate() -> None:
    """mle and em start from points of their own and state nearly the same; values in clear keep their counts'."""
    mechanism = UnaryEncoding(Domain(range(6), sensitive=[0, 1, 2, 5]), 4.0)
    reports = reports_of(mechanism, 3000, 1)
    linear, mle, em = (estimate(mechanism, reports, method=method) for method in ("linear", "mle", "em"))
    width = mle.standard_errors
    assert (np.abs(mle.centre - em.centre) < 0.01 * width).all()
    assert not mle.contradicted().any()
    for found in (mle, em):
        np.testing.assert_array_equal(np.array(found.limits())[:, 3:5], np.array(linear.limits())[:, 3:5])
    narrow, wide = (np.subtract(*found.limits()[::-1]) for found in (mle, linear))
    assert (narrow[:3] < 0.97 * wide[:3]).all()
    # The gradient of the certificate: the mean of the likelihood ratios over the reports themselves.
    told = reports.in_clear.sum() / 3000
    contained = mechanism.law.contains(reports.blocks)
    f = mle.frequencies[[0, 1, 2, 5]]
    q = 1 + mechanism.contrast * contained @ f
    wanted = ((1 + mechanism.contrast * contained) / q[:, None]).sum(axis=0) / 3000
    rest = float(mle.frequencies[3:5].sum())
    wanted = np.append(wanted, (1 / q).sum() / 3000 + told / rest)
    step = mle.uncertainty.known_law.contributions.step
    np.testing.assert_allclose(step.estimates, step.point + step.inverse @ (wanted - 1), rtol=1e-9)


def test_single_values_and_many_values_keep_the_tallys_intervals() -> None:
    for mechanism, n in [
        (RandomizedResponse(Domain(range(6)), 1.0), 300),
        (HadamardResponse(Domain(range(1001)), 3.0), 60),
    ]:
        reports = reports_of(mechanism, n, 3)
        linear, mle = (estimate(mechanism, reports, method=method) for method in ("linear", "mle"))
        np.testing.assert_array_equal(mle.limits(), linear.limits())
        assert mle.remark == ""


def test_values_that_blocks_do_not_tell_apart_have_the_tallys_intervals() -> None:
    """With so small an epsilon hardly any report tells the truth, and the information matrix is singular."""
    mechanism = HadamardResponse(Domain(range(12)), 1e-9)
    reports = mechanism.obfuscate_codes(np.arange(600) % 12, random=SeededRandom(4))
    linear, mle = (estimate(mechanism, reports, method=method) for method in ("linear", "mle"))
    np.testing.assert_array_equal(mle.limits(), linear.limits())
    assert mle.remark == "The blocks do not distinguish all values, so intervals come from the tally."
    assert mle.remark in repr(mle)
    assert linear.remark == ""


def test_the_covariance_of_sums() -> None:
    """Against the dense matrix, where counts in clear share the rest."""
    mechanism = UnaryEncoding(Domain(range(6), sensitive=[0, 1, 2, 5]), 2.0)
    reports = reports_of(mechanism, 2000, 6)
    found = estimate(mechanism, reports, method="mle")
    law = found.uncertainty.known_law
    step: OneStep = law.contributions.step
    tally = mechanism.tally(reports)
    h = tally.clear / tally.clear_total
    lift = np.zeros((6, 5))
    lift[[0, 1, 2, 5], :4] = np.eye(4)
    lift[[3, 4], 4] = h
    rest = step.estimates[4]
    dense = lift @ step.covariance @ lift.T / step.n
    dense[np.ix_([3, 4], [3, 4])] += rest**2 / tally.clear_total * (np.diag(h) - np.outer(h, h))
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diagonal(dense)), rtol=1e-9)
    np.testing.assert_allclose(found.covariance(), dense, rtol=0.05, atol=1e-6)
    # And the moments of sums are those of the reports that are drawn for them.
    members = np.array([[1.0, 0, 0, 1, 0, 0], [0, 1, 1, 0, 0, 1]])
    sums = Sums.of(law, members)
    np.testing.assert_allclose(sums.plausible, np.diag(members @ law.between(np.eye(6)) @ members.T), rtol=0.02)


def test_one_step_intervals_cover_and_are_shorter() -> None:
    """200 runs of 8 values: the mean of 1,600 hits, were they one in two of one run alone, has an error of 0.8%."""
    p = 1 / np.arange(1, 9)
    p /= p.sum()
    mechanism, source, values = UnaryEncoding(Domain(range(8)), 4.0), SeededRandom(7), np.random.default_rng(7)
    runs, inside, widths = 200, np.zeros(8), np.zeros(2)
    for _ in range(runs):
        reports = mechanism.obfuscate_codes(values.choice(8, 1000, p=p), random=source)
        low, high = estimate(mechanism, reports, method="mle").interval()
        below, above = estimate(mechanism, reports).interval()
        inside += (low <= p) & (p <= high)
        widths += [(high - low).mean(), (above - below).mean()]
    assert binom.ppf(1e-9, runs, 0.94) <= inside.min()
    assert 0.92 < inside.mean() / runs < 0.98
    assert widths[0] < 0.9 * widths[1]


def test_a_corner_of_the_simplex() -> None:
    """Where the estimate puts nearly everybody on one value, the others' reports still say how sure that is."""
    p = np.array([12, 6, 4, 3]) / 25
    mechanism, source, values = UnaryEncoding(Domain(range(4)), 0.1), SeededRandom(8), np.random.default_rng(8)
    runs, corners, inside, together = 100, 0, np.zeros(4), 0
    for _ in range(runs):
        found = estimate(mechanism, mechanism.obfuscate_codes(values.choice(4, 300, p=p), random=source), method="mle")
        corners += found.frequencies.max() > 1 - 1 / 300
        (low, high), (lowest, highest) = found.interval(), found.interval(simultaneous=True)
        inside += (low <= p) & (p <= high)
        together += ((lowest <= p) & (p <= highest)).all()
    assert corners > runs / 5
    assert inside.min() >= binom.ppf(1e-4, runs, 0.95)
    assert together >= binom.ppf(1e-4, runs, 0.95)
