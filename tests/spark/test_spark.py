"""A cluster of processes: the answers of one machine, to the last digit, or one sentence."""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
import discreet.formats.scanned as reading
from discreet import (
    Channel,
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    Reports,
    SeededRandom,
    Sources,
    Tally,
    UnaryEncoding,
    estimate,
    write_reports,
)
from discreet import spark as engine
from discreet.engines import Engine, LocalEngine, tally
from discreet.errors import (
    DataError,
    MismatchError,
    OutputExistsError,
    ParameterError,
)
from discreet.estimators import em
from discreet.formats.sealed_files import check_sealed
from discreet.formats.tallies import write_tally
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.mechanisms.report_tables import to_arrow
from discreet.spark import SparkEngine, frames, running
from discreet.tables.values import ValueColumns
from laws import MEDIUM, Case, cases, sampled
from object_store import object_store
from refusals import refused
from reports_beside import write_beside

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SYMBOLS = RandomizedResponse(Domain(range(70), sensitive=list(range(45))), 1.0)
BITS = UnaryEncoding(Domain(range(70), sensitive=list(range(45))), 1.0)


def same(left: Tally, right: Tally) -> bool:
    marks = (left.fingerprint, left.n, left.simulated) == (right.fingerprint, right.n, right.simulated)
    counts = np.array_equal(left.support, right.support) and np.array_equal(left.clear, right.clear)
    return marks and counts


def made(mechanism: Any, n: int, seed: int = 3) -> Reports:
    codes = np.random.default_rng(seed).integers(0, mechanism.domain.size, n)
    return mechanism.obfuscate_codes(codes, random=SeededRandom(seed))


def folder_of(path: Path, mechanism: Any, reports: Reports, each: int = 1001) -> Path:
    path.mkdir()
    for place, start in enumerate(range(0, reports.n, each)):
        ending = ("parquet", "arrow", "jsonl")[place % 3]
        write_reports(path / f"{place}.{ending}", mechanism, reports.part(start, start + each))
    return path


def rows(spark: Any, mechanism: Any, columns: dict[str, list[Any]], types: str, plan: str | None = None) -> Any:
    """Make a frame of reports by hand."""
    whole = {**columns, "plan": [plan or mechanism.fingerprint] * len(next(iter(columns.values())))}
    return spark.createDataFrame(list(zip(*whole.values(), strict=True)), f"{types}, plan string")


# What differs from another builder in parameters alone takes the same way.
WAYS = {
    "rr",
    "unary",
    "unary-clear-bits",
    "subset",
    "hashing",
    "hadamard",
    "projective",
    "translates",
    "design",
    "windows",
}
# Reports that are columns of another type.
TYPES = ("rr", "unary", "subset", "hashing", "hadamard")


def test_every_mechanism_gives_the_tally_of_one_machine(spark: Any, tmp_path: Path) -> None:
    mechanisms = {name: Case(name, "12of40", 1.0).mechanism for name in sorted(WAYS)}
    reports = {name: sampled(Case(name, "12of40", 1.0)) for name in mechanisms}
    assert {type(mechanism) for mechanism in mechanisms.values()} == set(BLOCK_MECHANISMS.values())
    channel = Channel(np.full((3, 3), 0.2) + 0.4 * np.eye(3), Domain(["a", "b", "c"]))
    for name, mechanism in {**mechanisms, "channel": channel}.items():
        folder = folder_of(tmp_path / name, mechanism, reports[name] if name in reports else made(channel, 3001))
        expected = tally(mechanism, folder).tally
        assert expected.n == 3001
        assert same(SparkEngine(spark).tally(mechanism, folder).tally, expected), name
        if name in {*TYPES, "channel"}:
            frame = engine.read_reports(spark, mechanism, folder)
            assert same(SparkEngine(spark).tally(mechanism, frame).tally, expected), name


