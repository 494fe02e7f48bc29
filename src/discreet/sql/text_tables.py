"""CSV files of reports, as survey tools and warehouses export them, and CSV files of counts.

A CSV file has the columns of reports in text: numbers; members as ``1 5 9`` or ``[1, 5, 9]``; bits as hexadecimal
digits or in base64. Or it has one column with the line of JSON that a device makes for each report. An empty cell is a
missing part. Other columns are public columns, as text, and have no effect unless they are asked for.
"""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from discreet.core.reports import COUNTS, PLAN, SIMULATED, Column, is_count
from discreet.files.paths import File
from discreet.files.stored import HeldTable
from discreet.formats.json_reports import from_json
from discreet.formats.scanned import Asked
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import is_bits, to_arrow
from discreet.tables.scan import scan
from discreet.tables.text import LISTED, Cells, Kind

_WHOLE = Cells(Kind.INTEGER)


def text_table(path: File, mechanism: Mechanism, asked: Asked) -> HeldTable:
    """Return a CSV file of reports, or of counts, as a table in memory.

    Columns that are not read are there without entries, so that their names can be reported.

    Args:
        path: the file.
        mechanism: the mechanism that made the reports.
        asked: the options for reading the file: public columns, and whether lines of JSON need no plan.

    Raises:
        DataError: if the file is damaged, or a cell of a number has other text.
        MismatchError: if a line of JSON belongs to another plan.
    """
    columns = {column.name: column for column in mechanism.columns}
    names: list[str] = []

    def chosen(header: Sequence[str]) -> dict[str, Cells]:
        names.extend(dict.fromkeys(header))
        if {*names} >= COUNTS:
            return {name: _WHOLE if name in {"place", "count", "of_rows"} else LISTED for name in names}
        if not {*columns} <= {*names}:
            # Perhaps one of the columns has lines of JSON.
            return dict.fromkeys(names, LISTED)
        read = [name for name in names if name in {*columns, PLAN, SIMULATED, *asked.public} or is_count(name)]
        return {name: _cells(columns.get(name), name) for name in read}

    table = scan(path, chosen, [*columns, *asked.public]).whole()
    if not {*names} >= COUNTS and not {*columns} <= {*names}:
        return HeldTable(str(path), _with_reports(mechanism, table, trust_plan=asked.trust_plan))
    cells = {name: table[name] if name in table.column_names else pa.nulls(table.num_rows) for name in names}
    wide = [column for name, column in columns.items() if name in cells and column.width is not None]
    return HeldTable(str(path), pa.table(cells | {each.name: _entries(each, cells[each.name]) for each in wide}))


def _cells(column: Column | None, name: str) -> Cells:
    """Return the type of the cells of a column: numbers, truth values, or text."""
    if name == SIMULATED:
        return Cells(Kind.ANY)
    return _WHOLE if is_count(name) or (column is not None and column.width is None) else LISTED


def _with_reports(mechanism: Mechanism, table: pa.Table, *, trust_plan: bool) -> pa.Table:
    """Return a table whose only column of JSON is replaced by the columns of reports; other tables stay as they are.

    An empty cell becomes a row without a report, which readers refuse or leave out.
    """
    there = [name for name in table.column_names if any(map(_is_object, table[name].to_pylist()))]
    if len(there) != 1:
        return table
    lines = table[there[0]].to_pylist()
    reports = from_json(mechanism, filter(None, lines), trust_plan=trust_plan)
    places = iter(range(reports.n))
    whole = to_arrow(mechanism, reports).take(pa.array([next(places) if line else None for line in lines], pa.int64()))
    for name in (name for name in table.column_names if name != there[0]):
        whole = whole.append_column(name, table[name])
    return whole


def _is_object(cell: str | None) -> bool:
    return cell is not None and cell.lstrip().startswith("{")


def _entries(column: Column, cells: Any) -> pa.Array:
    """Return bytes or lists from their texts.

    Text that cannot be read becomes an empty entry, which is no valid report.
    """
    texts, read = cells.to_pylist(), _bits if is_bits(column) else _members
    entries = {text: read(text.strip(), column) for text in {*texts} - {None}}
    return pa.array([entries.get(text) for text in texts], pa.binary() if is_bits(column) else pa.list_(pa.int64()))


def _bits(text: str, column: Column) -> bytes:
    if re.fullmatch(rf"[0-9a-fA-F]{{{2 * (column.width or 0)}}}", text):
        return bytes.fromhex(text)
    with suppress(Error):
        return b64decode(text, validate=True)
    return b""


def _members(text: str, _: Column) -> list[int]:
    inside = text.removeprefix("[").removesuffix("]").strip()
    listed = re.fullmatch(r"[0-9]{1,18}([\s,;]+[0-9]{1,18})*", inside)
    return [int(part) for part in re.split(r"[\s,;]+", inside)] if listed else []
