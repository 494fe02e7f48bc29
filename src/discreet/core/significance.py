"""Many tests at once: which null hypotheses to reject, with a bound on the false discoveries or on any error at all."""

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.checks import checked_between, checked_choice

Control: TypeAlias = Literal["fdr", "fwer"]
"""``"fdr"``: the expected share of false ones among the rejections (Benjamini and Hochberg 1995); ``"fwer"``: the
probability of any false rejection (Holm 1979)."""


def rejected(p_values: FloatArray, rate: float = 0.05, *, control: Control = "fdr") -> BoolArray:
    """Return the null hypotheses to reject.

    Args:
        p_values: ``(m,)`` probabilities, in 0..1.
        rate: the bound, in (0, 1/2).
        control: of what it is the bound; see `Control`.

    Returns:
        ``(m,)`` booleans.

    Raises:
        ParameterError: if the rate or the control is none.

    Example:
        >>> rejected(np.array([0.001, 0.02, 0.03, 0.6]), 0.05).tolist()
        [True, True, True, False]
        >>> rejected(np.array([0.001, 0.02, 0.03, 0.6]), 0.05, control="fwer").tolist()
        [True, False, False, False]
    """
    return rejections(lambda alpha: p_values <= alpha, len(p_values), rate, control)


def rejections(below: Callable[[float], BoolArray], size: int, rate: float, control: Control) -> BoolArray:
    """Return the null hypotheses to reject, of tests that tell whether a p-value is at most a number.

    Args:
        below: from alpha to ``(m,)`` booleans: true where the p-value is at most alpha.
        size: m, the number of hypotheses.
        rate: as for `rejected`.
        control: as for `rejected`.

    Raises:
        ParameterError: as for `rejected`.
    """
    rate = checked_between("rate", rate, 0, 0.5)
    if checked_choice("control", control, get_args(Control)) == "fdr":
        # From all of them downwards, to the largest number k of p-values of at most k rate/m.
        return _settled(below, size, lambda count: count * rate / size)
    # From none upwards: k rejections leave m - k hypotheses to share the rate.
    return _settled(below, 0, lambda count: rate / max(size - count, 1))


def _settled(below: Callable[[float], BoolArray], count: int, alpha: Callable[[int], float]) -> BoolArray:
    """Return the rejections at the alpha that their own number allows, starting from a number of them."""
    while True:
        found = below(alpha(count))
        now = int(np.count_nonzero(found))
        if now in (count, 0):
            return found
        count = now