def test_tallies_many_blocks_and_no_reports(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = RandomizedResponse(Domain(range(3 * running.WIDTH + 17)), 1.0)
    reports = made(large, 20_000)
    write_reports(tmp_path / "r.parquet", large, [reports.part(0, 9000), reports.part(9000, 20_000)])
    write_tally(tmp_path / "t.tally.parquet", large.tally(reports[:5000]))
    write_reports(tmp_path / "none.parquet", large, reports.part(0, 0))
    monkeypatch.setattr(reading, "PART_ROWS", 4000)
    found = SparkEngine(spark).tally(large, tmp_path)
    assert same(found.tally, tally(large, tmp_path).tally)
    assert found.tally.n == 25_000
    assert found.left_out == {}
    nothing = SparkEngine(spark).tally(large, engine.read_reports(spark, large, tmp_path / "none.parquet")).tally
    assert nothing.n == 0
    # Fetched piece by piece, as very long vectors are.
    monkeypatch.setattr(running, "BYTES_AT_ONCE", 0)
    assert same(SparkEngine(spark).tally(large, tmp_path).tally, found.tally)


def test_reports_that_are_there_twice(spark: Any, tmp_path: Path) -> None:
    folder, region, cluster = tmp_path / "in", pa.table({"region": ["north"] * 900}), SparkEngine(spark)
    folder.mkdir()
    mechanism = BITS
    reports = made(mechanism, 900)
    write_beside(folder / "a.parquet", mechanism, [(reports, region)], region.schema, force=True)
    shutil.copy(folder / "a.parquet", folder / "b.parquet")
    sealed = tmp_path / f"{mechanism.fingerprint}.parquet"
    ways: list[Callable[[Path], Any]] = [
        lambda named: cluster.tally(mechanism, named),
        lambda named: cluster.tally_by(mechanism, named, "region"),
        lambda named: cluster.evidence(mechanism, named),
        lambda named: cluster.seal(mechanism, named, sealed),
    ]
    for way in ways:
        said = refused(DataError, lambda way=way: way(folder))
        assert f"but 1,800 were found in {folder / 'a.parquet'} and {folder / 'b.parquet'}. " in said
    ways[-1](folder / "a.parquet")
    found = cluster.tally(mechanism, sealed).tally
    assert same(found, tally(mechanism, sealed).tally)
    assert found.batches == tally(mechanism, folder / "a.parquet").tally.batches
    assert [batch.n for batch in found.batches] == [900]
    observed, _ = cluster.evidence(mechanism, sealed)
    assert same(observed.tally, found)
    assert observed.tally.batches == found.batches


def test_bad_rows_are_counted_by_reason(spark: Any) -> None:
    good: list[tuple[Any, Any]] = [(60, None), (None, 3)] * 50
    bad: list[tuple[Any, Any]] = [(None, None), (60, 3), (None, 45), (None, -1), (70, None), (-3, None), (2, None)]
    clear, symbol = zip(*good, *bad, strict=True)
    frame = rows(spark, SYMBOLS, {"clear": clear, "symbol": symbol}, "clear int, symbol long").repartition(3)
    found = SparkEngine(spark).tally(SYMBOLS, Sources(frame, bad_share=0.1))
    assert (found.tally.n, found.bad) == (100, 7)
    assert sorted(found.left_out.values()) == [1, 1, 1, 2, 2]
    assert found.tally.support[3] == 50
    message = refused(DataError, lambda: SparkEngine(spark).tally(SYMBOLS, frame))
    assert message.startswith("7 of 107 rows are not reports of this plan")
    refused(ParameterError, lambda: SparkEngine(spark).tally(SYMBOLS, Sources(frame, bad_share=2)))


def test_a_killed_executor_counts_nothing_twice(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_TASK_BYTES", 1)
    reports = made(SYMBOLS, 12_000)
    folder = tmp_path / "reports"
    folder.mkdir()
    for place in range(12):
        write_reports(folder / f"{place:02}.parquet", SYMBOLS, reports.part(place * 1000, (place + 1) * 1000))
    marker = tmp_path / "killed"

    def kill_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        for batch in batches:
            yield batch.slice(0, 400)
            # Tasks before this one are done, and this one has handed out rows already.
            if TaskContext.get().partitionId() == 7 and not marker.exists():
                status = Path(f"/proc/{os.getppid()}/status").read_text()
                executor = int(status.split("PPid:")[1].split()[0])
                marker.write_bytes(Path(f"/proc/{executor}/cmdline").read_bytes())
                os.kill(executor, signal.SIGKILL)
            yield batch.slice(400)

    frame = engine.read_reports(spark, SYMBOLS, folder)
    found = SparkEngine(spark).tally(SYMBOLS, frame.mapInArrow(kill_once, frame.schema)).tally
    assert "CoarseGrainedExecutorBackend" in marker.read_text()
    assert same(found, SYMBOLS.tally(reports))


def test_columns_are_obfuscated_once(spark: Any) -> None:
    mechanism = LocalHashing(Domain(range(1_000_000)), 1.0)
    values = spark.range(0, 4000, 1, 8).selectExpr("7 AS value", "id AS person")
    drawn = engine.obfuscate(values, mechanism, "value", keep=["person"])
    assert drawn.columns == ["alpha", "beta", "bucket", "plan", "simulated", "person"]
    first = {row.person: (row.alpha, row.beta, row.bucket) for row in drawn.collect()}
    assert first == {row.person: (row.alpha, row.beta, row.bucket) for row in drawn.collect()}
    # Every partition has words of its own: as long as these are alike, no two of them share even a few rows.
    streams = [tuple(first[person][:2] for person in range(start, start + 20)) for start in range(0, 4000, 500)]
    assert len(set(streams)) == 8
    assert max(Counter(first.values()).values()) == 1
    counted = SparkEngine(spark).tally(mechanism, drawn).tally
    assert (counted.n, counted.simulated) == (4000, False)
    assert mechanism.decoder.estimate(counted)[7] == pytest.approx(1.0, abs=0.25)


def test_a_seed_repeats_itself_and_is_marked(spark: Any) -> None:
    values = spark.range(0, 3000, 1, 4).selectExpr("CAST(id % 70 AS int) AS value")
    twice = [SparkEngine(spark).tally(BITS, engine.obfuscate(values, BITS, "value", seed=5)).tally for _ in range(2)]
    assert same(*twice)
    assert twice[0].simulated
    other = SparkEngine(spark).tally(BITS, engine.obfuscate(values, BITS, "value", seed=6)).tally
    assert not np.array_equal(other.support, twice[0].support)
    column = HadamardResponse(Domain(range(70)), 1.0)
    parts = engine.obfuscate(spark.range(0, 400, 1, 2).selectExpr("3 AS value"), column, "value", seed=5).collect()
    assert [row["column"] for row in parts[:200]] != [row["column"] for row in parts[200:]]


def test_what_cannot_be_obfuscated(spark: Any) -> None:
    values = spark.range(0, 100, 1, 3).withColumnRenamed("id", "value")
    message = refused(DataError, lambda: engine.obfuscate(values, BITS, "value"), 99)
    assert "are not in the domain" in message
    assert "other" in refused(DataError, lambda: engine.obfuscate(values, BITS, "other"))
    assert "frame.reserved-columns" in refused(
        ParameterError, lambda: engine.obfuscate(values, BITS, "value", keep=["value"])
    )
    marked = values.selectExpr("value", "value AS plan")
    refused(ParameterError, lambda: engine.obfuscate(marked, BITS, "value", keep=["plan"]))


CHOSEN = dc.SubsetSelection(dc.Domain(range(9)), 1.0)


def value_tables(folder: Path, n: int = 300) -> Path:
    folder.mkdir()
    for day in ("monday", "tuesday"):
        values = [None if row == 7 else row % 9 for row in range(n)]
        pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), folder / f"{day}.parquet")
    return folder


