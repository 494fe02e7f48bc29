"""Public columns: of a group or a weight of each person, beside reports in files; and known shares of groups."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from discreet.core import columns
from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.files.paths import LINES, REPORTS, checked, held, is_tally
from discreet.files.reading import readable
from discreet.files.stored import read_groups
from discreet.formats.sources import Partition, partitions_of, sources_of, surveyed
from discreet.mechanisms import Mechanism
from discreet.tables.columns import read_columns
from discreet.tables.text import NAMES, NUMBERS

SHARE = "share"
"""Name of the column of shares."""
# Arrays of about the size of the reports that are held at once; bytes of a cell of a public column, and of a weight.
_COPIES, _CELL = 3, 16
_BATCH = 1 << 18


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
        DataError, MismatchError, ParameterError: as for `surveyed`, and if a row is no report of this plan, or they are
            too many, or there twice.
    """
    read = sources_of(sources).without_sifting("public columns belong to rows, and none is left out")
    survey = surveyed(mechanism, read, names)
    parts = survey.parts
    each = sum(column.bytes for column in mechanism.columns) + _CELL * (1 + len(names))
    total = sum(part.rows or 0 for part in parts)
    if memory is not None and _COPIES * total * each > memory:
        raise DataError(
            f"weights, regressions, and mle and em by group need all reports in memory: {total:,} reports take about "
            f"{_COPIES * total * each / 1e9:.1f} GB of the {memory / 1e9:.1f} GB that may be used; name fewer files, a "
            "random share of the people, or estimate by group without weights and by another method, which is streamed."
        )
    rows, done = list[tuple[Reports, pa.RecordBatch]](), 0
    for pair in (pair for part in parts for pair in part.public_rows()):
        rows.append(pair)
        done += pair[0].n
        if read.progress is not None:
            read.progress(done, total)
    tables = [pa.Table.from_batches([_plain(public)]) for _, public in rows]
    if not rows:
        raise DataError("files with reports are needed, and these hold none.")
    whole = pa.concat_tables(tables, promote_options="permissive")
    return Reports.concatenate([reports for reports, _ in rows]), whole


class Beside(NamedTuple):
    """The columns that stand beside reports in files, and their cells.

    Attributes:
        names: of the columns.
        cells: number of reports of each combination of their values; none where there are too many to be listed.
    """

    names: tuple[str, ...]
    cells: tuple[int, ...]


def cells_beside(mechanism: Mechanism, sources: Any, *, most: int, public: Sequence[str] = ()) -> Beside:
    """Return the columns beside the reports of Parquet and Arrow files, read or not, and the sizes of their cells.

    Args:
        mechanism: what made the reports.
        sources: files of reports, and folders of such files; lines of JSON and tallies have no such columns.
        most: cells that are listed.
        public: names of columns that are read, as for `surveyed`.

    Raises:
        DataError: if a file is damaged.
    """
    read = sources_of(sources)
    places = [path for path in read.files if not is_tally(path) and checked(path, REPORTS, "reports") not in LINES]
    parts = list[Partition]()
    for path in places:
        with held(path):
            parts += partitions_of(path, mechanism, trust_plan=read.trust_plan, public=public)
    names = sorted({name for part in parts for name in (*part.beside, *public)})
    counts: Counter[tuple[Any, ...]] = Counter()
    for part in parts if names else []:
        for key, count in _cells(part, names):
            counts[key] += count
            if len(counts) > most:
                return Beside(tuple(names), ())
    return Beside(tuple(names), tuple(counts.values()))


def _cells(part: Partition, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield the cells of a part, some of them more than once, with the number of reports of each."""
    assert part.table is not None
    there, folders = [name for name in names if name in part.table.schema.names], part.folders
    if not there:
        yield tuple(folders.get(name) for name in names), part.rows or 0
        return
    with readable(part.path):
        for batch in read_groups(part.table, part.groups, _BATCH, there, labels=there):
            table = pa.Table.from_batches([_plain(batch)])
            counted = table.group_by(there).aggregate([([], "count_all")])
            columns = {name: counted[name].to_pylist() for name in (*there, "count_all")}
            for row, count in enumerate(columns["count_all"]):
                yield tuple(columns[name][row] if name in columns else folders.get(name) for name in names), count


def _plain(batch: Any) -> Any:
    """Return a batch with plain texts in the place of dictionaries."""
    batch.validate(full=True)
    columns_of = [
        part.cast(part.type.value_type) if pa.types.is_dictionary(part.type) else part for part in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns_of, names=batch.schema.names)


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
