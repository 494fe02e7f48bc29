"""How every kernel is compiled: without the interpreter lock, and kept on disk where that is safe."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from discreet.kernels.caching import cache_of

_Function = TypeVar("_Function", bound=Callable[..., Any])

REASSOCIATE = frozenset({"reassoc", "nsz", "contract"})
"""Lets sums run in vector lanes; infinities and NaN keep their meaning."""


def compiled(*, fastmath: frozenset[str] = frozenset()) -> Callable[[_Function], _Function]:
    """Returns the decorator that compiles a kernel at its first call.

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
