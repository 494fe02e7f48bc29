"""Sealed files: reports in canonical order, without public columns, and checks that a file is sealed.

Files of reports and a collector's epochs have the same format and the same writer. The same reports under the same name
give the same bytes. The check reads every byte.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import RawIOBase
from itertools import product
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from discreet.core.batches import COLLECTION, EPOCH, EPOCHS, NAME, NUMBER, SEALED, batch_name
from discreet.core.checks import checked_whole
from discreet.core.reports import STAMP, Reports
from discreet.errors import DataError
from discreet.files.paths import File, checked, checked_output, file_of, output_of
from discreet.files.reading import readable
from discreet.files.stored import SCHEMA_KEY, StoredTable, TableFile, look
from discreet.files.writing import check_free
from discreet.formats.reports import write_batches
from discreet.formats.scanned import TableSource
from discreet.formats.sealing import OrderCheck, batch_rows
from discreet.mechanisms import Mechanism, report_tables
from discreet.mechanisms.report_tables import Form

SEALED_REPORTS = (".parquet",)
"""The ending of sealed files. There is one format, so that the same reports give the same bytes."""

_DIGEST_KEY, _DIGEST = b"discreet digest", re.compile(rb"[0-9a-f]{32}")
"""A further entry in the metadata of sealed files of earlier versions, which is not read."""

LEAST = 2
"""The default for the least number of reports in a sealed file. A single report would not be hidden among others."""


def refuse_fewer(n: int, least: int) -> None:
    """Raise an error if n, the number of reports of a batch, is below `least`.

    Raises:
        DataError: if there are fewer reports than ``least``.
        ParameterError: if ``least`` is not a whole number of at least 1.
    """
    if n < checked_whole("least", least):
        raise DataError("batch.too-small", least=least, n=n)


def checked_sealed(path: str | Path, *, force: bool) -> Path:
    """Check the path of a new sealed file, and return it.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if the file cannot be written, or its name has no ending for sealed files.
    """
    target = output_of(path, "sealed reports")
    checked_output(target, SEALED_REPORTS, "sealed reports")
    check_free(target, force=force)
    return target


def put_sealed(
    path: str | Path,
    mechanism: Mechanism,
    batches: Iterable[Reports],
    n: int,
    *,
    facts: Mapping[str, Any],
    force: bool = False,
) -> int:
    """Write n reports, which are in canonical order already, into a sealed file.

    Args:
        path: the file, Parquet.
        mechanism: the mechanism that made the reports.
        batches: the reports, in the batches of `CanonicalOrder.batches`.
        n: the number of reports.
        facts: the name of the batch, or its collection and epochs.
        force: whether a file that exists is replaced.

    Returns:
        The number of reports written.

    Raises:
        DataError: if ``batches`` has another number of reports than n. Then no file is written.
    """

    def passed() -> Iterator[tuple[Reports, None]]:
        written = 0
        for batch in batches:
            yield batch, None
            written += batch.n
        if written != n:
            raise DataError("batch.changed")

    return write_batches(path, mechanism, passed(), facts={**facts, SEALED: True, NUMBER: n}, force=force)


_WRITER = re.compile(r"parquet-cpp-arrow version [0-9]{1,4}(\.[0-9]{1,4}){2}")
_NAMES_SHOWN = 5


class UnsealedError(DataError):
    """Raised if a file of reports is readable but not sealed."""


@dataclass(frozen=True, slots=True)
class SealedFile:
    """The result of checking a sealed file: its number of reports, its writer, and whether bytes were compared.

    Attributes:
        path: the file.
        n: the number of reports.
        simulated: whether the reports are simulated.
        compared: whether the file's bytes were compared with the bytes that its reports give. They are not compared if
            another version of Arrow wrote the file, because this version would write other bytes.
        writer: the name and version of the program that wrote the file, from its metadata.
    """

    path: File
    n: int
    simulated: bool
    compared: bool
    writer: str


def check_sealed(source: str | File, mechanism: Mechanism) -> SealedFile:
    """Check every byte of a sealed file, and return a description of the file.

    Devices must be able to send its reports. The reports must be in canonical order, and their number must be the one
    in the metadata. The bytes must be the bytes that these reports give, including dictionaries, pages and statistics.

    Args:
        source: the file, here or at a URL.
        mechanism: the mechanism that made the reports.

    Raises:
        DataError: if the file is damaged, or holds a report that no device can send.
        MismatchError: if the file belongs to another plan.
        ParameterError: if the file name has no ending for sealed files.
        UnsealedError: if the file is not sealed, not sorted, or has other bytes. The error never quotes reports.

    Example:
        >>> import discreet as dc
        >>> from discreet.engines import LocalEngine
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     reports, path = mechanism.obfuscate(["bus"] * 100), f"{folder}/sealed.parquet"
        ...     written = LocalEngine().seal(mechanism, reports, path)
        ...     check_sealed(f"{folder}/sealed.parquet", mechanism).n
        100
    """
    path = file_of(source)
    checked(path, SEALED_REPORTS, "sealed reports")
    with readable(path):
        table = look(path)
        facts = _facts(table, mechanism)
        writer = str(table.metadata.created_by)
        compared = writer == f"parquet-cpp-arrow version {pa.cpp_version}"
        with path.open("rb") as file:
            original = _Comparing(file)
            _rewrite(table, mechanism, facts, original)
            if compared and not original.same:
                raise UnsealedError("sealed.other-bytes")
        return SealedFile(path, int(facts[NUMBER]), bool(facts["simulated"]), compared, writer)


def _facts(table: StoredTable, mechanism: Mechanism) -> Mapping[str, Any]:
    """Check the metadata of a sealed file, and return them."""
    if not report_tables.is_stamped(table.schema):
        raise UnsealedError("sealed.other-tool")
    facts = report_tables.read_stamp(table.schema, "reports", mechanism.fingerprint)
    own_columns = [column.name for column in mechanism.columns]
    if beside := [name for name in table.schema.names if name not in own_columns]:
        shown = ", ".join(repr(name[:40]) for name in beside[:_NAMES_SHOWN])
        raise UnsealedError("sealed.more-columns", names=shown)
    if facts.get(SEALED) is not True:
        raise UnsealedError("sealed.not-marked")
    if table.checksums is None:
        raise UnsealedError("sealed.without-checksums")
    n = sum(table.rows)
    if type(facts.get(NUMBER)) is not int or facts[NUMBER] != n:
        raise UnsealedError("sealed.wrong-number", n=n)
    full = batch_rows(mechanism)
    if [*table.rows] != [full] * (n // full) + [n % full] * (n % full > 0):
        raise UnsealedError("sealed.wrong-row-groups", full=full)
    if not table.schema.equals(report_tables.schema_of(mechanism)):
        raise UnsealedError("sealed.wrong-types")
    _refuse_more(table, mechanism, facts)
    return facts


def _refuse_more(table: StoredTable, mechanism: Mechanism, facts: Mapping[str, Any]) -> None:
    """Raise an error if the metadata are not exactly the known fields with values of their types."""
    wanted = _schema(mechanism, facts)
    digest = table.beside.get(_DIGEST_KEY)
    known = {SCHEMA_KEY, STAMP, *([] if digest is None or not _DIGEST.fullmatch(digest) else [_DIGEST_KEY])}
    faults = [
        ("the stamp", table.schema.metadata != wanted.metadata),
        ("the schema", not _is_schema(table.metadata.metadata.get(SCHEMA_KEY), wanted)),
        ("other entries", {*table.metadata.metadata} != known),
        ("columns", any(field.metadata for field in table.schema) or _notes(table.metadata)),
        ("the name of the writer", _WRITER.fullmatch(table.metadata.created_by) is None),
    ]
    if more := [where for where, wrong in faults if wrong]:
        raise UnsealedError("sealed.more-metadata", names=", ".join(more))


def _schema(mechanism: Mechanism, facts: Mapping[str, Any]) -> pa.Schema:
    """Return the schema of a sealed file with its allowed metadata: a name, or a collection and epochs."""
    known = (NAME,) if NAME in facts else (COLLECTION, EPOCH, EPOCHS)
    names = [name for name in known if name in facts] if batch_name(facts) else []
    stamped = {name: facts[name] for name in (*names, SEALED, NUMBER)}
    return report_tables.schema_of(mechanism, simulated=facts.get("simulated") is True, facts=stamped)


def _is_schema(written: bytes | None, wanted: pa.Schema) -> bool:
    """Return true if these bytes are the schema, as Parquet files store it, with no further metadata."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(b64decode(written or b"", validate=True)))
    except (ValueError, pa.ArrowException, OSError):
        return False
    return bool(schema.equals(wanted, check_metadata=True))


