"""Files that version 1 wrote, `data/version1`, and a reader of them that shares no code with the project.

It reads by sqlite3, pyarrow, gzip and json alone; what it found when they were written is in `facts.json`.
"""

import csv
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.feather as pf
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent / "data" / "version1"
FACTS: dict[str, Any] = json.loads((FOLDER / "facts.json").read_text())


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
