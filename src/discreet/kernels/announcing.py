"""Announcements of compilations, which take seconds and happen only the first time.

This module imports nothing heavy, so that a listener can be set before kernels are imported.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
