"""Nanoseconds per report on one core, beside NumPy and the packages people use today, in turns."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from bench import numpy_reference as reference
from bench.measure import Group, Row, interleaved, one_core, seconds
from discreet import Domain, LocalHashing, RandomizedResponse, UnaryEncoding
from discreet.core.random import SecureRandom
from discreet.mechanisms import BlockMechanism

COLUMNS = ("ns per report", "NumPy ns", "best peer ns", "best peer", "ratio to NumPy", "ratio to peer")
N = 1_000_000
SIZE = 625
SENSITIVE = range(0, 600, 40)
EPSILON = 1.0
LARGE_SIZE = 10_000
LARGE_BUCKETS = 100
_REFERENCE_N = 100_000
# NumPy needs tens of microseconds for each of these.
_COUNTED_N = 400
_PEERS_HOME = Path(__file__).parent.parent / ".venv-peers"

Work = Callable[[], object]
Ask = Callable[[str], dict[str, float]]


@dataclass(frozen=True)
class Task:
    """What is timed: our work on N reports, NumPy's on some, the name of the peers' task, and the goals."""

    name: str
    ours: Work
    numpy: Work
    numpy_n: int
    peers: str | None = None
    most_ns: float | None = None
    least_peer_ratio: float | None = None
    least_numpy_ratio: float | None = None


def run() -> Group:
    """Measure everything."""
    with one_core() as pinned, _peers() as ask:
        rows = [_row(task, ask) for task in (*_clients(), *_servers())]
    notes = [
        f"Medians, n = {N:,}, |X| = {SIZE}, epsilon = {EPSILON:g}, secure randomness included; {_place(pinned)}.",
        "NumPy: PCG64, vectorised (bench/numpy_reference.py). Peers: pure-ldp, multi-freq-ldpy; fewer reports, scaled.",
        f"Hashing server: |X| = {LARGE_SIZE:,}, g = {LARGE_BUCKETS}. No peer knows sensitive values, so uRAP has none.",
    ]
    return Group("Speed", COLUMNS, rows, notes)


def _place(pinned: bool) -> str:
    place = "one core" if pinned else "one thread, not pinned to a core"
    # Beyond 1, something else wanted the processors too: times are too long then, ratios are not.
    return f"{place}, load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else place


def _row(task: Task, ask: Ask | None) -> Row:
    works = {"ours": lambda: seconds(task.ours) / N * 1e9, "numpy": lambda: seconds(task.numpy) / task.numpy_n * 1e9}
    if ask is not None and task.peers is not None:
        said: dict[str, list[float]] = {}
        works["peers"] = partial(_best, ask, task.peers, said)
        medians = interleaved(works)
        # Without the round that warms up.
        peer, peer_ns = min(((name, float(np.median(ns[1:]))) for name, ns in said.items()), key=lambda found: found[1])
    else:
        medians, peer, peer_ns = interleaved(works), None, None
    ours, plain = medians["ours"], medians["numpy"]
    cells = dict(zip(COLUMNS, (ours, plain, peer_ns, peer, plain / ours, peer_ns and peer_ns / ours), strict=True))
    return Row(task.name, cells, *_judge(task, ours, cells["ratio to NumPy"], cells["ratio to peer"]))


def _best(ask: Ask, task: str, said: dict[str, list[float]]) -> float:
    answers = ask(task)
    for peer, ns in answers.items():
        said.setdefault(peer, []).append(ns)
    return min(answers.values())


def _judge(task: Task, ours: float, to_numpy: float, to_peer: float | None) -> tuple[str, bool | None]:
    wanted: list[str] = []
    met: list[bool | None] = []
    if task.most_ns is not None:
        wanted.append(f"<= {task.most_ns:g} ns")
        met.append(ours <= task.most_ns)
    if task.least_peer_ratio is not None:
        wanted.append(f">= {task.least_peer_ratio:g}x peer")
        # Without the peers' environment nobody knows.
        met.append(None if to_peer is None else to_peer >= task.least_peer_ratio)
    if task.least_numpy_ratio is not None:
        wanted.append(f">= {task.least_numpy_ratio:g}x NumPy")
        met.append(to_numpy >= task.least_numpy_ratio)
    undecided = not met or (None in met and False not in met)
    return ", ".join(wanted), None if undecided else all(met)


def _codes(n: int = N) -> np.ndarray:
    return np.random.default_rng(1).integers(0, SIZE, n)


def _clients() -> Iterator[Task]:
    codes, some, rng = _codes(), _codes(_REFERENCE_N), np.random.default_rng(2)
    everything, few = Domain(range(SIZE)), Domain(range(SIZE), sensitive=list(SENSITIVE))
    hashed = LocalHashing(everything, EPSILON)
    law = hashed.law
    yield Task(
        "RR client",
        _obfuscation(RandomizedResponse(everything, EPSILON), codes),
        lambda: reference.rr(codes, SIZE, EPSILON, rng), N, "rr client", 5, 60,
    )  # fmt: skip
    yield Task(
        "unary client (basic RAPPOR)",
        _obfuscation(UnaryEncoding(everything, EPSILON), codes),
        lambda: reference.unary(some, SIZE, EPSILON, rng), _REFERENCE_N, "unary client", 200, 40,
    )  # fmt: skip
    yield Task(
        "uRAP client, 15 sensitive",
        _obfuscation(UnaryEncoding(few, EPSILON), codes),
        lambda: reference.urap(some, few.slots, len(SENSITIVE), EPSILON, rng), _REFERENCE_N, None, 40,
    )  # fmt: skip
    yield Task(
        "hashing client",
        _obfuscation(hashed, codes),
        lambda: reference.hashing(codes, law.prime, law.buckets, EPSILON, rng), N, "hashing client", 15, 150,
    )  # fmt: skip


def _servers() -> Iterator[Task]:
    codes, rng = _codes(), np.random.default_rng(2)
    everything = Domain(range(SIZE))
    symbols, rows = (
        reference.rr(codes, SIZE, EPSILON, rng),
        reference.unary(codes[:_REFERENCE_N], SIZE, EPSILON, rng),
    )
    yield Task(
        "RR server", _counting(RandomizedResponse(everything, EPSILON), codes),
        lambda: reference.rr_counts(symbols, SIZE), N, "rr server", 1.5,
    )  # fmt: skip
    yield Task(
        "unary server", _counting(UnaryEncoding(everything, EPSILON), codes),
        lambda: reference.unary_counts(rows, SIZE), _REFERENCE_N, "unary server", 20,
    )  # fmt: skip
    large = LocalHashing(Domain(range(LARGE_SIZE)), EPSILON, g=LARGE_BUCKETS)
    reports = reference.hashing(codes[:_COUNTED_N], large.law.prime, LARGE_BUCKETS, EPSILON, rng)
    counted = _counting(large, codes)
    yield Task(
        "hashing server", counted, lambda: reference.hashing_counts(reports, LARGE_SIZE),
        _COUNTED_N, "hashing server", 60, None, 300,
    )  # fmt: skip
    yield Task(
        "hashing server; NumPy without remainders",
        counted,
        lambda: reference.hashing_counts_divided(reports, LARGE_SIZE),
        _COUNTED_N,
    )


def _obfuscation(mechanism: BlockMechanism, codes: np.ndarray) -> Work:
    random = SecureRandom()
    return lambda: mechanism.obfuscate_codes(codes, random=random)


def _counting(mechanism: BlockMechanism, codes: np.ndarray) -> Work:
    reports = mechanism.obfuscate_codes(codes)
    return lambda: mechanism.tally(reports)


@contextmanager
def _peers() -> Iterator[Ask | None]:
    """Start the peers' process; None if their environment is not there."""
    python = _PEERS_HOME / "bin" / "python"
    if not python.exists():
        print("The peers' environment .venv-peers is missing; run `make bench`.", file=sys.stderr)
        yield None
        return
    command = [str(python), str(Path(__file__).with_name("peers.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield partial(_ask, process.stdin, process.stdout)
        process.stdin.close()


def _ask(questions: IO[str], answers: IO[str], task: str) -> dict[str, float]:
    questions.write(task + "\n")
    questions.flush()
    line = answers.readline()
    if not line:
        raise RuntimeError(f"The peers' process ended while it was asked for {task!r}; see its message above.")
    return {answer["peer"]: answer["ns"] for answer in json.loads(line)}
