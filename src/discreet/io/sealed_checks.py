"""Checks of sealed files: sorted, in canonical bytes, and saying of themselves what they are."""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import RawIOBase
from itertools import product
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from discreet.core.batches import COLLECTION, EPOCH, EPOCHS, NUMBER, SEALED, batch_name, spelled
from discreet.core.digests import MODULUS, digesting
from discreet.core.report_table import STAMP
from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.io import arrow
from discreet.io.partitions import Partition
from discreet.io.read_errors import readable
from discreet.io.remote import File, file_of
from discreet.io.sealed_files import SEALED_REPORTS
from discreet.io.sealed_table import SealedTable
from discreet.io.sealing import OrderCheck, batch_rows
from discreet.io.stored import DIGEST_KEY, SCHEMA_KEY, StoredTable, look
from discreet.io.suffixes import checked
from discreet.mechanisms import Mechanism

_AGAIN = "seal the reports again with 'discreet seal'"
_WRITER = re.compile(r"parquet-cpp-arrow version [0-9]{1,4}(\.[0-9]{1,4}){2}")
_NAMES_SHOWN = 5


class UnsealedError(DataError):
    """A file of reports that can be read and is not sealed."""


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A sealed file that was checked.

    Attributes:
        path: the file.
        n: number of reports.
        simulated: whether they are simulated.
        compared: whether its bytes were compared with those that its reports give. They are not if another version of
            Arrow wrote the file, as its bytes are others then.
        writer: what wrote the file, as it says itself.
    """

    path: File
    n: int
    simulated: bool
    compared: bool
    writer: str


def check_sealed(source: str | File, mechanism: Mechanism) -> SealedFile:
    """Return the facts of a sealed file, after checks of every byte.

    Its reports must be ones that devices can send, in canonical order, as many as its metadata say; and its bytes must
    be those that these reports give, whatever order they came in: dictionaries, pages, statistics and all else.

    Args:
        source: the file, here or at a URL.
        mechanism: what made the reports.

    Raises:
        DataError: if it is damaged, or holds what no device can send.
        MismatchError: if it belongs to another plan.
        ParameterError: if sealed reports are not kept under such a name.
        UnsealedError: if it is not sealed, not sorted, or has other bytes; it says which, never what reports say.

    Example:
        >>> import discreet as dc
        >>> from discreet.io.sealed_files import write_sealed
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_sealed(f"{folder}/sealed.parquet", mechanism, mechanism.obfuscate(["bus"] * 100))
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
            _rewrite(Partition(path, mechanism, (), 0, table.state, table), facts, original)
            if compared and not original.same:
                raise UnsealedError(
                    "its reports are sorted, but its bytes are others than these reports give, and may show in which "
                    f"order they came; {_AGAIN}."
                )
        return SealedFile(path, int(facts[NUMBER]), bool(facts["simulated"]), compared, writer)


