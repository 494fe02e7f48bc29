"""Requirements of a plan: domain, epsilon, users, the assumed distribution of their values, the target of the error."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import (
    checked_choice,
    checked_epsilon,
    checked_finite,
    checked_mass,
    checked_n,
    checked_positive,
)
from discreet.core.domain import Domain, checked_domain
from discreet.errors import ParameterError
from discreet.privacy.composition import split_epsilon

Target = Literal["worst-case", "sensitive-mass", "distribution"]
"""The target of the least error: the worst distribution, one that is uniform inside each class, or a known one."""

ASSUMED_SENSITIVE_MASS = 0.05

COUNTED = 100_000
"""Reports whose cost is reckoned where their number is not known."""

# So many that what lasts in an error counts in full; the others only scale.
_VERY_MANY = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """The assumed distribution of people's values.

    Attributes:
        p: ``(|X|,)`` the distribution of their values.
        mass: p(X_S), the share of them whose value is sensitive.
        source: ``"assumed"`` for the default mass, ``"mass"`` for the caller's; p is then uniform inside each class.
            ``"distribution"`` for the caller's p.

    Example:
        >>> domain = Domain(["clinic", "park", "mall"], sensitive=["clinic"])
        >>> people = People.of(domain, 0.2, None)
        >>> people.p.tolist(), people.source
        ([0.2, 0.4, 0.4], 'mass')
    """

    p: FloatArray
    mass: float
    source: Literal["assumed", "mass", "distribution"]

    @property
    def even(self) -> bool:
        """True if p is even inside each class because only its mass is known."""
        return self.source != "distribution"

    @classmethod
    def of(cls, domain: Domain, sensitive_mass: float | None, p: Any) -> "People":
        """Return the assumed distribution from what is known.

        Raises:
            ParameterError: if it is out of range, or both were given.
        """
        if checked_domain(domain).sensitive_count == 0:
            raise ParameterError("there is nothing to compare where no value is sensitive.")
        if p is not None:
            if sensitive_mass is not None:
                raise ParameterError("sensitive_mass follows from p; give one of the two.")
            p = domain.check_distribution(p)
            p = p / p.sum()
            mass = min(float(p[domain.sensitive].sum()), 1.0) if domain.clear_count else 1.0
            return cls(p, mass, "distribution")
        mass = (
            (1.0 if domain.clear_count == 0 else ASSUMED_SENSITIVE_MASS) if sensitive_mass is None else sensitive_mass
        )
        mass = checked_mass(mass, domain.clear_count)
        return cls(even(domain, mass), mass, "assumed" if sensitive_mass is None else "mass")


def even(domain: Domain, mass: float) -> FloatArray:
    """Return the ``(|X|,)`` distribution with this sensitive mass that is uniform inside each class.

    Example:
        >>> even(Domain(range(4), sensitive=[0]), mass=0.4).round(2).tolist()
        [0.4, 0.2, 0.2, 0.2]
    """
    return np.where(domain.sensitive, mass / domain.sensitive_count, (1 - mass) / max(domain.clear_count, 1))


@dataclass(frozen=True, eq=False)
class Requirements:
    """Requirements of a plan.

    With t reports per user each of them has epsilon/t, and errors are those of n t reports on n t values that are
    independent, over people and over time: an estimate of the average distribution over the t occasions. If a person's
    value stays the same, the noise still averages out over their reports, but the error of having asked only n people
    does not.

    Attributes:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise to each user, all reports together, in nats.
        users: n; None for any number, so many that only what lasts in an error counts beside what all of them have.
        people: what is assumed of them.
        target: what the error should be least for.
        reports_per_user: t.
        largest_report: most bytes that a report may take; None for any.
        most_seconds: that counting all reports and decoding their tally may take on one core; None for any.
        standard_error: wanted for every value; None if none is.
        within: how much more error than the least, as a share of it, is little enough for a smaller report.

    Example:
        >>> domain = Domain(range(4), sensitive=[0])
        >>> requirements = Requirements(domain, 1.0, 500, People.of(domain, None, None), reports_per_user=4)
        >>> requirements.epsilon_each, requirements.reports
        (0.25, 2000)
    """

    domain: Domain
    epsilon: float
    users: int | None
    people: People
    target: Target = "worst-case"
    reports_per_user: int = 1
    largest_report: float | None = None
    standard_error: float | None = None
    within: float = 0.0
    most_seconds: float | None = None

    @classmethod
    def of(
        cls, domain: Domain, epsilon: float, users: int | None, *, people: People, target: Target | None, **limits: Any
    ) -> "Requirements":
        """Return requirements; without a target the error should be least for what is known of the people.

        Args:
            domain: as in the attributes.
            epsilon: in nats.
            users: or None.
            people: what is assumed of them.
            target: or None: for their distribution or mass if that is known, else the worst case.
            limits: the other attributes.
        """
        known: dict[str, Target] = {"assumed": "worst-case", "mass": "sensitive-mass", "distribution": "distribution"}
        return cls(domain, epsilon, users, people, known[people.source] if target is None else target, **limits)

    def __post_init__(self) -> None:
        """Refuse requirements that nothing can meet.

        Raises:
            ParameterError: if a number is out of range, or the target is not one or lacks what it is about.
        """
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        checked_choice("target", self.target, get_args(Target))
        if self.target == "distribution" and self.people.even:
            raise ParameterError("target 'distribution' needs the distribution p; give it or choose another target.")
        if self.target == "sensitive-mass" and not self.people.even:
            raise ParameterError("target 'sensitive-mass' takes a mass alone; with p choose target 'distribution'.")
        for name in ("largest_report", "standard_error", "most_seconds"):
            given = getattr(self, name)
            if given is not None:
                checked_positive(name, given)
        checked_finite("within", self.within)
        _ = self.epsilon_each, self.reports

    @cached_property
    def epsilon_each(self) -> float:
        """epsilon/t, the promise of one report; never more."""
        return split_epsilon(self.epsilon, self.reports_per_user)

    @cached_property
    def reports(self) -> int:
        """The number of reports, n t."""
        return checked_n(checked_n(_VERY_MANY if self.users is None else self.users) * self.reports_per_user)

    @property
    def counted(self) -> int:
        """The number of reports whose cost is reckoned: all of them, or `COUNTED` of any number."""
        return COUNTED if self.users is None else self.reports

    @property
    def crowd(self) -> str:
        """The number of users in words."""
        return "any number of users" if self.users is None else f"{self.users:,} users"

    @property
    def tuned_mass(self) -> float | None:
        """The sensitive mass that parameters are tuned for; None for the worst case."""
        return None if self.target == "worst-case" else self.people.mass

    @property
    def target_p(self) -> FloatArray | None:
        """The distribution whose error should be least; None for the worst one."""
        return None if self.target == "worst-case" else self.people.p