def test_one_face(spark: Any, tmp_path: Path) -> None:
    cluster: Engine = SparkEngine(spark)
    values, target = value_tables(tmp_path / "values"), tmp_path / "reports"
    target.mkdir()
    columns = ValueColumns(CHOSEN.domain, missing="drop")
    found = cluster.obfuscate(CHOSEN, values, target, columns, seed=1)
    assert (found.reports, dict(found.left_out), found.simulated) == (598, {"have no value": 2}, True)
    assert sorted(path.name for path in target.iterdir()) == ["monday.parquet", "tuesday.parquet"]
    local = LocalEngine()
    assert cluster.tally(CHOSEN, target).tally == local.tally(CHOSEN, target).tally
    observed, _ = cluster.evidence(CHOSEN, target)
    here, _ = local.evidence(CHOSEN, target)
    both = [dc.estimate(CHOSEN, data, method="mle").frequencies for data in (observed, here)]
    assert both[0] == pytest.approx(both[1], abs=1e-6)
    frame = engine.read_reports(spark, CHOSEN, target)
    assert cluster.tally(CHOSEN, frame).tally == local.tally(CHOSEN, target).tally
    both = [frame, target]
    assert "cluster.other-table" in refused(ParameterError, lambda: cluster.tally(CHOSEN, both))
    unnamed = Sources(frame.drop("plan"), trust_plan=True)
    assert cluster.tally(CHOSEN, unnamed).tally == local.tally(CHOSEN, target).tally
    assert local.tally(CHOSEN, frame).tally == local.tally(CHOSEN, target).tally
    with pytest.raises(OutputExistsError):
        cluster.obfuscate(CHOSEN, values, target, columns)
    assert "replaces no files" in refused(ParameterError, lambda: cluster.obfuscate(CHOSEN, values, target, force=True))
    empty = tmp_path / "other"
    empty.mkdir()
    message = refused(DataError, lambda: cluster.obfuscate(CHOSEN, values, empty))
    assert "1 of 300 values are missing (first in row 7)" in message
    assert not list(empty.iterdir())


