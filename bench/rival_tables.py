"""Eight made-up tables of events, on which attacks on traces are compared: each has its own trace of who did what.

The makers are of this benchmark alone; no attack was developed on their data. Times are in seconds, or None.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

DAY, HOUR, START = 86_400, 3_600, 1_700_006_400


@dataclass(frozen=True, slots=True)
class Table:
    """Events of users, in order of time within each user.

    Attributes:
        users: ``(m,)`` numbers of users.
        events: ``(m,)`` codes of events.
        times: ``(m,)`` seconds; None if only the order is known.
        values: ``(d, k)`` the number (k = 1) or the coordinates (k = 2) of each event; None if events are names.
    """

    users: np.ndarray
    events: np.ndarray
    times: np.ndarray | None = None
    values: np.ndarray | None = None


def _of_rows(users: Any, events: Any, times: Any, *, timed: bool = True, values: Any = None) -> Table:
    order = np.lexsort((times, users))
    users, events, times = (np.asarray(column)[order] for column in (users, events, times))
    return Table(users, events, times.astype(np.int64) if timed else None, values)


def favourites(rng: np.random.Generator) -> Table:
    """Few check-ins at favourite places among many, without a clock."""
    users, each, places = 400, 16, 900
    popular = 1 / (np.arange(places) + 20)
    liked = np.array([rng.choice(places, 4, p=popular / popular.sum()) for _ in range(users)])
    who = np.repeat(np.arange(users), each)
    loyal = rng.random(len(who)) < 0.35
    any_place = rng.choice(places, len(who), p=popular / popular.sum())
    events = np.where(loyal, liked[who, rng.integers(0, 4, len(who))], any_place)
    return _of_rows(who, events, np.tile(np.arange(each), users), timed=False)


def taps(rng: np.random.Generator) -> Table:
    """Taps at two stations on working days; the hours differ more than the stations."""
    rows, stations = [], 30
    popular = 1 / np.arange(1, stations + 1)
    for user in range(300):
        home, work = rng.choice(stations, 2, replace=False, p=popular / popular.sum())
        for day in range(21):
            for station, hour in ((home, 8 + 1.4 * np.sin(user)), (work, 17 + 1.6 * np.cos(3 * user))):
                if day % 7 < 5 and rng.random() < 0.7:
                    rows.append((user, station, START + DAY * day + int(HOUR * (hour + rng.normal(0, 0.6)))))
    return _of_rows(*np.array(rows).T)


def readings(rng: np.random.Generator) -> Table:
    """Readings of meters: numbers that depend on the household and on the hour."""
    users, each = 300, 40
    level, peak = np.exp(rng.normal(6, 0.7, users)), rng.integers(6, 23, users)
    who = np.repeat(np.arange(users), each)
    times = np.sort(rng.integers(0, 24 * 40, (users, each)), axis=1).ravel()
    near = (times % 24 - peak[who] + 12) % 24 - 12.0
    numbers = level[who] * (1 + 0.8 * np.exp(-(near**2) / 8)) * np.exp(rng.normal(0, 0.15, len(who)))
    values, events = np.unique(np.rint(numbers / 5) * 5, return_inverse=True)
    return _of_rows(who, events, START + HOUR * times, values=values[:, None])


def topics(rng: np.random.Generator) -> Table:
    """Many visits of pages: a mixture of topics for each user, and a few hours of the day."""
    users, each, pages, count = 250, 160, 1500, 30
    laws = rng.dirichlet(np.full(pages, 0.02), count)
    rows = []
    for user, mixture in enumerate(rng.dirichlet(np.full(count, 0.15), users)):
        chosen = rng.choice(pages, each, p=mixture @ laws)
        hours = rng.normal(rng.uniform(8, 22), 4.0, each)
        times = START + DAY * np.sort(rng.integers(0, 60, each)) + (HOUR * (hours % 24)).astype(np.int64)
        rows += list(zip([user] * each, chosen, times, strict=True))
    return _of_rows(*np.array(rows).T)


def ratings(rng: np.random.Generator) -> Table:
    """Films, each once, by taste; sessions on few dates, so that known events and traces rarely meet."""
    users, films, each = 350, 800, 40
    tastes, kinds = rng.normal(0, 1, (users, 8)), rng.normal(0, 1, (8, films))
    liking = np.exp(0.9 * tastes @ kinds / np.sqrt(8) * 1.6 + rng.normal(0, 1, films))
    rows = []
    for user in range(users):
        seen = rng.choice(films, each, replace=False, p=liking[user] / liking[user].sum())
        first = rng.integers(0, 700)
        days = first + np.sort(rng.integers(0, 60, 5))[np.sort(rng.integers(0, 5, each))]
        rows += list(zip([user] * each, seen, START + DAY * days + rng.integers(0, DAY, each), strict=True))
    return _of_rows(*np.array(rows).T)


def categories(rng: np.random.Generator) -> Table:
    """Few categories, many events: how often and when, with habits that drift."""
    users, each, kinds = 300, 90, 18
    rows = []
    for user in range(users):
        habits = rng.dirichlet(np.full(kinds, 0.8))
        later = 0.8 * habits + 0.2 * rng.dirichlet(np.full(kinds, 0.8))
        hours = rng.uniform(6, 24, kinds)
        for place in range(each):
            kind = rng.choice(kinds, p=habits if place < each // 2 else later)
            hour = (hours[kind] + rng.normal(0, 3.5)) % 24
            rows.append((user, kind, START + DAY * place + int(HOUR * hour)))
    return _of_rows(*np.array(rows).T)


def coordinates(rng: np.random.Generator) -> Table:
    """Places near two anchors of each user, each measured with an error of some hundred metres."""
    users, each = 300, 24
    centre = np.array([40.7, -74.0])
    anchors = centre + rng.normal(0, 0.03, (users, 2, 2))
    who = np.repeat(np.arange(users), each)
    which = (rng.random(len(who)) < 0.4).astype(np.int64)
    places = (
        anchors[who, which]
        + rng.normal(0, 0.006, (len(who), 2))
        + rng.normal(0, 0.02, (len(who), 1)) * (rng.random((len(who), 1)) < 0.3)
    )
    values, events = np.unique(places.round(5), axis=0, return_inverse=True)
    days = np.sort(rng.integers(0, 90, (users, each)), axis=1).ravel()
    hours = (np.where(which == 1, 13, 20) + rng.normal(0, 3, len(who))) % 24
    return _of_rows(who, events.ravel(), START + DAY * days + (HOUR * hours).astype(np.int64), values=values)


def walks(rng: np.random.Generator) -> Table:
    """Walks on common places: people differ in what comes after what, and not in where they are."""
    users, each, places = 300, 80, 25
    rows = []
    for user in range(users):
        after = np.array([rng.permutation(places)[:4] for _ in range(places)])
        here = int(rng.integers(places))
        for step in range(each):
            rows.append((user, here, step))
            here = int(after[here, rng.integers(4)]) if rng.random() < 0.6 else int(rng.integers(places))
    users_, events, times = np.array(rows).T
    return _of_rows(users_, events, times, timed=False)


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    maker.__name__: maker for maker in (favourites, taps, readings, topics, ratings, categories, coordinates, walks)
}
"""Makers of the tables, by name."""
