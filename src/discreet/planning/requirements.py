"""Requirements of a plan: values, epsilon, users, the assumed distribution, the target, and limits for reports."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypedDict, get_args

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
"""The distribution for which the error is minimal: the worst one, one uniform within each class, or a given one."""

ASSUMED_SENSITIVE_MASS = 0.05

COUNTED = 100_000
"""The number of reports for the collector's time if the number of users is not given."""

WITHIN = 0.05
"""The default of ``within``: the additional error that a smaller report may cost, as a share of the smallest."""

# Errors only scale with the number of reports, so any number gives the same comparison.
_VERY_MANY = 1 << 40


class PlanningOptions(TypedDict, total=False):
    """Optional arguments for the choice of a mechanism; `discreet.best` explains each argument."""

    target: Target | None
    sensitive_mass: float | None
    p: Any
    largest_report: float | None
    most_seconds: float | None
    reports_per_user: int
    within: float


@dataclass(frozen=True, eq=False)
class Requirements:
    """The requirements of a plan, after checks.

    With t reports per user each report has epsilon/t. The errors are then the errors of n t reports on n t independent
    values, over people and over time. If a person's value stays the same, their reports still average out the noise,
    but not the error of having asked only n people.

    Attributes:
        domain: the values and which of them are sensitive.
        epsilon: the total epsilon of each user, for all reports together, in nats.
        users: n; None for any number.
        target: the distribution for which the error is minimal; None for the most specific one that is known.
        sensitive_mass: p(X_S), the share of people with a sensitive value; None if it is not known.
        p: ``(|X|,)`` the distribution of their values; None if it is not known.
        largest_report: the most bytes of a report; None for any.
        most_seconds: the most time of one core for counting all reports and decoding their tally; None for any.
        standard_error: the wanted standard error for every value; None if none is wanted.
        reports_per_user: t.
        within: the additional error that a smaller report may cost, as a share of the smallest error.

    Raises:
        ParameterError: if a number is out of range, or the target lacks its distribution or mass.

    Example:
        >>> domain = Domain(["clinic", "park", "mall"], sensitive=["clinic"])
        >>> requirements = Requirements(domain, 1.0, 500, sensitive_mass=0.2, reports_per_user=4)
        >>> requirements.epsilon_each, requirements.reports, requirements.target
        (0.25, 2000, 'sensitive-mass')
        >>> requirements.distribution.tolist()
        [0.2, 0.4, 0.4]
    """

    domain: Domain
    epsilon: float
    users: int | None = None
    target: Target | None = None
    sensitive_mass: float | None = None
    p: Any = None
    largest_report: float | None = None
    most_seconds: float | None = None
    standard_error: float | None = None
    reports_per_user: int = 1
    within: float = WITHIN

    def __post_init__(self) -> None:
        """Check the requirements, and choose the most specific target if none is given."""
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if checked_domain(self.domain).sensitive_count == 0:
            raise ParameterError("comparison.nothing-sensitive", argument="domain")
        if self.p is not None:
            if self.sensitive_mass is not None:
                raise ParameterError("sensitive-mass.given-twice", argument="sensitive_mass")
            p = self.domain.check_distribution(self.p)
            object.__setattr__(self, "p", p / p.sum())
        known = "distribution" if self.p is not None else "worst-case" if self.is_assumed else "sensitive-mass"
        object.__setattr__(self, "target", known if self.target is None else self.target)
        checked_choice("target", self.target, get_args(Target))
        if self.target == "distribution" and self.p is None:
            raise ParameterError("target.without-distribution", argument="target")
        if self.target == "sensitive-mass" and self.p is not None:
            raise ParameterError("target.with-distribution", argument="target")
        for name in ("largest_report", "standard_error", "most_seconds"):
            if (number := getattr(self, name)) is not None:
                checked_positive(name, number)
        checked_finite("within", self.within)
        _ = self.epsilon_each, self.reports, self.mass

    @property
    def is_assumed(self) -> bool:
        """True if the share of people with a sensitive value is assumed, because it is not known."""
        return self.p is None and self.sensitive_mass is None

    @cached_property
    def mass(self) -> float:
        """p(X_S), the share of people with a sensitive value, known or assumed."""
        if self.domain.clear_count == 0 and self.sensitive_mass is None:
            return 1.0
        if self.p is not None:
            return min(float(self.p[self.domain.sensitive].sum()), 1.0)
        mass = ASSUMED_SENSITIVE_MASS if self.sensitive_mass is None else self.sensitive_mass
        return checked_mass(mass, self.domain.clear_count)

    @cached_property
    def distribution(self) -> FloatArray:
        """The ``(|X|,)`` distribution of the people's values: the given one, or uniform within each class."""
        if self.p is not None:
            return np.asarray(self.p)
        domain = self.domain
        others = (1 - self.mass) / max(domain.clear_count, 1)
        return np.where(domain.sensitive, self.mass / domain.sensitive_count, others)

    @property
    def target_p(self) -> FloatArray | None:
        """The distribution for which the error shall be minimal; None for the worst distribution."""
        return None if self.target == "worst-case" else self.distribution

    @cached_property
    def epsilon_each(self) -> float:
        """The epsilon of one report: the total epsilon divided by the reports per user, rounded down."""
        return split_epsilon(self.epsilon, self.reports_per_user)

    @cached_property
    def reports(self) -> int:
        """The number of reports of all users: n t for t reports per user."""
        return checked_n(checked_n(_VERY_MANY if self.users is None else self.users) * self.reports_per_user)

    @property
    def counted(self) -> int:
        """The number of reports that the collector's time is computed for: all, or 100,000 if `users` is not given."""
        return COUNTED if self.users is None else self.reports

    @property
    def where(self) -> str:
        """The people whose errors are compared, as the end of a sentence."""
        if self.target == "worst-case":
            return "for the worst distribution"
        how = "for the given distribution" if self.p is not None else "spread evenly"
        return f"{self.mass:.1%} of the people with a sensitive value, {how}"

    @property
    def people(self) -> str:
        """The number of users as text, with the number of reports of each user if users send several reports."""
        each = f", {self.reports_per_user} reports each" if self.reports_per_user > 1 else ""
        return f"{'any number of' if self.users is None else f'{self.users:,}'} users{each}"
