"""Folders and files of reports, cut into parts that can be read on their own, several at a time.

A part is a run of row groups (Parquet), a run of batches (Arrow) or a whole file (JSON lines). Every file's plan and
columns are checked before any part is read; of JSON lines, each with a plan of its own, that of the first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import DataError, ParameterError
from discreet.io import arrow, json_form
from discreet.io.endings import ending, is_lines, lines_of, opened_text
from discreet.io.files import ARROW_SUFFIXES, LINE_SUFFIXES, REPORT_SUFFIXES, TALLY_SUFFIX, checked_suffix, readable
from discreet.mechanisms import Mechanism

# Rows per part: enough work to be worth handing out. Rows and bytes per batch: what stays in the cache while it is
# checked and counted.
_PART_ROWS = 1 << 21
_BATCH_ROWS = 1 << 20
_BATCH_BYTES = 1 << 22
_BUFFER_BYTES, _LARGE_GROUP = 1 << 20, 1 << 26
_LINES, _LETTERS = 1 << 16, 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some of the reports of a file.

    Attributes:
        path: the file.
        groups: which of its row groups or batches; empty for a file of lines.
        rows: how many reports; None if nobody has counted them.
        facts: what was read of the file already: a Parquet file's metadata.
    """

    path: Path
    groups: Sequence[int]
    rows: int | None
    facts: Any = None


def report_files(sources: Iterable[str | Path]) -> list[Path]:
    """Return the files that are meant: those named, and those in the folders named, in order of their names.

    In a folder, names that begin with a dot or an underscore are passed over, and folders are searched too.

    Raises:
        DataError: if a folder holds no reports, or anything that is neither reports nor a tally.
        ParameterError: if a file is meant twice: by its name, by its folder's, or by a link to either.
    """
    return files_in(sources, REPORT_SUFFIXES, "reports")


def files_in(sources: Iterable[str | Path], suffixes: Sequence[str], wanted: str) -> list[Path]:
    """Return the files that are meant, as `report_files` does for reports.

    Args:
        sources: files and folders.
        suffixes: how files in folders may end.
        wanted: what they hold, for messages.

    Raises:
        DataError: if a folder holds none of them, or anything else.
        ParameterError: as for `report_files`.
    """
    found: list[Path] = []
    for source in map(Path, sources):
        found += _inside(source, suffixes, wanted) if source.is_dir() else [source]
    seen = set()
    for path in found:
        place = path.resolve()
        if place in seen:
            raise ParameterError(f"{path} is named twice, by itself or with its folder; name it once.")
        seen.add(place)
    return found


def _inside(folder: Path, suffixes: Sequence[str], wanted: str) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not _hidden(path.relative_to(folder)))
    if not files:
        raise DataError(f"{folder} holds no {wanted}.")
    others = [path for path in files if ending(path) not in suffixes]
    if others:
        kinds = ", ".join(suffixes)
        raise DataError(
            f"{folder} must hold {wanted} ({kinds}) only, got {len(others)} other files ({others[0].name} first)."
        )
    return files


def _hidden(path: Path) -> bool:
    return any(name.startswith((".", "_")) for name in path.parts)


def parts_of(path: Path, mechanism: Mechanism) -> list[Part]:
    """Check a file of reports by what it says of itself, and cut it into parts.

    Raises:
        DataError: if it is missing, truncated, or has other columns than the plan's reports; it names the file.
        MismatchError: if it belongs to another plan.
    """
    with readable(path):
        if checked_suffix(path) in LINE_SUFFIXES:
            with opened_text(path) as text:
                json_form.check_first(mechanism, lines_of(text, json_form.longest_line(mechanism)))
                return [Part(path, (), None)]
        if ending(path) in ARROW_SUFFIXES:
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as source:
                arrow.check_schema(mechanism, source.schema)
                sizes = [source.get_batch(place).num_rows for place in range(source.num_record_batches)]
                return _runs(path, sizes)
        with pq.ParquetFile(path) as source:
            arrow.check_schema(mechanism, source.schema_arrow)
            facts = source.metadata
            return _runs(path, [facts.row_group(place).num_rows for place in range(facts.num_row_groups)], facts)


def _runs(path: Path, sizes: list[int], facts: Any = None) -> list[Part]:
    """Put neighbours together until they are worth a part; at least one part, which also says what is simulated."""
    runs, groups, rows = [], [], 0
    for place, size in enumerate(sizes):
        groups.append(place)
        rows += size
        if rows >= _PART_ROWS:
            runs.append(Part(path, tuple(groups), rows, facts))
            groups, rows = [], 0
    if groups or not runs:
        runs.append(Part(path, tuple(groups), rows, facts))
    return runs


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of JSON, one report each.

    Attributes:
        first: the number of the first one in its file.
        texts: the lines.
    """

    first: int
    texts: list[str]


Batch: TypeAlias = pa.RecordBatch | Lines
"""Reports as they are read: not checked yet."""


def read_part(part: Part, mechanism: Mechanism) -> Iterator[Batch]:
    """Read a part, at most 4 MB of reports at a time; Arrow batches carry the file's stamp. At least one batch.

    What a library says of a truncated file is raised as it is; see `readable`.
    """
    size = min(max(_BATCH_BYTES // sum(column.bytes for column in mechanism.columns), 1), _BATCH_ROWS)
    if is_lines(part.path):
        yield from _from_lines(part, json_form.longest_line(mechanism))
    elif ending(part.path) == ".parquet":
        yield from _from_parquet(part, size)
    else:
        yield from _from_ipc(part, size)


def _from_lines(part: Part, longest: int) -> Iterator[Lines]:
    first, letters, texts = 0, 0, list[str]()
    with opened_text(part.path) as text:
        for line in lines_of(text, longest):
            texts.append(line)
            letters += len(line)
            if len(texts) == _LINES or letters > _LETTERS:
                yield Lines(first, texts)
                first, letters, texts = first + len(texts), 0, []
    if texts or not first:
        yield Lines(first, texts)


def _from_parquet(part: Part, size: int) -> Iterator[pa.RecordBatch]:
    # Of a large row group a column is read piece by piece; of a small one at once, which is faster.
    largest = max((part.facts.row_group(group).total_byte_size for group in part.groups), default=0)
    buffer = _BUFFER_BYTES if largest > _LARGE_GROUP else 0
    # Read ahead, a column would be in memory as a whole, buffer or not.
    with pq.ParquetFile(part.path, metadata=part.facts, buffer_size=buffer, pre_buffer=False) as source:
        stamped = source.schema_arrow
        if not part.groups:
            yield _empty(stamped)
            return
        # Parts are read in parallel; threads within them would only get in each other's way.
        for group in part.groups:
            for batch in source.iter_batches(size, row_groups=[group], use_threads=False):
                yield batch.replace_schema_metadata(stamped.metadata)


def _from_ipc(part: Part, size: int) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(part.path)) as file, pa.ipc.open_file(file) as source:
        if not part.groups:
            yield _empty(source.schema)
        for place in part.groups:
            batch = source.get_batch(place).replace_schema_metadata(source.schema.metadata)
            for start in range(0, max(batch.num_rows, 1), size):
                yield batch.slice(start, size)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def is_tally(path: Path) -> bool:
    """Return whether a file is kept as a tally."""
    return path.name.lower().endswith(TALLY_SUFFIX)
