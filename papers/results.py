"""Rows of measurements, their means over runs, and the file of these means."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Generic, TypeVar

from discreet.files.writing import replacing

_KINDS: dict[str, type["Row"]] = {}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measurement of one run. Floating-point fields are measures; the others are the coordinates of a point.

    Attributes:
        mechanism: the mechanism, or what stands in its place: a matcher, the attacker's knowledge, a tag.
        values: |X|.
        sensitive: the number of protected values.
        n: the number of users.
    """

    mechanism: str
    values: int
    sensitive: int
    n: int

    def __init_subclass__(cls) -> None:
        _KINDS[cls.__name__] = cls

    @classmethod
    def measures(cls) -> tuple[str, ...]:
        """Return the names of the measures."""
        return tuple(field.name for field in fields(cls) if field.type is float)

    @classmethod
    def own_coordinates(cls) -> tuple[str, ...]:
        """Return the names of the coordinates that this kind of row has, and not every row."""
        common = {field.name for field in fields(Row)}
        return tuple(field.name for field in fields(cls) if field.type is not float and field.name not in common)


R = TypeVar("R", bound=Row)
R_co = TypeVar("R_co", bound=Row, covariant=True)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A row of one run of one cell.

    Attributes:
        population: name of the data set.
        epsilon: of the cell.
        drawn: of the cell.
        run: number of the run.
        row: what was measured.
    """

    population: str
    epsilon: float | None
    drawn: int | None
    run: int
    row: Row

    def as_json(self) -> dict[str, Any]:
        """Return the measurement as it is kept in a file."""
        at = {"population": self.population, "epsilon": self.epsilon, "drawn": self.drawn, "run": self.run}
        return {"kind": type(self.row).__name__, **at, **asdict(self.row)}

    @classmethod
    def of_json(cls, entry: dict[str, Any]) -> "Measurement":
        """Return the measurement of a file.

        Raises:
            KeyError: if the kind of row is unknown or a field is missing.
            TypeError: if its fields are others.
        """
        row = dict(entry)
        kind = _KINDS[row.pop("kind")]
        at = {name: row.pop(name) for name in ("population", "epsilon", "drawn", "run")}
        return cls(**at, row=kind(**row))


@dataclass(frozen=True, slots=True, eq=False)
class Point(Generic[R_co]):
    """A point of a figure: the means of several runs and their standard errors (0 for a single run).

    Attributes:
        population: name of the data set.
        epsilon: the privacy promise; None without privacy.
        drawn: the number drawn for each run, as in `Cell`.
        mean: the row whose measures are the means.
        error: the row whose measures are the standard errors.
        runs: how many.
    """

    population: str
    epsilon: float | None
    drawn: int | None
    mean: R_co
    error: R_co
    runs: int

    def fits(self, wanted: dict[str, Any]) -> bool:
        """Return true if these coordinates are the point's."""
        return all(
            getattr(self if name in ("population", "epsilon", "drawn") else self.mean, name) == value
            for name, value in wanted.items()
        )


def _point(group: Sequence[Measurement]) -> Point[Row]:
    """Return the point of at least one measurement, all of one kind and with the same coordinates."""
    first = group[0]
    columns = {name: [getattr(measurement.row, name) for measurement in group] for name in type(first.row).measures()}
    means: dict[str, Any] = {name: fmean(numbers) for name, numbers in columns.items()}
    errors: dict[str, Any] = {name: standard_error(numbers) for name, numbers in columns.items()}
    mean, error = replace(first.row, **means), replace(first.row, **errors)
    return Point(first.population, first.epsilon, first.drawn, mean, error, len(group))


def standard_error(numbers: Sequence[float]) -> float:
    """Return the standard error of a mean; 0 for a single number."""
    return stdev(numbers) / sqrt(len(numbers)) if len(numbers) > 1 else 0.0


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a figure: the measurements of its cells.

    Attributes:
        measurements: one per run and row.
    """

    measurements: Sequence[Measurement]

    @cached_property
    def points(self) -> list[Point[Row]]:
        """The points of the figure, in the order of their first measurements."""
        groups: dict[tuple[Any, ...], list[Measurement]] = defaultdict(list)
        for entry in self.measurements:
            row, measures = entry.row, type(entry.row).measures()
            coordinates = tuple(value for name, value in asdict(row).items() if name not in measures)
            groups[(type(row), entry.population, entry.epsilon, entry.drawn, *coordinates)].append(entry)
        return [_point(group) for group in groups.values()]

    @property
    def populations(self) -> list[str]:
        """The names of the data sets, in the order of the points."""
        return list(dict.fromkeys(point.population for point in self.points))

    def of(self, kind: type[R], **wanted: Any) -> list[Point[R]]:
        """Return the points of a kind of row with these coordinates."""
        return [point for point in self.points if isinstance(point.mean, kind) and point.fits(wanted)]  # type: ignore[misc]

    def one(self, kind: type[R], **wanted: Any) -> Point[R]:
        """Return the one point of a kind of row with these coordinates.

        Raises:
            LookupError: if it is not one.
        """
        points = self.of(kind, **wanted)
        if len(points) != 1:
            raise LookupError(f"{len(points)} points of {kind.__name__} with {wanted}")
        return points[0]

    def write_csv(self, path: Path) -> None:
        """Write one line per point."""
        kinds = list(dict.fromkeys(type(point.mean) for point in self.points))
        coordinates = list(dict.fromkeys(name for kind in kinds for name in kind.own_coordinates()))
        measures = list(dict.fromkeys(name for kind in kinds for name in kind.measures()))
        heads = ["population", "mechanism", *coordinates, "epsilon", "drawn", "values", "sensitive", "n", "runs"]
        heads += [f"{name}{part}" for name in measures for part in ("", "_standard_error")]
        with replacing(path, force=True) as beside, beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, heads)
            writer.writeheader()
            writer.writerows(_line(point) for point in self.points)


def _line(point: Point[Row]) -> dict[str, object]:
    measures = type(point.mean).measures()
    line: dict[str, object] = {
        "population": point.population,
        "epsilon": point.epsilon,
        "drawn": point.drawn,
        "runs": point.runs,
    }
    line |= {name: value for name, value in asdict(point.mean).items() if name not in measures}
    for name in measures:
        line |= {name: repr(getattr(point.mean, name)), f"{name}_standard_error": repr(getattr(point.error, name))}
    return line
