"""Containment: whose known events have all events of a trace? It identifies copies, and samples of rows, of a table.

If a trace is a random sample of B of the A known events of a user, then its probability is the product of C(a, b) over
the events, divided by C(A, B), with a known visits of an event and b in the trace. The score is the logarithm of this
product, up to a factor that all users share nearly. Every event that the user has adds a large number, so that a user
who has more events of the trace scores higher. Without times, events count in their order: how many first events of the
trace can be found in the user's known events, one after the other?
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.risk.attacks.views import View
from discreet.risk.clock import seconds_of
from discreet.risk.kernels.pairs import found_in_order
from discreet.risk.traces import Traces

CONTAINED = ("contained", "contained-at", "contained-times")
"""The names of attacks: by events, by events with their times, and by times."""
_FOUND = 25.0


def containment(training: Traces, target: Traces, name: str) -> View:
    """Return the view whose scores are the logarithms of the probabilities above.

    Args:
        training: the known events of each user.
        target: the events of each trace.
        name: one of `CONTAINED`; all but the first need times.

    Example:
        >>> known = Traces.of(["u1"] * 3 + ["u2"] * 2, list("aab") + list("ab"))
        >>> scores = containment(known, known.first(2), "contained").scores(slice(None))
        >>> scores.argmax(axis=1).tolist()
        [0, 1]
    """
    sides = training, target
    codes = [side.events.astype(np.int64) * (name != CONTAINED[2]) for side in sides]
    if name != CONTAINED[0]:
        codes = [code * np.int64(1 << 32) + place for code, place in zip(codes, _places(training, target), strict=True)]
    distinct, numbers = np.unique(np.concatenate(codes), return_inverse=True)
    known, asked = np.split(numbers, [len(codes[0])])
    known_counts, which = _occurrences(training, known, len(distinct))
    _, place = _occurrences(target, asked, len(distinct))
    most = np.int64(max(int(which.max(initial=0)), int(place.max(initial=0))) + 1)
    keys = [code * most + occurrence for code, occurrence in ((known, which), (asked, place))]
    lengths = np.repeat(training.lengths, training.lengths)
    # The i-th occurrence adds ln((a - i + 1) / i), so that b of them add the logarithm of C(a, b).
    weights = _FOUND + np.log((known_counts - which) / (which + 1)) - np.log(np.maximum(lengths, 1))
    return View.of_rows(sides, keys, weights)


def _occurrences(traces: Traces, numbers: IntArray, size: int) -> tuple[FloatArray, IntArray]:
    """Return, for each event, how often its user has it, and how often the user had it before."""
    who = np.repeat(np.arange(traces.users), traces.lengths)
    _, pairs, counts = np.unique(who * np.int64(size) + numbers, return_inverse=True, return_counts=True)
    before = np.empty(len(pairs), np.int64)
    before[np.argsort(pairs, kind="stable")] = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
    return counts[pairs].astype(np.float64), before


def _places(*sides: Traces) -> list[AnyArray]:
    """Return numbers of the times of both sides."""
    seconds = [seconds_of(side.times, side.unit) for side in sides]
    # Times that only order the events are equal in a copy.
    moments: Any = [side.times for side in sides] if any(each is None for each in seconds) else seconds
    numbers: AnyArray = np.unique(np.concatenate(moments), return_inverse=True)[1]
    return np.split(numbers, [len(sides[0])])


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """Containment in order, for traces without times.

    Attributes:
        training: the known events of each user.
        target: the events of each trace.
    """

    training: Traces
    target: Traces

    def scores(self, rows: Any) -> FloatArray:
        """Return the ``(m, n)`` scores of some probes for all users."""
        asked = self.target.select(rows)
        counts = found_in_order((asked.offsets, asked.events), (self.training.offsets, self.training.events))
        scores: FloatArray = counts * (_FOUND - np.log(np.maximum(self.training.lengths, 1)))
        return scores
