"""Curves of expected errors by epsilon and by number of users, for plots of a comparison."""

from collections.abc import Iterable
from dataclasses import replace
from math import sqrt

import numpy as np

from discreet.mechanisms import BlockMechanism
from discreet.planning.candidates import eligible_mechanisms, expected_mse, fits, least_error
from discreet.planning.requirements import COUNTED, Requirements

LOWER_BOUND = "lower bound"
_EPSILONS = np.geomspace(0.1, 10, 41)
_FACTORS = np.geomspace(0.1, 10, 17)

Curves = dict[str, list[tuple[float, float]]]
"""Points (epsilon or number of users, root mean squared error), ascending, by mechanism; the lower bound last."""


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


def against_users(requirements: Requirements) -> Curves:
    """Return curves as `against_epsilon` does, for a tenth of the number of users to ten times this number.

    Example:
        >>> import discreet as dc
        >>> curves = against_users(Requirements(dc.Domain(range(4), sensitive=[0]), 1.0, 1000))
        >>> curves["rr"][0][0], curves["rr"][-1][0]
        (100, 10000)
    """
    curves: Curves = {}
    # The mechanisms are the same for all numbers of users; they are not tuned again.
    fitting = _fitting(requirements)
    users = {max(round((requirements.users or COUNTED) * factor), 1) for factor in _FACTORS.tolist()}
    for count in sorted(users):
        _add(curves, count, replace(requirements, users=count), fitting)
    return _ordered(curves)


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
