"""The choice of the smoothing share lambda, from training alone.

A mixture model: with probability 1 - lambda a user repeats one of their events, otherwise any user's. Then the
probability of event x in the training trace of user i, given all other events, is

    (1 - lambda) (c_i(x) - 1) / (N_i - 1)  +  lambda (C(x) - 1) / (N - 1),

with c_i(x) of their N_i events and C(x) of all N events at x. lambda maximizes the sum of their logarithms
(leave-one-out likelihood) over a small grid. An event whose place occurs only once has probability 0 for every lambda,
and is left out of the sum.
"""

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.traces import Traces
from discreet.risk.attacks.features import KeyCounts, Visited

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
_NOTHING_KNOWN = 0.5


def foretelling_share(visited: Visited) -> float:
    """Return lambda, one of `SHARES`, with the largest leave-one-out likelihood; 1/2 if no event is predictable.

    Args:
        visited: the visits of each user in training.
    """
    grid, totals = np.array(SHARES), visited.of_anybody()
    sums, foretold = np.zeros(len(grid)), 0
    for part, rows in visited:
        more, events = _log_likelihoods(part, rows, totals)
        sums, foretold = sums + more, foretold + events
    return float(grid[np.argmax(sums)]) if foretold else _NOTHING_KNOWN


def _log_likelihoods(part: Traces, rows: KeyCounts, totals: IntArray) -> tuple[FloatArray, int]:
    """Return the summed log-likelihoods of some users' events for all `SHARES`, and the number of events.

    Each is relative to the likelihood where anybody may go, which no share changes.
    """
    others = totals[rows.keys] - 1
    # Users who were there once: their other events do not predict it, and only lambda is left.
    alone = int(np.count_nonzero((rows.counts == 1) & (others > 0)))
    again = np.flatnonzero(rows.counts > 1)
    lengths = np.repeat(part.lengths, np.diff(rows.offsets))[again]
    counts = rows.counts[again].astype(np.float64)
    ratios = (counts - 1) / (lengths - 1) / (others[again] / (totals.sum() - 1))
    # No product of vectors: its threads would wait for each other longer than they work.
    sums = np.array([float((counts * np.log1p((1 - share) / share * ratios)).sum()) for share in SHARES])
    events = alone + int(counts.sum())
    return sums + events * np.log(SHARES), events
