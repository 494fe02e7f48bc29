"""Views that the columns of a table of events allow: events, numbers, coordinates, times of day, weekdays and dates.

*Plain* attacks compare the events of a trace with the known events of every user under one view, by likelihood alone.
No learned attack may find less. The learned attacks combine several views (`views_of`).

Labels are *numbers* if all of them are; close numbers are alike. They are *coordinates* if there are two columns of
numbers, or labels such as "40.71,-74.01", in the ranges of latitudes and longitudes; close places are alike. With two
columns of events, an event is a pair of labels, and each column is compared on its own, too.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import FloatArray, IntArray
from discreet.core.arrow import one_array
from discreet.risk.attacks.views import NumberGrid, View, gaussian
from discreet.risk.clock import hours_of, seconds_of
from discreet.risk.kernels.events import transitions
from discreet.risk.traces import Split, Traces

PLAIN = (
    *("event", "hour", "weekday", "date", "event-hour", "number", "number-hour", "place"),
    *("first-column", "second-column"),
)
"""The names of plain attacks."""
_QUARTER, _QUARTERS, _HALVES, _HOURS, _DAY = 900, 96, 48, 24, 86_400
_DATES, _ALONE = 200, [(0, 1.0)]
_CELLS, _SIDE, _KM_PER_DEGREE = (0.3, 1.0, 4.0), 1 << 20, 111.2
_COORDINATES = r"^\s*-?\d{1,2}(\.\d+)?\s*[,; ]\s*-?\d{1,3}(\.\d+)?\s*$"

Views = list[View | NumberGrid]
Sides = tuple[Traces, Traces]


def clocks_of(split: Split) -> tuple[bool, bool]:
    """Return two flags of a split: both sides have hours, and both have absolute times."""
    sides = [(side.times, side.unit) for side in (split.training, split.target)]
    if any(times is None for times, _ in sides):
        return False, False
    hours, times = ([clock(*side) is not None for side in sides] for clock in (hours_of, seconds_of))
    return all(hours), all(times) and all(len(side) > 0 for side in (split.training, split.target))


def views_of(training: Traces, target: Traces, *, hours: bool, fine: bool) -> Views:
    """Return the views that a learned attack combines.

    Args:
        training: the known events of each candidate.
        target: the events of each probe.
        hours: whether both sides have hours.
        fine: whether known events are spread to similar ones; otherwise not, for many users.
    """
    sides, columns = (training, target), _columns(training)
    numbers, places = _numbers(columns), _kilometres(columns)
    views: Views = [View.of(sides, _steps(sides), _ALONE, 1)] if fine else []
    views += [_at_hours(sides, _events(sides), fine), _half_hours(sides, fine)] if hours else []
    views += [_at_hours(sides, _events(sides), fine, wide=True)] if hours and fine else []
    for column in columns if len(columns) > 1 and places is None else []:
        codes = _codes(sides, column)
        views += [View.of(sides, codes, _ALONE, 1), *([_at_hours(sides, codes, fine)] if hours else [])]
    if numbers is not None:
        views += [_of_numbers(sides, numbers, hours=each, fine=fine) for each in {False, hours and fine}]
    if places is not None:
        views += [_cells(sides, places, size, fine) for size in (_CELLS if fine else _CELLS[1:2])]
    return views


def plain_views(split: Split) -> dict[str, Callable[[], View | NumberGrid]]:
    """Return a function for each plain attack that the columns of a split allow; its probes are all users."""
    sides, (hours, absolute), columns = (split.training, split.target), clocks_of(split), _columns(split.training)
    views: dict[str, Callable[[], View | NumberGrid]] = {"event": lambda: View.of(sides, _events(sides), _ALONE, 1)}
    if absolute:
        views["weekday"] = lambda: View.of(sides, _parts(sides, _DAY, 7), _ALONE, 7)
        views["date"] = lambda: View.of(sides, _dates(sides), gaussian(1.5, 4), 1 << 40)
    if hours:
        views["event-hour"] = lambda: _at_hours(sides, _events(sides), True)
        views["hour"] = lambda: _half_hours(sides, True)
    numbers, places = _numbers(columns), _kilometres(columns)
    for name, at_hours in zip(PLAIN[5:7], (False, True)[: 1 + hours], strict=False):
        if numbers is not None:
            views[name] = partial(_of_numbers, sides, numbers, hours=at_hours, fine=True)
    if places is not None:
        views["place"] = lambda: _cells(sides, places, _CELLS[1], True)
    elif len(columns) > 1:
        for name, column in zip(PLAIN[-2:], columns, strict=True):
            codes = _codes(sides, column)
            views[name] = partial(_at_hours, sides, codes, True) if hours else partial(View.of, sides, codes, _ALONE, 1)
    return views


def _columns(traces: Traces) -> list[Any]:
    """Return the ``(d,)`` labels of each column of events, in Arrow; an empty list without labels."""
    if traces.labels is None or not len(traces.labels):
        return []
    return traces.labels.flatten() if pa.types.is_struct(traces.labels.type) else [traces.labels]


def _events(sides: Sides) -> list[IntArray]:
    return [side.events.astype(np.int64) for side in sides]


def _steps(sides: Sides) -> list[IntArray]:
    """Return the keys of each first event, and of each step from one event to the next."""
    return [transitions(side.offsets, side.events, side.event_count, start=True) for side in sides]


def _codes(sides: Sides, labels: Any) -> list[IntArray]:
    """Return the codes of one column of events."""
    codes = np.asarray(one_array(labels.dictionary_encode()).indices).astype(np.int64)
    return [codes[side.events] for side in sides]


def _parts(sides: Sides, length: int, count: int) -> list[IntArray]:
    """Return the numbers of each event's part of time, of the given seconds, modulo a count."""
    seconds = [np.asarray(seconds_of(side.times, side.unit)) for side in sides]
    return [(side // length % count).astype(np.int64) for side in seconds]


def _dates(sides: Sides) -> list[IntArray]:
    """Return the numbers of parts of time; 200 parts cover all events."""
    seconds = np.concatenate([np.asarray(seconds_of(side.times, side.unit)) for side in sides])
    return _parts(sides, max(int(np.ptp(seconds) / _DATES), 1), 1 << 40)


def _at_hours(sides: Sides, codes: Sequence[IntArray], fine: bool, *, wide: bool = False) -> View:
    """Return the view of codes at the quarter of an hour of the day, or at the hour; hours are spread if ``wide``."""
    size, spread = (_QUARTERS if fine and not wide else _HOURS), gaussian(2.0, 5) if wide else gaussian(1.5, 4)
    keys = [code * size + part for code, part in zip(codes, _parts(sides, _DAY // size, size), strict=True)]
    return View.of(sides, keys, spread if fine else _ALONE, size)


def _half_hours(sides: Sides, fine: bool) -> View:
    """Return the view of the half-hour of the day, or of the hour."""
    size = _HALVES if fine else _HOURS
    return View.of(sides, _parts(sides, _DAY // size, size), gaussian(1.5, 4) if fine else _ALONE, size)


def _numbers(columns: Sequence[Any]) -> FloatArray | None:
    """Return the first column of labels that are finite numbers; None for none, or if they are coordinates."""
    numeric = [numbers for column in columns if (numbers := _as_numbers(column)) is not None]
    return numeric[0] if numeric and _kilometres(columns) is None else None


def _as_numbers(labels: Any) -> FloatArray | None:
    try:
        numbers = np.asarray(pc.cast(labels, pa.float64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return numbers if len(numbers) > 1 and np.isfinite(numbers).all() else None


def _of_numbers(sides: Sides, numbers: FloatArray, *, hours: bool, fine: bool) -> View | NumberGrid:
    """Return the grid of numbers given the hour; for many users the view of their ranks in 32 bins."""
    distinct, places = np.unique(numbers, return_inverse=True)
    counts = np.bincount(places[sides[0].events], minlength=len(distinct))
    ranks = ((np.cumsum(counts) - counts / 2) / max(counts.sum(), 1))[places]
    if fine:
        return NumberGrid.of(sides, ranks, _parts(sides, _DAY // _HOURS, _HOURS) if hours else None)
    bins = np.minimum((ranks * 32).astype(np.int64), 31)
    return View.of(sides, [bins[side.events] for side in sides], _ALONE, 1)


def _kilometres(columns: Sequence[Any]) -> FloatArray | None:
    """Return ``(d, 2)`` coordinates in kilometres on a plane; None if the labels are no coordinates."""
    if len(columns) == 1 and (pa.types.is_string(columns[0].type) or pa.types.is_large_string(columns[0].type)):
        if not pc.all(pc.match_substring_regex(columns[0], _COORDINATES)).as_py():
            return None
        pairs = pc.split_pattern_regex(pc.utf8_trim_whitespace(columns[0]), r"\s*[,; ]\s*")
        columns = [pc.list_element(pairs, place) for place in (0, 1)]
    numbers = [_as_numbers(column) for column in columns]
    if len(numbers) != 2 or any(each is None for each in numbers):
        return None
    degrees: FloatArray = np.stack(numbers, axis=1)  # type: ignore[arg-type]
    # Whole numbers in these ranges may be anything.
    if (np.abs(degrees) > [90, 180]).any() or (degrees == np.floor(degrees)).all():
        return None
    kilometres: FloatArray = degrees * _KM_PER_DEGREE * [1, np.cos(np.radians(np.median(degrees[:, 0])))]
    return kilometres


def _cells(sides: Sides, kilometres: FloatArray, size: float, fine: bool) -> View:
    """Return the view of square cells, spread to the eight cells around."""
    cells = np.floor(kilometres / size).astype(np.int64) + _SIDE // 2
    codes = cells[:, 0] * _SIDE + cells[:, 1]
    near = ((-1, 0.25), (0, 0.5), (1, 0.25))
    spread = [(x * _SIDE + y, across * along) for x, across in near for y, along in near] if fine else _ALONE
    return View.of(sides, [codes[side.events] for side in sides], spread, _SIDE * _SIDE)