def _notes(metadata: Any) -> bool:
    """Return true if a column of a row group has metadata."""
    places = product(range(metadata.num_row_groups), range(metadata.num_columns))
    return any(metadata.row_group(group).column(column).metadata for group, column in places)


def _rewrite(table: StoredTable, mechanism: Mechanism, facts: Mapping[str, Any], sink: "_Comparing") -> None:
    """Check the order of a file's reports, and write them to `sink` as they are written when a file is sealed."""
    check, source = OrderCheck(mechanism), TableSource(table.path, mechanism, Form(facts), table=table)
    file = TableFile(Path("sealed.parquet"), _schema(mechanism, facts), mechanism.columns, into=cast(IO[bytes], sink))
    try:
        for group, rows in enumerate(table.rows):
            reports = Reports.concatenate(batch.reports for batch in source.batches((group,), most=rows))
            check.add(reports)
            if check.misplaced is not None:
                raise UnsealedError("sealed.not-sorted", row=check.misplaced)
            file.write(mechanism, reports)
        file.close(table.beside)
    finally:
        file.drop()
    sink.end()


class _Comparing(RawIOBase):
    """A stream that compares the bytes written to it with a file, and stores nothing.

    Attributes:
        same: whether all bytes so far are the same.
    """

    def __init__(self, file: Any) -> None:
        self._original = file
        self.same = True

    def writable(self) -> bool:
        """Return true, because bytes can be written to the stream."""
        return True

    def write(self, data: Any) -> int:
        """Compare the bytes with the next bytes of the file."""
        written = bytes(data)
        self.same = self.same and self._original.read(len(written)) == written
        return len(written)

    def end(self) -> None:
        """Check that the file has no further bytes."""
        self.same = self.same and not self._original.read(1)
