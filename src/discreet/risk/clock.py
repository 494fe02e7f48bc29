"""Units of times: what numbers of time say about hours, days and dates.

A unit is settled only if all times lie between 1990 and 2100 in exactly one of seconds, milliseconds, microseconds and
nanoseconds, or if they are dates. Minutes look like dates such as 20240131, and days look like serial numbers of
spreadsheets, so that they are never guessed. The origin does not matter: another origin rotates all hours alike.
"""

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.core.checks import checked_choice
from discreet.errors import DataError

ORDER, UNKNOWN, DATES = "order", "unknown", "ns"
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86_400.0, "excel": 86_400.0}
"""The seconds in each unit; `ORDER` says that times only order the events, `UNKNOWN` that the unit is not settled."""
UNITS = (*SECONDS, ORDER)
_SETTLED, _EARLIEST, _LATEST = ("s", "ms", "us", "ns"), 631_152_000, 4_102_444_800
"""Units that the times themselves can settle, and the starts of 1990 and 2100 in seconds since 1970."""
_DAY = 86_400


def unit_of(times: AnyArray, unit: str | None) -> str:
    """Return the unit of ``(m,)`` times: the given one, or the one that the times settle, or `UNKNOWN`.

    Raises:
        ParameterError: if the given unit does not exist.
        DataError: if a unit is given and some times are not finite.

    Example:
        >>> unit_of(np.array([1_700_000_000, 1_700_003_600]), None), unit_of(np.array([1, 2]), None)
        ('s', 'unknown')
    """
    if unit is not None:
        known = unit == UNKNOWN or checked_choice("unit", unit, UNITS)
        if known and unit in SECONDS and not np.isfinite(times).all():
            raise DataError("times.not-finite", argument="unit", unit=unit)
        return unit
    if not len(times):
        return ORDER
    low, high = float(times.min()), float(times.max())
    fits = [name for name in _SETTLED if low * SECONDS[name] >= _EARLIEST and high * SECONDS[name] < _LATEST]
    return fits[0] if fits else UNKNOWN


def seconds_of(times: AnyArray | None, unit: str | None) -> FloatArray | None:
    """Return ``(m,)`` times in whole seconds; None without times, or if they only order the events.

    Raises:
        DataError: if the unit of the times is unknown.

    Example:
        >>> seconds_of(np.array([3, 5]), "min").tolist()
        [180.0, 300.0]
    """
    if times is None or unit is None or unit == ORDER:
        return None
    if unit == UNKNOWN:
        raise DataError("times.unknown-unit", argument="unit")
    length = SECONDS[unit]
    whole = times // round(1 / length) if length < 1 and times.dtype.kind == "i" else np.rint(times * length)
    return whole.astype(np.float64)


def hours_of(times: AnyArray | None, unit: str | None) -> FloatArray | None:
    """Return ``(m,)`` times in whole seconds; None as for `seconds_of`, or if all have the same time of day."""
    seconds = seconds_of(times, unit)
    return None if seconds is None or not len(seconds) or np.ptp(seconds % _DAY) == 0 else seconds


def clock_sentence(times: AnyArray | None, unit: str | None) -> str:
    """Return a sentence on the reason for which hours were not used; empty if they were.

    Example:
        >>> clock_sentence(np.array([3, 5]), "d")
        'The times hold no hour, so that no attack used hours.'
    """
    if times is None:
        return "The events have no times, so that no attack used hours."
    if unit == ORDER:
        return "The times only order the events, so that no attack used hours."
    return "" if hours_of(times, unit) is not None else "The times hold no hour, so that no attack used hours."
