"""How many passes an iterative Bayesian update needs to come within a gap of the largest likelihood, and how long."""

import time
from collections.abc import Callable

import numpy as np

MOST_PASSES = 1 << 13
MOST_SECONDS = 8.0
_HALVINGS = 5


def gap_of(channel: np.ndarray, seen: np.ndarray, p: np.ndarray) -> float:
    """Return by how much, in nats per report, p is at most below the largest likelihood."""
    expected = p @ channel
    weights = np.divide(seen, expected, out=np.zeros_like(seen), where=seen > 0)
    return float((channel @ weights).max()) - 1


def reconstructed(
    passes: Callable[[int], np.ndarray], channel: np.ndarray, seen: np.ndarray, gap: float
) -> dict[str, float]:
    """Return the passes needed (to within 3%), the seconds they take and the gap then.

    Where more than `MOST_SECONDS` or `MOST_PASSES` would be needed, what was reached until then.

    Args:
        passes: runs so many passes from the start and returns the distribution.
        channel: ``(|X|, |Y|)`` probabilities.
        seen: ``(|Y|,)`` shares of the reports.
        gap: what to reach, in nats per report.
    """
    passes(1)
    most = 1
    while True:
        spent, found = _timed(passes, most)
        reached = gap_of(channel, seen, found)
        if reached <= gap or most >= MOST_PASSES or 2 * spent > MOST_SECONDS:
            break
        most *= 2
    fewest = most // 2
    for _ in range(_HALVINGS if reached <= gap else 0):
        middle = (fewest + most) // 2
        if middle in {fewest, most}:
            break
        tried, there = _timed(passes, middle)
        if gap_of(channel, seen, there) <= gap:
            most, spent, reached = middle, tried, gap_of(channel, seen, there)
        else:
            fewest = middle
    return {"seconds": spent, "passes": most, "gap": reached}


def _timed(passes: Callable[[int], np.ndarray], most: int) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    found = passes(most)
    return time.perf_counter() - start, found
