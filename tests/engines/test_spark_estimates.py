"""Estimates on a cluster: those of one machine, and nothing as long as the reports on the driver."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collectors import PLANS
from sealed_folders import EPOCHS, N, sealed_of

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.engines import spark as engine
from discreet.engines.spark import SparkEngine, likelihood
from discreet.errors import DataError, ParameterError
from discreet.estimators import estimate, likelihood_methods
from discreet.estimators.likelihood import LocalRows, RowSums
from discreet.estimators.likelihood_methods import _likelihood
from discreet.estimators.linear import LinearStart
from discreet.formats.reports import write_reports
from discreet.formats.tallies import write_tally
from discreet.mechanisms import Channel, HadamardResponse, UnaryEncoding
from discreet.mechanisms.block_law import StoredBlocks
from json_rows import columns
from laws import MEDIUM, cases, sampled
from refusals import refused

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KINDS = ("unary-clear-bits", "hashing", "unary-per-value")


def spread(folder: Path, mechanism: Any, reports: Any, each: int = 1100) -> Path:
    folder.mkdir()
    for place, start in enumerate(range(0, reports.n, each)):
        write_reports(folder / f"{place}.parquet", mechanism, reports.part(start, start + each))
    return folder


@pytest.mark.parametrize("builder", KINDS)
def test_sums_over_rows_are_those_of_one_machine(spark: Any, tmp_path: Path, builder: str) -> None:
    case = next(case for case in cases(MEDIUM, (2.0,)) if case.sizes == "12of40" and case.builder == builder)
    mechanism, reports = case.mechanism, sampled(case)
    data, left_out = SparkEngine(spark).evidence(mechanism, spread(tmp_path / "reports", mechanism, reports))
    assert isinstance(data, StoredBlocks)
    assert (data.tally.n, left_out) == (3001, {})
    here, there = (_likelihood(LinearStart.of(mechanism, some), "mle") for some in (reports, data))
    assert here.reports == there.reports
    ours, theirs = here.rows_of(here), there.rows_of(there)
    rng = np.random.default_rng(3)
    point = rng.dirichlet(np.ones(12))
    close(ours.evaluate(point), theirs.evaluate(point))
    (sums, unit), (others, one) = ours.curvature(), theirs.curvature()
    assert unit * sums.inside == pytest.approx(one * others.inside, rel=1e-12)
    step = rng.dirichlet(np.ones(12)) - point
    ours.set_direction(step)
    theirs.set_direction(step)
    for length in (0.3, 0.7):
        assert theirs.slope(length) == pytest.approx(ours.slope(length), rel=1e-10)
    jobs = theirs.passes
    close(ours.advance(0.3, whole=True), theirs.advance(0.3, whole=True))
    assert theirs.passes == jobs
    # At a length that nobody tried there is nothing to remember.
    ours.set_direction(-step)
    theirs.set_direction(-step)
    close(ours.advance(0.1, whole=True), theirs.advance(0.1, whole=True))


def close(left: RowSums, right: RowSums) -> None:
    assert right.everywhere == pytest.approx(left.everywhere, rel=1e-12)
    assert right.inside == pytest.approx(left.inside, rel=1e-12)


@pytest.mark.parametrize("method", ["mle", "em"])
def test_the_estimates_are_those_of_one_machine(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    # Stopped early, or expectation maximisation would go through the reports a hundred times.
    monkeypatch.setattr(likelihood_methods, "EM_CHANGE", 0.1)
    case = next(case for case in cases(MEDIUM, (2.0,)) if case.sizes == "12of40" and case.builder == "unary")
    mechanism, reports = case.mechanism, sampled(case)
    data, _ = SparkEngine(spark).evidence(mechanism, spread(tmp_path / "reports", mechanism, reports))
    ours, theirs = (estimate(mechanism, some, method=method) for some in (reports, data))
    assert theirs.frequencies == pytest.approx(ours.frequencies, abs=1e-12)
    assert theirs.standard_errors == pytest.approx(ours.standard_errors, abs=1e-10)
    assert theirs.gap == pytest.approx(ours.gap, abs=1e-12)
    # From the gradient that certifies the gap: no block comes here for them.
    np.testing.assert_allclose(theirs.limits(), ours.limits(), rtol=1e-8, atol=1e-12)


def test_frames_and_many_small_matrices(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = UnaryEncoding(Domain(range(70), sensitive=list(range(45))), 2.0)
    values = spark.range(0, 9000, 1, 3).selectExpr("CAST(pow(id % 97, 2) % 70 AS int) AS value")
    drawn = engine.obfuscate(values, mechanism, "value", seed=3)
    data, _ = SparkEngine(spark).evidence(mechanism, drawn)
    rows = drawn.toArrow()
    from discreet.mechanisms.report_tables import sift_untyped

    reports, _ = sift_untyped(mechanism, rows.combine_chunks().to_batches()[0], simulated=True)
    expected = estimate(mechanism, reports, method="mle", tolerance=1e-3)
    found = estimate(mechanism, data, method="mle", tolerance=1e-3)
    assert found.frequencies == pytest.approx(expected.frequencies, abs=1e-12)
    # Laid out here in many matrices, as the executors do with more reports.
    monkeypatch.setattr(likelihood, "_BYTES", 1)
    layout = likelihood._Layout(mechanism)
    blocks = mechanism.blocks_of_unknown(reports)
    laid = [*layout.add(blocks), *layout.rest()]
    assert len(laid) == -(-len(blocks["bits"]) // 1024)
    matrices = [likelihood._unpacked(mechanism.law, row["entries"][0].as_py()) for row in laid]
    weights = np.random.default_rng(1).random(45)
    whole = mechanism.law.membership(blocks).dot(weights)
    assert np.concatenate([matrix.dot(weights) for matrix in matrices]) == pytest.approx(whole)


def test_a_step_is_mostly_one_job(spark: Any) -> None:
    mechanism = UnaryEncoding(Domain(range(60)), 1.5)
    codes = np.random.default_rng(1).choice(60, 4000, p=np.arange(60, 0, -1) / 1830)
    reports = mechanism.obfuscate_codes(codes, random=SeededRandom(2))
    data, _ = SparkEngine(spark).evidence(mechanism, _frame(spark, mechanism, reports))
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("mle", "mle")
    found = estimate(mechanism, data, method="mle", tolerance=1e-4)
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    jobs = len(tracker.getJobIdsForGroup("mle"))
    assert found.passes is not None
    # Adaptive execution may split a job in two where it has shuffled.
    assert jobs <= 2 * found.passes
    assert found.passes <= 2.0 * estimate(mechanism, reports, method="mle", tolerance=1e-4).passes + 3


def _frame(spark: Any, mechanism: Any, reports: Any) -> Any:
    from discreet.engines.spark.frames import to_spark

    return spark.createDataFrame(to_spark(mechanism, reports).to_pandas())


def test_where_a_tally_says_all_nobody_is_asked_again(spark: Any) -> None:
    mechanism = HadamardResponse(Domain(range(60)), 1.5)
    reports = mechanism.obfuscate_codes(np.arange(600) % 60, random=SeededRandom(2))
    data, _ = SparkEngine(spark).evidence(mechanism, _frame(spark, mechanism, reports))
    start = LinearStart.of(mechanism, data)
    assert start.evidence.rows_of is None
    # Blocks that came more than once are counted as often, wherever they are summed.
    likelihood, point = _likelihood(start, "mle"), np.random.default_rng(1).dirichlet(np.ones(60))
    close(LocalRows(likelihood).evaluate(point), data.rows_of(likelihood).evaluate(point))


def test_what_has_no_blocks_to_keep(spark: Any, tmp_path: Path) -> None:
    channel = Channel(np.full((3, 3), 0.2) + 0.4 * np.eye(3), Domain(["a", "b", "c"]))
    reports = channel.obfuscate_codes(np.arange(3), random=SeededRandom(1))
    write_reports(tmp_path / "r.parquet", channel, reports)
    refused(ParameterError, lambda: SparkEngine(spark).evidence(channel, tmp_path))
    mechanism = UnaryEncoding(Domain(range(9)), 1.0)
    made = mechanism.obfuscate_codes(np.arange(9), random=SeededRandom(1))
    write_tally(tmp_path / "t.tally.parquet", mechanism.tally(made))
    alone, _ = SparkEngine(spark).evidence(mechanism, tmp_path / "t.tally.parquet")
    assert alone.n == 9
    write_reports(tmp_path / "u.parquet", mechanism, made)
    both = [tmp_path / "t.tally.parquet", tmp_path / "u.parquet"]
    assert "mixed" in refused(ParameterError, lambda: SparkEngine(spark).evidence(mechanism, both))
    bad = _frame(spark, mechanism, made).selectExpr("substring(bits, 1, 1) AS bits", "plan")
    assert "9 of 9 rows" in refused(DataError, lambda: SparkEngine(spark).evidence(mechanism, bad))


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_tallies_and_estimates_are_those_of_one_machine(spark: Any, tmp_path: Path, plan: str) -> None:
    """By the library's engine; and by Spark alone, to which plan and mark are then said by hand."""
    sealed = sealed_of(tmp_path, plan)
    found = SparkEngine(spark).tally(sealed.mechanism, sealed.place)
    assert (found.tally, found.left_out) == (sealed.tally, {})
    linear = estimate(sealed.mechanism, found.tally, method="linear")
    assert linear.frequencies.tolist() == columns(sealed.estimated())["frequency"]
    # What Spark reads by itself passes over underscored names too: each report once, and no tally.
    read = spark.read.parquet(str(sealed.place))
    marked = read.selectExpr("*", f"'{sealed.mechanism.fingerprint}' AS plan", "false AS simulated")
    assert SparkEngine(spark).tally(sealed.mechanism, marked).tally == sealed.tally
    assert sealed.tally.n == EPOCHS * N


def test_the_likeliest_distribution_is_that_of_one_machine(spark: Any, tmp_path: Path) -> None:
    sealed = sealed_of(tmp_path, "unary")
    gathered, _ = SparkEngine(spark).evidence(sealed.mechanism, sealed.place)
    found = estimate(sealed.mechanism, gathered, method="mle")
    # Sums over executors have an order of their own.
    assert found.frequencies == pytest.approx(columns(sealed.estimated("mle"))["frequency"], abs=1e-12)
