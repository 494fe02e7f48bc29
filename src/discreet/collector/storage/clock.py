"""The clock by which epochs end, and its doubts.

A clock that jumps ahead would close epochs for good. So a jump is doubted for ten minutes. A jump is a difference to
the time since the machine's start, a collector that comes back after more than an hour, or a clock behind the last time
in the database. While the clock is doubted, late devices are asked to send again, and nothing is sealed automatically.
Afterwards the clock is believed.
"""

import time
from collections.abc import Callable

_STEP_SECONDS = 60.0
_AWAY_SECONDS = 3600.0
DOUBT_SECONDS = 600.0
"""How long a clock that jumped ahead is doubted."""


def _passed() -> float:
    """Return the seconds since the machine's start, with the time it slept where the system counts that."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """A clock whose jumps are doubted for ten minutes.

    Args:
        seen: the time at which a collector of these data was last there, in Unix seconds; None if there was none.
        clock: a function that returns the time in Unix seconds.
        passed: a function that returns seconds which no change of the clock affects.
    """

    def __init__(
        self,
        seen: float | None = None,
        *,
        clock: Callable[[], float] = time.time,
        passed: Callable[[], float] = _passed,
    ) -> None:
        self.now, self._passed = clock, passed
        self._last = clock(), passed()
        away = 0.0 if seen is None else self._last[0] - seen
        # The jump, and the end of the doubt: the clock is behind the time in the database, or was stopped for long.
        is_doubted = away > _AWAY_SECONDS or away < -_STEP_SECONDS
        self._jumped, self._until = (away, self._last[1] + DOUBT_SECONDS) if is_doubted else (0.0, 0.0)

    @property
    def doubted(self) -> bool:
        """True while a jump of the clock is doubted."""
        return self._jumped != 0 and self._passed() < self._until

    def look(self) -> float:
        """Return the jump of the clock since the last look, in seconds; to be called every second or so."""
        (before, passed), self._last = self._last, (self.now(), self._passed())
        step = self._last[0] - before - (self._last[1] - passed)
        if abs(step) <= _STEP_SECONDS:
            return 0.0
        # The clock jumped back by as much: there is no reason for doubt.
        self._jumped = self._jumped + step if self.doubted else max(step, 0.0)
        if abs(self._jumped) <= _STEP_SECONDS:
            self._jumped = 0.0
        elif step > 0:
            self._until = self._last[1] + DOUBT_SECONDS
        return step
