"""What OpenDP's clients take through its Python bindings.

A value is a call; a vector of bits may be as long as one likes, so the rows of many users fit into one call ("joined").
"""

import math
import random

import opendp.prelude as dp
from serving import Works, nanoseconds, serve

SIZE, EPSILON = 625, 1.0
_ROW = -(-SIZE // 8)


def values(n: int) -> list[int]:
    return random.Random(1).choices(range(SIZE), k=n)


def row_of(value: int) -> bytes:
    """Return the row of bits in which a value's own is set."""
    return bytes((128 >> value % 8) * (place == value // 8) for place in range(_ROW))


def rr_client() -> Works:
    n = 2_000
    truth = math.exp(EPSILON) / (math.exp(EPSILON) + SIZE - 1)
    measurement = dp.m.make_randomized_response(list(range(SIZE)), truth)
    told = values(n)
    return {"opendp": (lambda: [measurement(value) for value in told], n)}


def unary_client() -> Works:
    """Obfuscate rows that are encoded already."""
    n = 200
    # Its f: a bit becomes a fair coin with probability f; both ones of two users' rows differ.
    share = 2 / (1 + math.exp(EPSILON / 2))
    row = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=share)
    joined = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=n), dp.discrete_distance(), f=share)
    rows = [row_of(value) for value in values(n)]
    together = b"".join(rows)
    return {
        "opendp": (lambda: [row(line) for line in rows], n),
        "opendp, joined": (lambda: joined(together), n),
    }


if __name__ == "__main__":
    dp.enable_features("contrib")
    tasks = {"rr client": rr_client, "unary client": unary_client}
    serve({task: nanoseconds(build) for task, build in tasks.items()})
