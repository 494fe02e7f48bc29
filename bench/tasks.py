"""What a device and a collector do with a report, ours and NumPy's, and what each report must cost at least."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import numpy_reference as reference
from bench.limits import Demand
from discreet import (
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.core.random import SecureRandom
from discreet.core.reports import Reports
from discreet.mechanisms import BlockMechanism

N = 1_000_000
SIZE = 625
SENSITIVE = range(0, 600, 40)
EPSILON = 1.0
LARGE_SIZE = 10_000
LARGE_BUCKETS = 100
# 2^ceil(log2(SIZE + 1)) columns.
ORDER = 1024
TABLES = (SIZE, ORDER, LARGE_SIZE)
_FEW = 100_000
_SUBSETS = 50_000
# NumPy needs tens of microseconds for each of these.
_COUNTED_N = 400
_SMALLEST_N = 400
_ASKED = 1 << 15

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Task:
    """What is timed.

    Attributes:
        name: what it is.
        ours: our work on ``n`` reports.
        n: how many.
        numpy: NumPy's work on ``numpy_n`` reports.
        numpy_n: how many.
        demand: what a report must cost at least, given the words that are drawn and the bytes that are written.
        peers: what the packages beside us call it; None if none of them can do it.
        most_ns: goal for us.
        least_peer_ratio: goal beside the fastest package.
        least_numpy_ratio: goal beside NumPy.
        pooled: whether a package has a way of its own for it that must be asked for once.
    """

    name: str
    ours: Work
    n: int
    numpy: Work
    numpy_n: int
    demand: Demand
    peers: str | None = None
    most_ns: float | None = None
    least_peer_ratio: float | None = None
    least_numpy_ratio: float | None = None
    pooled: bool = False


class CountingRandom:
    """Secure words, counted."""

    secure = True

    def __init__(self) -> None:
        self.bytes = 0
        self._source = SecureRandom()

    def words(self, n: int) -> np.ndarray:
        """Return ``(n,)`` words."""
        self.bytes += 8 * n
        return self._source.words(n)


def size_of(reports: Reports) -> int:
    """Return the bytes of a batch's columns."""
    columns = [*reports.blocks.values(), reports.clear]
    return sum(column.nbytes for column in columns) + (0 if reports.in_clear is None else reports.in_clear.nbytes)


def client_demand(mechanism: BlockMechanism, codes: np.ndarray) -> Demand:
    """Return what a client's report costs at least: the words it draws, and reading a value and writing a report."""
    counting, some = CountingRandom(), codes[:_ASKED]
    reports = mechanism.obfuscate_codes(some, random=counting)
    return Demand(keystream=counting.bytes / len(some), moved=(some.nbytes + size_of(reports)) / len(some))


def scaled(n: int, share: float) -> int:
    """Return a share of n, but enough for NumPy's chunks."""
    return max(int(n * share), _SMALLEST_N)


def draw(n: int) -> np.ndarray:
    """Draw values."""
    return np.random.default_rng(1).integers(0, SIZE, n)


def _client(
    name: str,
    mechanism: BlockMechanism,
    codes: np.ndarray,
    by_numpy: tuple[Callable[..., object], np.ndarray],
    **more: Any,
) -> Task:
    random, (numpy, some) = SecureRandom(), by_numpy
    return Task(
        name,
        lambda: mechanism.obfuscate_codes(codes, random=random),
        len(codes),
        lambda: numpy(some),
        len(some),
        client_demand(mechanism, codes),
        **more,
    )


def clients(share: float = 1.0) -> Iterator[Task]:
    """Yield what devices do, with a share of the usual numbers of reports."""
    yield from _clients_of_values_and_bits(share)
    yield from _clients_of_sets(share)


def _clients_of_values_and_bits(share: float) -> Iterator[Task]:
    codes, some = (draw(scaled(n, share)) for n in (N, _FEW))
    rng, everything = np.random.default_rng(2), Domain(range(SIZE))
    tagged = Domain(range(SIZE), sensitive=list(SENSITIVE))
    yield _client(
        "RR client",
        RandomizedResponse(everything, EPSILON),
        codes,
        (lambda told: reference.rr(told, SIZE, EPSILON, rng), codes),
        peers="rr client",
        most_ns=5,
        least_peer_ratio=60,
    )
    yield _client(
        "unary client (basic RAPPOR)",
        UnaryEncoding(everything, EPSILON),
        codes,
        (lambda told: reference.unary(told, SIZE, EPSILON, rng), some),
        peers="unary client",
        most_ns=200,
        least_peer_ratio=40,
    )
    few = UnaryEncoding(everything, EPSILON, digits="few")
    noise, truth = few.law.inclusion, few.coefficients.truth
    own = truth + (1 - truth) * float(noise)
    yield _client(
        "unary client, few digits",
        few,
        codes,
        (lambda told: reference.unary_of_few_digits(told, SIZE, noise, own, rng), some),
        most_ns=100,
    )
    yield _client(
        "uRAP client, 15 sensitive",
        UnaryEncoding(tagged, EPSILON),
        codes,
        (lambda told: reference.urap(told, tagged.signed_ranks, len(SENSITIVE), EPSILON, rng), some),
        most_ns=40,
    )


