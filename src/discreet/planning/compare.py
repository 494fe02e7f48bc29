"""Mechanisms side by side, and which to choose.

Curves of the error against epsilon and against the number of users, for plots of a comparison.

The choice of a mechanism: the smallest report whose error is close to the least.

The recommendation in one sentence, with its reason.

Comparison of all mechanisms: losses, report sizes, users needed, and the best one for a target.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Unpack

import numpy as np

from discreet.core.domain import Domain
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, text_column
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.planning.candidates import (
    COUNTED,
    WITHIN,
    Candidate,
    LeastErrors,
    Requirements,
    Wishes,
    bounds,
    candidate,
    eligible_mechanisms,
    expected_mse,
    fits,
    in_seconds,
    none_fits,
    with_defaults,
)

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
        >>> from discreet.planning.candidates import People
        >>> domain = dc.Domain(range(2), sensitive=[0])
        >>> curves = against_epsilon(Requirements(domain, 1.0, 1000, People.of(domain, None, None), largest_report=1))
        >>> first, *_, last = curves[0].points
        >>> curves[0].name, first[0], last[0], first[1] > last[1]
        ('rr', 0.1, 10.0, True)
    """
    errors: list[tuple[str, float, float]] = []
    for epsilon in _EPSILONS.tolist():
        asked = replace(requirements, epsilon=epsilon)
        errors += [(name, epsilon, error) for name, error in _errors(asked, _fitting(asked))]
    return _curves(errors)


