"""The compilation of kernels: without the interpreter lock, and cached on disk where that is safe."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from discreet.kernels.announcing import announce
from discreet.kernels.caching import cache_of

_Function = TypeVar("_Function", bound=Callable[..., Any])

REASSOCIATE = frozenset({"reassoc", "nsz", "contract"})
"""Lets sums run in vector lanes; infinities and NaN keep their meaning."""


class _Compilations(event.Listener):  # type: ignore[misc]
    """A numba event listener that hears of compilations, and not of kernels read from disk."""

    def on_start(self, _: event.Event) -> None:
        """Announce the start of a compilation."""
        announce()

    def on_end(self, _: event.Event) -> None:
        """Do nothing at the end of a compilation."""


event.register("numba:compile", _Compilations())


def compiled(*, fastmath: frozenset[str] = frozenset()) -> Callable[[_Function], _Function]:
    """Return the decorator that compiles a kernel at its first call.

    Never ``parallel=True``: threads come from `map_blocks`, whose fixed blocks make sums
    independent of the number of threads. A kernel's helpers live in its own file, because
    the cache does not notice changes elsewhere.

    Args:
        fastmath: LLVM's floating point flags; none by default.
    """
    compiling = numba.njit(nogil=True, fastmath=set(fastmath))

    def decorated(function: _Function) -> _Function:
        kernel = compiling(function)
        cache = cache_of(function)
        if cache is not None:
            # What numba.njit(cache=True) does, which ends the process where nothing can be kept.
            kernel._cache = cache
        return cast("_Function", kernel)

    return decorated