def _facts(table: StoredTable, mechanism: Mechanism) -> Mapping[str, Any]:
    """Return the facts of the stamp, after checks of what the file says of itself."""
    if not arrow.is_stamped(table.schema):
        raise UnsealedError(f"another tool wrote this file, so that it says nothing of being sealed; {_AGAIN}.")
    facts = arrow.read_stamp(table.schema, "reports", mechanism.fingerprint)
    own = [column.name for column in mechanism.columns]
    if beside := [name for name in table.schema.names if name not in own]:
        shown = ", ".join(repr(name[:40]) for name in beside[:_NAMES_SHOWN])
        raise UnsealedError(f"a sealed file must hold nothing beside the reports, got the columns {shown}; {_AGAIN}.")
    if facts.get(SEALED) is not True:
        raise UnsealedError(f"its metadata do not say that it is sealed; {_AGAIN}.")
    if table.seal is None:
        raise UnsealedError(f"it has no checksums, as another tool rewrote it; {_AGAIN}.")
    n = sum(table.rows)
    if type(facts.get(NUMBER)) is not int or facts[NUMBER] != n:
        raise UnsealedError(
            f"its metadata must say how many reports it holds, {n}, and they say something else; {_AGAIN}."
        )
    full = batch_rows(mechanism)
    if [*table.rows] != [full] * (n // full) + [n % full] * (n % full > 0):
        raise UnsealedError(f"its row groups must hold {full} reports each, but for the last, and do not; {_AGAIN}.")
    arrow.check_schema(mechanism, table.schema)
    _refuse_more(table, mechanism, facts)
    return facts


def _refuse_more(table: StoredTable, mechanism: Mechanism, facts: Mapping[str, Any]) -> None:
    """Refuse metadata that say anything but the known fields in their known forms, letter by letter."""
    wanted = _schema(mechanism, facts)
    known = {SCHEMA_KEY, STAMP} | {DIGEST_KEY} & {*table.beside}
    said = [
        ("the stamp", table.schema.metadata != wanted.metadata),
        ("the schema", not _is_schema(table.metadata.metadata.get(SCHEMA_KEY), wanted)),
        ("other entries", {*table.metadata.metadata} != known),
        ("columns", any(field.metadata for field in table.schema) or _notes(table.metadata)),
        ("the name of the writer", _WRITER.fullmatch(table.metadata.created_by) is None),
    ]
    if more := [where for where, wrong in said if wrong]:
        raise UnsealedError(f"its metadata say more than those of a sealed file, in {', '.join(more)}; {_AGAIN}.")


def _schema(mechanism: Mechanism, facts: Mapping[str, Any]) -> pa.Schema:
    """Return the schema of a sealed file with the facts that it may have; of a collection if they are of the form."""
    names = [name for name in (COLLECTION, EPOCH, EPOCHS) if name in facts] if batch_name(facts) else []
    said = {name: facts[name] for name in (*names, SEALED, NUMBER)}
    return arrow.schema(mechanism, simulated=facts.get("simulated") is True, facts=said)


def _is_schema(written: bytes | None, wanted: pa.Schema) -> bool:
    """Return true if this is a schema as Parquet files keep it, with nothing beside."""
    try:
        found = pa.ipc.read_schema(pa.py_buffer(b64decode(written or b"", validate=True)))
    except (ValueError, pa.ArrowException, OSError):
        return False
    return bool(found.equals(wanted, check_metadata=True))


def _notes(metadata: Any) -> bool:
    """Return true if the metadata of a column in a row group say anything of their own."""
    places = product(range(metadata.num_row_groups), range(metadata.num_columns))
    return any(metadata.row_group(group).column(column).metadata for group, column in places)


def _groups(whole: Partition) -> Iterator[Reports]:
    for group, rows in enumerate([] if whole.table is None else whole.table.rows):
        part = replace(whole, groups=(group,), rows=rows)
        yield Reports.concatenate(reports for reports, _ in part.reports(most=rows))


def _rewrite(whole: Partition, facts: Mapping[str, Any], sink: "_Comparing") -> None:
    """Write a file's reports as they are sealed, after checks of their order."""
    mechanism, check, found = whole.mechanism, OrderCheck(whole.mechanism), 0
    schema, said = _schema(mechanism, facts), {} if whole.table is None else whole.table.beside
    made = SealedTable(Path("sealed.parquet"), schema, mechanism.columns, into=cast(IO[bytes], sink))
    try:
        for reports in _groups(whole):
            check.add(reports)
            if check.misplaced is not None:
                raise UnsealedError(
                    f"its reports must be in canonical order, and row {check.misplaced} belongs before an earlier one; "
                    f"{_AGAIN}."
                )
            made.write(mechanism, reports)
            found += digesting(mechanism).of(reports)
        if said not in ({}, {DIGEST_KEY: spelled(found % MODULUS).encode()}):
            raise UnsealedError(
                f"its digest must be {spelled(found % MODULUS)}, that of its reports, and is not; {_AGAIN}."
            )
        made.close(said)
    finally:
        made.drop()
    sink.end()


class _Comparing(RawIOBase):
    """A file that keeps nothing of what is written into it, and compares it with another one.

    Attributes:
        same: whether all bytes were the same so far.
    """

    def __init__(self, file: Any) -> None:
        self._original = file
        self.same = True

    def writable(self) -> bool:
        """Return true: it is written to."""
        return True

    def write(self, data: Any) -> int:
        """Compare the next bytes."""
        written = bytes(data)
        self.same = self.same and self._original.read(len(written)) == written
        return len(written)

    def end(self) -> None:
        """Compare the ends."""
        self.same = self.same and not self._original.read(1)
