"""Files of reports. They are written whole or not at all, and checked when they are read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core.arrow import plain_batch
from discreet.core.batches import NAME, NUMBER, batch_facts, checked_name
from discreet.core.reports import Reports
from discreet.errors import DataError, ParameterError
from discreet.files import paths
from discreet.files.paths import output_of, written_text
from discreet.files.stored import TableFile, schema_entries
from discreet.files.writing import replacing
from discreet.formats import json_reports
from discreet.formats.plan import Plan
from discreet.formats.sources import ScannedSources, sources_of
from discreet.mechanisms import Mechanism, report_tables

_BATCH = 1 << 18
# The number of copies of the reports in memory at once; the bytes of a public column's cell, or of a weight.
_COPIES, _CELL = 3, 16


def write_reports(
    path: str | Path,
    mechanism: "Mechanism | Plan",
    batches: Reports | Iterable[Reports],
    *,
    name: str | None = None,
    force: bool = False,
) -> int:
    """Write reports batch by batch as Parquet, Arrow IPC or JSON lines, according to the ending of the file.

    Args:
        path: the file.
        mechanism: the mechanism that made the reports, or its plan.
        batches: the reports.
        name: the name of the batch, which every reader of the file sees. JSON lines cannot have one. By default reports
            of one named batch keep its name, and other reports get a new name.
        force: whether a file that exists is replaced.

    Returns:
        The number of reports written.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if the file name has no ending for reports, or the name of the batch is not valid.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     dc.write_reports(f"{folder}/reports.parquet", mechanism, mechanism.obfuscate(["yes", "no"]))
        2
    """
    if name is not None and reports_ending(path) in paths.LINES:
        raise ParameterError("batch.no-name-in-lines", argument="name")
    mechanism, parts = _mechanism_of(mechanism), [batches] if isinstance(batches, Reports) else batches
    facts = facts_of(batches, name)
    return write_batches(path, mechanism, ((reports, None) for reports in parts), facts=facts, force=force)


def facts_of(batches: Any, name: str | None = None) -> dict[str, Any]:
    """Return metadata for a file of reports: the batch's name, and its number of reports if known.

    Args:
        batches: the reports.
        name: the name of the batch; None for the batch's present name, or a new one.

    Raises:
        ParameterError: if the name is not valid.
    """
    if not isinstance(batches, Reports):
        return {NAME: checked_name(name)}
    batch = batches.batch if name is None else None
    return batch_facts(checked_name(name), batches.n) if batch is None else batch_facts(batch.name, batch.size)


def reports_ending(path: str | Path) -> str:
    """Return the ending of a new file of reports.

    Raises:
        ParameterError: if the file name has no ending for reports.
    """
    return paths.checked_output(output_of(path, "reports"), paths.REPORTS, "reports")


def write_batches(
    path: str | Path,
    mechanism: Mechanism,
    batches: Iterable[tuple[Reports, pa.Table | None]],
    *,
    facts: Mapping[str, Any],
    public: pa.Schema | None = None,
    force: bool = False,
) -> int:
    """Write reports into a file with these metadata. Each batch comes with a table of public columns, or None."""
    written = 0
    with report_file(path, mechanism, facts=facts, public=public, force=force) as write:
        for reports, beside in batches:
            write(reports, beside)
            written += reports.n
    return written


@contextmanager
def report_file(
    path: str | Path,
    mechanism: Mechanism,
    *,
    facts: Mapping[str, Any],
    public: pa.Schema | None = None,
    force: bool,
) -> Iterator[Callable[[Reports, pa.Table | None], None]]:
    """Yield a function that writes a batch and its public columns. The file appears when the body has ended.

    The metadata of a Parquet file get the number of reports, if ``facts`` does not have it. Arguments and errors as for
    `write_batches`.
    """
    target, kind = output_of(path, "reports"), reports_ending(path)
    simulated, n, sink = False, 0, None

    def schema(more: Mapping[str, Any]) -> pa.Schema:
        return report_tables.schema_of(mechanism, simulated=simulated, facts={**facts, **more}, public=public)

    with replacing(target, force=force) as beside:

        def write(reports: Reports, rows: pa.Table | None) -> None:
            nonlocal sink, simulated, n
            if sink is None:
                simulated = reports.simulated
                sink = _open(beside, kind, mechanism, schema({}))
            if reports.simulated != simulated:
                raise DataError("reports.mixed")
            sink.write(mechanism, reports, rows)
            n += reports.n

        try:
            yield write
            sink = sink or _open(beside, kind, mechanism, schema({}))
            sink.close({} if NUMBER in facts else schema_entries(schema({NUMBER: n})))
        except BaseException:
            if sink is not None:
                sink.drop()
            raise


class _LineSink:
    def __init__(self, path: Path, *, compressed: bool) -> None:
        self._open = ExitStack()
        self._file = self._open.enter_context(written_text(path, compressed=compressed))

    def write(self, mechanism: Mechanism, reports: Reports, _: None = None) -> None:
        for line in json_reports.to_json(mechanism, reports):
            self._file.write(line + "\n")

    def close(self, _: Mapping[bytes, bytes]) -> None:
        self._open.close()

    def drop(self) -> None:
        # A second error about the incomplete text would hide the error that stopped the writing.
        with suppress(Exception):
            self._open.close()


def _open(path: Path, kind: str, mechanism: Mechanism, schema: pa.Schema) -> TableFile | _LineSink:
    if kind in paths.LINES:
        return _LineSink(path, compressed=kind != paths.LINES[0])
    return TableFile(path, schema, mechanism.columns)


def _mechanism_of(mechanism: "Mechanism | Plan") -> Mechanism:
    return mechanism.mechanism() if isinstance(mechanism, Plan) else mechanism


def read_reports(sources: Any, mechanism: "Mechanism | Plan") -> Reports:
    """Read and check files or tables of reports, and return the reports in memory.

    Args:
        sources: files of reports, folders of them, URLs, or tables of pandas, polars, DuckDB or Arrow; or `Sources`,
            without a share of bad rows.
        mechanism: the mechanism that made the reports, or its plan.

    Raises:
        DataError: if a file is missing, truncated, of another format, or holds a report that no device can send; or if
            the named batches show that reports are repeated.
        MismatchError: if a file belongs to another plan.
        ParameterError: if a source is a tally, or a file is named twice.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     for day in ("monday", "tuesday"):
        ...         reports = mechanism.obfuscate(range(100))
        ...         written = dc.write_reports(f"{folder}/{day}.jsonl", mechanism, reports)
        ...     dc.read_reports(folder, mechanism).n, dc.read_reports(f"{folder}/monday.jsonl", mechanism).n
        (200, 100)
        >>> dc.read_reports(reports.to_arrow(), mechanism).n
        100
    """
    scan = _scan_of_reports(sources, mechanism)
    with scan.reader() as reader:
        reports = Reports.concatenate(batch.reports for batch in reader)
    return replace(reports, batches=scan.batches)


def iterate_reports(sources: Any, mechanism: "Mechanism | Plan", *, batch: int = _BATCH) -> Iterator[Reports]:
    """Read files of reports, and yield the reports in batches: at least one batch, which may be empty.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/reports.arrow", mechanism, mechanism.obfuscate(["yes"] * 5))
        ...     [reports.n for reports in iterate_reports(f"{folder}/reports.arrow", mechanism, batch=2)]
        [2, 2, 1]
    """
    with _scan_of_reports(sources, mechanism).reader() as reader:
        for checked in reader.batches(batch):
            yield checked.reports


def _scan_of_reports(sources: Any, mechanism: "Mechanism | Plan") -> ScannedSources:
    """Scan sources, and raise an error if one of them is a tally."""
    read = sources_of(sources).with_all_rows()
    scan = read.scan(_mechanism_of(mechanism))
    scan.refuse_tallies()
    return scan


def read_public(
    mechanism: Mechanism, sources: Any, names: Sequence[str], *, memory: int | None = None
) -> tuple[Reports, Any]:
    """Return the reports of files in memory, and a `pyarrow.Table` of the public columns beside them.

    Args:
        mechanism: the mechanism that made the reports.
        sources: Parquet and Arrow files of reports, folders of such files, and tables; or `Sources` of them, without a
            share of bad rows.
        names: the names of the public columns.
        memory: the largest number of bytes in memory; None for no limit.

    Raises:
        DataError, MismatchError, ParameterError: as for `Sources.scan`; or if a row is not a report of this plan, or
            the reports do not fit into the memory.
    """
    scan = sources_of(sources).scan(mechanism, names)
    scan.refuse_tallies()
    each = sum(column.bytes for column in mechanism.columns) + _CELL * (1 + len(names))
    total = scan.rows or 0
    if memory is not None and _COPIES * total * each > memory:
        raise DataError(
            "reports.too-large", n=total, need=_COPIES * total * each / 1000000000.0, memory=memory / 1000000000.0
        )
    with scan.reader() as reader:
        batches = list(reader)
    if not batches:
        raise DataError("reports.missing")
    whole = pa.concat_tables(
        [pa.Table.from_batches([plain_batch(batch.public)]) for batch in batches], promote_options="permissive"
    )
    return replace(Reports.concatenate(batch.reports for batch in batches), batches=scan.batches), whole
