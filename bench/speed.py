"""Clients and servers: nanoseconds per report on one core, beside NumPy and the packages people use today, in turns."""

import statistics
from dataclasses import replace
from functools import partial
from importlib import import_module

from bench import cold
from bench.companions import Peers, peers
from bench.limits import Limits, measured
from bench.measure import REPEATS, Cell, Group, Row, interleaved, judged, one_core, progress, seconds
from bench.tasks import EPSILON, LARGE_BUCKETS, LARGE_SIZE, SIZE, TABLES, N, Task, clients, scaled, servers

COLUMNS = (
    "ns per report",
    "cold ns",
    "NumPy ns",
    "ratio to NumPy",
    "best peer",
    "peer ns",
    "ratio to peer",
    "limit",
    "limit ns",
    "share of limit",
)
_PEERS = ("pure-ldp", "multi-freq-ldpy", "ldp-toolbox", "opendp")
# The others compile for many seconds.
_QUICK_PEERS = ("pure-ldp", "opendp")
_QUICK_SHARE = 0.02


def run(*, quick: bool = False) -> Group:
    """Measure everything."""
    share, repeats = (_QUICK_SHARE, 1) if quick else (1.0, REPEATS)
    # Whoever counts little is served by NumPy, which takes no half second to start.
    import_module("discreet.kernels.caching")
    ways: dict[str, dict[str, float]] = {}
    with one_core() as pinned, peers(*(_QUICK_PEERS if quick else _PEERS)) as others:
        progress("limits of one core")
        limits = measured(TABLES, repeats=repeats, share=share)
        tasks = (task for side in (clients, servers) for task in side(share))
        rows = [_row(task, others, limits, ways, quick=quick) for task in tasks]
        notes = _notes(others, repeats, scaled(N, share), pinned=pinned)
        first = cold.run(repeats, share)
        by_task = {row.task: row.cells["cold ns"] for row in first.rows}
        rows = [replace(row, cells={**row.cells, "cold ns": by_task.get(row.task)}) for row in rows]
        also = [_machine(limits, repeats), first, _everybody(ways)]
    return Group("Clients and servers", COLUMNS, rows, notes, also=also)


def _notes(others: Peers, repeats: int, n: int, *, pinned: bool) -> list[str]:
    place = "one core" if pinned else "one thread, not pinned to a core"
    skipped = [f"{name} is skipped: {reason}." for name, reason in others.skipped.items()]
    return [
        f"Medians of {repeats} rounds on {place}; |X| = {SIZE}, epsilon = {EPSILON:g}, {n:,} reports (subsets fewer), "
        "NumPy and the packages fewer, scaled. Randomness is included, ours cryptographically secure.",
        "Compiled kernels are loaded. Cold: the first tally of a new process, which adds by NumPy what is too little "
        "for their start to pay; other rows have no second way. Limit: the slowest of what one core must do, reading "
        "memory, making keystream and adding to random counters, as fast as it can; the share is that time over ours.",
        f"Hashing server: |X| = {LARGE_SIZE:,}, g = {LARGE_BUCKETS}. No package knows sensitive values, so uRAP has "
        "no peer. Bits are added up by the word, so a server of bits is bound by reading them.",
        *skipped,
        *others.notes,
    ]


def _row(task: Task, others: Peers, limits: Limits, ways: dict[str, dict[str, float]], *, quick: bool) -> Row:
    progress(task.name)
    works = {
        "ours": lambda: seconds(task.ours) / task.n * 1e9,
        "numpy": lambda: seconds(task.numpy) / task.numpy_n * 1e9,
    }
    said: dict[str, list[float]] = {}
    if task.peers is not None:
        works["peers"] = partial(_listened, others, task.peers, said)
    medians = interleaved(works, 1 if quick else REPEATS)
    # Without the round that warms up.
    found = {way: statistics.median(ns[1:]) for way, ns in said.items()}
    if task.pooled and not quick:
        found |= others.ways(f"{task.peers}, pooled")
    if found:
        ways[task.name] = {"discreet": medians["ours"], "NumPy": medians["numpy"], **found}
    cells = _cells(task, medians["ours"], medians["numpy"], found, limits)
    return Row(task.name, cells, *_judged(task, cells))


def _listened(others: Peers, task: str, said: dict[str, list[float]]) -> float:
    for way, ns in others.ways(task).items():
        said.setdefault(way, []).append(ns)
    return 0.0


def _cells(task: Task, ours: float, numpy: float, found: dict[str, float], limits: Limits) -> dict[str, Cell]:
    best = min(found, key=lambda way: found[way]) if found else None
    limit, least = task.demand.bound(limits)
    return {
        "ns per report": ours,
        "NumPy ns": numpy,
        "ratio to NumPy": numpy / ours,
        "best peer": best,
        "peer ns": None if best is None else found[best],
        "ratio to peer": None if best is None else found[best] / ours,
        "limit": limit,
        "limit ns": least,
        "share of limit": f"{least / ours:.0%}",
    }


def _judged(task: Task, cells: dict[str, Cell]) -> tuple[str, bool | None]:
    goals: list[tuple[str, bool | None]] = []
    ours, to_numpy, to_peer = (cells[name] for name in ("ns per report", "ratio to NumPy", "ratio to peer"))
    if task.most_ns is not None:
        goals.append((f"<= {task.most_ns:g} ns", ours <= task.most_ns))
    if task.least_peer_ratio is not None:
        # Without their environments nobody knows.
        reached = None if to_peer is None else to_peer >= task.least_peer_ratio
        goals.append((f">= {task.least_peer_ratio:g}x peer", reached))
    if task.least_numpy_ratio is not None:
        goals.append((f">= {task.least_numpy_ratio:g}x NumPy", to_numpy >= task.least_numpy_ratio))
    return judged(*goals)


def _machine(limits: Limits, repeats: int) -> Group:
    rows = [
        Row("reading memory in order", {"per second": f"{limits.read / 1e9:.1f} GB", "ns": 1e9 / limits.read}),
        Row(
            "keystream, AES-256 in counter mode",
            {"per second": f"{limits.keystream / 1e9:.1f} GB", "ns": 1e9 / limits.keystream},
        ),
        *(
            Row(
                f"adds to a random one of {size:,} counters",
                {"per second": f"{rate / 1e9:.2f} billion", "ns": 1e9 / rate},
            )
            for size, rate in limits.adds.items()
        ),
    ]
    notes = [f"The best of {repeats}, one core. Per second, and nanoseconds for a byte or an add."]
    return Group("What one core can do", ("per second", "ns"), rows, notes)


def _everybody(ways: dict[str, dict[str, float]]) -> Group:
    columns = list(dict.fromkeys(way for found in ways.values() for way in found))
    rows = [Row(task, found) for task, found in ways.items()]
    notes = [
        'Nanoseconds per report. "opendp, joined": the rows of many users in one vector of bits. "pure-ldp fast" takes '
        "its hash functions from a pool of 1,000, which adds an error that more users do not lower; its server's time "
        "is for a million reports, with the matrix of hashes made in advance."
    ]
    return Group("Every package, ns per report", columns, rows, notes if rows else ["None of them is installed."])
