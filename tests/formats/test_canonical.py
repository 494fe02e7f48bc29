"""Reports in canonical order: the same ones, sorted as SQL sorts the file, whatever order they came in."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import write_reports
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.formats.records import RecordCodec
from discreet.formats.sealing import canonical, is_canonical
from laws import MEDIUM, Case, cases, sampled
from packing import each


def test_the_order_is_that_of_sql(tmp_path: Path) -> None:
    domain = dc.Domain(range(700), sensitive=range(300, 650))
    for mechanism in (dc.RandomizedResponse(domain, epsilon=1.0), dc.SubsetSelection(domain, epsilon=1.0, k=3)):
        reports = mechanism.obfuscate_codes(np.arange(2000) % 700, random=dc.SeededRandom(3))
        sealed = dc.Reports.concatenate(list(canonical(mechanism, [reports])))
        write_reports(tmp_path / "sealed.parquet", mechanism, sealed, force=True)
        table = pq.read_table(tmp_path / "sealed.parquet")
        keys = [
            (row["clear"] is not None, row["clear"] or 0, row.get("symbol") or 0, row.get("members") or [])
            for row in table.to_pylist()
        ]
        assert keys == sorted(keys)


def test_strangers_and_simulated_reports_are_not_mixed() -> None:
    mechanism, other = (dc.RandomizedResponse(dc.Domain(range(9)), epsilon=one) for one in (1.0, 2.0))
    real, simulated = mechanism.obfuscate([1]), mechanism.obfuscate([1], random=dc.SeededRandom(1))
    with pytest.raises(MismatchError):
        list(canonical(mechanism, [real, other.obfuscate([1])]))
    with pytest.raises(DataError, match=r"reports.sealed-mixed"):
        list(canonical(mechanism, [real, simulated]))
    assert [batch.simulated for batch in canonical(mechanism, [simulated, simulated])] == [True]
    assert list(canonical(mechanism, [])) == []


@each("case", cases(MEDIUM, (1.0,)))
def test_reports_in_memory_are_sealed_in_the_same_order(case: Case) -> None:
    mechanism, reports = case.mechanism, sampled(case, 200)
    in_memory = reports.sealed()
    assert in_memory.n == 200
    codec = RecordCodec.of(mechanism)
    streamed = dc.Reports.concatenate(list(canonical(mechanism, [reports])))
    assert codec.encode(in_memory).tolist() == codec.encode(streamed).tolist()
    assert mechanism.tally(in_memory) == mechanism.tally(reports)
    assert in_memory.simulated
    assert is_canonical(mechanism, [in_memory])


def test_sealed_reports_are_those_that_devices_send() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(9), sensitive=range(7)), epsilon=1.0)
    reports = mechanism.obfuscate_codes(np.arange(9), random=dc.SeededRandom(3))
    for blocks, clear in (([7] * 5, [7]), ([-1] * 5, [7]), ([0] * 5, [9]), ([0] * 5, [-1]), ([0] * 5, [3])):
        forged = dc.Reports(
            reports.fingerprint, 6, np.arange(6) == 5, np.array(clear), {"symbol": np.array(blocks)}, True, ()
        )
        with pytest.raises(DataError):
            list(canonical(mechanism, [forged]))
    with pytest.raises(ParameterError, match=r"reports\.no-formats"):
        forged.sealed()