def test_kept_columns_stand_beside_reports_of_both_engines(spark: Any, tmp_path: Path) -> None:
    cluster, local = SparkEngine(spark), LocalEngine()
    columns = ValueColumns(CHOSEN.domain, "x", keep=("day",))
    for day in ("monday", "tuesday"):
        pq.write_table(pa.table({"x": [row % 9 for row in range(90)], "day": [day] * 90}), tmp_path / f"{day}.parquet")
    for name in ("spark", "local"):
        (tmp_path / name).mkdir()
    cluster.obfuscate(CHOSEN, [tmp_path / "monday.parquet", tmp_path / "tuesday.parquet"], tmp_path / "spark", columns)
    local.obfuscate(CHOSEN, tmp_path / "monday.parquet", tmp_path / "local" / "r.arrow", columns)
    for folder in (tmp_path / "spark", tmp_path / "local"):
        assert cluster.tally(CHOSEN, folder).tally == local.tally(CHOSEN, folder).tally
        assert cluster.tally_by(CHOSEN, folder, "day") == local.tally_by(CHOSEN, folder, "day")
        frame = engine.read_reports(spark, CHOSEN, folder)
        assert cluster.tally(CHOSEN, frame).tally == local.tally(CHOSEN, folder).tally


def test_executors_open_urls(spark: Any, tmp_path: Path) -> None:
    cluster, local = SparkEngine(spark), LocalEngine()
    with object_store() as store:
        named = [path for path in value_tables(tmp_path / "values").iterdir() if store.put(path, f"values/{path.name}")]
        assert len(named) == 2
        secret = "somebody:hunter2@"
        (tmp_path / "reports").mkdir()
        columns = ValueColumns(CHOSEN.domain, missing="drop")
        found = cluster.obfuscate(CHOSEN, store.url("values/", secret), tmp_path / "reports", columns, seed=1)
        assert found.reports == 598
        for path in (tmp_path / "reports").iterdir():
            store.put(path, f"reports/{path.name}")
        folder = store.url("reports/", secret)
        expected = local.tally(CHOSEN, tmp_path / "reports").tally
        assert cluster.tally(CHOSEN, folder).tally == expected
        gone = store.url("reports/none.parquet", secret)
        assert "does not exist" in refused(DataError, lambda: cluster.tally(CHOSEN, gone), "hunter2")
        out = refused(ParameterError, lambda: cluster.obfuscate(CHOSEN, tmp_path / "values", folder), "hunter2")
        assert "output.remote" in out
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.pipe("/store/a.parquet", (tmp_path / "reports" / "monday.parquet").read_bytes())
    assert "file.not-shared" in refused(ParameterError, lambda: cluster.tally(CHOSEN, "memory://store/a.parquet"))


PEOPLE = 3000


def test_a_cluster_gives_the_same_groups(spark: Any, tmp_path: Path) -> None:
    mechanism, random = (
        dc.RandomizedResponse(dc.Domain(["flu", "hiv", "none"], sensitive=["hiv"]), 1.0),
        dc.SeededRandom(1),
    )
    table = to_arrow(mechanism, mechanism.obfuscate_codes(np.arange(PEOPLE) % 3, random=random))
    drawn = np.random.default_rng(4)
    table = table.append_column("region", pa.array(drawn.choice(["east", "north", "süd"], PEOPLE).tolist()))
    table = table.append_column("age", pa.array(drawn.integers(0, 40, PEOPLE).tolist()))
    pq.write_table(table.slice(0, 1000), tmp_path / "monday.parquet")
    pq.write_table(table.slice(1000), tmp_path / "tuesday.parquet")
    cluster, by = SparkEngine(spark), ("age", "region")
    found, here = cluster.tally_by(mechanism, tmp_path, by), LocalEngine().tally_by(mechanism, tmp_path, by)
    assert dict(found.items()) == dict(here.items())
    assert len(found) > 50
    with pytest.raises(DataError, match=r"public-column.missing"):
        cluster.tally_by(mechanism, tmp_path, "sex")
    with pytest.raises(ParameterError, match=r"cluster.groups-of-frame"):
        cluster.tally_by(mechanism, spark.range(1), "region")


