"""The best mechanism for a domain: the one that the comparison recommends."""

from typing import Any

from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.planning.central import CentralTarget, plan_central
from discreet.planning.choosing import WITHIN
from discreet.planning.compare import compare
from discreet.planning.requirements import People, Requirements, Target

_VERY_MANY = 1 << 40


def best(
    domain: Domain,
    epsilon: float,
    *,
    sensitive_mass: float | None = None,
    p: Any = None,
    largest_report: float | None = None,
    within: float = WITHIN,
    central: CentralTarget | None = None,
    users: int | None = None,
) -> BlockMechanism:
    """Return the mechanism with the smallest reports among those with nearly the least error, for any number of users.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats; with ``central`` the most that a report may say.
        sensitive_mass: p(X_S), the share of people whose value is sensitive, if it is roughly known; None for the least
            worst-case error.
        p: ``(|X|,)`` the distribution, if that is roughly known.
        largest_report: most bytes that a report may take.
        within: how much more mean squared error than the least is little, as a share of it; 0 for the least error,
            whatever a report weighs.
        central: a promise for what is published of shuffled reports: of each mechanism the largest epsilon is taken
            that keeps it (see `plan_central`).
        users: reports in a batch; with ``central`` only.

    Raises:
        ParameterError: if a number is out of range, no report is small enough, or one of ``central`` and ``users`` is
            missing.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(400), sensitive=range(76))
        >>> dc.best(domain, epsilon=1.0).name
        'unary'
        >>> dc.best(domain, epsilon=1.0, largest_report=4).bytes_per_report(sensitive_mass=0.05) <= 4
        True
        >>> shuffled = dc.best(dc.Domain(range(40)), 4.0, central=dc.CentralTarget(1.0), users=1000)
        >>> shuffled.name, round(shuffled.epsilon, 2)
        ('rr', 3.93)
    """
    target: Target = "distribution" if p is not None else "worst-case" if sensitive_mass is None else "sensitive-mass"
    if central is not None or users is not None:
        if central is None or users is None:
            raise ParameterError("central and users go together: a batch of so many reports; give both or none.")
        people = People.of(domain, sensitive_mass, p)
        asked = Requirements(domain, epsilon, users, people, target, largest_report=largest_report, within=within)
        return plan_central(asked, central).best.candidate.mechanism
    known = {"sensitive_mass": sensitive_mass, "p": p, "largest_report": largest_report, "within": within}
    # So many that what lasts in an error counts in full; the others only scale.
    return compare(domain, epsilon, _VERY_MANY, target=target, **known).best.mechanism
