"""The clock of a collector, and whether it can be believed: one that jumps ahead would close epochs for good.

An epoch ends by the time of day, which somebody sets. So a step ahead against the time that has passed since the start
of the machine, or since a collector that stopped an hour ago and longer was seen last, is doubted for ten minutes: who
is late meanwhile is asked to send again, and nothing is sealed by itself. Then it is believed.
"""

import time
from collections.abc import Callable

_STEP_SECONDS = 60.0
_AWAY_SECONDS = 3600.0
DOUBT_SECONDS = 600.0
"""How long a clock that jumped ahead is doubted."""


def _passed() -> float:
    """Return seconds since the start of the machine, those in which it slept among them where it counts them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """The clock.

    Args:
        seen: the time at which a collector of these data was last there, in Unix seconds; None if there was none.
        clock: of Unix seconds.
        passed: seconds that pass evenly, from any beginning.
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
        # How far it jumped, and until when that is doubted.
        self._jumped, self._until = (away, self._last[1] + DOUBT_SECONDS) if away > _AWAY_SECONDS else (0.0, 0.0)

    @property
    def doubted(self) -> bool:
        """The doubt in a clock that jumped ahead a short while ago."""
        return self._jumped > 0 and self._passed() < self._until

    def look(self) -> float:
        """Return the jump of the clock since the last look, in seconds; to be called every second or so."""
        (before, passed), self._last = self._last, (self.now(), self._passed())
        step = self._last[0] - before - (self._last[1] - passed)
        if abs(step) <= _STEP_SECONDS:
            return 0.0
        # Back again as far as it went ahead: nothing is left to be doubted.
        self._jumped = max(self._jumped + step, 0.0) if self.doubted else max(step, 0.0)
        if self._jumped <= _STEP_SECONDS:
            self._jumped = 0.0
        elif step > 0:
            self._until = self._last[1] + DOUBT_SECONDS
        return step
