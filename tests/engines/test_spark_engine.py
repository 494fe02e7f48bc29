"""The engine of a cluster has the face of every engine, and gives the answers of one machine."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines import Engine, LocalEngine
from discreet.engines import spark as cluster
from discreet.errors import DataError, OutputExistsError, ParameterError
from discreet.io.coded_values import ValueColumns
from object_store import object_store
from refusals import refused

MECHANISM = dc.SubsetSelection(dc.Domain(range(9)), 1.0)


def tables(folder: Path, n: int = 300) -> Path:
    folder.mkdir()
    for day in ("monday", "tuesday"):
        values = [None if row == 7 else row % 9 for row in range(n)]
        pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), folder / f"{day}.parquet")
    return folder


@pytest.mark.slow
def test_one_face(spark: Any, tmp_path: Path) -> None:
    engine: Engine = cluster.SparkEngine(spark)
    values, target = tables(tmp_path / "values"), tmp_path / "reports"
    target.mkdir()
    columns = ValueColumns(MECHANISM.domain, drop=True)
    found = engine.obfuscate(MECHANISM, values, target, columns, seed=1)
    assert (found.reports, dict(found.left_out), found.simulated) == (598, {"have no value": 2}, True)
    assert sorted(path.name for path in target.iterdir()) == ["monday.parquet", "tuesday.parquet"]
    local = LocalEngine()
    assert engine.tally(MECHANISM, target).tally == local.tally(MECHANISM, target).tally
    observed, _ = engine.evidence(MECHANISM, target)
    here, _ = local.evidence(MECHANISM, target)
    both = [dc.estimate(MECHANISM, data, method="mle").frequencies for data in (observed, here)]
    assert both[0] == pytest.approx(both[1], abs=1e-6)
    frame = cluster.read_reports(spark, MECHANISM, target)
    assert engine.tally(MECHANISM, frame).tally == local.tally(MECHANISM, target).tally
    assert "must not be set for a frame" in refused(
        ParameterError, lambda: engine.tally(MECHANISM, frame, manifest=True)
    )
    with pytest.raises(OutputExistsError):
        engine.obfuscate(MECHANISM, values, target, columns)
    assert "replaces no files" in refused(
        ParameterError, lambda: engine.obfuscate(MECHANISM, values, target, force=True)
    )
    empty = tmp_path / "other"
    empty.mkdir()
    message = refused(DataError, lambda: engine.obfuscate(MECHANISM, values, empty))
    assert "1 of 300 values are missing (first at row 7)" in message
    assert not list(empty.iterdir())


@pytest.mark.slow
def test_kept_columns_stand_beside_reports_of_both_engines(spark: Any, tmp_path: Path) -> None:
    engine, local = cluster.SparkEngine(spark), LocalEngine()
    columns = ValueColumns(MECHANISM.domain, "x", keep=("day",))
    for day in ("monday", "tuesday"):
        pq.write_table(pa.table({"x": [row % 9 for row in range(90)], "day": [day] * 90}), tmp_path / f"{day}.parquet")
    for name in ("spark", "local"):
        (tmp_path / name).mkdir()
    engine.obfuscate(
        MECHANISM, [tmp_path / "monday.parquet", tmp_path / "tuesday.parquet"], tmp_path / "spark", columns
    )
    local.obfuscate(MECHANISM, tmp_path / "monday.parquet", tmp_path / "local" / "r.arrow", columns)
    for folder in (tmp_path / "spark", tmp_path / "local"):
        assert engine.tally(MECHANISM, folder).tally == local.tally(MECHANISM, folder).tally
        assert engine.tally_by(MECHANISM, folder, "day") == local.tally_by(MECHANISM, folder, "day")
        frame = cluster.read_reports(spark, MECHANISM, folder)
        assert engine.tally(MECHANISM, frame).tally == local.tally(MECHANISM, folder).tally


@pytest.mark.slow
def test_executors_open_urls(spark: Any, tmp_path: Path) -> None:
    engine, local = cluster.SparkEngine(spark), LocalEngine()
    with object_store() as store:
        named = [path for path in tables(tmp_path / "values").iterdir() if store.put(path, f"values/{path.name}")]
        assert len(named) == 2
        secret = "somebody:hunter2@"
        (tmp_path / "reports").mkdir()
        columns = ValueColumns(MECHANISM.domain, drop=True)
        found = engine.obfuscate(MECHANISM, store.url("values/", secret), tmp_path / "reports", columns, seed=1)
        assert found.reports == 598
        for path in (tmp_path / "reports").iterdir():
            store.put(path, f"reports/{path.name}")
        folder = store.url("reports/", secret)
        expected = local.tally(MECHANISM, tmp_path / "reports").tally
        assert engine.tally(MECHANISM, folder).tally == expected
        observed, _ = engine.evidence(MECHANISM, folder)
        assert observed.tally == expected
        frame = cluster.read_reports(spark, MECHANISM, folder)
        assert engine.tally(MECHANISM, frame).tally == expected
        gone = store.url("reports/none.parquet", secret)
        assert "does not exist" in refused(DataError, lambda: engine.tally(MECHANISM, gone), "hunter2")
        out = refused(ParameterError, lambda: engine.obfuscate(MECHANISM, tmp_path / "values", folder), "hunter2")
        assert "are written on this machine" in out
    alone = "memory://store/a.parquet"
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.pipe("/store/a.parquet", (tmp_path / "reports" / "monday.parquet").read_bytes())
    assert "is seen by this process alone" in refused(ParameterError, lambda: engine.tally(MECHANISM, alone))
