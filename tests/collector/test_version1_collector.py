"""A collector's folder of version 1, left by a kill: later versions read, check and seal it, and leave no id."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import running
from version1_files import FACTS, FOLDER, copied, digest_of, reports_of

KEPT = FACTS["collector"]
IDS = [bytes.fromhex(half) for ids in FACTS["sent"].values() for half in ids]
HABITS, CELLS = "sealed/habits/v1/epoch-000000.parquet", "sealed/cells/v1/epoch-000000.parquet"


def told(folder: Path, *words: str) -> Any:
    """What a verb of the command line says of a folder."""
    return running.told("collector", *words, "--data", folder)


def waiting(status: Any) -> dict[str, int]:
    return {f"{row['name']}/{row['epoch']}": row["waiting"] for row in status["epochs"] if row["waiting"]}


def sealed(status: Any) -> dict[str, tuple[int, int, int]]:
    counts = ("sealed", "duplicates", "conflicts")
    return {
        f"{row['name']}/{row['epoch']}": tuple(row[one] for one in counts) for row in status["epochs"] if row["sealed"]
    }


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy, which the first verb brings to this version."""
    return copied("collector", tmp_path_factory.mktemp("version1") / "data")


def test_ids_are_found_where_they_are() -> None:
    """The check of the check: the old folder holds all ids that waited, and many of those that were sealed."""
    sealed = sum(row[4] for row in KEPT["seals"])
    assert len(IDS) == len(set(IDS)) == sealed + sum(inbox["ids"] for inbox in KEPT["inboxes"].values())
    joined = b"".join(files(FOLDER / "collector").values())
    found = sum(id_ in joined for id_ in IDS)
    assert len(IDS) - sealed + 50 < found < len(IDS)


def test_verbs_report_what_was_kept(folder: Path) -> None:
    listed = [(one["name"], one["version"], one["state"], one["id"]) for one in told(folder, "list")["collections"]]
    assert listed == [(name, version, state, id_.lower()) for name, version, state, id_ in KEPT["collections"]]
    status = told(folder, "status")
    assert waiting(status) == {at: inbox["waiting"] for at, inbox in KEPT["inboxes"].items()}
    assert sealed(status) == {f"{name}/{epoch}": tuple(counts) for name, epoch, _, _, *counts in KEPT["seals"]}
    assert status["refusals"] == dict(KEPT["refusals"])
    tokens = [[one["name"], one["role"], int(one["good"])] for one in told(folder, "token", "list")["tokens"]]
    assert tokens == [[name, role, good] for name, role, _, good in KEPT["tokens"]]
    assert told(folder, "check") == {"holds": True, "flaws": []}
    for name in (HABITS, CELLS):
        assert (folder / name).read_bytes() == (FOLDER / "collector" / name).read_bytes()


def test_no_copy_of_the_old_database_is_left(folder: Path) -> None:
    assert told(folder, "check")["holds"]
    assert [path.name for path in folder.rglob("*") if "version1" in path.name or ".part" in path.name] == []
    old = [path for path, data in files(folder).items() if b"CREATE TABLE inbox" in data]
    assert old == []


def test_sealing_takes_the_first_report_of_each_id_and_leaves_no_id(tmp_path: Path) -> None:
    folder = copied("collector", tmp_path / "data")
    found = [
        (at, told(folder, "seal", at.partition("/")[0], "--epoch", at.partition("/")[2])["sealed"])
        for at in KEPT["inboxes"]
    ]
    for at, (row,) in found:
        inbox = KEPT["inboxes"][at]
        assert (row["n"], row["duplicates"], row["conflicts"]) == (
            inbox["ids"],
            inbox["duplicates"],
            inbox["conflicts"],
        )
        path = folder / "sealed" / row["file"]
        assert records_of(path, inbox["width"] - 16) == Counter(inbox["records"])
    assert told(folder, "check") == {"holds": True, "flaws": []}
    assert waiting(told(folder, "status")) == {}
    left = files(folder)
    assert {str(path.relative_to(folder)): sum(id_ in data for id_ in IDS) for path, data in left.items()} == {
        str(path.relative_to(folder)): 0 for path in left
    }
    # Records of 17 bytes, most of them random: in sealed files alone, and there without ids.
    records = [bytes.fromhex(record) for record in KEPT["inboxes"]["cells/1"]["records"]]
    outside = [data for path, data in left.items() if "sealed" not in path.relative_to(folder).parts]
    assert [record for record in records for data in outside if record in data] == []


def records_of(path: Path, width: int) -> Counter[str]:
    """Return the records of a sealed file of `rr` or `unary`, by pyarrow alone, and how often each is there."""
    table = pq.read_table(path)
    found: Counter[str] = Counter()
    for row in table.to_pylist():
        block = row.get("bits", row.get("symbol"))
        said = block if isinstance(block, bytes) else bytes([row["clear"] if block is None else block])
        found[(bytes([1 if block is not None else 2]) + said).ljust(width, b"\0").hex()] += 1
    return found


def test_sealed_epochs_have_the_rows_that_they_had(folder: Path) -> None:
    for name in (HABITS, CELLS):
        assert reports_of(folder / name)["rows"] == KEPT["sealed"][name]["rows"] != digest_of([])
