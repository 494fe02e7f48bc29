"""What pure-ldp takes: value after value, because it knows no other way."""

import math
from collections.abc import Callable

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer, LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
from serving import Work, Works, nanoseconds, seconds, serve

SIZE, EPSILON = 625, 1.0
LARGE_SIZE, LARGE_BUCKETS = 10_000, 100
# It takes g = round(e^epsilon) + 1, so this epsilon means 100 buckets.
LARGE_EPSILON = math.log(LARGE_BUCKETS - 1)
# What it calls fast local hashing draws from so many hash functions only.
POOL = 1000
# Over so many reports the cost of one estimate is shared out.
REPORTS = 1_000_000


def values(n: int, size: int = SIZE) -> list[int]:
    """Draw values from 1, because it counts them from 1."""
    return np.random.default_rng(1).integers(1, size, n).tolist()


def each(client: Callable[[int], object], n: int) -> tuple[Work, int]:
    told = values(n)
    return lambda: [client(value) for value in told], n


def rr_client() -> Works:
    return {"pure-ldp": each(DEClient(EPSILON, SIZE).privatise, 20_000)}


def unary_client() -> Works:
    return {"pure-ldp": each(UEClient(EPSILON, SIZE).privatise, 2_000)}


def hashing_client() -> Works:
    return {
        "pure-ldp": each(LHClient(EPSILON, SIZE, use_olh=True).privatise, 5_000),
        "pure-ldp fast": each(FastLHClient(EPSILON, SIZE, POOL, use_olh=True).privatise, 5_000),
    }


def hadamard_client() -> Works:
    return {"pure-ldp": each(HadamardResponseClient(EPSILON, SIZE, None).privatise, 20_000)}


def rr_server() -> Works:
    n = 50_000
    reports = values(n)
    return {"pure-ldp": (lambda: DEServer(EPSILON, SIZE).aggregate_all(reports), n)}


def unary_server() -> Works:
    n = 10_000
    reports = list((np.random.default_rng(1).random((n, SIZE)) < 0.38).astype(np.float64))
    return {"pure-ldp": (lambda: UEServer(EPSILON, SIZE).aggregate_all(reports), n)}


def hashing_server() -> Works:
    few = 10
    slow = LHClient(LARGE_EPSILON, LARGE_SIZE, use_olh=True)
    reports = [slow.privatise(value) for value in values(few, LARGE_SIZE)]
    return {
        "pure-ldp": (
            lambda: LHServer(LARGE_EPSILON, LARGE_SIZE, use_olh=True, g=LARGE_BUCKETS).aggregate_all(reports),
            few,
        )
    }


def pooled_hashing_server() -> dict[str, float]:
    """Return nanoseconds per report of fast local hashing: taking it in, and its part of one estimate."""
    n = 20_000
    client = FastLHClient(LARGE_EPSILON, LARGE_SIZE, POOL, use_olh=True)
    reports = [client.privatise(value) for value in values(n, LARGE_SIZE)]
    # The matrix of hashes is made in advance, as it may be.
    server = FastLHServer(LARGE_EPSILON, LARGE_SIZE, POOL, g=LARGE_BUCKETS)
    taking = min(seconds(lambda: server.aggregate_all(reports)) for _ in range(3))
    counting = seconds(lambda: server.estimate(1, suppress_warnings=True))
    return {"pure-ldp fast": taking / n * 1e9 + counting / REPORTS * 1e9}


def hadamard_server() -> Works:
    n = 50_000
    server = HadamardResponseServer(EPSILON, SIZE)
    client = HadamardResponseClient(EPSILON, SIZE, server.get_hash_funcs())
    reports = [client.privatise(value) for value in values(n)]

    def work() -> None:
        server.reset()
        server.aggregate_all(reports)
        server.estimate(1, suppress_warnings=True)

    return {"pure-ldp": (work, n)}


TASKS = {
    "rr client": rr_client,
    "unary client": unary_client,
    "hashing client": hashing_client,
    "hadamard client": hadamard_client,
    "rr server": rr_server,
    "unary server": unary_server,
    "hashing server": hashing_server,
    "hadamard server": hadamard_server,
}


if __name__ == "__main__":
    answers = {task: nanoseconds(build) for task, build in TASKS.items()}
    serve({**answers, "hashing server, pooled": pooled_hashing_server})
