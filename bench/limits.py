"""What one core of this machine can do at best: read memory, make keystream, add to counters.

Nothing here knows how the measured code works; each limit is the best of what was tried.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numba import njit

from bench.measure import seconds

REPEATS = 7
_STREAM_BYTES = 1 << 28
_KEYSTREAM_BYTES = 1 << 26
# Half of it input, half output: in the second cache of every processor of these years.
_KEYSTREAM_BUFFER = 1 << 18
_ADDS = 4_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Rates of one core.

    Attributes:
        read: bytes of memory per second, in order.
        keystream: bytes of AES-256 in counter mode per second.
        adds: increments of random counters per second, by the size of the table of 8-byte counters.
    """

    read: float
    keystream: float
    adds: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Demand:
    """What one report must cost at least: bytes of keystream, bytes of memory, and adds to a table of so many."""

    keystream: float = 0.0
    moved: float = 0.0
    adds: float = 0.0
    table: int = 0

    def bound(self, limits: Limits) -> tuple[str, float]:
        """Return which limit binds and the nanoseconds per report that it costs; the others can go on beside it."""
        costs = {
            "keystream": self.keystream / limits.keystream,
            "memory": self.moved / limits.read,
            "adds": self.adds / limits.adds[self.table] if self.adds else 0.0,
        }
        name = max(costs, key=lambda cost: costs[cost])
        return name, costs[name] * 1e9


def measured(tables: tuple[int, ...], *, repeats: int = REPEATS, share: float = 1.0) -> Limits:
    """Measure all three.

    Args:
        tables: sizes of tables of counters.
        repeats: the best of so many.
        share: of the usual work; less for a quick look.
    """
    return Limits(
        read_rate(int(_STREAM_BYTES * share), repeats),
        keystream_rate(int(_KEYSTREAM_BYTES * share), repeats),
        {size: add_rate(size, int(_ADDS * share), repeats) for size in tables},
    )


def _best(work: Callable[[], object], repeats: int) -> float:
    work()
    return min(seconds(work) for _ in range(repeats))


def read_rate(size: int, repeats: int) -> float:
    """Return bytes per second of going through an array that no cache holds."""
    array = np.ones(size // 8, dtype=np.int64)
    works = (lambda: np.add.reduce(array), lambda: np.bitwise_xor.reduce(array), array.max)
    return array.nbytes / min(_best(work, repeats) for work in works)


def keystream_rate(size: int, repeats: int) -> float:
    """Return bytes per second of AES-256 in counter mode, plain or Galois's, into a buffer that stays in the cache."""
    zeros, buffer = bytes(_KEYSTREAM_BUFFER), bytearray(_KEYSTREAM_BUFFER)
    rounds = max(size // _KEYSTREAM_BUFFER, 1)

    def work(mode: modes.CTR | modes.GCM) -> None:
        stream = Cipher(algorithms.AES256(bytes(32)), mode).encryptor()
        for _ in range(rounds):
            stream.update_into(zeros, buffer)

    ways = (modes.CTR(bytes(16)), modes.GCM(bytes(12)))
    return rounds * _KEYSTREAM_BUFFER / min(_best(partial(work, way), repeats) for way in ways)


def add_rate(table: int, adds: int, repeats: int) -> float:
    """Return random increments per second of a table of 8-byte counters."""
    places = np.random.default_rng(1).integers(0, table, adds).astype(np.uint16 if table <= 1 << 16 else np.uint32)
    counters = np.zeros(table, dtype=np.int64)
    lanes = np.zeros((4, table), dtype=np.uint32)
    works = (
        lambda: increment(places, counters),
        lambda: increment_lanes(places, lanes),
        lambda: np.add.at(counters, places, 1),
        lambda: np.bincount(places, minlength=table),
    )
    return adds / min(_best(work, repeats) for work in works)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def increment(places: np.ndarray, counters: np.ndarray) -> None:
    """Add one to the counter of each place, in the plainest way there is."""
    for i in range(len(places)):
        counters[places[i]] += 1


@njit(nogil=True)  # type: ignore[untyped-decorator]
def increment_lanes(places: np.ndarray, lanes: np.ndarray) -> None:
    """Add one to the counter of each place, in four tables of 32 bits in turn."""
    for i in range(0, len(places) - 3, 4):
        for lane in range(4):
            lanes[lane, places[i + lane]] += np.uint32(1)
