"""Absolute time: when a trace begins and ends, beside the time that the known events of each user cover.

If a table is cut at the middle of each user's events, the released part begins where the known part ends. Then the user
whose known events end last before a trace begins is often the right one. The *gap* is the time between two spans.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.risk.clock import seconds_of
from discreet.risk.traces import Traces

GAPS = 3
"""The number of features of a pair: the logarithm of the gap, no gap, and a trace that begins before the user."""
_FINENESS = 1e7
_NEAR = 60


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The spans of known events and of traces, in seconds.

    Attributes:
        known: ``(2, n)`` first and last known times of each user; nan for a user without a known event.
        asked: ``(2, m)`` first and last times of each trace.
        scale: the unit of gaps: a ten-millionth of the time that all events cover.
        later: whether the traces are later than the known events, on average.
    """

    known: FloatArray
    asked: FloatArray
    scale: float
    later: bool

    @classmethod
    def of(cls, training: Traces, target: Traces) -> Self | None:
        """Return the spans of both sides; None without absolute times."""
        if training.times is None or target.times is None:
            return None
        sides = [seconds_of(side.times, side.unit) for side in (training, target)]
        known, asked = sides
        if known is None or asked is None or not len(known) or not len(asked):
            return None
        span = max(known.max(), asked.max()) - min(known.min(), asked.min())
        ends = _ends(training, known), _ends(target, asked)
        return cls(*ends, max(span / _FINENESS, 1e-9), bool(asked.mean() >= known.mean()))

    def features(self, rows: slice, lists: AnyArray) -> FloatArray:
        """Return the ``(m, l, 3)`` features of some probes with the candidates on their lists."""
        (begins, ends), (first, last) = self.known[:, lists], self.asked[:, rows, None]
        gap = np.maximum(np.maximum(first - ends, begins - last), 0)
        features = np.stack([-np.log1p(gap / self.scale), gap <= 0, first < begins], axis=2).astype(np.float32)
        return np.asarray(np.nan_to_num(features, nan=-np.log1p(_FINENESS)))

    def nearest(self, most: int = _NEAR) -> AnyArray:
        """Return ``(m, most)`` candidates whose known span ends last before each trace begins; -1 for nobody.

        If the traces are earlier than the known events, the candidates are those whose span begins first afterwards.
        """
        times, starts = (self.known[1], self.asked[0]) if self.later else (-self.known[0], -self.asked[1])
        order = np.argsort(times, kind="stable")[: np.count_nonzero(~np.isnan(times))]
        places = np.searchsorted(times[order], starts, "right")[:, None] - np.arange(most)
        return np.asarray(np.append(-1, order)[np.maximum(places, 0)], np.int32)

    def scores(self, rows: Any) -> FloatArray:
        """Return the ``(m, n)`` scores of some probes for all users: a smaller gap makes them larger."""
        times, starts = (self.known[1], self.asked[0]) if self.later else (-self.known[0], -self.asked[1])
        gap = starts[rows, None] - times
        # The largest gap stands for spans that overlap, or have the other order.
        gap = np.where(gap >= 0, np.minimum(gap / self.scale, _FINENESS), _FINENESS)
        scores: FloatArray = -np.log1p(gap)
        return scores


def _ends(traces: Traces, seconds: FloatArray) -> FloatArray:
    """Return the ``(2, n)`` first and last times of each user; nan without an event."""
    there = traces.lengths > 0
    ends = np.full((2, traces.users), np.nan)
    ends[0, there] = seconds[traces.offsets[:-1][there]]
    ends[1, there] = seconds[traces.offsets[1:][there] - 1]
    return ends
