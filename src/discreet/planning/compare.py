"""Comparison of all mechanisms: losses, report sizes, users needed, and the best one for a target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.domain import Domain
from discreet.core.estimate_table import Cells
from discreet.core.result_table import ResultTable
from discreet.errors import ParameterError
from discreet.planning.candidates import (
    Candidate,
    LeastErrors,
    bounds,
    candidate,
    compared_mechanisms,
    in_seconds,
    none_fits,
    with_defaults,
)
from discreet.planning.choosing import WITHIN, alternative, least, recommended
from discreet.planning.recommendation import recommendation_sentence
from discreet.planning.requirements import People, Requirements, Target


@dataclass(frozen=True, slots=True, repr=False)
class MechanismComparison(ResultTable):
    """The comparison of all mechanisms on a domain, with the best ones.

    Attributes:
        requirements: the collection and the target.
        candidates: one per mechanism.
        usual: by name of a candidate whose options are not all the defaults the same with the defaults; shown, and
            never recommended.
        bounds: the least mean squared errors of any mechanism.
        best_worst: recommended for the worst case: the smallest report whose mean squared error is within the
            requirements's share of the least, among those that are small enough.
        best_assumed: the same for the assumed distribution.

    Example:
        >>> import discreet as dc
        >>> comparison = compare(dc.Domain(range(40), sensitive=range(8)), epsilon=1.0, users=10_000)
        >>> best = comparison.best
        >>> best.name, round(best.worst.mse, 4), round(best.worst.excess, 2), best.largest_bytes
        ('subset', 0.0023, 1.0, 2)
    """

    requirements: Requirements
    candidates: tuple[Candidate, ...]
    bounds: LeastErrors
    best_worst: Candidate
    best_assumed: Candidate
    usual: Mapping[str, Candidate]

    @property
    def rows(self) -> tuple[Candidate, ...]:
        """All that is shown: each candidate, and after it the same with default options, if that is another one."""
        pairs = ((one, self.usual.get(one.name)) for one in self.candidates)
        return tuple(one for pair in pairs for one in pair if one is not None)

    @property
    def heading(self) -> str:
        """The domain, epsilon and the number of users, in a line."""
        wanted = self.requirements
        return f"MechanismComparison({wanted.domain!r}, epsilon={wanted.epsilon:g}, {wanted.crowd})"

    def _shown(self) -> tuple[Cells, str]:
        """Return a heading and a row per mechanism, and the recommendation; a star marks the recommended one."""
        columns = self.columns()
        numbers = ("worst_mse", "assumed_mse", "worst_standard_error")
        rows = zip(columns["mechanism"], columns["options"], *(columns[name] for name in numbers), strict=True)
        heading = ["mechanism", "options", "worst MSE", "assumed MSE", "worst s.e.", "bytes", "s"]
        starred = [one is self.best for one in self.rows]
        cells = [
            heading,
            *(
                [
                    f"{row[0]}{' *' * star}",
                    row[1],
                    *(f"{number:.3e}" for number in row[2:]),
                    f"{size:.2f}",
                    in_seconds(time),
                ]
                for row, size, time, star in zip(rows, columns["bytes"], columns["seconds"], starred, strict=True)
            ),
        ]
        return cells, self.recommendation

    def columns(self) -> dict[str, AnyArray]:
        """Return a row per mechanism as named columns: errors of the linear estimate, bytes, seconds."""
        text, rows = np.dtypes.StringDType(), self.rows
        return {
            "mechanism": np.array([one.name for one in rows], dtype=text),
            "options": np.array([one.options for one in rows], dtype=text),
            "worst_mse": np.array([one.worst.mse for one in rows]),
            "assumed_mse": np.array([one.assumed.mse for one in rows]),
            "worst_standard_error": np.array([one.worst.standard_error for one in rows]),
            "rare_sensitive_error": np.array([one.sensitive_error for one in rows]),
            "bytes": np.array([one.bytes for one in rows]),
            "seconds": np.array([one.seconds for one in rows]),
            "largest_bytes": np.array([one.largest_bytes for one in rows]),
            "fits": np.array([one.fits for one in rows]),
        }

    @property
    def sensitive_mass(self) -> float:
        """The assumed share of people with a sensitive value."""
        return self.requirements.people.mass

    @property
    def assumed(self) -> bool:
        """True if the caller left this share to the default."""
        return self.requirements.people.source == "assumed"

    @property
    def best(self) -> Candidate:
        """The recommended candidate for the target."""
        return self.best_worst if self.requirements.target == "worst-case" else self.best_assumed

    @property
    def least(self) -> Candidate:
        """The candidate with the least error for the target, among those with small enough reports."""
        return least([one for one in self.candidates if one.fits], worst=self.requirements.target == "worst-case")

    @property
    def alternative(self) -> Candidate | None:
        """A candidate nearly best in the worst case, and 10% better for the likely distribution.

        The likely distribution is the assumed one, or uniform by default. None if there is no such mechanism, or the
        target is not the worst case.
        """
        requirements = self.requirements
        if requirements.target != "worst-case":
            return None
        fitting = [one for one in self.candidates if one.fits]
        return alternative(fitting, self.best, requirements.within, given=not self.assumed)

    @property
    def recommendation(self) -> str:
        """The recommendation with its reason, in one sentence."""
        return recommendation_sentence(self.requirements, self.best, self.candidates, self.alternative)


def compare(
    domain: Domain,
    epsilon: float,
    users: int | None = None,
    *,
    target: Target | None = None,
    sensitive_mass: float | None = None,
    p: Any = None,
    largest_report: float | None = None,
    most_seconds: float | None = None,
    reports_per_user: int = 1,
    standard_error: float | None = None,
    within: float = WITHIN,
) -> MechanismComparison:
    """Return the comparison of all mechanisms on a domain.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise to each user, in nats.
        users: n, their number; None for any number, and then the collector's seconds are those of 100,000 reports.
        target: what the mean squared error should be least for: ``"worst-case"``, ``"sensitive-mass"`` (spread evenly,
            and the rest too) or ``"distribution"`` (p); None for what is known of the people, else the worst case.
        sensitive_mass: p(X_S), the share of people whose value is sensitive; None to assume 5% (1 if every value is
            sensitive).
        p: ``(|X|,)`` the distribution that is known or assumed, instead of a mass.
        largest_report: most bytes that a report may take.
        most_seconds: that counting all reports and decoding their tally may take the collector, on one core.
        reports_per_user: t; each report then has epsilon/t, and n t of them count as independent (see `Requirements`).
        standard_error: wanted for every value, under the target: how many users does that take?
        within: the smallest report is recommended whose error is at most this much, as a share, above the least; 0 for
            the least error.

    Raises:
        ParameterError: if a number is out of range, the target lacks what it is about, or no mechanism is small
            and quick enough.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(40), sensitive=range(8))
        >>> comparison = compare(domain, epsilon=1.0, users=10_000, sensitive_mass=0.1, target="sensitive-mass")
        >>> comparison.best.name, comparison.least.name
        ('design, known mass', 'design, known mass')
    """
    return compared(
        Requirements.of(
            domain,
            epsilon,
            users,
            target=target,
            people=People.of(domain, sensitive_mass, p),
            largest_report=largest_report,
            most_seconds=most_seconds,
            reports_per_user=reports_per_user,
            standard_error=standard_error,
            within=within,
        )
    )


def compared(requirements: Requirements) -> MechanismComparison:
    """Return the comparison of all mechanisms under requirements; see `compare`.

    Raises:
        ParameterError: if no mechanism is small and quick enough.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(4))
        >>> asked = Requirements.of(domain, 1.0, 1000, people=People.of(domain, None, None), target=None)
        >>> compared(asked).best.name == compare(domain, 1.0, 1000).best.name
        True
    """
    bound = bounds(requirements)
    candidates = tuple(
        candidate(requirements, name, mechanism, bound) for name, mechanism in compared_mechanisms(requirements)
    )
    usual = {
        one.name: candidate(requirements, f"{one.name}, default {changed}", mechanism, bound)
        for one in candidates
        for mechanism, changed in with_defaults(one.mechanism)
    }
    fitting = [one for one in candidates if one.fits]
    if not fitting:
        raise ParameterError(none_fits(requirements, candidates))
    by_worst, by_assumed = (recommended(fitting, requirements.within, worst=worst) for worst in (True, False))
    return MechanismComparison(requirements, candidates, bound, by_worst, by_assumed, usual)
