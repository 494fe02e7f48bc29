"""Attacks on synthetic check-ins of the size of the papers', on real ones, and beside pandas.

Each in a process of its own, after a small one that compiles. The largest set takes some minutes.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.machine import memory_gb
from bench.measure import Group, Row, progress
from bench.memory import peak_bytes
from discreet.risk.attacks.traces import markov, match
from discreet.risk.kernels.matching import Problem
from discreet.risk.scores import Scores
from discreet.risk.traces import Split, Traces, by_half
from discreet.tables.columns import read_table

COLUMNS = (
    "users",
    "events",
    "pairs",
    "additions",
    "CPU seconds",
    "seconds",
    "ratio to pandas",
    "peak MB",
    "identified",
)
_MEASURED = tuple(name for name in COLUMNS if name != "ratio to pandas")
USERS, EVENTS, PLACES = 1_370_637, 84_700_000, 10_500_393
FOLDER = "DISCREET_DATA"
REAL = "lbsn_kuala_lumpur.parquet"
MOST_CPU_SECONDS, MOST_MB, MOST_REAL_SECONDS = 600, 8000, 10
_FEW, _QUICK = 2_000, 200
REPEATS = 3
# The most visited of the places gets a thousandth of all visits to places that are nobody's favourite.
_FLAT = 100
_LEAST, _LONGEST, _TAIL = 10, 100, 1.5
_LOYALTY, _EVENTS_PER_FAVOURITE = 0.7, 6

Attack = Callable[[Split], Scores]


def synthetic(users: int, events: int, places: int, seed: int = 1) -> Traces:
    """Make check-ins: places by a shifted Zipf law, and most visits to a few favourites of each user's own.

    Args:
        users: n.
        events: m; every user has at least 10, and some have a hundred times as many as most.
        places: d.
        seed: of NumPy's generator.
    """
    rng = np.random.default_rng(seed)

    def visited(count: int) -> np.ndarray:
        spread = np.exp(rng.random(count) * np.log1p(places / _FLAT)) - 1
        return np.minimum(spread * _FLAT, places - 1).astype(np.int32)

    extra = np.minimum(rng.pareto(_TAIL, users), _LONGEST)
    lengths = _LEAST + (extra * ((events / users - _LEAST) / extra.mean())).astype(np.int64)
    lengths[: events - lengths.sum()] += 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    favourites = 1 + lengths // _EVENTS_PER_FAVOURITE
    starts = np.cumsum(favourites) - favourites
    liked, chosen = visited(favourites.sum()), np.empty(offsets[-1], dtype=np.int32)
    owner, step = np.repeat(np.arange(users, dtype=np.int32), lengths), 1 << 22
    for start in range(0, len(owner), step):
        whose = owner[start : start + step]
        which = starts[whose] + (rng.random(len(whose)) ** 2 * favourites[whose]).astype(np.int64)
        loyal = rng.random(len(whose)) < _LOYALTY
        chosen[start : start + step] = np.where(loyal, liked[which], visited(len(whose)))
    return Traces(offsets, chosen, places)


def scaled(part: int) -> Traces:
    """Make one part of so many of the whole."""
    return synthetic(USERS // part, EVENTS // part, PLACES // part)


def real() -> Traces:
    """Read the check-ins of Kuala Lumpur."""
    table = read_table(Path(os.environ[FOLDER]) / REAL)
    return Traces.from_table(table, user="user_id", event="venue_index", time="order")


def ours(split: Split) -> Scores:
    """Attack."""
    return match(markov(split))


def pandas_pairs(split: Split) -> Scores:
    """Do the same with a table of all pairs."""
    import pandas as pd

    def features(traces: Traces) -> "tuple[pd.DataFrame, pd.DataFrame]":
        owner = np.repeat(np.arange(traces.users), traces.lengths)
        visits = pd.DataFrame({"user": owner, "y": traces.events})
        steps = visits.assign(x=visits.groupby("user")["y"].shift()).dropna().astype(np.int64)
        return visits, steps

    visits, steps = features(split.training)
    counted = visits.groupby(["user", "y"]).size().rename("count").reset_index().assign(x=-1)
    counted["share"] = counted["count"] / counted.groupby("user")["count"].transform("sum")
    moves = steps.groupby(["user", "x", "y"]).size().rename("count").reset_index()
    moves["share"] = moves["count"] / moves.groupby(["user", "x"])["count"].transform("sum")
    known = pd.concat([counted, moves])
    known["gain"] = np.log(known["share"] / 1e-8)
    visits, steps = features(split.target)
    asked = pd.concat([visits.groupby("user").head(1).assign(x=-1), steps]).rename(columns={"user": "probe"})
    users = np.arange(split.training.users)
    pairs = pd.MultiIndex.from_product([users, users], names=["probe", "user"]).to_frame(index=False)
    gained = asked.merge(known, on=["x", "y"]).groupby(["probe", "user"])["gain"].sum().reset_index()
    scored = pairs.merge(gained, how="left", on=["probe", "user"]).fillna({"gain": 0.0})
    # Rounded, so that sums in another order tie.
    scored["score"] = (scored["gain"] + np.repeat(split.target.lengths * np.log(1e-8), len(users))).round(6)
    return Scores.from_matrix(scored.pivot_table(index="probe", columns="user", values="score").to_numpy())


@dataclass(frozen=True)
class Case:
    """What is attacked, how, and what it may take."""

    traces: Callable[[], Traces]
    attack: Attack = ours
    most_cpu: float | None = None
    most_seconds: float | None = None


FULL = "synthetic, whole"
CASES = {
    "synthetic, 1/30": Case(partial(scaled, 30)),
    "synthetic, 1/10": Case(partial(scaled, 10)),
    FULL: Case(partial(scaled, 1), most_cpu=MOST_CPU_SECONDS),
    "Kuala Lumpur": Case(real, most_seconds=MOST_REAL_SECONDS),
    f"{_FEW:,} users": Case(lambda: scaled(30).select(np.arange(_FEW))),
    f"{_FEW:,} users, pandas": Case(lambda: scaled(30).select(np.arange(_FEW)), pandas_pairs),
    f"{_QUICK:,} users": Case(lambda: synthetic(_QUICK, 30 * _QUICK, 1000)),
    f"{_QUICK:,} users, pandas": Case(lambda: synthetic(_QUICK, 30 * _QUICK, 1000), pandas_pairs),
}


def run(*, quick: bool = False) -> Group:
    """Measure every case; the whole set only where there is memory enough."""
    full = not quick and (memory_gb() or 0.0) * 1000 >= 2 * MOST_MB
    small = {True: _QUICK, False: _FEW}
    left_out = {f"{small[not quick]:,} users", f"{small[not quick]:,} users, pandas", *([] if full else [FULL])}
    named = [name for name in CASES if name not in left_out and (not quick or "users" in name)]
    rows = _beside_pandas({name: _row(name, CASES[name], quick=quick) for name in named}, f"{small[quick]:,} users")
    notes = [
        "Markov model of each user's first half against everybody's second half. "
        "Small sets: medians of 3; the others once.",
        "From traces in memory (Kuala Lumpur: from the file) to ranks, thresholds and counts; making the synthetic set "
        "and compiling do not count.",
        *(
            []
            if full or quick
            else [f"The whole set is left out: it may take {MOST_MB:,} MB, half of the memory here."]
        ),
        f"Kuala Lumpur: where {FOLDER} names a folder with {REAL}.",
        "additions: terms of the sparse product. pandas: all pairs in one table, joined with what they share.",
    ]
    return Group("Attacks", COLUMNS, rows, notes)


def _row(name: str, case: Case, *, quick: bool) -> Row:
    goal = f"< {case.most_seconds} s" if case.most_seconds else ""
    goal = f"< {case.most_cpu} CPU s, {MOST_MB:,} MB" if case.most_cpu else goal
    if case.traces is real and not (Path(os.environ.get(FOLDER, "")) / REAL).is_file():
        return Row(name, {}, goal)
    command = [sys.executable, "-m", "bench.risk", name]
    progress(name)
    times = REPEATS if "users" in name and not quick else 1
    said = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(times)
    ]
    cells = {column: statistics.median(one[column] for one in said) for column in _MEASURED}
    met = None
    if case.most_cpu:
        met = cells["CPU seconds"] < case.most_cpu and cells["peak MB"] < MOST_MB
    if case.most_seconds:
        met = cells["seconds"] < case.most_seconds
    return Row(name, cells, goal, met)


def _beside_pandas(rows: dict[str, Row], name: str) -> list[Row]:
    """Return the rows, with how much longer pandas took."""
    ratio = rows[f"{name}, pandas"].cells["seconds"] / rows[name].cells["seconds"]
    rows[name] = replace(rows[name], cells={**rows[name].cells, "ratio to pandas": ratio})
    return list(rows.values())


def work_through(case: Case) -> dict[str, float]:
    """Attack, and say what it took; runs in the child."""
    case.attack(by_half(Traces.of(*np.random.default_rng(1).integers(0, 20, (3, 2_000), dtype=np.int32))))
    case.attack(by_half(synthetic(300, 9_000, 5_000)))
    traces = None if case.traces is real else case.traces()
    start, spent = time.perf_counter(), time.process_time()
    split = by_half(case.traces() if traces is None else traces)
    found = case.attack(split)
    took = time.perf_counter() - start, time.process_time() - spent
    events, peak = len(split.training) + len(split.target), peak_bytes() / 1e6
    numbers = (found.n, events, found.n + found.m, _additions(markov(split).problem))
    return dict(zip(_MEASURED, (*numbers, took[1], took[0], peak, found.success()), strict=True))


def _additions(problem: Problem) -> int:
    having, features = np.diff(problem.index[0]), problem.queries[1]
    return int(having[features[features >= 0]].sum())


if __name__ == "__main__":
    print(json.dumps(work_through(CASES[sys.argv[1]])))
