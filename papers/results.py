"""Rows of many runs, and their means."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from discreet.io.atomic import replacing
from papers.cells import Row

POINT = ("population", "mechanism", "estimator", "epsilon", "drawn", "values", "sensitive", "n")
MEASURES = ("tv", "mse", "seconds")


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of several runs and its standard error (0 for a single run)."""

    value: float
    error: float
    runs: int

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Mean":
        """Return the mean of at least one number."""
        spread = stdev(numbers) / sqrt(len(numbers)) if len(numbers) > 1 else 0.0
        return cls(fmean(numbers), spread, len(numbers))


@dataclass(frozen=True, eq=False)
class Results:
    """The results of an artefact: the rows of its cells.

    Attributes:
        rows: one per run and estimator.
    """

    rows: Sequence[Row]

    @cached_property
    def points(self) -> list[dict[str, Any]]:
        """One record per point of the figure: its coordinates, and the `Mean` of each measure."""
        groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in self.rows:
            groups[tuple(row.get(name) for name in POINT)].append(row)
        measures = [*MEASURES, *sorted({name for row in self.rows for name in row} - {*POINT, *MEASURES, "run"})]
        return [
            dict(zip(POINT, key, strict=True))
            | {name: Mean.of(found) for name in measures if (found := [row[name] for row in rows if name in row])}
            for key, rows in groups.items()
        ]

    def where(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the points with these coordinates; a tuple names several values of one."""
        return [point for point in self.points if all(_fits(point[name], value) for name, value in wanted.items())]

    def mean(self, measure: str, **wanted: Any) -> float:
        """Return the mean of a measure at the one point with these coordinates.

        Raises:
            LookupError: if it is not one.
        """
        found = self.where(**wanted)
        if len(found) != 1:
            raise LookupError(f"{len(found)} points with {wanted}")
        return float(found[0][measure].value)

    def write_csv(self, path: Path) -> None:
        """Write one line per point."""
        measures = list(dict.fromkeys(name for point in self.points for name in point if name not in POINT))
        heads = [*POINT, "runs", *(f"{name}{part}" for name in measures for part in ("", "_standard_error"))]
        with replacing(path, force=True) as beside, beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(heads)
            for point in self.points:
                means = [point[name] for name in measures if name in point]
                numbers = [
                    number
                    for name in measures
                    for number in ((repr(point[name].value), repr(point[name].error)) if name in point else ("", ""))
                ]
                told = ["" if point[name] is None else point[name] for name in POINT]
                writer.writerow([*told, means[0].runs, *numbers])


def _fits(found: Any, wanted: Any) -> bool:
    return bool(found in wanted) if isinstance(wanted, tuple) else bool(found == wanted)
