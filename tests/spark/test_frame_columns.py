"""Columns of frames of a cluster: counts, which have no metadata beside them, and numbers of single precision."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import discreet as dc
from discreet.errors import DataError, ParameterError
from discreet.formats.sources import Sources
from discreet.spark import SparkEngine, frames
from refusals import refused

MECHANISM = dc.RandomizedResponse(dc.Domain(["no", "yes"]), 1.0)
WHY = "each would be counted as one"
COUNTS = {"symbol": [0, 1], "count": [600, 400]}


def test_a_frame_of_a_cluster_with_a_column_count_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame(pd.DataFrame({**COUNTS, "plan": [MECHANISM.fingerprint] * 2}))
    for trusted in (False, True):
        sources = Sources(frame, trust_plan=trusted)
        assert WHY in refused(DataError, lambda sources=sources: SparkEngine(spark).tally(MECHANISM, sources))
    people = spark.createDataFrame(pd.DataFrame({"answer": ["yes"], "count": [1]}))
    assert "count" in refused(ParameterError, lambda: frames.obfuscate(people, MECHANISM, "answer", keep=["count"]))


def test_a_number_of_single_precision_keeps_its_type(spark: Any, tmp_path: Path) -> None:
    """In a frame, and in a file that an executor reads: as float64 it would lie below 0.7, and go in clear."""
    mechanism = dc.RandomizedResponse(dc.Domain.number(0, 1, bins=10, sensitive=[[0.7, 1]]), 1.0)
    people = pd.DataFrame({"score": np.full(40, 0.7, np.float32)})
    reports = frames.obfuscate(spark.createDataFrame(people, "score float"), mechanism, "score", seed=1)
    assert reports.where("clear is not null").count() == 0
    people.to_parquet(tmp_path / "people.parquet")
    (tmp_path / "reports").mkdir()
    SparkEngine(spark).obfuscate(mechanism, str(tmp_path / "people.parquet"), tmp_path / "reports", seed=1)
    assert pq.read_table(tmp_path / "reports")["clear"].null_count == 40
