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
