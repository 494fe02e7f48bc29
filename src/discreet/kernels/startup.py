"""When compiled kernels pay, and who is told that they are compiled.

Announcements of compilations, which take seconds and happen only the first time.

This module imports nothing heavy, so that a listener can be set before kernels are imported.

The start of compiled kernels: it costs half a second, and pays where more than that is saved.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

_LISTENERS: list[Callable[[], None]] = []


@contextmanager
def listening(listener: Callable[[], None]) -> Iterator[None]:
    """Call a function whenever a kernel is compiled, from any thread; not when it is read from disk."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def announce() -> None:
    """Tell the listeners that a kernel is about to be compiled."""
    for listener in tuple(_LISTENERS):
        listener()


COMPILER = "discreet.kernels.caching"
SECONDS = 0.5
"""About what the import of numba and of the first kernels costs."""

lost_seconds = [0.0]


def pays(seconds: float) -> bool:
    """Return true if a compiled kernel should be used: it is loaded, or NumPy has cost as much as its start would.

    False without numba, which obfuscation never needs.

    Args:
        seconds: how much longer NumPy takes for the work at hand; it counts as lost if the answer is False. So no
            sequence of calls takes longer than twice what the better choice for all of them would have.
    """
    if COMPILER in sys.modules:
        return True
    if lost_seconds[0] + seconds > SECONDS:
        # Devices draw batches without it.
        return find_spec("numba") is not None
    # Threads may lose a count of each other's; it is an estimate.
    lost_seconds[0] += seconds
    return False
