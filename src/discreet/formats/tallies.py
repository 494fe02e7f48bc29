"""Files of tallies. They are written whole or not at all, and checked when they are read."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.arrow import array_of, arrow_numbers
from discreet.core.batches import NamedBatch, batch_in, batch_name, new_name
from discreet.core.reports import stamp
from discreet.core.tally import Tally
from discreet.errors import DataError
from discreet.files import paths
from discreet.files.paths import File, ending, file_of, output_of
from discreet.files.reading import readable
from discreet.files.stored import TableFile, look
from discreet.files.writing import replacing
from discreet.mechanisms import Mechanism, report_tables

_BATCH = 1 << 18
# The name of the list of batches that were counted.
_BATCHES = "batches"
_NO_FACTS: Mapping[str, Any] = MappingProxyType({})


def write_tally(path: str | Path, tally: Tally, *, force: bool = False, facts: Mapping[str, Any] = _NO_FACTS) -> None:
    """Write a tally as Parquet or Arrow IPC, with one column of counts: first the support, then values in clear.

    The file lists the counted batches with their names and numbers of reports. Reports without a named batch become a
    batch with a new name, or the sealed batch of a collection and epoch that ``facts`` names.

    To be recognised among files of reports, the file name must end in one of `paths.TALLIES`.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if the file name has no ending for tallies.

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
    paths.checked(output_of(path, "tallies"), paths.COLUMNS, "tallies")
    with replacing(path, force=force) as beside:
        put_tally(beside, tally, facts=facts)


def put_tally(path: Path, tally: Tally, *, facts: Mapping[str, Any] = _NO_FACTS) -> None:
    """Write a tally into an existing file."""
    head = {**facts, "n": tally.n, "support": len(tally.support), "simulated": tally.simulated}
    head[_BATCHES] = [batch.entry for batch in _batches(tally, facts)]
    counts = array_of(np.concatenate([tally.support, tally.clear]))
    schema = pa.schema([pa.field("count", pa.int64())], metadata=stamp("tally", tally.fingerprint, **head))
    sink = TableFile(path, schema)
    try:
        sink.write_table(pa.Table.from_arrays([counts], schema=schema))
        sink.close()
    except BaseException:
        sink.drop()
        raise


def _batches(tally: Tally, facts: Mapping[str, Any]) -> list[NamedBatch]:
    """Return the batches of a tally, in order. Reports without a named batch form one new batch."""
    others = [NamedBatch(batch_name(facts) or new_name(), tally.unnamed, tally.unnamed)] if tally.unnamed else []
    return sorted([*tally.batches, *others])


def _read_batches(facts: Mapping[str, Any]) -> tuple[NamedBatch, ...]:
    """Return the batches that a tally has counted. Tallies of earlier versions have no list of batches."""
    if _BATCHES not in facts:
        whole = batch_in(facts, facts["n"])
        return () if whole is None else (whole,)
    try:
        listed = [entry for entry in facts[_BATCHES] if entry[0] != ""]
        batches = tuple(map(NamedBatch.of_entry, listed))
        if len({batch.name for batch in batches}) < len(batches):
            raise ValueError("a name is there twice")
    except (KeyError, IndexError, TypeError, ValueError):
        raise DataError("tally.wrong-batches") from None
    return batches


def read_tally(path: str | File, mechanism: Mechanism) -> Tally:
    """Read and check a file that `write_tally` wrote, and return the tally.

    Raises:
        DataError: if the file is missing, truncated, or its counts cannot be a tally.
        MismatchError: if the tally belongs to another plan.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     write_tally(f"{folder}/monday.tally.parquet", mechanism.empty_tally())
        ...     read_tally(f"{folder}/monday.tally.parquet", mechanism).n
        0
    """
    source = file_of(path)
    with readable(source), paths.held(source):
        paths.checked(source, paths.COLUMNS, "tallies")
        stored = look(source)
        facts = report_tables.read_stamp(stored.schema, "tally", mechanism.fingerprint)
        batches = stored.read(range(len(stored.rows)), _BATCH)
        table = pa.Table.from_batches(batches, schema=stored.schema)
        return _checked_tally(mechanism, facts, table)


def _checked_tally(mechanism: Mechanism, facts: dict[str, Any], table: pa.Table) -> Tally:
    empty = mechanism.empty_tally()
    wanted = len(empty.support) + len(empty.clear)
    if table.column_names != ["count"] or table.num_rows != wanted or table["count"].type != pa.int64():
        raise DataError("tally.wrong-length", wanted=wanted)
    counts, n = table["count"].combine_chunks(), facts.get("n")
    if counts.null_count or type(n) is not int or facts.get("support") != len(empty.support):
        raise DataError("tally.wrong-counts")
    each = arrow_numbers(counts).copy()
    support, clear = each[: len(empty.support)], each[len(empty.support) :]
    if not 0 <= n < 1 << 62 or (len(each) and each.min() < 0) or not mechanism.is_consistent(n, support, clear):
        raise DataError("tally.wrong-number")
    return Tally(mechanism.fingerprint, n, support, clear, bool(facts.get("simulated")), _read_batches(facts))


def write_columns(path: Path, table: Any) -> None:
    """Write an Arrow table into an existing file, as Parquet or Arrow IPC according to the file's ending."""
    if ending(path) == ".parquet":
        pq.write_table(table, path)
        return
    with pa.ipc.new_file(str(path), table.schema) as sink:
        sink.write_table(table)
