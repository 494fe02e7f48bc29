"""Curves of the error against epsilon and against the number of users, for plots of a comparison."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from discreet.mechanisms import BlockMechanism
from discreet.planning.candidates import bounds, compared_mechanisms, expected_mse, fits
from discreet.planning.requirements import COUNTED, Requirements

LOWER_BOUND = "lower bound"

_EPSILONS = np.geomspace(0.1, 10, 41)
_DECADES = 1
_PER_DECADE = 8


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of errors, for one mechanism or the lower bound.

    Attributes:
        name: of a mechanism, or `LOWER_BOUND`.
        points: (epsilon or number of users, root mean squared error), ascending.

    Example:
        >>> Curve("rr", ((0.5, 0.2), (1.0, 0.1))).points[-1]
        (1.0, 0.1)
    """

    name: str
    points: tuple[tuple[float, float], ...]


def against_epsilon(requirements: Requirements) -> tuple[Curve, ...]:
    """Return the error under the target for epsilon from 0.1 to 10, a curve per mechanism that fits.

    Example:
        >>> import discreet as dc
        >>> from discreet.planning.requirements import People
        >>> domain = dc.Domain(range(2), sensitive=[0])
        >>> curves = against_epsilon(Requirements(domain, 1.0, 1000, People.of(domain, None, None), largest_report=1))
        >>> first, *_, last = curves[0].points
        >>> curves[0].name, first[0], last[0], first[1] > last[1]
        ('rr', 0.1, 10.0, True)
    """
    found: list[tuple[str, float, float]] = []
    for epsilon in _EPSILONS.tolist():
        asked = replace(requirements, epsilon=epsilon)
        found += [(name, epsilon, error) for name, error in _errors(asked, _fitting(asked))]
    return _curves(found)


def against_users(requirements: Requirements) -> tuple[Curve, ...]:
    """Return the error under the target for numbers of users around that of the requirements, as `against_epsilon`.

    Example:
        >>> import discreet as dc
        >>> from discreet.planning.requirements import People
        >>> domain = dc.Domain(range(4), sensitive=[0])
        >>> curves = against_users(Requirements(domain, 1.0, 1000, People.of(domain, None, None)))
        >>> curves[0].points[0][0], curves[0].points[-1][0]
        (100.0, 10000.0)
    """
    steps = np.arange(-_DECADES * _PER_DECADE, _DECADES * _PER_DECADE + 1) / _PER_DECADE
    users = sorted({max(round((requirements.users or COUNTED) * 10**step), 1) for step in steps.tolist()})
    # The mechanisms of the requirements: none is tuned for another number of users.
    fitting = _fitting(requirements)
    asked = [(count, replace(requirements, users=count)) for count in users]
    return _curves([(name, float(count), error) for count, one in asked for name, error in _errors(one, fitting)])


def _fitting(requirements: Requirements) -> list[tuple[str, BlockMechanism]]:
    return [(name, one) for name, one in compared_mechanisms(requirements) if fits(requirements, one)]


def _errors(requirements: Requirements, fitting: Iterable[tuple[str, BlockMechanism]]) -> list[tuple[str, float]]:
    n, p = requirements.reports, requirements.target_p
    # Nothing to draw on a logarithmic axis where there is no error.
    errors = [(name, mse) for name, one in fitting if (mse := expected_mse(one, n, p)) > 0]
    least = bounds(requirements)
    bound = least.worst if p is None else least.assumed
    return [(name, sqrt(mse)) for name, mse in [*errors, *([(LOWER_BOUND, bound)] if bound else [])]]


def _curves(found: Iterable[tuple[str, float, float]]) -> tuple[Curve, ...]:
    names: dict[str, list[tuple[float, float]]] = {}
    for name, x, error in found:
        names.setdefault(name, []).append((x, error))
    return tuple(Curve(name, tuple(points)) for name, points in names.items())
