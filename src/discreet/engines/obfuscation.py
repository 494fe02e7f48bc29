"""Obfuscation of tables of values in files, in batches of some hundred thousand reports or 64 MB."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, IntArray
from discreet.core.random import SecureRandom, SeededRandom
from discreet.core.reports import Reports
from discreet.files.paths import File
from discreet.files.reading import Progress, prefetched
from discreet.formats.reports import facts_of, reports_ending, write_batches
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.obfuscation import CHUNK
from discreet.tables.kept import check_writable, joined_schema, recast
from discreet.tables.scan import table_files
from discreet.tables.values import CodedValues, ReadAs, ValueColumns

Values: TypeAlias = "str | File | Sequence[str | File]"

# The most rows and bytes of reports in a batch. An interrupt takes effect after a batch.
MOST_ROWS, MOST_BYTES = 1 << 18, 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class ObfuscationResult:
    """The result of an obfuscation: the number of reports, and of rows left out.

    Attributes:
        reports: the number of reports written.
        left_out: the number of rows left out by reason.
        simulated: whether the noise comes from a seed, so that the reports protect nobody.
        read_as: the number of values that were read as a similar label, by attribute (or "") and label; a cluster only
            has their total, in ``left_out``.

    Example:
        >>> ObfuscationResult(reports=100, left_out={"have no value": 2}, simulated=False).reports
        100
    """

    reports: int
    left_out: Mapping[str, int]
    simulated: bool
    read_as: Mapping[tuple[str, str], int] = field(default_factory=dict)


def obfuscate(
    mechanism: BlockMechanism,
    values: Values,
    target: str | Path,
    columns: ValueColumns | None = None,
    *,
    seed: int | None = None,
    force: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ObfuscationResult:
    """Write a report for every value in tables, in order.

    Args:
        mechanism: the mechanism that obfuscates the values.
        values: a table in a file or on standard input, or files and folders of tables.
        target: the file of reports.
        columns: the columns with the values; None for the only named column.
        seed: the seed of a simulation; None for secure randomness.
        force: whether an existing file is replaced.
        threads: as for `discreet.engines.tally`.
        progress: called now and then with the number of finished values and the number of all values.

    Raises:
        DataError: if a table is missing or broken, a column is missing, or values are missing or not in the domain.
            Nothing is written then.
        OutputExistsError: if the file exists and ``force`` is false.
        ParameterError: if tables cannot be read from such files, reports cannot be written to such a file, or columns
            cannot be kept beside the reports (``ValueColumns.keep``).

    Example:
        >>> import discreet as dc
        >>> from importlib.resources import files
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["18-29", "30s", "40s", "50+"]), epsilon=1.0)
        >>> answers = files("discreet") / "examples" / "answers.csv"
        >>> with TemporaryDirectory() as folder:
        ...     columns = ValueColumns(mechanism.domain, "age")
        ...     obfuscate(mechanism, answers, f"{folder}/reports.parquet", columns).reports
        2000
    """
    columns = ValueColumns(mechanism.domain) if columns is None else columns
    check_writable(columns.keep, mechanism, reports_ending(target))
    tables = [columns.of(source) for source in table_files(values)]
    public = joined_schema([table.scan.kept_schema() for table in tables])
    random = SecureRandom() if seed is None else SeededRandom(seed)
    # Whole chunks, so that a seed gives the same reports as one batch with all values.
    width = sum(column.bytes for column in mechanism.columns)
    rows = min(max(MOST_BYTES // width // CHUNK, 1) * CHUNK, MOST_ROWS)
    coded = batches(tables, rows, public)
    drawn = ((mechanism.obfuscate_codes(codes, random=random), public_rows) for codes, public_rows in coded)
    done, total = 0, sum(table.rows for table in tables)

    def reports() -> Iterator[tuple[Reports, Any]]:
        nonlocal done
        for batch, public_rows in prefetched(drawn, threads):
            yield batch, public_rows if columns.keep else None
            done += batch.n
            if progress is not None:
                progress(done, total)

    schema = public if columns.keep else None
    written = write_batches(target, mechanism, reports(), facts=facts_of(None), public=schema, force=force)
    left_out = sum((table.left_out for table in tables), start=Counter[str]())
    read_as = sum((table.read_as for table in tables), start=ReadAs())
    return ObfuscationResult(written, dict(left_out), seed is not None, dict(read_as))


def add_read(read_as: ReadAs | None, tables: Iterable[CodedValues]) -> None:
    """Add to `read_as` the numbers of values that were read as a label which looks the same."""
    if read_as is not None:
        for table in tables:
            read_as.update(table.read_as)


def codes_of(values: Values, columns: ValueColumns, read_as: ReadAs | None = None) -> IntArray:
    """Return the ``(n,)`` codes of all values in tables.

    Args:
        values: as for `obfuscate`, with the same errors.
        columns: the columns with the values.
        read_as: is increased by the number of values that were read as a similar label.
    """
    tables = [columns.of(source) for source in table_files(values)]
    parts = [part for part, _ in batches(tables, MOST_ROWS, pa.schema([]))]
    codes = np.concatenate([np.empty(0, np.int64), *parts])
    add_read(read_as, tables)
    return codes


def batches(tables: Sequence[CodedValues], rows: int, public: pa.Schema) -> Iterator[tuple[IntArray, Any]]:
    """Yield the codes of all tables and their public columns, ``rows`` rows at a time."""
    waiting: list[AnyArray] = []
    beside, count = public.empty_table(), 0
    for table in tables:
        for codes, _, public_rows in table.batches():
            waiting.append(codes)
            beside = beside if public_rows is None else pa.concat_tables([beside, recast(public_rows, public)])
            count += len(codes)
            while count >= rows:
                whole = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                yield whole[:rows], beside.slice(0, rows)
                count -= rows
                waiting, beside = ([whole[rows:]] if count else []), beside.slice(rows)
    if count:
        yield np.concatenate(waiting), beside
