"""Checks of sealed files: what is not sorted, not canonical, or not what it says is named in a sentence."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import write_reports
from discreet.core.reports import STAMP
from discreet.errors import DataError, MismatchError
from discreet.files import stored
from discreet.files.stored import look
from discreet.formats.reports import write_batches
from discreet.formats.sealed_files import UnsealedError, check_sealed, put_sealed
from discreet.mechanisms import report_tables
from refusals import refused
from reports_beside import write_beside, write_sealed

DOMAIN = dc.Domain(range(300), sensitive=range(200))
COUNTED, SORTED = dc.RandomizedResponse(DOMAIN, 1.0), dc.UnaryEncoding(DOMAIN, 1.0)
EVERY = pytest.mark.parametrize("mechanism", [COUNTED, SORTED], ids=["counted", "sorted"])


def reports_of(mechanism: Any, n: int = 900) -> dc.Reports:
    return mechanism.obfuscate_codes(np.arange(n) % 300, random=dc.SeededRandom(4))


def written(path: Path, mechanism: Any, reports: dc.Reports, **facts: Any) -> Path:
    """Write reports as they are, as if they were sealed, by a version that knew no names."""
    of_all = {"sealed": True, "n": reports.n}
    said = {**{name: fact for name, fact in facts.items() if name not in of_all}, **of_all, **facts}
    write_batches(path, mechanism, [(reports, None)], facts=said, force=True)
    return path


@EVERY
def test_a_sealed_file_passes(mechanism: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    write_sealed(path, mechanism, reports_of(mechanism), name="monday")
    found = check_sealed(path, mechanism)
    assert (found.n, found.simulated, found.compared) == (900, True, True)
    facts = json.loads(pq.read_schema(path).metadata[STAMP])
    assert facts == {
        "format": 1,
        "kind": "reports",
        "plan": mechanism.fingerprint,
        "name": "monday",
        "sealed": True,
        "n": 900,
        "simulated": True,
    }
    # What passes is what is written by hand in the same order, and nothing else passes below.
    again = tmp_path / "again.parquet"
    put_sealed(again, mechanism, [reports_of(mechanism).sealed()], 900, facts={"name": "monday"})
    assert again.read_bytes() == path.read_bytes()
    earlier = written(tmp_path / "earlier.parquet", mechanism, reports_of(mechanism).sealed())
    assert earlier.read_bytes() != path.read_bytes()
    assert check_sealed(earlier, mechanism).n == 900


@EVERY
@pytest.mark.parametrize("row", [0, 450, 898])
def test_a_swapped_row_is_seen_and_not_quoted(mechanism: Any, row: int, tmp_path: Path) -> None:
    ordered = reports_of(mechanism).sealed()
    rows = np.arange(900)
    other = next(
        place
        for place in (*range(row + 1, 900), *range(row))
        if mechanism.tally(ordered.part(place, place + 1)) != mechanism.tally(ordered.part(row, row + 1))
    )
    rows[[row, other]] = rows[[other, row]]
    path = written(tmp_path / "s.parquet", mechanism, ordered.take(rows))
    assert "sealed.not-sorted" in refused(UnsealedError, lambda: check_sealed(path, mechanism))


@EVERY
def test_misplaced_rows_are_counted_over_all_groups(
    mechanism: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the first row of a group is the one that is misplaced."""
    monkeypatch.setattr("discreet.formats.sealing.BATCH_ROWS", 100)
    ordered = reports_of(mechanism).sealed()
    for first in (300, 350):
        mixed = [ordered.part(500, 500 + first), ordered.part(0, 500), ordered.part(500 + first, 900)]
        whole = dc.Reports.concatenate(mixed)
        path, batches = tmp_path / "s.parquet", (whole.part(start, start + 100) for start in range(0, 900, 100))
        write_batches(path, mechanism, ((b, None) for b in batches), facts={"sealed": True, "n": 900}, force=True)
        assert f"row {first} belongs" in refused(UnsealedError, lambda p=path: check_sealed(p, mechanism))


