"""How every kernel is compiled: without the interpreter lock, and cached on disk."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

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
    decorator = numba.njit(nogil=True, cache=True, fastmath=set(fastmath))
    return cast("Callable[[_Function], _Function]", decorator)
