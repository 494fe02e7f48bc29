"""Sealing on a cluster gives the bytes of one machine, and refuses what one machine refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.engines import Engine, LocalEngine
from discreet.engines import spark as cluster
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.io.reports import write_reports
from discreet.io.sealed_checks import check_sealed
from refusals import refused

DOMAIN = dc.Domain(range(300), sensitive=range(200))
COUNTED, SORTED = dc.RandomizedResponse(DOMAIN, 1.0), dc.UnaryEncoding(DOMAIN, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [COUNTED, SORTED], ids=["counted", "sorted"])
def test_the_bytes_of_one_machine(spark: Any, mechanism: Any, tmp_path: Path) -> None:
    reports = mechanism.obfuscate_codes(np.arange(900) % 300, random=dc.SeededRandom(4))
    source = tmp_path / "in"
    source.mkdir()
    for place in range(3):
        write_reports(source / f"{place}.parquet", mechanism, reports.part(300 * place, 300 * place + 300))
    engine: Engine = cluster.SparkEngine(spark)
    LocalEngine().seal(mechanism, source, tmp_path / "wanted.parquet")
    found = engine.seal(mechanism, source, tmp_path / "found.parquet", least=900)
    assert (found.n, found.simulated, found.dropped) == (900, True, ())
    assert (tmp_path / "found.parquet").read_bytes() == (tmp_path / "wanted.parquet").read_bytes()
    assert check_sealed(tmp_path / "found.parquet", mechanism).n == 900
    frame = cluster.read_reports(spark, mechanism, source)
    owned = frame.selectExpr("*", "'alice' AS owner")
    found = engine.seal(mechanism, owned, tmp_path / "framed.parquet")
    assert found.dropped == ("owner",)
    assert (tmp_path / "framed.parquet").read_bytes() == (tmp_path / "wanted.parquet").read_bytes()
    refused(DataError, lambda: engine.seal(mechanism, source, tmp_path / "none.parquet", least=901))
    refused(ParameterError, lambda: engine.seal(mechanism, frame, tmp_path / "none.parquet", manifest=True))
    other = type(mechanism)(DOMAIN, 2.0)
    refused(MismatchError, lambda: engine.seal(other, frame, tmp_path / "none.parquet"))
    assert not (tmp_path / "none.parquet").exists()
