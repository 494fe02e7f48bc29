"""EM for an explicit channel: alphabets are small, so the matrix itself does."""

from collections.abc import Callable

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.evidence import Evidence
from discreet.mechanisms.channel import Channel

_MOST_ITERATIONS = 100_000
_LITTLE = 1e-3


def dense_ascent(
    mechanism: Channel,
    evidence: Evidence,
    start: FloatArray,
    *,
    tolerance: float = 0.0,
    change: float = 0.0,
    progress: Callable[[float, float], None] | None = None,
) -> tuple[FloatArray, float, float]:
    """Climb the likelihood of a channel's reports by EM, p_x <- p_x g_x; max(g) - 1 bounds what is missing.

    Args:
        mechanism: the channel.
        evidence: its outputs.
        start: ``(|X|,)`` frequencies; what is 0 stays 0.
        tolerance: stop at this gap, in nats per report.
        change: stop when an iteration moves frequencies by no more than this (sum of absolute changes).
        progress: called with the iterations done and the present gap.

    Returns:
        Frequencies, the gap reached, and the number of iterations.
    """
    seen = evidence.tally.support > 0
    matrix, share = mechanism.matrix[:, seen], evidence.tally.support[seen] / evidence.n
    p = start / start.sum()
    if (p @ matrix == 0).any():
        # Something was seen that no value with a share could cause: everything gets a little.
        p = p + _LITTLE
        p /= p.sum()
    for iteration in range(1, _MOST_ITERATIONS + 1):
        gradient = matrix @ (share / (p @ matrix))
        gap = max(float(gradient.max()) - 1, 0.0)
        if progress is not None and iteration % 100 == 0:
            progress(iteration, gap)
        if gap <= tolerance:
            break
        before, p = p, p * gradient
        p /= p.sum()
        if np.abs(p - before).sum() <= change:
            break
    return p, gap, float(iteration)
