"""Compiled kernels if numba is installed (`pip install 'discreet[fast]'`), and otherwise NumPy's or interpreted ones.

Kernels that count reports or estimate from them have a NumPy form (`discreet.kernels.plain`), which is at most about
ten times slower. Other kernels are interpreted, some hundred times slower, and raise an error for work that would
take many seconds.
"""

import threading
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np

from discreet.errors import MissingExtraError

_Function = TypeVar("_Function", bound=Callable[..., Any])

REASSOCIATE = frozenset({"reassoc", "nsz", "contract"})
"""Floating-point flags that allow sums in vector lanes; infinities and NaN keep their meaning."""

MOST_STEPS = 1 << 22
"""The most steps of an interpreted kernel; a step takes up to a microsecond."""

_here = threading.local()


def compiled(
    *,
    fastmath: frozenset[str] = frozenset(),
    plain: Callable[..., Any] | None = None,
    steps: Callable[..., int] | None = None,
) -> Callable[[_Function], _Function]:
    """Return a decorator with which numba compiles a kernel at the kernel's first call.

    Kernels never use ``parallel=True``. Threads come from `map_blocks`, whose fixed blocks make sums independent of the
    number of threads. The helpers of a kernel are in its own file, because the cache does not notice changes elsewhere.

    Args:
        fastmath: LLVM's floating point flags; none by default.
        plain: a substitute without numba; by default the function itself, interpreted.
        steps: a function from the arguments to the number of steps; by default the number of entries of all arrays.
    """

    def decorated(function: _Function) -> _Function:
        if find_spec("numba") is None:
            return cast("_Function", plain or _interpreted(function, steps or _entries))
        from discreet.kernels.caching import compile_kernel

        return compile_kernel(function, fastmath)

    return decorated


def _interpreted(function: _Function, steps: Callable[..., int]) -> _Function:
    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        if getattr(_here, "busy", False):
            # A helper of another kernel, whose steps were checked.
            return function(*arguments)
        asked = steps(*arguments)
        if asked > MOST_STEPS:
            raise MissingExtraError("extra.fast-missing", most_steps=MOST_STEPS, asked=asked)
        _here.busy = True
        try:
            # Integers wrap around, as in compiled kernels.
            with np.errstate(over="ignore"):
                return function(*arguments)
        finally:
            _here.busy = False

    return cast("_Function", kernel)


def _entries(*arguments: Any) -> int:
    """Return the number of entries of all arrays among the arguments, including arrays in tuples."""
    return sum(
        _entries(*argument) if isinstance(argument, tuple) else getattr(argument, "size", 0) for argument in arguments
    )