def against_users(requirements: Requirements) -> tuple[Curve, ...]:
    """Return the error under the target for numbers of users around that of the requirements, as `against_epsilon`.

    Example:
        >>> import discreet as dc
        >>> from discreet.planning.candidates import People
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
    return _curves([(name, float(count), error) for count, need in asked for name, error in _errors(need, fitting)])


def _fitting(requirements: Requirements) -> list[tuple[str, BlockMechanism]]:
    return [(name, mechanism) for name, mechanism in eligible_mechanisms(requirements) if fits(requirements, mechanism)]


def _errors(requirements: Requirements, fitting: Iterable[tuple[str, BlockMechanism]]) -> list[tuple[str, float]]:
    n, p = requirements.reports, requirements.target_p
    # Nothing to draw on a logarithmic axis where there is no error.
    errors = [(name, mse) for name, mechanism in fitting if (mse := expected_mse(mechanism, n, p)) > 0]
    least = bounds(requirements)
    bound = least.worst if p is None else least.assumed
    return [(name, sqrt(mse)) for name, mse in [*errors, *([(LOWER_BOUND, bound)] if bound else [])]]


def _curves(errors: Iterable[tuple[str, float, float]]) -> tuple[Curve, ...]:
    names: dict[str, list[tuple[float, float]]] = {}
    for name, x, error in errors:
        names.setdefault(name, []).append((x, error))
    return tuple(Curve(name, tuple(points)) for name, points in names.items())


SAME = 1 + 1e-9
"""Errors whose ratio is below this are the same but for rounding."""

_BETTER = 0.9


def least(candidates: Sequence[Candidate], *, worst: bool) -> Candidate:
    """Return the candidate with the least error; of equal ones the smallest reports, then the first."""
    limit = min(row.error(worst=worst) for row in candidates) * SAME
    return min((row for row in candidates if row.error(worst=worst) <= limit), key=lambda row: row.largest_bytes)


def recommended(candidates: Sequence[Candidate], within: float, *, worst: bool) -> Candidate:
    """Return the candidate with the smallest report whose error is close to the least.

    Of equally small ones the least error; where that is the same too, the one that has less error elsewhere, for other
    distributions than the target is about; then the smallest expected report.

    Args:
        candidates: those whose reports are small enough.
        within: how much more error than the least is little, as a share of it.
        worst: whether the worst case counts, or the people as they are assumed.
    """
    limit = least(candidates, worst=worst).error(worst=worst) * (1 + within) * SAME
    near = [row for row in candidates if row.error(worst=worst) <= limit]
    smallest = min(row.largest_bytes for row in near)
    small = [row for row in near if row.largest_bytes == smallest]
    limit = least(small, worst=worst).error(worst=worst) * SAME
    equal = [row for row in small if row.error(worst=worst) <= limit]
    limit = min(_elsewhere(row, worst=worst) for row in equal) * SAME
    return min((row for row in equal if _elsewhere(row, worst=worst) <= limit), key=lambda row: row.bytes)


def _elsewhere(row: Candidate, *, worst: bool) -> float:
    # Whoever has no more error at each of these has no larger product.
    return row.error(worst=not worst) * row.uniform_mse


def alternative(candidates: Sequence[Candidate], chosen: Candidate, within: float, *, known: bool) -> Candidate | None:
    """Return a candidate nearly best in the worst case, and at least 10% better for the likely distribution.

    Args:
        candidates: those whose reports are small enough.
        chosen: the one that is recommended for the worst case.
        within: how much more error than the least is little; 5% at least.
        known: whether something is known of the people, or the likely distribution is the uniform one.

    Returns:
        the best one there; None if none is that much better.
    """
    limit = least(candidates, worst=True).worst_mse * (1 + max(within, WITHIN)) * SAME
    near = [row for row in candidates if row.worst_mse <= limit]
    better = min(near, key=lambda row: likely_mse(row, known=known))
    return better if likely_mse(better, known=known) < _BETTER * likely_mse(chosen, known=known) else None


def likely_mse(row: Candidate, *, known: bool) -> float:
    """Return the error for the assumed distribution, or for the uniform one where none is known."""
    return row.assumed_mse if known else row.uniform_mse


LONG = 10.0
"""Seconds of the collector from which on a recommendation names them."""

_TIMES = ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "hours"), (2 * 60, 60, "minutes"), (0, 1, "seconds"))


def recommendation_sentence(
    requirements: Requirements, best: Candidate, candidates: Sequence[Candidate], other: Candidate | None = None
) -> str:
    """Return the recommended mechanism and the reason, in one sentence.

    Args:
        requirements: what was asked.
        best: the one that is recommended for its target.
        candidates: all of them.
        other: one that is worth naming beside it.
    """
    worst = requirements.target == "worst-case"
    losses = best.worst if worst else best.assumed
    bound = "" if losses.excess is None else f" and {losses.excess:.2f} times the least possible"
    within = f", the smallest within {requirements.within * 100:g}% of the least error" if requirements.within else ""
    needed = ""
    if best.users_needed is not None:
        error = requirements.standard_error
        needed = f", and {best.users_needed:,} users give every value a standard error of at most {error:g}"
    beside = cost(best.seconds, requirements.counted) + ("" if other is None else _beside(requirements, best, other))
    return (
        f"Use {best.title}: {_people(requirements)} its mean squared error is {'at most ' if worst else ''}"
        f"{losses.mse:.3e}, {_field(requirements, best, candidates)}{bound}; "
        f"a report takes at most {_bytes(best.largest_bytes)}{within}{needed}{beside}."
    )


def _people(requirements: Requirements) -> str:
    people = requirements.people
    if requirements.target == "worst-case":
        return "whatever the distribution,"
    if requirements.target == "distribution":
        return f"for the given distribution ({people.mass:.1%} sensitive)"
    how = " (assumed)" if people.source == "assumed" else ""
    return f"if {people.mass:.1%} of the people have a sensitive value{how},"


def _field(requirements: Requirements, best: Candidate, candidates: Sequence[Candidate]) -> str:
    """Return the field of mechanisms compared, and the distance of the chosen one from the least error."""
    worst = requirements.target == "worst-case"
    fitting = sorted((row for row in candidates if row.fits), key=lambda row: row.error(worst=worst))
    limit = requirements.largest_report
    small = "" if limit is None else f" whose reports take at most {_bytes(limit)}"
    count = f"the least of all compared{small}"
    lowest = least(fitting, worst=worst)
    if best.error(worst=worst) > lowest.error(worst=worst) * SAME:
        above = _more(best.error(worst=worst) / lowest.error(worst=worst))
        return f"{above} than {count} ({lowest.title}, up to {_bytes(lowest.largest_bytes)} a report)"
    behind = next((row for row in fitting if row.error(worst=worst) > lowest.error(worst=worst) * SAME), None)
    if behind is None or lowest.error(worst=worst) == 0:
        return count
    return f"{count} (next is {behind.name}, {_more(behind.error(worst=worst) / lowest.error(worst=worst))})"


def _more(ratio: float) -> str:
    some = "less than 0.1%" if ratio < 1.001 else f"{ratio - 1:.1%}"
    return f"{some} more" if ratio < 2 else f"{ratio:.1f} times as much"


def _bytes(size: float) -> str:
    text = f"{size:,}" if isinstance(size, int) else f"{size:g}"
    return f"{text} byte{'' if size == 1 else 's'}"


def _beside(requirements: Requirements, best: Candidate, other: Candidate) -> str:
    """Return a clause on an alternative: nearly as good in the worst case, better for the likely distribution."""
    known = requirements.people.source != "assumed"
    where = "where all values are equally frequent"
    if known:
        where = "at the given distribution" if not requirements.people.even else "at the given sensitive share"
    less = 1 - likely_mse(other, known=known) / likely_mse(best, known=known)
    ratio = other.worst_mse / best.worst_mse
    worse = "no more error" if ratio <= SAME else f"{_more(ratio)} error"
    size = _bytes(other.largest_bytes)
    return f"; {other.title} has {worse} in the worst case and {less:.1%} less {where}, with up to {size} a report"


def cost(seconds: float, reports: int) -> str:
    """Return a clause on the collector's time, where it is long."""
    if seconds <= LONG:
        return ""
    unit, name = next((unit, name) for least, unit, name in _TIMES if seconds >= least)
    return (
        f"; counting {reports:,} reports and decoding their tally takes about {seconds / unit:,.0f} {name} of one core"
    )


