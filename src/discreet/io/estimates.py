"""Estimates as plain facts, ready for JSON, and as columns in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.confidence_intervals import DEFAULT_LEVEL
from discreet.core.estimate import Estimate
from discreet.io.endings import ending


def estimate_facts(
    found: Estimate, level: float | None, *, simultaneous: bool, more: Mapping[str, Sequence[float]] | None = None
) -> dict[str, Any]:
    """Return an estimate as JSON holds it; ``values`` has an object per value, with the columns of `Estimate.columns`.

    Args:
        found: the estimate.
        level: confidence of the intervals; None for the default.
        simultaneous: whether all intervals hold at once.
        more: further columns, each as long as the domain.

    Raises:
        ParameterError: if the level is not in (0, 1).
    """
    columns = found.columns(level, simultaneous=simultaneous)
    outside = np.flatnonzero(found.contradicted(DEFAULT_LEVEL if level is None else level, simultaneous))
    return {
        "plan": found.fingerprint,
        "method": found.method,
        "n": found.n,
        "gap": found.gap,
        "level": DEFAULT_LEVEL if level is None else level,
        "simultaneous": simultaneous,
        "contradicted": list(found.domain.names(outside)),
        "simulated": found.simulated,
        **({} if found.publication is None else {"publication": found.publication.to_dict()}),
        "values": objects({name: column.tolist() for name, column in columns.items()} | dict(more or {})),
    }


def objects(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return columns as one object per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def write_columns(path: Path, table: Any) -> None:
    """Write a table into an existing file, as Parquet or Arrow IPC by its name."""
    if ending(path) == ".parquet":
        pq.write_table(table, path)
        return
    with pa.ipc.new_file(str(path), table.schema) as sink:
        sink.write_table(table)
