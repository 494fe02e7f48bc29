"""Populations of check-ins in Manhattan: a grid of 25 x 25 regions, one person per check-in [ULDP, section 5]."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.domain import Domain
from discreet.errors import DataError
from discreet.files.reading import readable
from papers.data.population import Population, column_of

LATITUDES, LONGITUDES = (40.700, 40.880), (-74.020, -73.907)
SIDE = 25
LEAST_VISITORS = 10

NYC_FILE = "foursquare_nyc.parquet"
TIST_CHECKINS, TIST_POINTS = "dataset_TIST2015_Checkins.txt", "dataset_TIST2015_POIs.txt"

# The shore of Manhattan, roughly; Roosevelt Island included, Governors Island and Liberty Island not.
_SHORE = np.array([
    (40.6990, -74.0190), (40.7230, -74.0190), (40.7520, -74.0120), (40.7720, -73.9980), (40.8200, -73.9650),
    (40.8500, -73.9490), (40.8790, -73.9320), (40.8800, -73.9070), (40.8720, -73.9090), (40.8560, -73.9230),
    (40.8340, -73.9350), (40.8080, -73.9330), (40.8000, -73.9280), (40.7870, -73.9370), (40.7720, -73.9400),
    (40.7500, -73.9600), (40.7430, -73.9690), (40.7280, -73.9710), (40.7100, -73.9760), (40.7080, -73.9990),
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """Categories of places: hospitals, and those of each tag.

    Attributes:
        hospital: of places that make a region sensitive.
        tags: of places that are secret to whoever is there, by tag.
    """

    hospital: Sequence[str]
    tags: dict[str, Sequence[str]]


NYC_WORDS = Words(("Medical Center",), {"home": ("Home (private)",), "workplace": ("Office",)})
TIST_WORDS = Words(("Hospital",), {"home": ("Home (private)",), "workplace": ("Office",)})


@dataclass(frozen=True, slots=True, eq=False)
class CheckIns:
    """Check-ins, one row each: user, place, latitude, longitude, category."""

    user: AnyArray
    place: AnyArray
    lat: AnyArray
    lon: AnyArray
    category: AnyArray

    def where(self, mask: BoolArray) -> "CheckIns":
        """Return the check-ins of some rows."""
        return CheckIns(self.user[mask], self.place[mask], self.lat[mask], self.lon[mask], self.category[mask])


def in_manhattan(lat: AnyArray, lon: AnyArray) -> BoolArray:
    """Return ``(m,)`` booleans: true for a point inside a rough outline of Manhattan."""
    inside = np.zeros(len(lat), dtype=np.bool_)
    for (y0, x0), (y1, x1) in zip(_SHORE, np.roll(_SHORE, 1, axis=0), strict=True):
        crosses = (y0 > lat) != (y1 > lat)
        inside ^= crosses & (lon < (x1 - x0) * (lat - y0) / (y1 - y0 if y1 != y0 else 1.0) + x0)
    return inside


def load_foursquare_nyc(path: Path) -> Population:
    """Read the Foursquare New York table (Parquet, with the borough of each check-in).

    Raises:
        DataError: if it cannot be read, a column is not there, or nothing in it is in Manhattan.
    """
    with readable(path):
        table = pq.read_table(path)
    rows = _checkins(table, path, {"user": "user", "place": "venue_id", "category": "category_name"})
    borough = _text(column_of(table, "borough", path))
    return _population(
        "foursquare-nyc",
        "Foursquare New York 2012-13, Manhattan",
        rows.where(borough == "Manhattan"),
        NYC_WORDS,
        "Yang, Zhang, Zheng and Yu, Modeling User Activity Preference by Leveraging User Spatial Temporal "
        "Characteristics in LBSNs (IEEE TSMC 2015)",
        (
            "check-ins of 1,083 users of one year in New York instead of the global-scale data of 2015; 359,054 "
            "check-ins in the paper",
            "there is no category 'Hospital'; 'Medical Center' stands for it",
            "regions as the paper's in number and size; its borders are not known",
        ),
        path,
    )


def load_tist(checkins: Path, points: Path) -> Population:
    """Read the global-scale check-ins of TIST 2015: two tab-separated files without headers.

    Args:
        checkins: user, place, UTC time, offset in minutes.
        points: place, latitude, longitude, category, country code.

    Raises:
        DataError: if one cannot be read, or nothing in it is in Manhattan.
    """
    places = _read_tabs(points, ["place", "lat", "lon", "category", "country"])
    lat, lon = (_numbers(places, name, points) for name in ("lat", "lon"))
    places = places.filter(pa.array(in_manhattan(lat, lon)))
    visits = _read_tabs(checkins, ["user", "place", "time", "offset"], among=places["place"])
    joined = visits.join(places, "place", join_type="inner")
    rows = _checkins(joined, checkins, {"user": "user", "place": "place", "category": "category"})
    return _population(
        "foursquare-tist2015",
        "Foursquare global scale 2012-13 (TIST 2015), Manhattan",
        rows,
        TIST_WORDS,
        "Yang, Zhang and Qu, Participatory Cultural Mapping Based on Collective Behavior Data in Location-Based Social "
        "Networks (ACM TIST 2016)",
        ("regions as the paper's in number and size; its borders are not known",),
        checkins,
    )


def _read_tabs(path: Path, names: list[str], among: Any = None) -> Any:
    read = csv.ReadOptions(column_names=names)
    parse = csv.ParseOptions(delimiter="\t", quote_char=False)
    convert = csv.ConvertOptions(
        column_types={"place": pa.string(), "category": pa.string()}, strings_can_be_null=False
    )
    with readable(path), csv.open_csv(path, read, parse, convert) as reader:
        # Batch by batch: of the world's check-ins few are in Manhattan.
        batches = [
            batch if among is None else batch.filter(pc.is_in(batch["place"], value_set=among.combine_chunks()))
            for batch in reader
        ]
        return pa.Table.from_batches(batches, schema=reader.schema)


def _numbers(table: Any, name: str, path: Path) -> AnyArray:
    column = column_of(table, name, path)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise DataError(f"{path}: column {name!r} must hold numbers, got {column.type}.")
    numbers: AnyArray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(f"{path}: column {name!r} must hold numbers; {(~np.isfinite(numbers)).sum()} are not.")
    return numbers


def _text(column: Any) -> AnyArray:
    plain = column.cast(pa.string())
    texts: AnyArray = plain.to_numpy(zero_copy_only=False).astype(str)
    return texts


def _checkins(table: Any, path: Path, names: dict[str, str]) -> CheckIns:
    lat, lon = (_numbers(table, name, path) for name in ("lat", "lon"))
    text = {field: _text(column_of(table, name, path)) for field, name in names.items()}
    return CheckIns(text["user"], text["place"], lat, lon, text["category"])


def _population(
    name: str, title: str, rows: CheckIns, words: Words, credit: str, differs: tuple[str, ...], path: Path
) -> Population:
    grid = {"lat": LATITUDES, "lon": LONGITUDES, "rows": SIDE, "cols": SIDE}
    within = (rows.lat >= LATITUDES[0]) & (rows.lat <= LATITUDES[1])
    within &= (rows.lon >= LONGITUDES[0]) & (rows.lon <= LONGITUDES[1])
    lost, rows = int(np.count_nonzero(~within)), rows.where(within)
    if not len(rows.lat):
        raise DataError(f"{path}: none of the check-ins is in Manhattan.")
    codes = Domain.grid(**grid).encode(np.column_stack([rows.lat, rows.lon]))  # type: ignore[arg-type]
    sensitive = _visited(codes, rows, words.hospital)
    if not sensitive.any():
        raise DataError(
            f"{path}: no region has places of category {', '.join(words.hospital)} that {LEAST_VISITORS} users visited."
        )
    secret = {tag: np.isin(rows.category, listed) for tag, listed in words.tags.items()}
    return Population(
        name,
        title,
        Domain.grid(**grid, sensitive=sensitive),  # type: ignore[arg-type]
        _counted(codes),
        credit,
        _notes(words, lost, int(sensitive.sum())),
        differs,
        {tag: np.where(sensitive, 0, _counted(codes[mark])) for tag, mark in secret.items()},
        {tag: _points(codes[mark], rows.place[mark]) for tag, mark in secret.items()},
    )


def _notes(words: Words, lost: int, regions: int) -> tuple[str, ...]:
    """Return the sentences on the regions, on those that are sensitive, and on what is secret to some."""
    tags = ", ".join(f"{tag} ({', '.join(listed)})" for tag, listed in words.tags.items())
    return (
        f"{SIDE} x {SIDE} regions between latitudes {LATITUDES[0]} and {LATITUDES[1]} and longitudes "
        f"{LONGITUDES[0]} and {LONGITUDES[1]}; {lost} check-ins of Manhattan outside were left out.",
        f"sensitive: the {regions} regions whose places of category {', '.join(words.hospital)} at least "
        f"{LEAST_VISITORS} different users visited.",
        f"secret to whoever is there: {tags}.",
    )


def _counted(codes: IntArray) -> IntArray:
    return np.bincount(codes, minlength=SIDE * SIDE).astype(np.int64)


def _points(codes: IntArray, places: AnyArray) -> IntArray:
    """Return the number of different places of each region."""
    _, first = np.unique(places, return_index=True)
    return _counted(codes[first])


def _visited(codes: IntArray, rows: CheckIns, categories: Sequence[str]) -> BoolArray:
    """Return ``(|X|,)`` booleans: true for a region where ten users or more visited places of these categories."""
    chosen = np.isin(rows.category, categories)
    _, users = np.unique(rows.user[chosen], return_inverse=True)
    pairs = np.unique(np.column_stack([codes[chosen], users]), axis=0)
    return _counted(pairs[:, 0]) >= LEAST_VISITORS