@dataclass(frozen=True, slots=True, repr=False)
class MechanismComparison(TabularResult):
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
        >>> comparison = compare_mechanisms(dc.Domain(range(40), sensitive=range(8)), epsilon=1.0, users=10_000)
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
        pairs = ((row, self.usual.get(row.name)) for row in self.candidates)
        return tuple(row for pair in pairs for row in pair if row is not None)

    @property
    def heading(self) -> str:
        """The domain, epsilon and the number of users, in a line."""
        wanted = self.requirements
        return f"MechanismComparison({wanted.domain!r}, epsilon={wanted.epsilon:g}, {wanted.crowd})"

    def view(self) -> ResultTable:
        """Return a row per mechanism with the recommendation below; a star marks the recommended mechanism."""
        names = text_column("mechanism", (f"{row.name}{' *' * (row is self.best)}" for row in self.rows))
        return replace(self.table(), contents=[names, *self.table().contents[1:]], notes=[self.recommendation])

    def table(self) -> ResultTable:
        """Return a row per mechanism: errors of the linear estimate, bytes, seconds."""
        rows = self.rows

        def column(name: str, numbers: Iterable[Any], heading: str = "", form: Any = "") -> ResultColumn:
            return ResultColumn(name, np.array([*numbers]), "error", heading, form, shown=bool(heading))

        columns = [
            text_column("mechanism", (row.name for row in rows)),
            text_column("options", (row.options for row in rows)),
            column("worst_mse", (row.worst.mse for row in rows), "worst MSE"),
            column("assumed_mse", (row.assumed.mse for row in rows), "assumed MSE"),
            column("worst_standard_error", (row.worst.standard_error for row in rows), "worst s.e."),
            column("rare_sensitive_error", (row.sensitive_error for row in rows)),
            column("bytes", (row.bytes for row in rows), "bytes", ".2f"),
            column("seconds", (row.seconds for row in rows), "s", in_seconds),
            column("largest_bytes", (row.largest_bytes for row in rows)),
            column("fits", (row.fits for row in rows)),
        ]
        return ResultTable(self.heading, columns)

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
        return least([row for row in self.candidates if row.fits], worst=self.requirements.target == "worst-case")

    @property
    def alternative(self) -> Candidate | None:
        """A candidate nearly best in the worst case, and 10% better for the likely distribution.

        The likely distribution is the assumed one, or uniform by default. None if there is no such mechanism, or the
        target is not the worst case.
        """
        requirements = self.requirements
        if requirements.target != "worst-case":
            return None
        fitting = [row for row in self.candidates if row.fits]
        return alternative(fitting, self.best, requirements.within, known=not self.assumed)

    @property
    def recommendation(self) -> str:
        """The recommendation with its reason, in one sentence."""
        return recommendation_sentence(self.requirements, self.best, self.candidates, self.alternative)


def compare_mechanisms(
    domain: Domain,
    epsilon: float,
    users: int | None = None,
    *,
    standard_error: float | None = None,
    **wishes: Unpack[Wishes],
) -> MechanismComparison:
    """Return the comparison of all mechanisms on a domain.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise to each user, in nats.
        users: n, their number; None for any number, and then the collector's seconds are those of 100,000 reports.
        standard_error: wanted for every value, under the target: how many users does that take?
        wishes: those of `discreet.best`, by name: ``target``, ``sensitive_mass`` (None to assume 5%, or 1 if every
            value is sensitive), ``p``, ``largest_report``, ``most_seconds``, ``reports_per_user``, ``within``.

    Raises:
        ParameterError: if a number is out of range, the target lacks what it is about, or no mechanism is small
            and quick enough.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(40), sensitive=range(8))
        >>> comparison = compare_mechanisms(domain, 1.0, 10_000, sensitive_mass=0.1, target="sensitive-mass")
        >>> comparison.best.name, comparison.least.name
        ('design, known mass', 'design, known mass')
    """
    return comparison_of(Requirements.of(domain, epsilon, users, standard_error=standard_error, **wishes))


def comparison_of(requirements: Requirements) -> MechanismComparison:
    """Return the comparison of all mechanisms under requirements; see `compare_mechanisms`.

    Raises:
        ParameterError: if no mechanism is small and quick enough.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(4))
        >>> asked = Requirements.of(domain, 1.0, 1000)
        >>> comparison_of(asked).best.name == compare_mechanisms(domain, 1.0, 1000).best.name
        True
    """
    bound = bounds(requirements)
    candidates = tuple(
        candidate(requirements, name, mechanism, bound) for name, mechanism in eligible_mechanisms(requirements)
    )
    usual = {
        row.name: candidate(requirements, f"{row.name}, default {changed}", mechanism, bound)
        for row in candidates
        for mechanism, changed in with_defaults(row.mechanism)
    }
    fitting = [row for row in candidates if row.fits]
    if not fitting:
        raise ParameterError(none_fits(requirements, candidates))
    by_worst, by_assumed = (recommended(fitting, requirements.within, worst=worst) for worst in (True, False))
    return MechanismComparison(requirements, candidates, bound, by_worst, by_assumed, usual)
