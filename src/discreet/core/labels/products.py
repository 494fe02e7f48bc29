"""Products and grids: label spaces of several columns, without a stored list of all labels.

A product has all combinations of the labels of several attributes. A grid has the rectangular regions of a map, and a
value is a latitude and a longitude.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core import columns
from discreet.core.checks import checked_whole
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.labels.bins import borders_at
from discreet.core.labels.spaces import NUMBERS, LabelSpace
from discreet.core.labels.text_forms import as_composed
from discreet.errors import DataError, ParameterError


def named_columns(values: Any, names: list[str]) -> dict[str, Any]:
    """Return the columns with the given names; raise an error unless all have the same length.

    Args:
        values: a table with these columns, or a list of rows: tuples with one entry per column, or mappings.
        names: names of the columns.

    Raises:
        DataError: if a column is missing or not a column, a row has other entries, or lengths differ.
    """
    if isinstance(values, list | tuple):
        rows = [tuple(_entry(row, name) for name in names) if isinstance(row, Mapping) else row for row in values]
        if not all(isinstance(row, tuple | list) and len(row) == len(names) for row in rows):
            raise DataError("values.wrong-attribute-count", count=len(names), names=names)
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}
    columns = {name: _column(values, name, names) for name in names}
    wrong = [
        n for n, c in columns.items() if not hasattr(c, "__len__") or isinstance(c, str) or getattr(c, "ndim", 1) != 1
    ]
    if wrong:
        raise DataError("values.not-columns", names=wrong)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise DataError("column.different-lengths", lengths=sorted(lengths))
    return columns


def _entry(row: Mapping[Any, Any], name: str) -> Any:
    """Return the entry of a row whose name has the given normal form C; None if the row has no such entry."""
    if name in row or name.isascii():
        return row.get(name)
    return next((entry for key, entry in row.items() if as_composed(key) == name), None)


def _column(values: Any, name: str, names: list[str]) -> Any:
    try:
        return columns.named(values, name)
    except DataError:
        raise DataError("values.no-column", names=names, name=name) from None


@dataclass(frozen=True, slots=True, eq=False)
class Product(LabelSpace):
    """Every combination of the attributes' labels; the last attribute varies fastest."""

    attributes: dict[str, LabelSpace]
    is_ordered: ClassVar[bool] = False

    @property
    def parts(self) -> Mapping[str, LabelSpace]:
        """The label space of each attribute, by the attribute's name."""
        return self.attributes

    def as_read(self) -> "Product":
        """Return a product that also accepts other spellings of the labels of its attributes."""
        return Product({name: part.as_read() for name, part in self.attributes.items()})

    def as_float32(self, values: Any) -> Any:
        """Return the columns of a table, with columns of numbers as float32."""
        numbers = [name for name, part in self.attributes.items() if part.holds == NUMBERS]
        if not numbers:
            return LabelSpace.as_float32(self, values)
        table = named_columns(values, [*self.attributes])
        return table | {name: columns.float32(table[name]) for name in numbers}

    def bounded(self, chosen: BoolArray, numbers: Iterable[float] = ()) -> LabelSpace:
        """Return a copy of the product that stores the upper bounds of sensitive ranges of numbers."""
        if not any(part.holds == NUMBERS for part in self.attributes.values()):
            return self
        cells, known = chosen.reshape([part.size for part in self.attributes.values()]), list(numbers)
        marks = (np.moveaxis(cells, axis, 0).reshape(size, -1) for axis, size in enumerate(cells.shape))
        pairs = zip(self.attributes.items(), marks, strict=True)
        return Product({name: part.bounded(mark, known) for (name, part), mark in pairs})

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of combinations of the attributes' labels."""
        return prod(space.size for space in self.attributes.values())

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of a table with a column for every attribute, or of a list of tuples or mappings."""
        codes = np.zeros(1, dtype=np.int64)
        outside: Any = False
        missing: Any = False
        for name, column in named_columns(values, list(self.attributes)).items():
            space = self.attributes[name]
            part = space.encode(column)
            outside, missing = outside | (part == OUTSIDE), missing | (part == MISSING)
            codes = codes * space.size + part
        return np.where(missing, MISSING, np.where(outside, OUTSIDE, codes))

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return a column of labels for each attribute of a product."""
        columns: dict[str, AnyArray] = {}
        rest = np.asarray(codes)
        for name, space in reversed(self.attributes.items()):
            rest, part = np.divmod(rest, space.size)
            columns[name] = next(iter(space.table(part).values()))
        return dict(reversed(columns.items()))

    def describe(self) -> dict[str, Any]:
        """Return the descriptions of a product's attributes, in order."""
        return {"product": [[name, space.describe()] for name, space in self.attributes.items()]}


