"""Says that kernels are compiled, to whoever wants to know: it takes seconds, and only the first time.

Imports nothing heavy, so that a listener may be there before the kernels are.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LISTENERS: list[Callable[[], None]] = []


@contextmanager
def listening(listener: Callable[[], None]) -> Iterator[None]:
    """Call a function whenever a kernel is compiled, from whichever thread; not when it is read from disk."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def announce() -> None:
    """Tell the listeners that a kernel is about to be compiled."""
    for listener in tuple(_LISTENERS):
        listener()