PACKINGS: dict[str, dict[str, Any]] = {
    "no dictionary": {"use_dictionary": False, "compression": "none"},
    "other pages": {"data_page_size": 64, "write_batch_size": 16},
    "no statistics": {"write_statistics": False},
    "compressed": {"compression": "zstd"},
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_other_bytes_are_seen(packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages, dictionaries and statistics may show how reports came, also where these are sorted."""
    mechanism, own = COUNTED, stored.packing
    with monkeypatch.context() as patch:
        patch.setattr(stored, "packing", lambda *given: own(*given) | PACKINGS[packing])
        path = written(tmp_path / "s.parquet", mechanism, reports_of(mechanism).sealed())
    assert "sealed.other-bytes" in refused(UnsealedError, lambda: check_sealed(path, mechanism))


def test_another_version_of_arrow_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.parquet"
    write_sealed(path, COUNTED, reports_of(COUNTED))
    monkeypatch.setattr(pa, "cpp_version", "1.2.3")
    found = check_sealed(path, COUNTED)
    assert not found.compared
    assert found.writer.startswith("parquet-cpp-arrow version ")


def test_files_must_say_what_they_are(tmp_path: Path) -> None:
    reports, path = reports_of(COUNTED).sealed(), tmp_path / "s.parquet"

    def flaw(write: Callable[[], Any], kind: type[DataError] = UnsealedError) -> str:
        write()
        message = refused(kind, lambda: check_sealed(path, COUNTED))
        assert message.startswith(f"{path}: ")
        return message

    assert "sealed.not-marked" in flaw(lambda: write_reports(path, COUNTED, reports, force=True))
    assert "sealed.not-marked" in flaw(lambda: written(path, COUNTED, reports, sealed=1))
    for n in (899, "900", True, None):
        assert "sealed.wrong-number" in flaw(lambda n=n: written(path, COUNTED, reports, n=n))
    written(path, COUNTED, reports, collection="8f" * 32, epoch=3)
    assert check_sealed(path, COUNTED).n == 900
    table = report_tables.to_arrow(COUNTED, reports)
    assert "sealed.other-tool" in flaw(lambda: pq.write_table(table.replace_schema_metadata(None), path))
    stamp = report_tables.schema_of(COUNTED, simulated=True, facts={"sealed": True, "n": 900})
    assert "has no checksums" in flaw(lambda: pq.write_table(table.cast(stamp), path))
    owners = pa.table({"owner": list(range(900))})
    beside = flaw(lambda: write_beside(path, COUNTED, [(reports, owners)], owners.schema, force=True))
    assert "'owner'" in beside
    assert "sealed.more-columns" in beside
    other = dc.RandomizedResponse(DOMAIN, 2.0)
    theirs = other.obfuscate_codes(np.arange(900) % 300, random=dc.SeededRandom(4))
    flaw(lambda: write_sealed(path, other, theirs, force=True), MismatchError)


HEX = "8f" * 32
STRANGE: dict[str, dict[str, Any]] = {
    "a name": {"collection": "alice 10:31", "epoch": 3},
    "a name alone": {"collection": HEX},
    "an epoch alone": {"epoch": 3},
    "a short collection": {"collection": "8f" * 16, "epoch": 3},
    "upper case": {"collection": HEX.upper(), "epoch": 3},
    "a time for an epoch": {"collection": HEX, "epoch": 1 << 40},
    "true for an epoch": {"collection": HEX, "epoch": True},
    "text for an epoch": {"collection": HEX, "epoch": "3"},
    "epochs backwards": {"collection": HEX, "epochs": [5, 3]},
    "one epoch of several": {"collection": HEX, "epochs": [3]},
    "a note among epochs": {"collection": HEX, "epochs": [3, "alice"]},
    "epoch and epochs": {"collection": HEX, "epoch": 3, "epochs": [3, 5]},
    "another order": {"epoch": 3, "collection": HEX},
    "a number for true": {"sealed": 1.0},
    "a digest in the stamp": {"digest": "0" * 32},
    "a name beside a collection": {"name": "a", "collection": HEX, "epoch": 3},
    "no name": {"name": " alice"},
    "simulated": {"simulated": "alice"},
    "an entry of another kind": {"arrived": "alice"},
}


@pytest.mark.parametrize("compared", [True, False], ids=["compared", "not compared"])
def test_metadata_have_one_form_to_the_letter(compared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the bytes of the file are not compared, because another version of Arrow wrote it."""
    reports, path = reports_of(COUNTED).sealed(), tmp_path / "s.parquet"

    def flaw() -> str:
        with monkeypatch.context() as patch:
            if not compared:
                patch.setattr(pa, "cpp_version", "1.2.3")
            return refused(DataError, lambda: check_sealed(path, COUNTED))

    def sealed(schema: pa.Schema, beside: dict[bytes, bytes]) -> None:
        path.unlink(missing_ok=True)
        table = stored.TableFile(path, schema, COUNTED.columns)
        table.write(COUNTED, reports)
        table.close(beside)

    for facts in ({"epoch": 3}, {"epochs": [3, 5]}):
        put_sealed(path, COUNTED, [reports], 900, facts={"collection": HEX, **facts}, force=True)
        assert check_sealed(path, COUNTED).n == 900
    # Earlier versions wrote one, which nobody reads.
    digest = b"0123456789abcdef" * 2
    for name, facts in STRANGE.items():
        written(path, COUNTED, reports, **facts)
        assert "alice" not in flaw(), name
    of_all = report_tables.schema_of(COUNTED, simulated=True, facts={"sealed": True, "n": 900})
    stamp = of_all.metadata[STAMP]
    sealed(of_all, {b"discreet digest": digest})
    assert check_sealed(path, COUNTED).n == 900
    for beside in (
        {b"discreet digest": digest, b"note": b"alice"},
        {b"note": b"alice"},
        {b"discreet digest": digest[:-1]},
        {b"discreet digest": digest[:-1] + b"x"},
        {b"discreet digest": digest.upper()},
        {b"discreet digest": b"alice"},
        {b"discreet digest": b"\xff"},
    ):
        sealed(of_all, beside)
        assert "sealed.more-metadata" in flaw()
    for text in (
        stamp + b" ",
        stamp.replace(b'": ', b'":'),
        b'{"collection": "alice", ' + stamp[1:],
        stamp[:-1] + b', "n": 900}',
    ):
        sealed(of_all.with_metadata({STAMP: text}), {b"discreet digest": digest})
        assert ": the stamp" in flaw()
    sealed(of_all.with_metadata({STAMP: stamp, b"note": b"alice"}), {b"discreet digest": digest})
    assert ": the stamp, the schema, other entries" in flaw()
    noted = pa.schema([field.with_metadata({b"note": b"alice"}) for field in of_all], metadata=of_all.metadata)
    sealed(noted, {b"discreet digest": digest})
    assert ": the schema, columns" in flaw()
    with monkeypatch.context() as patch:
        patch.setattr("discreet.files.stored.asdict", lambda checksums: {**asdict(checksums), "note": "alice"})
        sealed(of_all, {b"discreet digest": digest})
    assert "checksums.other-version" in flaw()


def test_another_writer_is_none_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.parquet"
    write_sealed(path, COUNTED, reports_of(COUNTED))
    looked = look(path)

    class Named:
        """Metadata of a file that another writer wrote."""

        created_by = "parquet-cpp-arrow version 26.0.1 for alice"

        def __getattr__(self, name: str) -> Any:
            return getattr(looked.metadata, name)

    monkeypatch.setattr("discreet.formats.sealed_files.look", lambda _: replace(looked, metadata=Named()))
    assert ": the name of the writer" in refused(UnsealedError, lambda: check_sealed(path, COUNTED))
