"""Times the packages people use today; runs in their environment, not in ours.

Reads one task per line from standard input and answers each with a line of JSON: a list of peer, task and nanoseconds
per report. So the caller can take turns between them and itself.
"""

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

SIZE = 625
EPSILON = 1.0
LARGE_SIZE = 10_000
LARGE_BUCKETS = 100
# Both choose g = round(e^epsilon) + 1, so this epsilon means 100 buckets.
LARGE_EPSILON = math.log(LARGE_BUCKETS - 1)
# What pure-LDP calls fast local hashing draws from so many hash functions only.
POOL = 1000

Work = Callable[[], object]


def _values(n: int, size: int = SIZE) -> list[int]:
    return np.random.default_rng(1).integers(0, size, n).tolist()


def _each(client: Callable[[int], object], n: int) -> Work:
    """Obfuscate value after value: neither package has another way."""
    # From 1, because pure-LDP counts values from 1; both accept 1..SIZE - 1.
    values = [max(value, 1) for value in _values(n)]
    return lambda: [client(value) for value in values]


def _rr_clients() -> dict[str, tuple[Work, int]]:
    n = 20_000
    return {
        "pure-ldp": (_each(DEClient(EPSILON, SIZE).privatise, n), n),
        "multi-freq-ldpy": (_each(lambda value: GRR_Client(value, SIZE, EPSILON), n), n),
    }


def _unary_clients() -> dict[str, tuple[Work, int]]:
    n = 2_000
    return {
        "pure-ldp": (_each(UEClient(EPSILON, SIZE).privatise, n), n),
        "multi-freq-ldpy": (_each(lambda value: UE_Client(value, SIZE, EPSILON, False), n), n),
    }


def _hashing_clients() -> dict[str, tuple[Work, int]]:
    n = 5_000
    fast = FastLHClient(EPSILON, SIZE, POOL, use_olh=True)
    return {
        "pure-ldp": (_each(LHClient(EPSILON, SIZE, use_olh=True).privatise, n), n),
        "pure-ldp fast": (_each(fast.privatise, n), n),
        "multi-freq-ldpy": (_each(lambda value: LH_Client(value, SIZE, EPSILON), n), n),
    }


def _rr_servers() -> dict[str, tuple[Work, int]]:
    n = 50_000
    reports = _values(n)
    column = np.array(reports)
    return {
        "pure-ldp": (lambda: DEServer(EPSILON, SIZE).aggregate_all(reports), n),
        "multi-freq-ldpy": (lambda: GRR_Aggregator_MI(column, SIZE, EPSILON), n),
    }


def _unary_servers() -> dict[str, tuple[Work, int]]:
    n = 10_000
    reports = list((np.random.default_rng(1).random((n, SIZE)) < 0.38).astype(np.float64))
    return {
        "pure-ldp": (lambda: UEServer(EPSILON, SIZE).aggregate_all(reports), n),
        "multi-freq-ldpy": (lambda: UE_Aggregator_MI(reports, EPSILON, False), n),
    }


def _hashing_servers() -> dict[str, tuple[Work, int]]:
    n = 10
    client = LHClient(LARGE_EPSILON, LARGE_SIZE, use_olh=True)
    reports = [client.privatise(value + 1) for value in _values(n, LARGE_SIZE)]
    return {
        "pure-ldp": (
            lambda: LHServer(LARGE_EPSILON, LARGE_SIZE, use_olh=True, g=LARGE_BUCKETS).aggregate_all(reports),
            n,
        ),
        "multi-freq-ldpy": (lambda: LH_Aggregator_MI(reports, LARGE_SIZE, LARGE_EPSILON), n),
    }


TASKS = {
    "rr client": _rr_clients,
    "unary client": _unary_clients,
    "hashing client": _hashing_clients,
    "rr server": _rr_servers,
    "unary server": _unary_servers,
    "hashing server": _hashing_servers,
}


@cache
def _works(task: str) -> dict[str, tuple[Work, int]]:
    works = TASKS[task]()
    for work, _ in works.values():
        # Compiling does not count.
        work()
    return works


def measured(task: str) -> list[dict[str, str | float]]:
    """Time every peer at ``task`` once."""
    answers: list[dict[str, str | float]] = []
    for peer, (work, n) in _works(task).items():
        start = time.perf_counter()
        work()
        answers.append({"peer": peer, "task": task, "ns": (time.perf_counter() - start) / n * 1e9})
    return answers


def main(tasks: Sequence[str]) -> None:
    """Answer the tasks named, or those that come in on standard input."""
    warnings.simplefilter("ignore")
    for line in tasks or sys.stdin:
        print(json.dumps(measured(line.strip())), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
