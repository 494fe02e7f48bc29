"""Tallies by group on a cluster are those of one machine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.engines import LocalEngine
from discreet.engines.spark import SparkEngine
from discreet.errors import DataError, ParameterError
from discreet.io.arrow import to_arrow

PEOPLE = 3000


@pytest.mark.spark
@pytest.mark.slow
def test_a_cluster_gives_the_same_groups(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

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
    engine, by = SparkEngine(spark), ("age", "region")
    found, here = engine.tally_by(mechanism, tmp_path, by), LocalEngine().tally_by(mechanism, tmp_path, by)
    assert dict(found.items()) == dict(here.items())
    assert len(found) > 50
    with pytest.raises(DataError, match="public column 'sex' once"):
        engine.tally_by(mechanism, tmp_path, "sex")
    with pytest.raises(ParameterError, match="write it as Parquet first"):
        engine.tally_by(mechanism, spark.range(1), "region")
