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
    assert message.startswith("1 of 300 values are missing (first at row 7)")
    assert not list(empty.iterdir())
