"""Public columns: of a group or a weight of each person, beside reports in files; and known shares of groups."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from discreet.core import columns
from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.files.reading import readable
from discreet.formats.scanned import plain
from discreet.formats.sources import ScannedSources, sources_of
from discreet.mechanisms import Mechanism
from discreet.tables.columns import read_columns
from discreet.tables.text import NAMES, NUMBERS

SHARE = "share"
"""Name of the column of shares."""
# Arrays of about the size of the reports that are held at once; bytes of a cell of a public column, and of a weight.
_COPIES, _CELL = 3, 16


def read_public(
    mechanism: Mechanism, sources: Any, names: Sequence[str], *, memory: int | None = None
) -> tuple[Reports, Any]:
    """Return the reports of files, in memory, and a `pyarrow.Table` of the public columns beside them.

    Args:
        mechanism: what made the reports.
        sources: Parquet and Arrow files of reports, folders of such files, and tables; or `Sources` of them, without a
            share of bad rows.
        names: of the public columns.
        memory: bytes that they may take; None for any.

    Raises:
        DataError, MismatchError, ParameterError: as for `Sources.scan`, and if a row is no report of this plan, or
            there are too many reports.
    """
    scan = sources_of(sources).scan(mechanism, names)
    each = sum(column.bytes for column in mechanism.columns) + _CELL * (1 + len(names))
    total = scan.rows or 0
    if memory is not None and _COPIES * total * each > memory:
        raise DataError(
            f"weights, regressions, and mle and em by group need all reports in memory: {total:,} reports take about "
            f"{_COPIES * total * each / 1e9:.1f} GB of the {memory / 1e9:.1f} GB that may be used; name fewer files, a "
            "random share of the people, or estimate by group without weights and by another method, which is streamed."
        )
    with scan.reader() as reader:
        batches = list(reader)
    if not batches:
        raise DataError("files with reports are needed, and these hold none.")
    whole = pa.concat_tables(
        [pa.Table.from_batches([plain(batch.public)]) for batch in batches], promote_options="permissive"
    )
    return replace(Reports.concatenate(batch.reports for batch in batches), batches=scan.batches), whole


class Beside(NamedTuple):
    """The columns that stand beside reports in files, and their cells.

    Attributes:
        names: of the columns.
        cells: number of reports of each combination of their values; none where there are too many to be listed.
    """

    names: tuple[str, ...]
    cells: tuple[int, ...]


def cells_beside(scan: ScannedSources, public: Sequence[str], *, most: int) -> Beside:
    """Return the columns beside the reports of Parquet and Arrow files, read or not, and the sizes of their cells.

    Args:
        scan: files of reports; lines of JSON and tallies have no such columns.
        public: names of the columns that are read.
        most: cells that are listed.

    Raises:
        DataError: if a file is damaged.
    """
    names = sorted({*scan.beside, *public})
    counts: Counter[tuple[Any, ...]] = Counter()
    for source in scan.sources if names else []:
        for key, count in source.cells(names):
            counts[key] += count
            if len(counts) > most:
                return Beside(tuple(names), ())
    return Beside(tuple(names), tuple(counts.values()))


def read_shares(path: str | Path, names: Sequence[str], labels: Iterable[Any]) -> dict[Any, float]:
    """Return the known shares of groups.

    Args:
        path: a table with the columns of groups, and share.
        names: of the columns of groups.
        labels: of the groups, as they are known; each label of the table that is spelled like one stands for it.

    Raises:
        DataError: if a column is not there, a cell is missing, or a group is named twice; it names the file.
    """
    asked = {**dict.fromkeys(names, NAMES), SHARE: NUMBERS}
    table = read_columns(path, lambda _: asked, list(asked))
    with readable(Path(path)):
        for name in asked:
            gone = columns.absent(table[name], name)
            if gone.any():
                raise DataError(
                    columns.missing_message(int(gone.sum()), len(gone), int(gone.argmax()), f"cells of {name!r}")
                )
        known = {tuple(map(str, label if isinstance(label, tuple) else (label,))): label for label in labels}
        rows = zip(*(table[name].to_pylist() for name in names), strict=True)
        spelled = [tuple(map(str, row)) for row in rows]
        if len(set(spelled)) < len(spelled):
            raise DataError("each group must be named once, and some are named twice.")
        keys = [known.get(key, key if len(key) > 1 else key[0]) for key in spelled]
        return dict(zip(keys, table[SHARE].to_pylist(), strict=True))