def _clients_of_sets(share: float) -> Iterator[Task]:
    codes, few = (draw(scaled(n, share)) for n in (N, _SUBSETS))
    rng, everything = np.random.default_rng(2), Domain(range(SIZE))
    hashed, subset = LocalHashing(everything, EPSILON), SubsetSelection(everything, EPSILON)
    yield _client(
        "hashing client",
        hashed,
        codes,
        (lambda told: reference.hashing(told, hashed.law.prime, hashed.law.buckets, EPSILON, rng), codes),
        peers="hashing client",
        most_ns=15,
        least_peer_ratio=150,
    )
    yield _client(
        f"subset client, k = {subset.law.count}",
        subset,
        few,
        (lambda told: reference.subsets(told, SIZE, subset.law.count, EPSILON, rng), few),
        peers="subset client",
    )
    yield _client(
        "Hadamard client",
        HadamardResponse(everything, EPSILON),
        codes,
        (lambda told: reference.hadamard(told, ORDER, EPSILON, rng), codes),
        peers="hadamard client",
    )


def _server(
    name: str,
    mechanism: BlockMechanism,
    codes: np.ndarray,
    by_numpy: tuple[Work, int],
    adds: tuple[float, int],
    **more: Any,
) -> Task:
    reports, (numpy, numpy_n) = mechanism.obfuscate_codes(codes), by_numpy
    demand = Demand(moved=size_of(reports) / len(codes), adds=adds[0], table=adds[1])

    def work() -> object:
        # With what is worked out once of the counts, where a tally does not count values.
        return mechanism.counts.support_of(mechanism.tally(reports).support)

    return Task(name, work, len(codes), numpy, numpy_n, demand, **more)


def servers(share: float = 1.0) -> Iterator[Task]:
    """Yield what collectors do, with a share of the usual numbers of reports."""
    yield from _servers_of_values_and_bits(share)
    yield from _hashing_servers(draw(scaled(N, share)), np.random.default_rng(2))
    yield from _servers_of_sets(share)


def _servers_of_values_and_bits(share: float) -> Iterator[Task]:
    codes, some = (draw(scaled(n, share)) for n in (N, _FEW))
    rng, everything = np.random.default_rng(2), Domain(range(SIZE))
    symbols, rows = reference.rr(codes, SIZE, EPSILON, rng), reference.unary(some, SIZE, EPSILON, rng)
    yield _server(
        "RR server",
        RandomizedResponse(everything, EPSILON),
        codes,
        (lambda: reference.rr_counts(symbols, SIZE), len(symbols)),
        (1, SIZE),
        peers="rr server",
        most_ns=1.2,
    )
    yield _server(
        "unary server",
        UnaryEncoding(everything, EPSILON),
        codes,
        (lambda: reference.unary_counts(rows, SIZE), len(rows)),
        # Bits are added up a word at a time.
        (0, 0),
        peers="unary server",
        most_ns=6,
    )
    yield _tagged_server(codes, some, rng)


def _servers_of_sets(share: float) -> Iterator[Task]:
    codes, few = (draw(scaled(n, share)) for n in (N, _SUBSETS))
    rng, everything = np.random.default_rng(2), Domain(range(SIZE))
    subset = SubsetSelection(everything, EPSILON)
    members = reference.subsets(few, SIZE, subset.law.count, EPSILON, rng)
    yield _server(
        f"subset server, k = {subset.law.count}",
        subset,
        few,
        (lambda: reference.subset_counts(members, SIZE), len(members)),
        (subset.law.count, SIZE),
        peers="subset server",
        most_ns=90,
    )
    columns = reference.hadamard(codes, ORDER, EPSILON, rng)
    yield _server(
        "Hadamard server",
        HadamardResponse(everything, EPSILON),
        codes,
        (lambda: reference.hadamard_counts(columns, ORDER), len(columns)),
        (1, ORDER),
        peers="hadamard server",
    )


def _tagged_server(codes: np.ndarray, some: np.ndarray, rng: np.random.Generator) -> Task:
    tagged = Domain(range(SIZE), sensitive=list(SENSITIVE))
    reports = reference.urap(some, tagged.signed_ranks, len(SENSITIVE), EPSILON, rng)
    mechanism = UnaryEncoding(tagged, EPSILON)
    return _server(
        "uRAP server, 15 sensitive",
        mechanism,
        codes,
        (lambda: reference.urap_counts(reports, len(SENSITIVE), SIZE), len(some)),
        (mechanism.coefficients.truth * float((tagged.signed_ranks[codes] < 0).mean()), SIZE),
    )


def _hashing_servers(codes: np.ndarray, rng: np.random.Generator) -> Iterator[Task]:
    large = LocalHashing(Domain(range(LARGE_SIZE)), EPSILON, g=LARGE_BUCKETS)
    reports = reference.hashing(codes[:_COUNTED_N], large.law.prime, LARGE_BUCKETS, EPSILON, rng)
    # A block has P/g members, and each is counted.
    adds = large.law.prime / LARGE_BUCKETS, LARGE_SIZE
    by_numpy = (lambda: reference.hashing_counts(reports, LARGE_SIZE), len(reports.a))
    goals = {"peers": "hashing server", "pooled": True, "most_ns": 60, "least_numpy_ratio": 100}
    yield _server("hashing server", large, codes, by_numpy, adds, **goals)
