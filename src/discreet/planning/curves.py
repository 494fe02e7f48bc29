"""Curves of expected errors by epsilon, for the chart of a comparison."""

from collections.abc import Iterable
from dataclasses import replace
from math import log, sqrt

import numpy as np

from discreet.mechanisms import BlockMechanism
from discreet.planning.candidates import eligible_mechanisms, expected_mse, fits, least_error
from discreet.planning.requirements import Requirements

LOWER_BOUND = "lower bound"
_EPSILONS = np.geomspace(0.1, 10, 41)
_SAME = 0.02
"""Curves are drawn as one if the logarithms of their errors differ by less."""

Curves = dict[str, list[tuple[float, float]]]
"""Points (epsilon, root mean squared error), ascending, by mechanism; the lower bound last."""


def against_epsilon(requirements: Requirements) -> Curves:
    """Return curves of the target's error for epsilon from 0.1 to 10, one per mechanism within the limits.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(2), sensitive=[0])
        >>> curves = against_epsilon(Requirements(domain, 1.0, 1000, largest_report=1))
        >>> first, *_, last = curves["rr"]
        >>> first[0], last[0], first[1] > last[1]
        (0.1, 10.0, True)
    """
    curves: Curves = {}
    for epsilon in _EPSILONS.tolist():
        asked = replace(requirements, epsilon=epsilon)
        _add(curves, epsilon, asked, _fitting(asked))
    return _ordered(curves)


def joined(curves: Curves, first: str) -> Curves:
    """Join the curves of mechanisms that nowhere differ by more than 2%, and return at most four, and the lower bound.

    Args:
        curves: the curves of all mechanisms.
        first: the recommended mechanism. Its curve comes first, and its name has a note.

    Example:
        >>> curves = {"a": [(1.0, 2.0)], "b": [(1.0, 2.01)], "c": [(1.0, 1.0)], LOWER_BOUND: [(1.0, 1.0)]}
        >>> list(joined(curves, "b"))
        ['b (recommended) / a', 'c', 'lower bound']
    """
    groups: dict[str, list[str]] = {}
    bound = {LOWER_BOUND: curves[LOWER_BOUND]} if LOWER_BOUND in curves else {}
    # Sorting keeps the order of mechanisms with equal errors, so that every run prints the same names.
    names = [name for name in curves if name != LOWER_BOUND]
    for name in sorted(names, key=lambda name: (name != first, curves[name][len(curves[name]) // 2][1])):
        like = next((leader for leader in groups if _coincide(curves[leader], curves[name])), name)
        groups.setdefault(like, []).append(name if name != first else f"{name} (recommended)")
    return {" / ".join(groups[leader][:3]): curves[leader] for leader in [*groups][:4]} | bound


def _coincide(left: list[tuple[float, float]], right: list[tuple[float, float]]) -> bool:
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(x == at and abs(log(y / error)) < _SAME for (x, y), (at, error) in pairs)


def _fitting(requirements: Requirements) -> list[tuple[str, BlockMechanism]]:
    return [(name, mechanism) for name, mechanism in eligible_mechanisms(requirements) if fits(requirements, mechanism)]


def _add(curves: Curves, x: float, asked: Requirements, fitting: Iterable[tuple[str, BlockMechanism]]) -> None:
    errors = [(name, expected_mse(mechanism, asked.reports, asked.target_p)) for name, mechanism in fitting]
    for name, error in [*errors, (LOWER_BOUND, least_error(asked) or 0.0)]:
        # A logarithmic axis has no position for an error of 0.
        if error > 0:
            curves.setdefault(name, []).append((x, sqrt(error)))


def _ordered(curves: Curves) -> Curves:
    # The bound is drawn last, after mechanisms that fit only at a larger epsilon.
    return dict(sorted(curves.items(), key=lambda curve: curve[0] == LOWER_BOUND))
