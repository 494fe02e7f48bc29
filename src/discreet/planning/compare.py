"""Comparison of mechanisms by their exact errors, and the best mechanism for a target."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from discreet.core.domain import Domain, checked_domain
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, text_column
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Windows
from discreet.pictures.curves import Curves, curve_chart
from discreet.planning.candidates import Candidate, candidate, eligible_mechanisms, least_error
from discreet.planning.curves import LOWER_BOUND, against_epsilon, joined
from discreet.planning.requirements import PlanningOptions, Requirements

# Errors within this ratio are equal up to rounding.
_SAME = 1 + 1e-9
_LONG = 10.0
# Bytes of a short report.
_SHORT = 4
_TIMES = ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "hours"), (2 * 60, 60, "minutes"), (0, 1, "seconds"))


def best(domain: Domain, epsilon: float, users: int | None = None, **wishes: Unpack[PlanningOptions]) -> BlockMechanism:
    """Return the mechanism with the smallest reports among the mechanisms with nearly the smallest error.

    It is the mechanism of ``compare_mechanisms(...).best`` in `discreet.planning.compare`, with the same arguments.
    For numbers in bins it is `Windows` (see `discreet.planning.numbers`).

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise to each user, in nats.
        users: the number of users; None for any number.
        wishes: by name:

            - ``target``: the distribution for which the mean squared error is minimal: ``"worst-case"``,
              ``"sensitive-mass"`` (uniform within each class) or ``"distribution"`` (p); None for the most specific one
              that is known.
            - ``sensitive_mass``: p(X_S), the share of people whose value is sensitive, if it is roughly known.
            - ``p``: the distribution, if it is roughly known, instead of a mass: ``(|X|,)`` probabilities, or a
              mapping from values to them.
            - ``largest_report``: the most bytes of a report.
            - ``most_seconds``: the most time of one core for counting all reports (100,000 without ``users``) and
              decoding their tally.
            - ``reports_per_user``: t (1); each report then has epsilon/t, and n t of them count as independent (see
              `discreet.planning.requirements.Requirements`).
            - ``within``: the additional error that a smaller report may cost, as a share of the smallest error (0.05);
              0 for the smallest error with reports of any size.

    Raises:
        ParameterError: if a number is out of range, or no mechanism has reports small and quick enough.

    Warns:
        UserWarning: if counting and decoding take the collector over 10 s, and ``most_seconds`` is not given.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(400), sensitive=range(76))
        >>> dc.best(domain, epsilon=1.0, users=100_000).name
        'projective'
        >>> dc.best(domain, epsilon=1.0, largest_report=4).bytes_per_report(sensitive_mass=0.05) <= 4
        True
    """
    if "standard_error" in wishes:
        raise TypeError("best() has no argument 'standard_error'; discreet.planning.compare.compare_mechanisms has.")
    if checked_domain(domain).numbers is not None:
        if wishes:
            raise ParameterError("best.numbers-take-no-wishes")
        return Windows(domain, epsilon)
    compared = compare_mechanisms(domain, epsilon, users, **wishes)
    if compared.requirements.most_seconds is None and compared.best.seconds > _LONG:
        warnings.warn(f"{compared.recommendation} Pass most_seconds to limit this.", UserWarning, stacklevel=2)
    return compared.best.mechanism


@dataclass(frozen=True, slots=True, repr=False)
class MechanismComparison(TabularResult):
    """The comparison of all mechanisms on a domain, with the recommended mechanism.

    Attributes:
        requirements: the values, the promise and the target.
        candidates: one per mechanism.
        least_possible: the smallest mean squared error of any mechanism under the target; None where it is not known.
        best: the recommended candidate: the smallest report among the candidates within the limits whose mean squared
            error under the target is close to the smallest.

    Example:
        >>> import discreet as dc
        >>> comparison = compare_mechanisms(dc.Domain(range(40), sensitive=range(8)), epsilon=1.0, users=10_000)
        >>> best = comparison.best
        >>> best.name, round(best.worst_mse, 4), round(best.excess, 2), best.largest_bytes
        ('subset', 0.0023, 1.0, 2)
    """

    requirements: Requirements
    candidates: tuple[Candidate, ...]
    least_possible: float | None
    best: Candidate

    @property
    def least(self) -> Candidate:
        """The candidate within the limits that has the smallest error for the target."""
        return min((row for row in self.candidates if row.fits), key=self.error)

    def error(self, row: Candidate) -> float:
        """Return the mean squared error of a candidate under the target of the plan."""
        return row.worst_mse if self.requirements.target == "worst-case" else row.assumed_mse

    @property
    def heading(self) -> str:
        """A line with the number of values, epsilon and the number of users."""
        wanted = self.requirements
        return f"{wanted.domain.size_text}, epsilon {wanted.epsilon:g}, {wanted.people}"

    def view(self, most: int | None = None) -> ResultTable:
        """Return a table sorted by error: ``*`` marks the recommended mechanism, ``!`` a mechanism above a limit.

        Args:
            most: the number of mechanisms to show, besides the recommended one; None for all.
        """
        ranked = sorted(self.candidates, key=self.error)
        rows = [row for at, row in enumerate(ranked) if most is None or at < most or row is self.best]
        marks = (" *" if row is self.best else "" if row.fits else " !" for row in rows)
        names = text_column("mechanism", (f"{row.name}{mark}" for row, mark in zip(rows, marks, strict=True)))
        return ResultTable(self.heading, [names, *self._columns(rows)[1:]], [self.recommendation])

    def table(self) -> ResultTable:
        """Return a table with a row per mechanism: errors of the linear estimate, bytes, seconds."""
        return ResultTable(self.heading, self._columns(self.candidates))

    def plot(self) -> Any:
        """Return an Altair chart of the errors against epsilon, with the name of each line beside it.

        Raises:
            MissingExtraError: if Altair is missing.
        """
        wanted, known = self.requirements, self.least_possible is not None
        curves = Curves.of(
            "epsilon (nats)",
            "root mean squared error (share of people)",
            joined(against_epsilon(wanted), self.best.name),
            title=f"{wanted.domain.size_text}, {wanted.people}",
            subtitle=[
                f"Error of the linear estimate, all values together, {wanted.where}.",
                "Dashed: the least error of any mechanism." if known else "The least possible error is not known here.",
                "Four times the users halve every error.",
            ],
            marks={"": wanted.epsilon},
            mark="asked",
            bound=LOWER_BOUND if known else "",
            named_beside=True,
        )
        return curve_chart(curves, width=330, height=330)

    def _columns(self, rows: Sequence[Candidate]) -> list[ResultColumn]:
        wanted, worst = self.requirements, self.requirements.target == "worst-case"

        def column(name: str, heading: str = "", form: Any = ".3e", *, shown: bool = True) -> ResultColumn:
            return replace(ResultColumn.of(rows, name, name, heading, form), shown=bool(heading) and shown)

        return [
            text_column("mechanism", (row.name for row in rows)),
            replace(text_column("options", (row.options for row in rows)), shown=False),
            column("worst_mse", "MSE", shown=worst),
            column("assumed_mse", "MSE", shown=not worst),
            column("excess", "/ bound", ".3f", shown=self.least_possible is not None),
            column("standard_error", "max s.e."),
            column("sensitive_error"),
            column("clear_error"),
            column("users_needed", "users", ",", shown=wanted.standard_error is not None),
            column("bytes"),
            column("largest_bytes", "bytes", ","),
            column("seconds", "time", _in_seconds, shown=max(row.seconds for row in rows) > _LONG),
            column("fits"),
        ]

    @property
    def recommendation(self) -> str:
        """A few sentences with the recommended mechanism and the reason."""
        wanted, best, least = self.requirements, self.best, self.least
        at_most = "at most " if wanted.target == "worst-case" else ""
        bound = "" if best.excess is None else f", {best.excess:.2f} times the least possible error"
        sentences = [
            f"Use {best.title}.",
            f"{_people(wanted)} its mean squared error is {at_most}{self.error(best):.3e}{bound}.",
            f"A report takes at most {_bytes(best.largest_bytes)}.",
        ]
        if self.error(best) > self.error(least) * _SAME:
            less = 1 - self.error(least) / self.error(best)
            size = _bytes(least.largest_bytes)
            sentences.append(f"{least.title} has an error that is {less:.1%} smaller, with reports of up to {size}.")
        sentences += self._short_report()
        if best.users_needed is not None:
            needed = f"{best.users_needed:,} users"
            sentences.append(f"{needed} give every value a standard error of at most {wanted.standard_error:g}.")
        if best.seconds > _LONG:
            unit, name = next((unit, name) for least, unit, name in _TIMES if best.seconds >= least)
            time = f"about {best.seconds / unit:,.0f} {name} of one core"
            sentences.append(f"Counting {wanted.counted:,} reports and decoding their tally takes {time}.")
        return " ".join(sentences)

    def _short_report(self) -> list[str]:
        """A sentence with the best mechanism of at most 4 bytes, if the recommended reports are longer."""
        short = [row for row in self.candidates if row.fits and row.largest_bytes <= _SHORT]
        if self.best.largest_bytes <= _SHORT or not short:
            return []
        row = min(short, key=self.error)
        more = self.error(row) / self.error(self.best) - 1
        return [f"Of the reports of at most {_bytes(_SHORT)}, {row.title} has the smallest error, {more:.1%} larger."]


def compare_mechanisms(
    domain: Domain,
    epsilon: float,
    users: int | None = None,
    *,
    standard_error: float | None = None,
    **wishes: Unpack[PlanningOptions],
) -> MechanismComparison:
    """Return the comparison of the errors of all mechanisms on a domain, with the recommended mechanism.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise to each user, in nats.
        users: n, the number of users; None for any number, with the collector's time for 100,000 reports.
        standard_error: the wanted standard error for every value under the target; the comparison then states the
            number of users needed.
        wishes: by name, as for `discreet.best`: ``target``, ``sensitive_mass`` (None to assume 5%, or 1 if every
            value is sensitive), ``p``, ``largest_report``, ``most_seconds``, ``reports_per_user``, ``within``.

    Raises:
        ParameterError: if a number is out of range, the target lacks its distribution or mass, or no mechanism is small
            and quick enough.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(40), sensitive=range(8))
        >>> comparison = compare_mechanisms(domain, 1.0, 10_000, sensitive_mass=0.1, target="sensitive-mass")
        >>> comparison.best.name, comparison.least.name
        ('design, known mass', 'design, known mass')
    """
    requirements = Requirements(domain, epsilon, users, standard_error=standard_error, **wishes)
    least = least_error(requirements)
    candidates = tuple(candidate(requirements, *named, least) for named in eligible_mechanisms(requirements))
    fitting = [row for row in candidates if row.fits]
    if not fitting:
        raise ParameterError("comparison.none-fits", **_limits(requirements, candidates))
    worst = requirements.target == "worst-case"
    return MechanismComparison(requirements, candidates, least, recommended(fitting, requirements.within, worst=worst))


def recommended(candidates: Sequence[Candidate], within: float, *, worst: bool) -> Candidate:
    """Return the candidate with the smallest reports among the candidates with nearly the smallest error.

    Ties go to the smallest error for the target, then for the other distribution, then to the smallest expected report.

    Args:
        candidates: the candidates within the limits.
        within: the additional error that counts as close, as a share of the smallest error.
        worst: whether the target is the worst case, or the people's distribution.
    """
    errors = ("worst_mse", "assumed_mse") if worst else ("assumed_mse", "worst_mse")
    rows = _lowest(candidates, errors[0], within)
    for name in ("largest_bytes", *errors, "bytes"):
        rows = _lowest(rows, name)
    return rows[0]


def _lowest(rows: Sequence[Candidate], name: str, within: float = 0.0) -> list[Candidate]:
    limit = min(getattr(row, name) for row in rows) * (1 + within) * _SAME
    return [row for row in rows if getattr(row, name) <= limit]


def _people(wanted: Requirements) -> str:
    if wanted.target == "worst-case":
        return "For any distribution"
    if wanted.target == "distribution":
        return f"For the given distribution ({wanted.mass:.1%} sensitive)"
    return f"If {wanted.mass:.1%} of the people have a sensitive value{' (assumed)' if wanted.is_assumed else ''},"


def _bytes(size: int) -> str:
    return f"{size:,} byte{'' if size == 1 else 's'}"


def _in_seconds(seconds: float) -> str:
    return "<0.01 s" if seconds < 0.01 else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"


def _limits(requirements: Requirements, candidates: Iterable[Candidate]) -> dict[str, Any]:
    size, seconds = requirements.largest_report, requirements.most_seconds
    limits = [] if size is None else [f"reports of at most {size:g} bytes"]
    limits += [] if seconds is None else [f"at most {seconds:g} s of the collector's time"]
    smallest = min(row.largest_bytes for row in candidates)
    quickest = min((row.seconds for row in candidates if size is None or row.largest_bytes <= size), default=None)
    takes = f"{_bytes(smallest)}" + ("" if quickest is None else f", and the quickest {_in_seconds(quickest)}")
    return {"limits": " and ".join(limits), "takes": takes}
