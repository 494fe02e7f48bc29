"""What ldp-toolbox takes: one obfuscation per call, some of them compiled; its estimators count what they are given."""

import math

import numpy as np
from ldp_toolbox.protocols.frequency.grr import GeneralizedRandomizedResponse
from ldp_toolbox.protocols.frequency.lh import LocalHashing
from ldp_toolbox.protocols.frequency.ss import SubsetSelection
from ldp_toolbox.protocols.frequency.ue import UnaryEncoding
from serving import Works, nanoseconds, serve

NAME = "ldp-toolbox"
SIZE, EPSILON = 625, 1.0
LARGE_SIZE, LARGE_BUCKETS = 10_000, 100
# It takes g = round(e^epsilon) + 1, so this epsilon means 100 buckets.
LARGE_EPSILON = math.log(LARGE_BUCKETS - 1)


def values(n: int, size: int = SIZE) -> list[int]:
    return np.random.default_rng(1).integers(0, size, n).tolist()


def each(protocol: object, n: int) -> Works:
    told = values(n)
    return {NAME: (lambda: [protocol.obfuscate(value) for value in told], n)}


def estimating(protocol: object, n: int) -> Works:
    reports = [protocol.obfuscate(value) for value in values(n, protocol.k)]
    return {NAME: (lambda: protocol.estimate(reports), n)}


TASKS = {
    "rr client": lambda: each(GeneralizedRandomizedResponse(SIZE, EPSILON), 20_000),
    "unary client": lambda: each(UnaryEncoding(SIZE, EPSILON, optimal=False), 2_000),
    "hashing client": lambda: each(LocalHashing(SIZE, EPSILON), 5_000),
    "subset client": lambda: each(SubsetSelection(SIZE, EPSILON), 2_000),
    "rr server": lambda: estimating(GeneralizedRandomizedResponse(SIZE, EPSILON), 50_000),
    "unary server": lambda: estimating(UnaryEncoding(SIZE, EPSILON, optimal=False), 10_000),
    "hashing server": lambda: estimating(LocalHashing(LARGE_SIZE, LARGE_EPSILON), 20),
    "subset server": lambda: estimating(SubsetSelection(SIZE, EPSILON), 1_000),
}


if __name__ == "__main__":
    serve({task: nanoseconds(build) for task, build in TASKS.items()})