@dataclass(frozen=True, slots=True, eq=False)
class Grid(LabelSpace):
    """Regions of a map: rows x columns cells between two latitudes and two longitudes, in degrees.

    Cells are numbered row by row from the lowest latitude and longitude; the upper borders belong to the last cells.
    """

    lat: tuple[float, float]
    lon: tuple[float, float]
    rows: int
    cols: int
    is_ordered: ClassVar[bool] = False
    column_names: ClassVar[tuple[str, ...]] = ("lat", "lon")

    def __post_init__(self) -> None:
        """Raise an error for a map without extent, rows or columns."""
        for name, (low, high) in {"lat": self.lat, "lon": self.lon}.items():
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise ParameterError("grid.empty-extent", argument=name, low=low, high=high)
        for name in ("rows", "cols"):
            object.__setattr__(self, name, checked_whole(name, getattr(self, name)))
        # Plain numbers without -0.0, so that equal maps have equal descriptions.
        for name, pair in {"lat": self.lat, "lon": self.lon}.items():
            object.__setattr__(self, name, (float(pair[0]) + 0.0, float(pair[1]) + 0.0))

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of cells of a map."""
        return self.rows * self.cols

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of an ``(n, 2)`` array of (lat, lon), or of a table with columns lat and lon."""
        lat, lon = self.coordinates(values)
        row, col = _cells(lat, self.lat, self.rows), _cells(lon, self.lon, self.cols)
        codes = row * self.cols + col
        codes[(row < 0) | (col < 0)] = OUTSIDE
        codes[np.isnan(lat) | np.isnan(lon)] = MISSING
        return codes

    def as_float32(self, values: Any) -> AnyArray:
        """Return latitudes and longitudes as ``(n, 2)`` float32."""
        return np.column_stack([columns.float32(part) for part in self.coordinates(values)])

    def coordinates(self, values: Any) -> tuple[AnyArray, AnyArray]:
        """Return ``(n,)`` latitudes and ``(n,)`` longitudes, each in the float type of its column."""
        if isinstance(values, list | tuple):
            values = np.asarray(values, dtype=object).reshape(len(values), -1) if values else np.empty((0, 2))
        if isinstance(values, np.ndarray) and values.dtype.names is None:
            if values.ndim != 2 or values.shape[1] != 2:
                raise DataError("grid.wrong-shape", shape=values.shape)
            whole = columns.unmasked(values, "values")
            return columns.floats(whole[:, 0]), columns.floats(whole[:, 1])
        pair = named_columns(values, [*self.column_names])
        return columns.floats(pair["lat"]), columns.floats(pair["lon"])

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the row, the column and the coordinates of the centre of each cell."""
        row, col = np.divmod(np.asarray(codes), self.cols)
        lat = self.lat[0] + (row + 0.5) * (self.lat[1] - self.lat[0]) / self.rows
        lon = self.lon[0] + (col + 0.5) * (self.lon[1] - self.lon[0]) / self.cols
        return {"row": row, "col": col, "lat": lat, "lon": lon}

    def describe(self) -> dict[str, Any]:
        """Return a description with the borders of the map and the numbers of rows and columns."""
        return {"grid": [list(self.lat), list(self.lon), self.rows, self.cols]}


def _cells(coordinates: AnyArray, ends: tuple[float, float], count: int) -> IntArray:
    """Return the index of the map's row, or column, that contains each coordinate; OUTSIDE elsewhere.

    A coordinate that equals a border, rounded to the coordinate's type, lies in the cell above the border.
    """
    (low, high), kind = ends, coordinates.dtype
    first, last = np.asarray(ends).astype(kind)
    inside = (coordinates >= first) & (coordinates <= last)
    # Clipped first: coordinates far outside must not overflow.
    scaled = (np.clip(np.where(inside, coordinates, low), low, high, dtype=np.float64) - low) / (high - low) * count
    cells = np.minimum(scaled.astype(np.int64), count - 1)
    # Rounding may have moved coordinates near a border across the border.
    step = 4 * float(np.spacing(np.abs(np.asarray(ends)).max().astype(kind))) / (high - low) * count
    if step >= 0.5 and kind != np.float64:
        raise DataError("grid.too-coarse", kind=kind)
    near = np.flatnonzero(np.abs(scaled - np.rint(scaled)) <= step)
    places = np.rint(scaled[near]).astype(np.int64)
    at = coordinates[near] >= borders_at(low, high, count, places).astype(kind)
    cells[near] = np.clip(np.where(at, places, places - 1), 0, count - 1)
    return np.where(inside, cells, OUTSIDE)
