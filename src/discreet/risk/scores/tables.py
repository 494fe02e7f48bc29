"""Tables of a matcher's scores, with a row for each pair of a probe and a template."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import FloatArray
from discreet.errors import DataError
from discreet.risk.identifiers import identifier_codes
from discreet.tables.columns import check_once, read_table


def read_scores(
    path: str | Path, score: str, *, probe: str = "row", template: str = "col", failed: float | None = None
) -> FloatArray:
    """Read a table of scores as a matrix, for `discreet.risk.scores.biometric`.

    Args:
        path: a table with a row for each pair of a probe and a template.
        score: the column of scores.
        probe: the column with the user of the probe.
        template: the column with the user of the template.
        failed: the number that stands for a missing score, besides NaN; None if no score is missing.

    Returns:
        ``(n, n)`` scores, with a row for each probe and a column for each template. Users are in the order of the
        probes.

    Raises:
        DataError: if a column is missing, a pair is missing or repeated, or a score is neither a finite number nor
            ``failed``.

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
    for argument, name in {"probe": probe, "template": template, "score": score}.items():
        check_once(name, table.column_names, argument)
    (rows, n), (columns, m) = (identifier_codes(table[name], name) for name in (probe, template))
    same = np.asarray(table[probe].combine_chunks().unique()).tolist()
    order = {name: place for place, name in enumerate(same)}
    names = np.asarray(table[template].combine_chunks().unique()).tolist()
    if n != m or len(table) != n * n or set(same) != set(names):
        raise DataError("scores.not-all-pairs", n=len(table))
    places = np.array([order[name] for name in names])[columns]
    if len(np.unique(rows.astype(np.int64) * n + places)) != n * n:
        raise DataError("scores.repeated-pairs")
    matrix = np.empty((n, n))
    matrix[rows, places] = _numbers(table[score])
    return matrix


def _numbers(column: Any) -> FloatArray:
    """Return ``(m,)`` scores; nan for missing scores."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError("scores.not-numbers", argument="score", kind=kind)
    numbers: FloatArray = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers


def _refuse_missing(matrix: FloatArray, failed: float | None) -> None:
    """Raise an error for scores that are not finite, except for the score that stands for a failed comparison."""
    infinite = int(np.isinf(matrix[matrix != failed] if failed is not None else matrix).sum())
    if infinite:
        raise DataError("scores.infinite", count=infinite, size=matrix.size)
    missing = int(np.isnan(matrix).sum())
    if missing and failed is None:
        raise DataError("scores.absent", count=missing, size=matrix.size)
