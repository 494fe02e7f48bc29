"""Traces of known users: check-ins and ratings, as in [PIE, section 5]."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from discreet.errors import DataError
from discreet.files.reading import readable
from discreet.risk.traces import Traces
from papers.data.population import column_of

KL_FILE, NYC_FILE, FOURSQUARE_FILE = "lbsn_kuala_lumpur.parquet", "lbsn_nyc.parquet", "foursquare_nyc.parquet"
MOVIELENS_FILE = "movielens_1m_ratings.parquet"
WWW_FILE, RATINGS_CSV, RATINGS_DAT = "dataset_WWW_Checkins_anonymized.txt", "ratings.csv", "ratings.dat"

PAPER_USERS, PAPER_PLACES = 1_370_637, 10_500_393
LEAST_EVENTS = 10
LEAST_STARS = 4.0

_WWW = (
    "Yang, Qu, Yang and Cudre-Mauroux, Revisiting User Mobility and Social Relationships in LBSNs: A Hypergraph "
    "Embedding Approach (WWW 2019)"
)
_MOVIELENS = "Harper and Konstan, The MovieLens Datasets: History and Context (ACM TiiS 2015)"
_FEWER = f"{{users:,}} users instead of {PAPER_USERS:,}, and {{events:,}} places instead of {PAPER_PLACES:,}"
_FEWER_RATERS = "{users:,} users instead of 185,107, and {events:,} movies instead of 58,098"


@dataclass(frozen=True, eq=False, repr=False)
class TraceData:
    """Traces of the experiments, with their source.

    Attributes:
        name: short, for files and tables.
        title: for people.
        traces: the events of each user, in order.
        credit: where the data come from.
        cuts: how they were prepared; one sentence each.
        differs: how this differs from what the paper used; empty if it does not.
    """

    name: str
    title: str
    traces: Traces
    credit: str
    cuts: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TraceData({self.name!r}, {self.traces!r})"

    @property
    def facts(self) -> str:
        """The size of the data, in a few words."""
        traces = self.traces
        return f"{traces.users:,} users, {len(traces):,} events, {traces.event_count:,} different ones"

    @property
    def fingerprint(self) -> str:
        """A digest of the events of all users, in order."""
        digest = hashlib.sha256(self.traces.offsets.tobytes())
        digest.update(np.ascontiguousarray(self.traces.events, dtype=np.int64).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Source:
    """A file of events: name, title, the columns of users, events and times, source and preparation."""

    name: str
    title: str
    columns: tuple[str, str, str | None]
    credit: str
    cuts: tuple[str, ...]
    differs: tuple[str, ...]


def _checkins(name: str, title: str, columns: tuple[str, str, str | None], credit: str) -> _Source:
    return _Source(
        name,
        title,
        columns,
        credit,
        (f"users with at least {LEAST_EVENTS} check-ins; an event is a place",),
        (_FEWER,),
    )


KL = _checkins(
    "lbsn-kl", "Check-ins in Kuala Lumpur 2012-13 (LBSN)", ("user_index", "venue_index", None), _WWW
)  # the rows of both are in order
NYC = _checkins("lbsn-nyc", "Check-ins in New York 2012-13 (LBSN)", ("user_index", "venue_index", None), _WWW)
FOURSQUARE = _checkins(
    "trails-nyc",
    "Foursquare New York 2012-13",
    ("user", "venue_id", "utc_date_time"),
    "Yang, Zhang, Zheng and Yu, Modeling User Activity Preference by Leveraging User Spatial Temporal Characteristics "
    "in LBSNs (IEEE TSMC 2015)",
)
WWW = _Source(
    "lbsn-world",
    "Check-ins in the whole world 2012-13 (LBSN)",
    ("user", "place", None),
    _WWW,
    KL.cuts,
    (),
)
_RATED = (f"users with at least {LEAST_EVENTS} ratings of {LEAST_STARS:g} stars or more; an event is a movie so rated",)
MOVIELENS_1M = _Source(
    "movielens-1m", "MovieLens 1M", ("user", "movie", "timestamp"), _MOVIELENS, _RATED, (_FEWER_RATERS,)
)
MOVIELENS = _Source("movielens", "MovieLens", ("userId", "movieId", "timestamp"), _MOVIELENS, _RATED, (_FEWER_RATERS,))


def load_checkins(source: _Source, path: Path) -> TraceData:
    """Read check-ins from Parquet.

    Raises:
        DataError: if it cannot be read, a column is not there, or nobody has enough events.
    """
    with readable(path):
        return _traces(source, pq.read_table(path), path)


def load_www(path: Path) -> TraceData:
    """Read the global check-ins as published: user, place, UTC time and offset, tab-separated, in order of time.

    Raises:
        DataError: if it cannot be read, or nobody has enough events.
    """
    names = ["user", "place", "time", "offset"]
    options = csv.ReadOptions(column_names=names), csv.ParseOptions(delimiter="\t", quote_char=False)
    kinds = csv.ConvertOptions(
        column_types={"user": pa.int64(), "place": pa.string()}, include_columns=["user", "place"]
    )
    with readable(path):
        return _traces(WWW, csv.read_csv(path, *options, kinds), path)


def load_ratings(path: Path) -> TraceData:
    """Read MovieLens ratings as published: ``ratings.csv`` with a header, ``ratings.dat`` with ``::``, or Parquet.

    Raises:
        DataError: if it cannot be read, a column is not there, or nobody has enough events.
    """
    with readable(path):
        if path.suffix == ".parquet":
            return _rated(MOVIELENS_1M, pq.read_table(path), path)
        if path.suffix == ".csv":
            return _rated(MOVIELENS, csv.read_csv(path), path)
        names = ["userId", "_1", "movieId", "_2", "rating", "_3", "timestamp"]
        table = csv.read_csv(path, csv.ReadOptions(column_names=names), csv.ParseOptions(delimiter=":"))
        return _rated(MOVIELENS, table, path)


def _rated(source: _Source, table: Any, path: Path) -> TraceData:
    stars = column_of(table, "rating", path)
    if not (pa.types.is_integer(stars.type) or pa.types.is_floating(stars.type)):
        raise DataError(f"{path}: column 'rating' must hold numbers, got {stars.type}.")
    return _traces(source, table.filter(pc.greater_equal(stars, pa.scalar(LEAST_STARS))), path)


def _traces(source: _Source, table: Any, path: Path) -> TraceData:
    columns = [None if name is None else column_of(table, name, path) for name in source.columns]
    traces = Traces.of(*columns, unit="s").with_least(LEAST_EVENTS)
    if traces.users < 2:
        raise DataError(f"{path}: fewer than 2 users have at least {LEAST_EVENTS} events.")
    numbers = {"users": traces.users, "events": traces.event_count}
    differs = tuple(sentence.format(**numbers) for sentence in source.differs)
    return TraceData(source.name, source.title, traces, source.credit, source.cuts, differs)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The paper's numbers of users and of values; bounds need no other data.

    Attributes:
        users: n.
        values: |X|.
    """

    users: int = PAPER_USERS
    values: int = PAPER_PLACES
    name: str = "sizes"
    title: str = "No data: the paper's number of users and of places"
    credit: str = ""
    cuts: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    @property
    def facts(self) -> str:
        """The size of the data, in a few words."""
        return f"{self.users:,} users, {self.values:,} values"

    @property
    def fingerprint(self) -> str:
        """The two numbers, as text."""
        return f"{self.users}-{self.values}"
