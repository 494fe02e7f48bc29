"""Reports in files: written whole or not at all, checked when they are read."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.io import arrow, json_reports, suffixes
from discreet.io.atomic import replacing
from discreet.io.endings import lines_of, opened_text, written_text
from discreet.io.read_errors import readable
from discreet.io.remote import File, file_of
from discreet.io.rewritten import Form, Rewritten, form_of, rewritten_reports, warn_of
from discreet.io.sealed_table import SealedTable
from discreet.io.stored import FileState, look, no_rows, read_groups
from discreet.mechanisms import Mechanism

_BATCH = 1 << 18
# What a row group or a batch holds at most: readers check and keep it as a whole.
_GROUP_ROWS, _GROUP_BYTES = 1 << 20, 1 << 28
_NO_FACTS: Mapping[str, Any] = MappingProxyType({})


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
                    sink = _open(beside, kind, mechanism, arrow.schema(mechanism, simulated=simulated, facts=facts))
                if reports.simulated != simulated:
                    raise DataError("simulated and real reports must not be written into one file; write two.")
                sink.write(mechanism, reports)
                written += reports.n
            sink = sink or _open(beside, kind, mechanism, arrow.schema(mechanism, facts=facts))
            sink.close()
        except BaseException:
            if sink is not None:
                sink.drop()
            raise
    return written


def checked_suffix(path: File) -> str:
    """Return the ending of a file of reports, in lower case.

    Raises:
        ParameterError: if reports are not kept so.
    """
    return suffixes.checked(path, suffixes.REPORTS, "reports")


class _LineSink:
    def __init__(self, path: Path, *, compressed: bool) -> None:
        self._open = ExitStack()
        self._file = self._open.enter_context(written_text(path, compressed=compressed))

    def write(self, mechanism: Mechanism, reports: Reports) -> None:
        for line in json_reports.to_json(mechanism, reports):
            self._file.write(line + "\n")

    def close(self) -> None:
        self._open.close()

    def drop(self) -> None:
        # What ended the writing is what is to be said, not that the text is not whole.
        with suppress(Exception):
            self._open.close()


def _open(path: Path, kind: str, mechanism: Mechanism, schema: pa.Schema) -> SealedTable | _LineSink:
    if kind in suffixes.LINES:
        return _LineSink(path, compressed=kind != suffixes.LINES[0])
    return SealedTable(path, schema, mechanism.columns)


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
    source = file_of(path)
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


def _from_lines(path: File, mechanism: Mechanism, *, trust_plan: bool) -> Iterator[Reports]:
    state, longest, form = FileState.of(path), json_reports.longest_line(mechanism), None
    with opened_text(path) as text:
        if trust_plan:
            form = json_reports.form_of_lines(mechanism, lines_of(text, longest), trust_plan=True)
            text.seek(0)
        _warn_of(path, mechanism, form)
        yield json_reports.from_json(mechanism, lines_of(text, longest), form=form)
    state.check(path)


def _warn_of(path: File, mechanism: Mechanism, form: Form | None) -> None:
    warn_of({} if form is None else {path: form}, 1, mechanism.fingerprint)


def _checked(mechanism: Mechanism, rows: pa.RecordBatch, form: Form | None) -> Reports:
    if form is None:
        return arrow.from_arrow(mechanism, pa.Table.from_batches([rows]))
    return rewritten_reports(mechanism, Rewritten(rows, form), sift=False)[0]
