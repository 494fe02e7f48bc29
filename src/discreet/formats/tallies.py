"""Files of tallies, written whole or not at all and checked when they are read; columns of results in files."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.arrow import array_of, arrow_numbers
from discreet.core.reports import SealedBatch, batch_name, read_digest, spelled, stamp
from discreet.core.tally import Tally
from discreet.errors import DataError
from discreet.files import paths
from discreet.files.paths import File, ending, file_of, output_of
from discreet.files.reading import readable
from discreet.files.stored import TableFile, look, read_groups
from discreet.files.writing import replacing
from discreet.mechanisms import Mechanism, report_tables

_BATCH = 1 << 18
# Names of what a file says of the reports that were counted.
_BATCHES, _REST = "batches", "rest"
_NO_FACTS: Mapping[str, Any] = MappingProxyType({})


def write_tally(path: str | Path, tally: Tally, *, force: bool = False, facts: Mapping[str, Any] = _NO_FACTS) -> None:
    """Write a tally as Parquet or Arrow IPC: one column of counts, first the support.

    The file lists the sealed batches that were counted, with their digests, and the digest of all other reports
    together: nothing finer. With ``facts`` of a collection and its epoch the tally is that of one sealed batch.

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
    paths.checked(output_of(path, "tallies"), paths.COLUMNS, "tallies")
    with replacing(path, force=force) as beside:
        put_tally(beside, tally, facts=facts)


def put_tally(path: Path, tally: Tally, *, facts: Mapping[str, Any] = _NO_FACTS) -> None:
    """Write a tally into an existing file."""
    head = {**facts, "n": tally.n, "support": len(tally.support), "simulated": tally.simulated, **_known(tally, facts)}
    counts = array_of(np.concatenate([tally.support, tally.clear]))
    schema = pa.schema([pa.field("count", pa.int64())], metadata=stamp("tally", tally.fingerprint, **head))
    sink = TableFile(path, schema)
    try:
        sink.write_table(pa.Table.from_arrays([counts], schema=schema))
        sink.close()
    except BaseException:
        sink.drop()
        raise


def _known(tally: Tally, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of the reports that a tally has counted; none where they are not known."""
    batches, rest = tally.batches, tally.rest
    if rest is None:
        return {}
    if tally.rest_n and not batches and (name := batch_name(facts)):
        # The facts say that this is the tally of a sealed batch.
        batches, rest = (SealedBatch(name, rest, tally.n),), 0
    return {_BATCHES: [batch.entry for batch in batches], _REST: spelled(rest)}


def _known_of(facts: Mapping[str, Any]) -> tuple[tuple[SealedBatch, ...], int | None]:
    """Return the sealed batches that a tally has counted, and the digest of all other reports; None if it says none."""
    if _REST not in facts and _BATCHES not in facts:
        return (), None
    try:
        batches = tuple(map(SealedBatch.of_entry, facts[_BATCHES]))
        if [*batches] != sorted(set(batches)):
            raise ValueError("not in order, or not different")
        return batches, read_digest(facts[_REST])
    except (KeyError, TypeError, ValueError):
        raise DataError("this tally has been changed by hand: it lists no sealed batches as they are listed.") from None


def read_tally(path: str | File, mechanism: Mechanism) -> Tally:
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
    source = file_of(path)
    with readable(source), paths.held(source):
        paths.checked(source, paths.COLUMNS, "tallies")
        stored = look(source)
        facts = report_tables.read_stamp(stored.schema, "tally", mechanism.fingerprint)
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
    each = arrow_numbers(counts).copy()
    support, clear = each[: len(empty.support)], each[len(empty.support) :]
    if not 0 <= n < 1 << 62 or (len(each) and each.min() < 0) or not mechanism.is_consistent(n, support, clear):
        raise DataError("this tally has been changed by hand: its counts do not fit its number of reports.")
    return Tally(mechanism.fingerprint, n, support, clear, bool(facts.get("simulated")), *_known_of(facts))


def write_columns(path: Path, table: Any) -> None:
    """Write a table into an existing file, as Parquet or Arrow IPC by its name."""
    if ending(path) == ".parquet":
        pq.write_table(table, path)
        return
    with pa.ipc.new_file(str(path), table.schema) as sink:
        sink.write_table(table)