DOMAIN = dc.Domain(range(300), sensitive=range(200))
COUNTED, SORTED = dc.RandomizedResponse(DOMAIN, 1.0), dc.UnaryEncoding(DOMAIN, 1.0)


@pytest.mark.parametrize("mechanism", [COUNTED, SORTED], ids=["counted", "sorted"])
def test_the_bytes_of_one_machine(spark: Any, mechanism: Any, tmp_path: Path) -> None:
    reports = mechanism.obfuscate_codes(np.arange(900) % 300, random=dc.SeededRandom(4))
    source = tmp_path / "in"
    source.mkdir()
    for place in range(3):
        write_reports(source / f"{place}.parquet", mechanism, reports.part(300 * place, 300 * place + 300))
    cluster: Engine = SparkEngine(spark)
    LocalEngine().seal(mechanism, source, tmp_path / "wanted.parquet")
    found = cluster.seal(mechanism, source, tmp_path / "found.parquet", least=900)
    assert (found.n, found.simulated, found.dropped) == (900, True, ())
    assert (tmp_path / "found.parquet").read_bytes() == (tmp_path / "wanted.parquet").read_bytes()
    assert check_sealed(tmp_path / "found.parquet", mechanism).n == 900
    frame = engine.read_reports(spark, mechanism, source)
    owned = frame.selectExpr("*", "'alice' AS owner")
    # A frame has no batch: the caller names it.
    name = LocalEngine().tally(mechanism, source).tally.batches[0].name
    found = cluster.seal(mechanism, owned, tmp_path / "framed.parquet", name=name)
    assert found.dropped == ("owner",)
    assert (tmp_path / "framed.parquet").read_bytes() == (tmp_path / "wanted.parquet").read_bytes()
    refused(DataError, lambda: cluster.seal(mechanism, source, tmp_path / "none.parquet", least=901))
    table = frame.toArrow()
    refused(ParameterError, lambda: cluster.seal(mechanism, table, tmp_path / "none.parquet"))
    other = type(mechanism)(DOMAIN, 2.0)
    refused(MismatchError, lambda: cluster.seal(other, frame, tmp_path / "none.parquet"))
    assert not (tmp_path / "none.parquet").exists()


# Estimates


def spread(folder: Path, mechanism: Any, reports: Any, each: int = 1100) -> Path:
    folder.mkdir()
    for place, start in enumerate(range(0, reports.n, each)):
        write_reports(folder / f"{place}.parquet", mechanism, reports.part(start, start + each))
    return folder


@pytest.mark.parametrize(
    ("method", "builder"), [("mle", "unary"), ("mle", "hashing"), ("mle", "unary-clear-bits"), ("em", "unary")]
)
def test_the_estimates_are_those_of_one_machine(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, builder: str
) -> None:
    # Stopped early, or expectation maximisation would go through the reports a hundred times.
    monkeypatch.setattr(em, "EM_CHANGE", 0.3)
    case = next(case for case in cases(MEDIUM, (2.0,)) if case.sizes == "12of40" and case.builder == builder)
    mechanism, reports = case.mechanism, sampled(case)
    data, _ = SparkEngine(spark).evidence(mechanism, spread(tmp_path / "reports", mechanism, reports))
    ours, theirs = (estimate(mechanism, some, method=method) for some in (reports, data))
    assert theirs.frequencies == pytest.approx(ours.frequencies, abs=1e-12)
    assert theirs.standard_errors == pytest.approx(ours.standard_errors, abs=1e-10)
    assert theirs.gap == pytest.approx(ours.gap, abs=1e-12)
    # From the gradient that certifies the gap: no block comes here for them.
    np.testing.assert_allclose(theirs.limits(), ours.limits(), rtol=1e-8, atol=1e-12)


# Columns of counts, which have no metadata beside them, and numbers of single precision

YES = dc.RandomizedResponse(dc.Domain(["no", "yes"]), 1.0)


def test_a_frame_of_a_cluster_with_a_column_count_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame(pd.DataFrame({"symbol": [0, 1], "count": [600, 400], "plan": [YES.fingerprint] * 2}))
    for trusted in (False, True):
        sources = Sources(frame, trust_plan=trusted)
        assert "report-table.has-counts" in refused(
            DataError, lambda sources=sources: SparkEngine(spark).tally(YES, sources)
        )
    people = spark.createDataFrame(pd.DataFrame({"answer": ["yes"], "count": [1]}))
    assert "count" in refused(ParameterError, lambda: frames.obfuscate(people, YES, "answer", keep=["count"]))
