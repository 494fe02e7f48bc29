"""Tables of a matcher's scores, a row per pair of a probe and a template, as a matrix."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import FloatArray
from discreet.core.event_columns import numbered
from discreet.errors import DataError, ParameterError
from discreet.io.tables import read_table


def read_scores(
    path: str | Path, score: str, *, probe: str = "row", template: str = "col", failed: float | None = None
) -> FloatArray:
    """Return the scores of a table as a matrix, for `discreet.risk.scores.biometric`.

    Args:
        path: a table with a row for each pair of a probe and a template.
        score: column of scores.
        probe: column that says whose probe it is.
        template: column that says whose template it is.
        failed: what stands for no score, besides NaN; None if there always is one.

    Returns:
        ``(n, n)`` scores, a row per probe and a column per template, users in the order of the probes.

    Raises:
        ParameterError: if a column is not there.
        DataError: if a pair is missing or there twice, or a score is no finite number and not ``failed``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     table = Path(folder) / "scores.csv"
        ...     rows = ["row,col,face", "b,a,0.1", "b,b,0.9", "a,a,0.8", "a,b,0.2"]
        ...     _ = table.write_text(chr(10).join(rows))
        ...     read_scores(table, "face").tolist()
        [[0.9, 0.1], [0.2, 0.8]]
    """
    matrix = _matrix(read_table(path), probe, template, score)
    _refuse_missing(matrix, failed)
    return matrix


def _matrix(table: Any, probe: str, template: str, score: str) -> FloatArray:
    for name in (probe, template, score):
        if name not in table.column_names:
            raise ParameterError(f"there is no column {name!r}; the table has {', '.join(table.column_names)}.")
    (rows, n), (columns, m) = (numbered(table[name], name) for name in (probe, template))
    same = np.asarray(table[probe].combine_chunks().unique()).tolist()
    order = {name: place for place, name in enumerate(same)}
    names = np.asarray(table[template].combine_chunks().unique()).tolist()
    if n != m or len(table) != n * n or set(same) != set(names):
        raise DataError(
            f"there must be a score of every one of n probes for each of as many templates, got {len(table)}."
        )
    places = np.array([order[name] for name in names])[columns]
    if len(np.unique(rows.astype(np.int64) * n + places)) != n * n:
        raise DataError("some pairs of a probe and a template are there twice, and others not at all.")
    matrix = np.empty((n, n))
    matrix[rows, places] = _numbers(table[score])
    return matrix


def _numbers(column: Any) -> FloatArray:
    """Return ``(m,)`` scores; nan where one is missing."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"scores must be numbers, got a column of {kind}; choose another with --score.")
    numbers: FloatArray = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers


def _refuse_missing(matrix: FloatArray, failed: float | None) -> None:
    """Refuse scores that are no finite numbers, other than those that ``--failed`` names."""
    infinite = int(np.isinf(matrix[matrix != failed] if failed is not None else matrix).sum())
    if infinite:
        raise DataError(
            f"{infinite} of {matrix.size} scores are infinite; if these mean that there is no score, say so with "
            "--failed inf (or -inf)."
        )
    missing = int(np.isnan(matrix).sum())
    if missing and failed is None:
        raise DataError(
            f"{missing} of {matrix.size} scores are missing; with --failed nan the users whom these are about are left "
            "out, and counted."
        )
