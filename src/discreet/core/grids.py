"""Grids: the rectangular regions of a map as a label space, never spelled out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core import columns
from discreet.core.checks import checked_whole
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.named_columns import named_columns
from discreet.errors import DataError, ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Regions of a map: rows x columns cells between two latitudes and two longitudes, in degrees.

    Cells are numbered row by row from the lowest latitude and longitude; the upper borders belong to the last cells.
    """

    lat: tuple[float, float]
    lon: tuple[float, float]
    rows: int
    cols: int

    def __post_init__(self) -> None:
        """Refuse a map without extent."""
        for name, (low, high) in {"lat": self.lat, "lon": self.lon}.items():
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise ParameterError(f"{name} must be two finite numbers, low < high, got {name}=({low!r}, {high!r}).")
        for name in ("rows", "cols"):
            object.__setattr__(self, name, checked_whole(name, getattr(self, name)))
        # One map, one description: plain numbers, and no -0.0.
        for name, pair in {"lat": self.lat, "lon": self.lon}.items():
            object.__setattr__(self, name, (float(pair[0]) + 0.0, float(pair[1]) + 0.0))

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.rows * self.cols

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of an ``(n, 2)`` array of (lat, lon), or of a table with columns lat and lon."""
        lat, lon = self._coordinates(values)
        row, col = _cell(lat, self.lat, self.rows), _cell(lon, self.lon, self.cols)
        codes = row * self.cols + col
        codes[(row < 0) | (col < 0)] = OUTSIDE
        codes[np.isnan(lat) | np.isnan(lon)] = MISSING
        return codes

    def _coordinates(self, values: Any) -> tuple[FloatArray, FloatArray]:
        if isinstance(values, list | tuple):
            values = np.asarray(values, dtype=object).reshape(len(values), -1) if values else np.empty((0, 2))
        if isinstance(values, np.ndarray) and values.dtype.names is None:
            if values.ndim != 2 or values.shape[1] != 2:
                raise DataError(f"values must be (n, 2): latitude and longitude, got shape {values.shape}.")
            whole = columns.unmasked(values, "values")
            return columns.numbers(whole[:, 0]), columns.numbers(whole[:, 1])
        pair = named_columns(values, ["lat", "lon"])
        return columns.numbers(pair["lat"]), columns.numbers(pair["lon"])

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return row and column of each cell with the coordinates of its centre."""
        row, col = np.divmod(np.asarray(codes), self.cols)
        lat = self.lat[0] + (row + 0.5) * (self.lat[1] - self.lat[0]) / self.rows
        lon = self.lon[0] + (col + 0.5) * (self.lon[1] - self.lon[0]) / self.cols
        return {"row": row, "col": col, "lat": lat, "lon": lon}

    def describe(self) -> dict[str, Any]:
        """Return the borders and the counts."""
        return {"grid": [list(self.lat), list(self.lon), self.rows, self.cols]}


def _cell(coordinate: FloatArray, border: tuple[float, float], count: int) -> IntArray:
    low, high = border
    inside = (coordinate >= low) & (coordinate <= high)
    # Clipped first: what is far outside must not overflow.
    scaled = (np.clip(np.where(inside, coordinate, low), low, high) - low) / (high - low) * count
    return np.where(inside, np.minimum(scaled.astype(np.int64), count - 1), OUTSIDE)
