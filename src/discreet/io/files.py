"""Files of reports and of tallies: written whole or not at all, checked when they are read."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import DataError, DiscreetError
from discreet.io import arrow, json_form, suffixes
from discreet.io.endings import BROKEN, ending, lines_of, opened_text, written_text
from discreet.io.piped import Piped
from discreet.io.replacing import replacing
from discreet.io.rewritten import Form, Rewritten, form_of, rewritten_reports, warn_of
from discreet.io.seals import SealingFile
from discreet.io.stored import FileState, look, no_rows, read_groups
from discreet.mechanisms import Mechanism

_BATCH = 1 << 18
# What a row group or a batch holds at most: readers check and keep it as a whole.
_GROUP_ROWS, _GROUP_BYTES = 1 << 20, 1 << 28
_NO_FACTS: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def readable(path: Path | Piped) -> Iterator[None]:
    """Turn errors of libraries about a damaged file, or about standard input, into one sentence."""
    try:
        yield
    except DiscreetError as error:
        raise type(error)(f"{path}: {error}") from None
    except FileNotFoundError:
        raise DataError(f"{path} does not exist.") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError, *BROKEN) as error:
        raise DataError(
            f"{path} cannot be read ({type(error).__name__}); it may be truncated or of another format."
        ) from None


def write_reports(
    path: str | Path,
    mechanism: Mechanism,
    batches: Reports | Iterable[Reports],
    *,
    force: bool = False,
    facts: Mapping[str, Any] = _NO_FACTS,
) -> int:
    """Write reports as Parquet, Arrow IPC or JSON lines (see `suffixes`), batch by batch.

    Args:
        path: the file.
        mechanism: what made the reports.
        batches: the reports.
        force: whether a file that exists is replaced.
        facts: what the file's metadata say besides; lines have none.

    Returns:
        How many were written.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if reports are not kept under such a name.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     write_reports(f"{folder}/reports.parquet", mechanism, mechanism.obfuscate(["yes", "no"]))
        2
    """
    target, written, simulated = Path(path), 0, False
    parts = [batches] if isinstance(batches, Reports) else batches
    kind = suffixes.checked_output(target, suffixes.REPORTS, "reports")
    with replacing(target, force=force) as beside:
        sink: Any = None
        try:
            for reports in parts:
                if sink is None:
                    simulated = reports.simulated
                    sink = _open(beside, kind, arrow.schema(mechanism, simulated=simulated, facts=facts))
                if reports.simulated != simulated:
                    raise DataError("simulated and real reports must not be written into one file; write two.")
                sink.write(mechanism, reports)
                written += reports.n
            sink = sink or _open(beside, kind, arrow.schema(mechanism, facts=facts))
            sink.close()
        except BaseException:
            if sink is not None:
                sink.drop()
            raise
    return written


def checked_suffix(path: Path) -> str:
    """Return the ending of a file of reports, in lower case.

    Raises:
        ParameterError: if reports are not kept so.
    """
    return suffixes.checked(path, suffixes.REPORTS, "reports")


class _TableSink:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = SealingFile(path)
        if ending(path) == ".parquet":
            self._writer = pq.ParquetWriter(self._file, schema, compression="zstd", write_page_checksum=True)
        else:
            self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, mechanism: Mechanism, reports: Reports) -> None:
        each = sum(column.bytes for column in mechanism.columns)
        self.write_table(arrow.to_arrow(mechanism, reports), min(max(_GROUP_BYTES // each, 1), _GROUP_ROWS))

    def write_table(self, table: pa.Table, rows: int = _GROUP_ROWS) -> None:
        for start in range(0, table.num_rows, rows):
            group = table.slice(start, rows)
            self._writer.write_table(group, rows)
            self._file.mark(group.num_rows)

    def close(self) -> None:
        self._file.hold()
        self._writer.close()
        self._file.seal()
        self._file.release()

    def drop(self) -> None:
        self._file.release()


class _LineSink:
    def __init__(self, path: Path, *, compressed: bool) -> None:
        self._open = ExitStack()
        self._file = self._open.enter_context(written_text(path, compressed=compressed))

    def write(self, mechanism: Mechanism, reports: Reports) -> None:
        for line in json_form.to_json(mechanism, reports):
            self._file.write(line + "\n")

    def close(self) -> None:
        self._open.close()

    def drop(self) -> None:
        # What ended the writing is what is to be said, not that the text is not whole.
        with suppress(Exception):
            self._open.close()


def _open(path: Path, kind: str, schema: pa.Schema) -> _TableSink | _LineSink:
    if kind in suffixes.LINES:
        return _LineSink(path, compressed=kind != suffixes.LINES[0])
    return _TableSink(path, schema)


def read_reports(path: str | Path, mechanism: Mechanism, *, trust_plan: bool = False) -> Reports:
    """Return the reports of a file that `write_reports` wrote, checked.

    Args:
        path: the file.
        mechanism: what made the reports.
        trust_plan: whether the caller vouches for the plan of a file without a stamp, because another tool rewrote it;
            a stamp of another plan is refused all the same (`discreet.io.rewritten`).

    Raises:
        DataError: if the file is missing, truncated, of another format, or holds what no device can send.
        MismatchError: if it belongs to another plan.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/reports.jsonl", mechanism, mechanism.obfuscate(["yes", "no"]))
        ...     read_reports(f"{folder}/reports.jsonl", mechanism).n
        2
    """
    batches = list(iterate_reports(path, mechanism, trust_plan=trust_plan))
    return Reports.concatenate(batches)


def iterate_reports(
    path: str | Path, mechanism: Mechanism, *, batch: int = _BATCH, trust_plan: bool = False
) -> Iterator[Reports]:
    """Yield the reports of a file batch by batch, at least one batch (perhaps empty); see `read_reports`.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/reports.arrow", mechanism, mechanism.obfuscate(["yes"] * 5))
        ...     [reports.n for reports in iterate_reports(f"{folder}/reports.arrow", mechanism, batch=2)]
        [2, 2, 1]
    """
    source = Path(path)
    with readable(source):
        if checked_suffix(source) in suffixes.LINES:
            yield from _from_lines(source, mechanism, trust_plan=trust_plan)
            return
        stored, empty = look(source), True
        form = form_of(mechanism, stored.schema, trust_plan=trust_plan)
        _warn_of(source, mechanism, form)
        names = None if form is None else form.names(mechanism)
        for part in read_groups(stored, range(len(stored.rows)), batch, names):
            empty = False
            yield _checked(mechanism, part, form)
        if empty:
            yield _checked(mechanism, no_rows(stored.schema, names), form)


def _from_lines(path: Path, mechanism: Mechanism, *, trust_plan: bool) -> Iterator[Reports]:
    state, longest, form = FileState.of(path), json_form.longest_line(mechanism), None
    with opened_text(path) as text:
        if trust_plan:
            form = json_form.form_of_lines(mechanism, lines_of(text, longest), trust_plan=True)
            text.seek(0)
        _warn_of(path, mechanism, form)
        yield json_form.from_json(mechanism, lines_of(text, longest), form=form)
    state.check(path)


def _warn_of(path: Path, mechanism: Mechanism, form: Form | None) -> None:
    warn_of({} if form is None else {path: form}, 1, mechanism.fingerprint)


def _checked(mechanism: Mechanism, rows: pa.RecordBatch, form: Form | None) -> Reports:
    if form is None:
        return arrow.from_arrow(mechanism, pa.Table.from_batches([rows]))
    return rewritten_reports(mechanism, Rewritten(rows, form), sift=False)[0]


def write_columns(path: Path, table: Any) -> None:
    """Write a table into an existing file, as Parquet or Arrow IPC by its name."""
    if ending(path) == ".parquet":
        pq.write_table(table, path)
        return
    with pa.ipc.new_file(str(path), table.schema) as sink:
        sink.write_table(table)


def write_tally(path: str | Path, tally: Tally, *, force: bool = False, facts: Mapping[str, Any] = _NO_FACTS) -> None:
    """Write a tally as Parquet or Arrow IPC: one column of counts, first the support.

    Among reports it is known by its name, which then has to end in one of `suffixes.TALLIES`.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if tallies are not kept under such a name.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> tally = mechanism.tally(mechanism.obfuscate(["yes"] * 50))
        >>> with TemporaryDirectory() as folder:
        ...     write_tally(f"{folder}/monday.tally.parquet", tally)
        ...     read_tally(f"{folder}/monday.tally.parquet", mechanism) == tally
        True
    """
    suffixes.checked(Path(path), suffixes.COLUMNS, "tallies")
    with replacing(path, force=force) as beside:
        put_tally(beside, tally, facts=facts)


def put_tally(path: Path, tally: Tally, *, facts: Mapping[str, Any] = _NO_FACTS) -> None:
    """Write a tally into an existing file."""
    said = {**facts, "n": tally.n, "support": len(tally.support), "simulated": tally.simulated}
    counts = pa.array(np.concatenate([tally.support, tally.clear]))
    schema = pa.schema([pa.field("count", pa.int64())], metadata=arrow.stamp("tally", tally.fingerprint, **said))
    sink = _TableSink(path, schema)
    try:
        sink.write_table(pa.Table.from_arrays([counts], schema=schema))
        sink.close()
    except BaseException:
        sink.drop()
        raise


def read_tally(path: str | Path, mechanism: Mechanism) -> Tally:
    """Return the tally of a file that `write_tally` wrote, checked.

    Raises:
        DataError: if the file is missing, truncated, or its counts cannot be a tally.
        MismatchError: if it belongs to another plan.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     write_tally(f"{folder}/monday.tally.parquet", mechanism.empty_tally())
        ...     read_tally(f"{folder}/monday.tally.parquet", mechanism).n
        0
    """
    source = Path(path)
    with readable(source):
        suffixes.checked(source, suffixes.COLUMNS, "tallies")
        stored = look(source)
        facts = arrow.read_stamp(stored.schema, "tally", mechanism.fingerprint)
        batches = read_groups(stored, range(len(stored.rows)), _BATCH)
        table = pa.Table.from_batches(batches, schema=stored.schema)
        return _checked_tally(mechanism, facts, table)


def _checked_tally(mechanism: Mechanism, facts: dict[str, Any], table: pa.Table) -> Tally:
    empty = mechanism.empty_tally()
    wanted = len(empty.support) + len(empty.clear)
    if table.column_names != ["count"] or table.num_rows != wanted or table["count"].type != pa.int64():
        raise DataError(f"a tally of this plan has {wanted} counts; this one has not.")
    counts, n = table["count"].combine_chunks(), facts.get("n")
    if counts.null_count or type(n) is not int or facts.get("support") != len(empty.support):
        raise DataError("this tally has been changed by hand: its counts do not fit together.")
    numbers = counts.to_numpy().copy()
    support, clear = numbers[: len(empty.support)], numbers[len(empty.support) :]
    if not 0 <= n < 1 << 62 or (len(numbers) and numbers.min() < 0) or not mechanism.is_consistent(n, support, clear):
        raise DataError("this tally has been changed by hand: its counts do not fit its number of reports.")
    return Tally(mechanism.fingerprint, n, support, clear, bool(facts.get("simulated")))
