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
from discreet.io.endings import written_text
from discreet.io.partitions import partitions_of
from discreet.io.remote import file_of, output_of
from discreet.io.rewritten import warn_of
from discreet.io.sealed_table import SealedTable
from discreet.mechanisms import Mechanism

_BATCH = 1 << 18
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
    target, written, simulated = output_of(path, "reports"), 0, False
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
    parts = partitions_of(source, mechanism, trust_plan=trust_plan)
    warn_of({part.path: part.form for part in parts if part.form is not None}, 1, mechanism.fingerprint)
    for part in parts:
        for reports, _ in part.reports(most=batch):
            yield reports
