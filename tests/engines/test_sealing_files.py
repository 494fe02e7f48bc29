"""Files of reports in one sealed file: the same bytes in any order and cutting, nothing beside the reports."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import write_reports
from discreet.engines import LocalEngine
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.formats.sealed_files import put_sealed
from discreet.formats.tallies import write_tally
from refusals import refused
from reports_beside import write_beside, write_sealed

DOMAIN = dc.Domain(range(30), sensitive=range(20))
COUNTED, SORTED = dc.RandomizedResponse(DOMAIN, 1.0), dc.UnaryEncoding(DOMAIN, 1.0)


def reports_of(mechanism: Any, n: int = 300, seed: int | None = None) -> dc.Reports:
    random = None if seed is None else dc.SeededRandom(seed)
    return mechanism.obfuscate_codes(np.arange(n) % 30, random=random)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mechanism", [COUNTED, SORTED], ids=["counted", "sorted"])
@settings(max_examples=12)
@given(order=st.randoms(use_true_random=False), cuts=st.lists(st.integers(0, 60), max_size=3), kind=st.integers(0, 2))
def test_the_same_reports_give_the_same_bytes(
    mechanism: Any, order: Any, cuts: list[int], kind: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("seal")
    reports = reports_of(mechanism, 60, seed=1)
    write_sealed(folder / "wanted.parquet", mechanism, reports, name="monday")
    rows = list(range(60))
    order.shuffle(rows)
    mixed, ends = reports.take(np.array(rows)), [0, *sorted(cuts), 60]
    (folder / "in").mkdir()
    suffix = ("parquet", "arrow", "jsonl.gz")[kind]
    for place, (start, stop) in enumerate(pairwise(ends)):
        write_reports(folder / f"in/{place}.{suffix}", mechanism, mixed.part(start, stop))
    found = LocalEngine().seal(mechanism, folder / "in", folder / "found.parquet", name="monday")
    assert (found.n, found.simulated, found.dropped) == (60, True, ())
    assert (folder / "found.parquet").read_bytes() == (folder / "wanted.parquet").read_bytes()


def test_nothing_of_a_person_is_left_beside_the_reports(tmp_path: Path) -> None:
    owners = pa.table({"owner": [f"alice-{row}" for row in range(300)], "arrived": list(range(300))})
    write_beside(tmp_path / "in.parquet", COUNTED, [(reports_of(COUNTED), owners)], owners.schema)
    found = LocalEngine().seal(COUNTED, tmp_path / "in.parquet", tmp_path / "sealed.parquet")
    assert found.dropped == ("owner", "arrived")
    data = (tmp_path / "sealed.parquet").read_bytes()
    assert pq.read_schema(tmp_path / "sealed.parquet").names == ["clear", "symbol"]
    assert not any(word in data for word in (b"owner", b"alice", b"arrived", b"in.parquet"))


@pytest.mark.parametrize("mechanism", [COUNTED, SORTED], ids=["counted", "sorted"])
def test_batches_that_are_not_sealed(mechanism: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "sealed.parquet"
    source.mkdir()
    write_reports(source / "real.parquet", mechanism, reports_of(mechanism))

    def attempt(**given: Any) -> None:
        LocalEngine().seal(mechanism, source, target, **given)

    assert "batch.too-small" in refused(DataError, lambda: attempt(least=301))
    assert "least.not-integer" in refused(ParameterError, lambda: attempt(least=0))
    write_reports(source / "simulated.parquet", mechanism, reports_of(mechanism, seed=1))
    assert "reports.sealed-mixed" in refused(DataError, attempt)
    (source / "simulated.parquet").unlink()
    write_tally(source / "kept.tally.parquet", mechanism.tally(reports_of(mechanism)))
    assert "sources.with-tallies" in refused(ParameterError, attempt)
    (source / "kept.tally.parquet").unlink()
    other = type(mechanism)(DOMAIN, 2.0)
    write_reports(source / "strange.parquet", other, reports_of(other))
    refused(MismatchError, attempt)
    (source / "strange.parquet").unlink()
    (source / "damaged.parquet").write_bytes((source / "real.parquet").read_bytes()[:-100])
    refused(DataError, attempt)
    for left in source.iterdir():
        left.unlink()
    write_reports(source / "empty.parquet", mechanism, [])
    assert "batch.too-small" in refused(DataError, attempt)
    write_reports(source / "one.parquet", mechanism, reports_of(mechanism, 1))
    assert "batch.too-small" in refused(DataError, attempt)
    assert names(tmp_path) == ["in"]


def test_an_interrupted_sealing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reports(tmp_path / "in.parquet", SORTED, reports_of(SORTED))

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.files.stored.TableFile.close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LocalEngine().seal(SORTED, tmp_path / "in.parquet", tmp_path / "sealed.parquet")
    assert names(tmp_path) == ["in.parquet"]
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"batch.changed"):
        put_sealed(tmp_path / "sealed.parquet", SORTED, [reports_of(SORTED).sealed()], 301, facts={})
    assert names(tmp_path) == ["in.parquet"]
