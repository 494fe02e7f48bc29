"""Tables in files of every kind, as other programs write them."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def save_table(path: Path, columns: Mapping[str, Any] | pa.Table, groups: int = 50) -> Path:
    """Write columns into a file of the kind that its name says; return the path.

    Cells of text stand as they are, without quotation marks, and missing ones are empty.

    Args:
        path: the file; folders are made.
        columns: of the table.
        groups: rows in a row group or batch.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=groups)
        return path
    if kind in {"arrow", "feather", "ipc"}:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=groups)
        return path
    rows = table.to_pylist()
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    if kind in {"csv", "tsv", "txt"}:
        cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
        lines = ["\t".join(row) if kind == "tsv" else ",".join(row) for row in [table.column_names, *cells]]
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if path.name.lower().endswith(".gz") else text)
    return path
