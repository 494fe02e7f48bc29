"""Arrays that are worked out when they are first asked for."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from discreet.arrays import FloatArray, frozen


class Deferred:
    """An array that is worked out once, when it is first asked for; pickled, it is what it was worked out to.

    Args:
        make: a function that works it out.
    """

    def __init__(self, make: Callable[[], FloatArray]) -> None:
        self._make = make

    @cached_property
    def value(self) -> FloatArray:
        """The array, read-only."""
        return frozen(self._make())

    def __reduce__(self) -> Any:
        """Return the parts of a pickle: the array."""
        return _same, (self.value,)


def _same(array: FloatArray) -> FloatArray:
    return array
