"""Plain attacks: comparisons of one column, or of two, by likelihood alone. No learned attack may find less.

Each compares the events of a trace with the known events of every user, under one kind of keys (`views`): the event,
the half-hour of the day, the weekday, the event at its quarter of an hour. If the labels of events are numbers, close
numbers are alike in two more kinds: the number, and the number at its hour.

Numbers are *informative* if their order says more about people than their names do. Then numbers that are dealt out
anew to the labels say less: for m traces let R be the mean share of other users who score higher than the right one,
and Z = (1/2 - R) sqrt(12 m). Z of the true numbers exceeds the mean Z of four dealings by more than 4.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import FloatArray, IntArray
from discreet.core.random import RandomSource
from discreet.risk.attacks.views import View, clocks_of, gaussian, views_of
from discreet.risk.clock import seconds_of
from discreet.risk.scores.pse import generator_of
from discreet.risk.traces import Split, Traces

PLAIN = ("event", "hour", "weekday", "event-hour", "number", "number-hour")
"""The names of plain attacks."""
_DAY, _BINS, _ROOM, _HOURS = 86_400, 32, 48, 12
_SHUFFLES, _CLEARLY, _LOOKED_AT = 4, 4.0, 1_500
_NO_SPREAD = [(0, 1.0)]


def plain_views(split: Split) -> dict[str, Callable[[], View]]:
    """Return a function for each plain attack that the columns of a split allow; its probes are all users."""
    sides = split.training, split.target
    events = [side.events.astype(np.int64) for side in sides]
    views = {"event": lambda: View.of(sides, events, _NO_SPREAD, 1)}
    if clocks_of(split)[0]:
        views |= {
            "event-hour": lambda: views_of(*sides, fine=True)[0],
            "hour": lambda: views_of(*sides, fine=True)[1],
            "weekday": lambda: View.of(sides, [_parts(side, _DAY, 7) for side in sides], _NO_SPREAD, 7),
        }
    numbers = numbers_of(split.training)
    if numbers is not None:
        views |= number_views(split, numbers)
    return views


def numbers_of(traces: Traces) -> FloatArray | None:
    """Return the ``(d,)`` labels of the events as numbers; None if they are not numbers."""
    if traces.labels is None or len(traces.labels) < 2:
        return None
    try:
        numbers = np.asarray(pc.cast(traces.labels, pa.float64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def number_views(split: Split, numbers: FloatArray) -> dict[str, Callable[[], View]]:
    """Return the plain attacks by numbers: ranks in 32 bins with neighbours, alone and at an hour of two."""
    sides, spread = (split.training, split.target), gaussian(2.0, 5)
    distinct, places = np.unique(numbers, return_inverse=True)
    counts = np.bincount(places[split.training.events], minlength=len(distinct))
    ranks = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1)
    # Room on both sides, so that the ends are no neighbours.
    of_label = np.minimum((ranks * _BINS).astype(np.int64), _BINS - 1)[places] + (_ROOM - _BINS) // 2
    bins = [of_label[side.events] for side in sides]
    views = {"number": lambda: View.of(sides, bins, spread, _ROOM)}
    if clocks_of(split)[0]:
        keys = [row * _HOURS + _parts(side, _DAY // _HOURS, _HOURS) for row, side in zip(bins, sides, strict=True)]
        wide = [(step * _HOURS, weight) for step, weight in spread]
        views["number-hour"] = lambda: View.of(sides, keys, wide, _ROOM * _HOURS)
    return views


def _parts(side: Traces, length: int, count: int) -> IntArray:
    """Return the number of each event's part of time, of the given seconds, modulo a count."""
    seconds = np.asarray(seconds_of(side.times, side.unit))
    return (seconds // length % count).astype(np.int64)


def numbers_say_more(split: Split, random: RandomSource) -> bool:
    """Return true if the order of numbers that label the events is informative, from up to 1,500 users.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> from discreet.risk.traces import by_half
        >>> users = np.repeat(np.arange(300), 8)
        >>> levels = 10 * users + np.arange(2400) % 8 * 7 % 11
        >>> labels = pa.array(np.arange(levels.max() + 1))
        >>> traces = Traces.of_numbers((users, 300), (levels, len(labels)), labels=labels)
        >>> numbers_say_more(by_half(traces), SeededRandom(1))
        True
    """
    numbers = numbers_of(split.training)
    both = np.flatnonzero((split.training.lengths > 0) & (split.target.lengths > 0))
    if numbers is None or len(both) < 2:
        return False
    generator = generator_of(random)
    some = np.sort(generator.permutation(both)[:_LOOKED_AT])
    split = Split(split.training.select(some), split.target.select(some))
    dealt = [generator.permutation(numbers) for _ in range(_SHUFFLES)]
    true, *others = (
        {name: _excess(view()) for name, view in number_views(split, deal).items()} for deal in [numbers, *dealt]
    )
    return any(z - np.mean([other[name] for other in others]) > _CLEARLY for name, z in true.items())


def _excess(view: View) -> float:
    """Return Z for a view whose probes are all users."""
    scores = view.scores(slice(None))
    right = np.diag(scores)[:, None]
    higher = (scores > right).sum(axis=1) + ((scores == right).sum(axis=1) - 1) / 2
    return float((0.5 - np.mean(higher / (len(scores) - 1))) * np.sqrt(12 * len(scores)))
