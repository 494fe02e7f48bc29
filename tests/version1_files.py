"""Files that version 1 wrote, `data/version1`, and a reader of them that shares no code with the project.

It reads by sqlite3, pyarrow, gzip and json alone; what it found when they were written is in `facts.json`.
"""

import csv
import gzip
import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.feather as pf
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent / "data" / "version1"
FACTS: dict[str, Any] = json.loads((FOLDER / "facts.json").read_text())


def copied(name: str, to: Path) -> Path:
    """Copy a folder of version 1, with the rights that it had: git keeps none."""
    shutil.copytree(FOLDER / name, to)
    for path in (to, *to.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return to


def plain(cell: Any) -> Any:
    """Return a cell as JSON holds it."""
    return cell.hex() if isinstance(cell, bytes) else cell


def digest_of(rows: Iterable[Any]) -> str:
    """Return the SHA-256 of rows, a line of JSON each."""
    lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def table_of(path: Path) -> Any:
    """Return the columns of a file of Parquet or Arrow, and what its metadata says."""
    table = pq.read_table(path) if path.suffix == ".parquet" else pf.read_table(path)
    said = json.loads((table.schema.metadata or {}).get(b"discreet", b"{}"))
    return {name: [plain(cell) for cell in table[name].to_pylist()] for name in table.column_names}, said


def lines_of(path: Path) -> list[Any]:
    """Return the rows of JSON lines, compressed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file]


def reports_of(path: Path) -> dict[str, Any]:
    """Return the number of reports, their stamp, the digest of their rows, and how often cells of few kinds come."""
    if ".jsonl" in path.name:
        rows = lines_of(path)
        return {"n": len(rows), "plan": rows[0]["plan"], "simulated": rows[0].get("simulated", False)}
    columns, said = table_of(path)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    counts = {name: Counter(json.dumps(cell) for cell in cells) for name, cells in columns.items()}
    few = {name: dict(sorted(count.items())) for name, count in counts.items() if len(count) <= 16}
    return {"n": len(rows), **said, "rows": digest_of(rows), "counts": few}


def estimate_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an estimate, or of one by group."""
    if path.suffix == ".json":
        said = json.loads(path.read_text())
        return list(said.get("values") or [row for group in said["groups"] for row in group["values"]])
    if path.suffix == ".csv":
        with path.open() as file:
            return list(csv.DictReader(file))
    columns, _ = table_of(path)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def collector_of(folder: Path) -> dict[str, Any]:
    """Return what a collector's folder of version 1 holds; its database is read from a copy, with its log."""
    with tempfile.TemporaryDirectory() as name:
        for path in folder.glob("collector.db*"):
            shutil.copy(path, name)
        with closing(sqlite3.connect(Path(name, "collector.db"))) as opened:
            rows = {what: opened.execute(text).fetchall() for what, text in _ASKED.items()}
            inboxes = {
                f"{names}/{epoch}": inbox_of(
                    opened.execute(f"SELECT reports FROM inbox_{key}_{epoch} ORDER BY seq"), ns
                )
                for key, names in rows["keys"]
                for epoch, ns in _inboxes(opened, key)
            }
    sealed = {}
    for path in sorted(folder.glob("sealed/*/v*/epoch-*.parquet")):
        facts = reports_of(path)
        sealed[str(path.relative_to(folder))] = {"n": facts["n"], "rows": facts["rows"], "counts": facts["counts"]}
    del rows["keys"]
    return {**rows, "inboxes": inboxes, "sealed": sealed}


_ASKED = {
    "keys": "SELECT key, name FROM collections",
    "collections": "SELECT name, version, state, hex(id) FROM collections ORDER BY key",
    "closed": "SELECT name, epoch FROM closed JOIN collections ON key = collection ORDER BY name, epoch",
    "seals": "SELECT name, epoch, file, sha256, n, duplicates, conflicts FROM seals "
    "JOIN collections ON key = collection ORDER BY key, epoch",
    "refusals": "SELECT reason, sum(count) FROM refusals GROUP BY reason ORDER BY reason",
    "tokens": "SELECT name, role, hex(digest), ends IS NULL FROM tokens ORDER BY name",
    "audit": "SELECT seq, actor, action, detail FROM audit ORDER BY seq",
}


def _inboxes(opened: sqlite3.Connection, key: int) -> list[tuple[int, int]]:
    """Return the epochs of which frames are here, and how many reports each has."""
    epochs = opened.execute("SELECT epoch FROM inboxes WHERE collection = ? ORDER BY epoch", (key,)).fetchall()
    return [(epoch, opened.execute(f"SELECT sum(n) FROM inbox_{key}_{epoch}").fetchone()[0]) for (epoch,) in epochs]


def inbox_of(frames: Iterable[tuple[bytes]], n: int) -> dict[str, Any]:
    """Return the counts of an epoch's frames: its reports, each id's first, and the others by what they are."""
    joined = b"".join(reports for (reports,) in frames)
    width = len(joined) // n
    firsts: dict[bytes, bytes] = {}
    found: Counter[str] = Counter()
    for at in range(0, len(joined), width):
        id_, record = joined[at : at + 16], joined[at + 16 : at + width]
        first = firsts.setdefault(id_, record)
        found["duplicates" if first == record else "conflicts"] += 1
    found["duplicates"] -= len(firsts)
    return {
        "waiting": n,
        "width": width,
        **found,
        "ids": len(firsts),
        "records": dict(sorted(Counter(record.hex() for record in firsts.values()).items())),
    }


def python_device_of(folder: Path) -> dict[str, Any]:
    """Return what the memory of the device in Python holds."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(folder, name, dirs_exist_ok=True)
        with closing(sqlite3.connect(Path(name, "device.db"))) as opened:
            reports = opened.execute(
                "SELECT name, epoch, lower(hex(reports.id)), lower(hex(reports.record)), status, tries FROM reports "
                "JOIN versions ON key = reports.version ORDER BY name, epoch"
            ).fetchall()
            ledger = "SELECT name, epoch, charge FROM ledger JOIN versions ON key = ledger.version ORDER BY name, epoch"
            names = "SELECT name, version, declined, key IS NULL, tagged IS NULL FROM names ORDER BY name"
            return {
                "reports": reports,
                "ledger": opened.execute(ledger).fetchall(),
                "spent": opened.execute("SELECT sum(charge) FROM ledger").fetchone()[0],
                "names": opened.execute(names).fetchall(),
                "prints": opened.execute("SELECT count(*) FROM prints").fetchone()[0],
                "places": opened.execute("SELECT name, code, bot FROM places").fetchall(),
            }


def javascript_device_of(folder: Path) -> dict[str, Any]:
    """Return what the memory of the device in JavaScript holds."""
    newest = max(folder.glob("device.*.json"), key=lambda path: int(path.name.split(".")[1]))
    said = json.loads(newest.read_text())
    answers = [
        [one["name"], answer["epoch"], answer.get("id"), answer.get("record"), answer.get("status"), answer["charge"]]
        for one in said["state"]["versions"]
        for answer in one["answers"]
    ]
    return {
        "revision": said["revision"],
        "answers": sorted(answers, key=lambda row: row[:2]),
        "spent": sum(row[-1] for row in answers),
        "names": sorted([one["name"], one["version"], one["declined"]] for one in said["state"]["names"]),
        "secrets": sorted(one["name"] for one in said["secret"]),
    }


def facts_of(folder: Path) -> dict[str, Any]:
    """Return all facts of a folder that `make.py` wrote."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    ours = {"facts.json", "make.py", "device.mjs"}
    kept = [path for path in files if path.name not in ours and "__pycache__" not in path.parts]
    reports = [path for path in kept if path.parent.name in {"reports", "folder"} and path.name != "_manifest.json"]
    named = {str(path.relative_to(folder)): path for path in kept}
    return {
        "sha256": {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in named.items()},
        "reports": {str(path.relative_to(folder)): reports_of(path) for path in reports},
        "sealed": {name: reports_of(path) for name, path in named.items() if name.startswith("sealed/")},
        "tallies": {name: _tally(path) for name, path in named.items() if name.startswith("tallies/")},
        "collector": collector_of(folder / "collector"),
        "python": python_device_of(folder / "devices" / "python"),
        "javascript": javascript_device_of(folder / "devices" / "javascript"),
    }


def _tally(path: Path) -> dict[str, Any]:
    columns, said = table_of(path)
    return {**said, "counts": columns["count"]}
