"""Tallies in files: written whole or not at all, checked when they are read."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.arrow_memory import array_of, numbers
from discreet.core.report_table import stamp
from discreet.core.tally import Tally
from discreet.errors import DataError
from discreet.io import arrow, suffixes
from discreet.io.atomic import replacing
from discreet.io.read_errors import readable
from discreet.io.remote import File, file_of, output_of
from discreet.io.sealed_table import SealedTable
from discreet.io.stored import look, read_groups
from discreet.mechanisms import Mechanism

_BATCH = 1 << 18
_NO_FACTS: Mapping[str, Any] = MappingProxyType({})


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
    suffixes.checked(output_of(path, "tallies"), suffixes.COLUMNS, "tallies")
    with replacing(path, force=force) as beside:
        put_tally(beside, tally, facts=facts)


def put_tally(path: Path, tally: Tally, *, facts: Mapping[str, Any] = _NO_FACTS) -> None:
    """Write a tally into an existing file."""
    said = {**facts, "n": tally.n, "support": len(tally.support), "simulated": tally.simulated}
    counts = array_of(np.concatenate([tally.support, tally.clear]))
    schema = pa.schema([pa.field("count", pa.int64())], metadata=stamp("tally", tally.fingerprint, **said))
    sink = SealedTable(path, schema)
    try:
        sink.write_table(pa.Table.from_arrays([counts], schema=schema))
        sink.close()
    except BaseException:
        sink.drop()
        raise


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
    each = numbers(counts).copy()
    support, clear = each[: len(empty.support)], each[len(empty.support) :]
    if not 0 <= n < 1 << 62 or (len(each) and each.min() < 0) or not mechanism.is_consistent(n, support, clear):
        raise DataError("this tally has been changed by hand: its counts do not fit its number of reports.")
    return Tally(mechanism.fingerprint, n, support, clear, bool(facts.get("simulated")))
