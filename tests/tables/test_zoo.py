"""Every type of column is read, or refused with what to do: in Python, from files, and on the command line."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.core.labels.spaces import LabelSpace
from discreet.errors import DataError
from discreet.tables.values import ValueColumns
from packing import each
from refusals import refused
from running import done, refusal, run
from table_files import save_table
from tables.zoo import DOMAINS, REFUSED, ZOO, Kind, page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "columns.md"
SUFFIXES = ("parquet", "arrow", "csv", "jsonl")
SECRET_SPELLINGS = ("2026-01-01", "b'ab'", "1j")
# A CSV file of these kinds holds other texts than the labels, as each library writes dates in its own way.
NOT_IN_TEXT = ("dates", "times", "times with a zone")


def columns_of(kind: Kind) -> Iterator[tuple[Any, int]]:
    """Yield the columns of a kind, with and without a missing entry, and the number of missing entries."""
    yield kind.make(kind.entries), 0
    if kind.has_gaps:
        yield kind.make([kind.entries[0], None, kind.entries[1]]), 1


def space_of(kind: Kind) -> LabelSpace:
    return DOMAINS[kind.holds].space


def test_the_page_lists_the_zoo() -> None:
    if os.environ.get("SNAPSHOTS") == "write":
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
    assert sum(1 + kind.has_gaps for kind in ZOO) >= 120


@each("kind", ZOO)
def test_columns_in_python(kind: Kind) -> None:
    for column, gaps in columns_of(kind):
        if kind.holds == REFUSED:
            for domain in DOMAINS.values():
                message = refused(DataError, partial(domain.encode, column), *SECRET_SPELLINGS)
                assert "Convert" in message or "Pass one of them" in message or "filter" in message
        elif gaps:
            message = refused(DataError, partial(DOMAINS[kind.holds].encode, column))
            assert message.startswith("1 of 3 values are missing (first in row 1).")
        else:
            assert DOMAINS[kind.holds].encode(column).tolist() == kind.codes


def written(column: Any, path: Path) -> bool:
    """Write a column with its own library; return false if the library has no such file of it."""
    suffix = path.suffix[1:]
    try:
        if isinstance(column, pa.Array | pa.ChunkedArray):
            save_table(path, pa.table({"x": column}))
        elif isinstance(column, pd.Series):
            frame = pd.DataFrame({"x": column.reset_index(drop=True)})
            options = {"orient": "records", "lines": True} if suffix == "jsonl" else {"index": False}
            writers = {"parquet": "to_parquet", "arrow": "to_feather", "csv": "to_csv", "jsonl": "to_json"}
            getattr(frame, writers[suffix])(path, **({} if suffix == "arrow" else options))
        elif isinstance(column, pl.Series):
            writers = {"parquet": "parquet", "arrow": "ipc", "csv": "csv", "jsonl": "ndjson"}
            getattr(pl.DataFrame({"x": column}), f"write_{writers[suffix]}")(path)
        else:
            return False
    except (pa.ArrowException, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return False
    return True


@each("kind", ZOO)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_in_files(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """A file gives the codes of the column in memory, and counts its missing entries."""
    path, is_text = tmp_path / f"t.{suffix}", suffix in ("csv", "jsonl")
    for column, gaps in columns_of(kind):
        # Decimals are texts in JSON lines. Arrow does not know the files of polars with Int128.
        is_other = is_text and (kind.holds in (*NOT_IN_TEXT, REFUSED) or "decimal" in kind.name.lower())
        if is_other or kind.name == "Int128" or not written(column, path):
            continue
        for domain in DOMAINS.values() if kind.holds == REFUSED else [DOMAINS[kind.holds]]:
            columns = ValueColumns(domain, "x", missing="drop", as_read=kind.holds == "booleans")
            if kind.holds == REFUSED:
                refused(DataError, lambda columns=columns: list(columns.of(path).batches()), *SECRET_SPELLINGS)
            else:
                found = columns.of(path)
                assert [code for codes, _, _ in found.batches() for code in codes.tolist()] == kind.codes
                assert found.left_out.get("have no value", 0) == gaps


def test_the_command_line_lists_all_columns_of_a_table(tmp_path: Path) -> None:
    """A column without labels does not stop the list of the others."""
    table: dict[str, Any] = {}
    for kind in ZOO:
        column = kind.make(kind.entries)
        if kind.library == "Arrow" and isinstance(column, pa.Array) and "union" not in kind.name:
            table[kind.name] = column
    path = save_table(tmp_path / "zoo.arrow", table)
    listing = run("init", path, "--sensitive", "a", "--epsilon", 1)
    assert (listing.exit_code, listing.stderr.count("\n")) == (2, len(table) + 2)


@each("holds, label", {"text": "a", "booleans": "true", "whole numbers": "1"}.items())
def test_a_column_goes_from_the_table_to_reports(holds: str, label: str, tmp_path: Path) -> None:
    kinds = [kind for kind in ZOO if kind.holds == holds and isinstance(kind.make(kind.entries), pl.Series)]
    for kind in kinds[:2]:
        column = kind.make([*kind.entries, None] * 30)
        plan, reports = tmp_path / f"{kind.name}.toml", tmp_path / f"{kind.name}.parquet"
        assert written(column, tmp_path / "t.parquet")
        done("init", tmp_path / "t.parquet", "--column", "x", "--sensitive", label, "--epsilon", 1, "-o", plan)
        refusal("obfuscate", plan, tmp_path / "t.parquet", "-o", reports)
        said = done("obfuscate", plan, tmp_path / "t.parquet", "--missing", "drop", "-o", reports)
        assert "60 reports" in said
