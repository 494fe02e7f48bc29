"""What multi-freq-ldpy takes: value after value, because it knows no other way; some of it compiled."""

import math
import time
from collections.abc import Callable

import numpy as np
from multi_freq_ldpy.estimators.Histogram_estimator import IBU
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import (
    RSpFD_ADP_Aggregator_MI,
    RSpFD_ADP_Client,
    RSpFD_GRR_Aggregator_MI,
    RSpFD_GRR_Client,
)
from multi_freq_ldpy.mdim_freq_est.SMP_solution import (
    SMP_ADP_Aggregator_MI,
    SMP_ADP_Client,
    SMP_GRR_Aggregator_MI,
    SMP_GRR_Client,
)
from multi_freq_ldpy.mdim_freq_est.SPL_solution import (
    SPL_ADP_Aggregator_MI,
    SPL_ADP_Client,
    SPL_GRR_Aggregator_MI,
    SPL_GRR_Client,
)
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from reconstruction import reconstructed
from serving import Work, Works, nanoseconds, serve

NAME = "multi-freq-ldpy"
SIZE, EPSILON = 625, 1.0
LARGE_SIZE, LARGE_BUCKETS = 10_000, 100
# It takes g = round(e^epsilon) + 1, so this epsilon means 100 buckets.
LARGE_EPSILON = math.log(LARGE_BUCKETS - 1)


def values(n: int, size: int = SIZE) -> list[int]:
    return np.random.default_rng(1).integers(0, size, n).tolist()


def each(client: Callable[[int], object], n: int) -> dict[str, tuple[Work, int]]:
    told = values(n)
    return {NAME: (lambda: [client(value) for value in told], n)}


def rr_client() -> Works:
    return each(lambda value: GRR_Client(value, SIZE, EPSILON), 20_000)


def unary_client() -> Works:
    return each(lambda value: UE_Client(value, SIZE, EPSILON, False), 2_000)


def hashing_client() -> Works:
    return each(lambda value: LH_Client(value, SIZE, EPSILON), 5_000)


def subset_client() -> Works:
    return each(lambda value: SS_Client(value, SIZE, EPSILON), 2_000)


def rr_server() -> Works:
    reports = np.array(values(50_000))
    return {NAME: (lambda: GRR_Aggregator_MI(reports, SIZE, EPSILON), len(reports))}


def unary_server() -> Works:
    n = 10_000
    reports = list((np.random.default_rng(1).random((n, SIZE)) < 0.38).astype(np.float64))
    return {NAME: (lambda: UE_Aggregator_MI(reports, EPSILON, False), n)}


def hashing_server() -> Works:
    reports = [LH_Client(value, LARGE_SIZE, LARGE_EPSILON) for value in values(10, LARGE_SIZE)]
    return {NAME: (lambda: LH_Aggregator_MI(reports, LARGE_SIZE, LARGE_EPSILON), len(reports))}


def subset_server() -> Works:
    reports = [SS_Client(value, SIZE, EPSILON) for value in values(1_000)]
    return {NAME: (lambda: SS_Aggregator_MI(reports, SIZE, EPSILON), len(reports))}


def ibu(matrix: list[list[float]], shares: list[float], gap: float) -> object:
    """Reconstruct by its iterative Bayesian update until ``gap`` is reached."""
    channel, seen = np.array(matrix), np.array(shares)

    def passes(most: int) -> np.ndarray:
        return IBU(channel.shape[0], channel, seen, most, 1e-300, "max_abs")

    return reconstructed(passes, channel, seen, gap)


SOLUTIONS = {
    "SPL": [(SPL_GRR_Client, SPL_GRR_Aggregator_MI), (SPL_ADP_Client, SPL_ADP_Aggregator_MI)],
    "SMP": [(SMP_GRR_Client, SMP_GRR_Aggregator_MI), (SMP_ADP_Client, SMP_ADP_Aggregator_MI)],
    "RS+FD": [(RSpFD_GRR_Client, RSpFD_GRR_Aggregator_MI), (RSpFD_ADP_Client, RSpFD_ADP_Aggregator_MI)],
}
"""Its ways to ask for several attributes, each with randomized response and with what it calls adaptive."""


def singles(path: str, epsilon: float, solution: str, runs: int) -> tuple[float, float]:
    """Return the mean summed squared error per attribute, and CPU seconds, of the better variant of a solution.

    Epsilon is that of whole records: RS+FD takes ln(d (e^eps - 1) + 1) of its own for it.
    """
    table = dict(np.load(path))
    sizes = [int(codes.max()) + 1 for codes in table.values()]
    rows, count = np.stack([*table.values()], axis=1), len(sizes)
    truths = [np.bincount(codes) / len(codes) for codes in table.values()]
    stated = math.log((math.exp(epsilon) - 1) / count + 1) if solution == "RS+FD" else epsilon
    told = []
    for client, aggregator in SOLUTIONS[solution]:
        errors, seconds = [], []
        aggregator([client(row, sizes, count, stated) for row in rows[:100]], sizes, count, stated)
        for _ in range(runs):
            start = time.process_time()
            estimates = aggregator([client(row, sizes, count, stated) for row in rows], sizes, count, stated)
            seconds.append(time.process_time() - start)
            squares = [np.sum((np.asarray(one) - truth) ** 2) for one, truth in zip(estimates, truths, strict=True)]
            errors.append(float(np.mean(squares)))
        told.append((float(np.mean(errors)), float(np.median(seconds))))
    return min(told)


TASKS = {
    "rr client": rr_client,
    "unary client": unary_client,
    "hashing client": hashing_client,
    "subset client": subset_client,
    "rr server": rr_server,
    "unary server": unary_server,
    "hashing server": hashing_server,
    "subset server": subset_server,
}


if __name__ == "__main__":
    answers = {task: nanoseconds(build) for task, build in TASKS.items()}
    serve({**answers, "ibu": ibu, "singles": singles})
