"""Views of plans and of mechanisms side by side.

Options for a central promise: both epsilons, central and local, and the error of every mechanism.

A comparison of mechanisms: its record, two tables with their notes, and the picture of the errors.

Options for a wanted identification risk: both risks and the error of every mechanism, side by side.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from discreet.cli.output import Table
from discreet.core.guarantee import in_odds
from discreet.pictures.curves import Heading, LossPanel, Points, loss_chart
from discreet.planning.candidates import COUNTED, Candidate, LeastErrors, Losses, in_seconds
from discreet.planning.central import CentralOption, CentralPlan
from discreet.planning.compare import LOWER_BOUND, Curve, MechanismComparison, against_epsilon, against_users
from discreet.planning.identification import SIDE_BY_SIDE, IdentificationPlan, Option
from discreet.privacy.shuffling import CentralEpsilon
from discreet.risk.bounds.calibration import LARGEST_EPSILON
from discreet.risk.bounds.identification import Bound, Bounds, conditions

_LIMITS = {"local": "", "among": "among sensitive values", "towards": "towards values in clear"}
_CONDITIONS = (
    "Conditions: one report of each of {users:,} people in the batch, all of the same plan; whoever shuffles, and sees "
    "names or order, does not work with whoever is to be kept out; devices draw from secure randomness. Where only "
    "estimates are published, the collector is the one who shuffles."
)


class CentralRow(Struct, frozen=True):
    """Record of a mechanism at its largest local epsilon."""

    name: str
    law: Any
    local_epsilon: float
    limit: str
    among: CentralEpsilon
    towards: CentralEpsilon | None
    floor: float | None
    mean_squared_error: float
    root_mean_squared_error: float
    gain: float
    largest_report_bytes: int

    @classmethod
    def of(cls, option: CentralOption) -> "CentralRow":
        """Return the record of an option."""
        central, mechanism = option.central, option.candidate.mechanism
        return cls(
            name=option.candidate.name,
            law=mechanism.law.describe(),
            local_epsilon=option.local,
            limit=option.limit,
            among=central.among,
            towards=central.towards,
            floor=central.floor,
            mean_squared_error=option.error**2,
            root_mean_squared_error=option.error,
            gain=option.gain,
            largest_report_bytes=option.candidate.largest_bytes,
        )


class CentralOptions(Struct, frozen=True):
    """Record of the options for a central promise, an object per mechanism."""

    users: int
    central_epsilon: float
    towards: float | None
    delta: float
    local_at_most: float
    target: str
    mechanisms: list[CentralRow]
    best: str
    local_only_error: float
    recommendation: str
    collector: str

    @classmethod
    def of(cls, found: CentralPlan) -> "CentralOptions":
        """Return the record of the options."""
        asked, wanted = found.requirements, found.wanted
        return cls(
            users=asked.reports,
            central_epsilon=wanted.epsilon,
            towards=wanted.most_towards if asked.domain.clear_count else None,
            delta=wanted.delta,
            local_at_most=asked.epsilon,
            target=asked.target,
            mechanisms=[CentralRow.of(option) for option in found.options],
            best=found.best.candidate.name,
            local_only_error=found.local_only,
            recommendation=found.recommendation,
            collector=found.collector,
        )


def central_parts(found: CentralPlan) -> Iterator[str | Table]:
    """Yield the promise, the table of the options, the recommendation and the notes."""
    asked, wanted = found.requirements, found.wanted
    towards = f", at most {wanted.most_towards:g} towards values in clear" if asked.domain.clear_count else ""
    yield (
        f"{asked.domain!r}, {asked.crowd}; central epsilon at most {wanted.epsilon:g} among sensitive values"
        f"{towards}, delta = {wanted.delta:g}; local epsilon at most {asked.epsilon:g}"
    )
    headings = ["mechanism", "local", "among", "towards", "floor", "RMSE", "gain", "bytes"]
    yield Table("Largest local epsilon that keeps the central promise, and the error", headings, _cells(found))
    yield found.recommendation
    yield found.collector
    yield from _central_notes(found)


def _cells(found: CentralPlan) -> list[list[str]]:
    cells = []
    for one in found.options:
        central, star = one.central, " *" if one is found.best else ""
        beyond = (
            ["-", "-"] if central.towards is None else [f"{central.towards.upper:.3g}", f"{central.floor or 0:.3g}"]
        )
        numbers = [f"{one.error:.3e}", f"{one.gain:.1f}", f"{one.candidate.largest_bytes:,}"]
        limited = "" if one.limit == "local" else " !"
        cells.append(
            [
                f"{one.candidate.name}{star}",
                f"{one.local:.4g}{limited}",
                f"{central.among.upper:.3g}",
                *beyond,
                *numbers,
            ]
        )
    return cells


def _central_notes(found: CentralPlan) -> list[str]:
    asked, worst = found.requirements, found.requirements.target == "worst-case"
    people = "for the worst distribution" if worst else "for the people as they are assumed"
    limits = sorted({_LIMITS[one.limit] for one in found.options} - {""})
    notes = [
        "local: for whoever sees reports with names or order. among, towards: for whoever sees the shuffled batch or "
        "what is computed from it, two-sided among sensitive values, one-sided from these towards values in clear, "
        "where no number of users gets below the floor. RMSE: root of the expected sum of squared errors, "
        f"{people}. gain: how many times less than {found.local_only:.3g}, the least of all without shuffling.",
    ]
    if limits:
        notes.append(f"!: the limit is the promise {' or '.join(limits)}; elsewhere it is that of the local epsilon.")
    if found.wanted.delta * asked.reports >= 1:
        notes.append(
            f"delta should be well below 1/n = {1 / asked.reports:.1g}: at that, whole reports may be given away."
        )
    notes.append(_CONDITIONS.format(users=asked.reports))
    return notes


_LOSSES = ("MSE", "/ bound", "l1", "max s.e.")
# Of the table that fits a screen.
_MOST_ROWS = 6


class MechanismRow(Struct, frozen=True):
    """Record of a mechanism in a comparison."""

    name: str
    law: Any
    epsilon_realised: float
    worst_case_mse: float
    mse_at_sensitive_mass: float
    mse_uniform: float
    standard_error_rare_sensitive: float
    standard_error_clear: float | None
    bytes_per_report: float
    largest_report_bytes: int
    collector_seconds: float
    report_fits: bool
    users_needed: int | None
    worst: Losses
    assumed: Losses

    @classmethod
    def of(cls, row: Candidate) -> "MechanismRow":
        """Return the record of a mechanism."""
        return cls(
            name=row.name,
            law=row.mechanism.law.describe(),
            epsilon_realised=row.mechanism.guarantee.realised,
            worst_case_mse=row.worst_mse,
            mse_at_sensitive_mass=row.assumed_mse,
            mse_uniform=row.uniform_mse,
            standard_error_rare_sensitive=row.sensitive_error,
            standard_error_clear=row.clear_error,
            bytes_per_report=row.bytes,
            largest_report_bytes=row.largest_bytes,
            collector_seconds=row.seconds,
            report_fits=row.fits,
            users_needed=row.users_needed,
            worst=row.worst,
            assumed=row.assumed,
        )


class ComparedMechanisms(Struct, frozen=True):
    """Record of a comparison: the requirements, an object per mechanism, and the recommendation."""

    target: str
    epsilon: float
    users: int | None
    reports_per_user: int
    epsilon_per_report: float
    reports: int
    largest_report: float | None
    most_seconds: float | None
    standard_error: float | None
    within: float
    sensitive_mass: float
    sensitive_mass_assumed: bool
    distribution_given: bool
    lower_bound: LeastErrors
    mechanisms: list[MechanismRow]
    best_worst_case: str
    best_at_sensitive_mass: str
    best: str
    least_error: str
    alternative: str | None
    recommendation: str

    @classmethod
    def of(cls, found: MechanismComparison) -> "ComparedMechanisms":
        """Return the record of a comparison."""
        requirements = found.requirements
        return cls(
            target=requirements.target,
            epsilon=requirements.epsilon,
            users=requirements.users,
            reports_per_user=requirements.reports_per_user,
            epsilon_per_report=requirements.epsilon_each,
            reports=requirements.reports,
            largest_report=requirements.largest_report,
            most_seconds=requirements.most_seconds,
            standard_error=requirements.standard_error,
            within=requirements.within,
            sensitive_mass=found.sensitive_mass,
            sensitive_mass_assumed=found.assumed,
            distribution_given=not requirements.people.even,
            lower_bound=found.bounds,
            mechanisms=[MechanismRow.of(row) for row in found.rows],
            best_worst_case=found.best_worst.name,
            best_at_sensitive_mass=found.best_assumed.name,
            best=found.best.name,
            least_error=found.least.name,
            alternative=None if found.alternative is None else found.alternative.name,
            recommendation=found.recommendation,
        )


def comparison_parts(found: MechanismComparison, *, brief: bool = False) -> Iterator[str | Table]:
    """Yield the requirements, the tables of losses, the recommendation and the notes; if brief, what fits a screen."""
    requirements = found.requirements
    each = f", {requirements.reports_per_user} reports each" if requirements.reports_per_user > 1 else ""
    yield f"{requirements.domain!r}, epsilon = {requirements.epsilon:g}, {requirements.crowd}{each}"
    if brief:
        yield _least_losses(found)
        yield found.recommendation
        yield from _brief_notes(found)
        return
    yield _worst_losses(found)
    yield _assumed_losses(found)
    yield found.recommendation
    yield from _notes(found)


def _least_losses(found: MechanismComparison) -> Table:
    """Return the table of the mechanisms with the least errors for what was asked, the recommended one among them."""
    worst = found.requirements.target == "worst-case"
    rows = sorted((one for one in found.candidates if one.fits), key=lambda one: one.error(worst=worst))
    shown = [one for place, one in enumerate(rows) if place < _MOST_ROWS or one is found.best]
    cells = []
    for one in shown:
        mse, bound, _, error = _losses(one.worst if worst else one.assumed)
        needed = _needed(found, one, worst=worst)
        cells.append(
            [_name(one, found.best), mse, bound, error, *needed, f"{one.largest_bytes:,}", in_seconds(one.seconds)]
        )
    mass, even = f"{found.sensitive_mass:.1%} of the people have a sensitive value", found.requirements.people.even
    people = "worst case over all distributions" if worst else f"{mass}, {'spread evenly' if even else 'as given'}"
    headings = ["mechanism", "MSE", "/ bound", "max s.e.", *_needed_heading(found, worst=worst), "bytes", "time"]
    return Table(f"Least errors first; {people}", headings, cells)


def _brief_notes(found: MechanismComparison) -> Iterator[str]:
    yield (
        "*: recommended. MSE: expected sum of squared errors; / bound: over the least of any mechanism; max s.e.: "
        "largest standard error of a value; bytes: of a report, at most; time: of one collector. --all: all "
        "mechanisms, options and errors."
    )
    yield from _cautions(found)


def _worst_losses(found: MechanismComparison) -> Table:
    headings = ["mechanism", "options", *_LOSSES, *_needed_heading(found, worst=True), "bytes", "most"]
    cells = []
    usual = [*found.usual.values()]
    for one in found.rows:
        sizes = [f"{one.bytes:.2f}", f"{one.largest_bytes:,}"]
        row = [*_losses(one.worst), *_needed(found, one, worst=True), *sizes]
        name = _name(one, found.best_worst)
        # Below the row of the one that it is the default of.
        cells.append([f"  {one.name.rpartition(', ')[2]}" if one in usual else name, one.options, *row])
    return Table("Worst case over all distributions; size of a report", headings, cells, left=2)


def _assumed_losses(found: MechanismComparison) -> Table:
    headings = ["mechanism", *_LOSSES, "s.e. sens.", "s.e. clear", *_needed_heading(found, worst=False), "time"]
    cells = []
    for one in found.candidates:
        errors = [f"{one.sensitive_error:.3e}", "-" if one.clear_error is None else f"{one.clear_error:.3e}"]
        row = [*_losses(one.assumed), *errors, *_needed(found, one, worst=False), in_seconds(one.seconds)]
        cells.append([_name(one, found.best_assumed), *row])
    how = "spread evenly" if found.requirements.people.even else "as given"
    return Table(f"{found.sensitive_mass:.1%} of the people have a sensitive value, {how}", headings, cells)


def _losses(losses: Losses) -> list[str]:
    l1 = f"~{losses.l1:.3e}" if losses.exact_l1 is None else f"{losses.exact_l1:.3e}"
    excess = "-" if losses.excess is None else f"{losses.excess:.3f}"
    return [f"{losses.mse:.3e}", excess, l1, f"{losses.standard_error:.3e}"]


def _needed_heading(found: MechanismComparison, *, worst: bool) -> list[str]:
    wanted = found.requirements.standard_error
    return ["users"] if wanted is not None and (found.requirements.target == "worst-case") == worst else []


def _needed(found: MechanismComparison, one: Candidate, *, worst: bool) -> list[str]:
    needed = one.users_needed
    said = "never" if needed is None else f"{needed:,}" if needed < 10**10 else f"{needed:.2e}"
    return [said for _ in _needed_heading(found, worst=worst)]


def _name(one: Candidate, best: Candidate) -> str:
    return f"{one.name}{' *' if one is best else '' if one.fits else ' !'}"


def _notes(found: MechanismComparison) -> list[str]:
    requirements, large = found.requirements, not all(one.fits for one in found.candidates)
    notes = [
        f"*: {_starred(requirements.within)}{'; !: its reports may be too large or too slow' if large else ''}. "
        "MSE: expected sum of squared errors of the linear estimate, exact.",
        "/ bound: MSE over the least of any mechanism. l1: expected sum of absolute errors, exact, or after ~ in the "
        "limit of many reports. max s.e.: largest standard error of a value; s.e. sens.: of a rare sensitive value; "
        "s.e. clear: of one in clear at its even share. bytes: of a report, expected and at most. time: seconds of one "
        "core that counting and decoding take the collector, roughly.",
    ]
    if found.usual:
        notes.append(
            "digits: random bits of a noise bit. Few make obfuscating faster, under the same promise, for at most a "
            "thousandth more error; the default, of plans without the word, is shown and not recommended."
        )
    notes += [_pool_bias_note(one, found.sensitive_mass) for one in found.candidates if one.worst.pool_bias]
    if requirements.standard_error is not None:
        notes.append(f"users: how many give every value a standard error of at most {requirements.standard_error:g}.")
    if found.assumed and requirements.domain.clear_count:
        notes.append("The sensitive share is assumed; say --sensitive-mass or --distribution if you know better.")
    return [*notes, *_cautions(found)]


def _cautions(found: MechanismComparison) -> Iterator[str]:
    """Yield the cautions: for a promise that hardly protects, and for people who report more than once."""
    requirements = found.requirements
    if odds := in_odds(requirements.epsilon):
        yield odds
    if requirements.reports_per_user > 1:
        yield (
            f"Each report has epsilon = {requirements.epsilon_each:g} and fresh noise; the "
            f"{requirements.reports:,} values reported are taken to be independent, over time too."
        )


def _starred(within: float) -> str:
    return f"smallest report within {within * 100:g}% of the least error there" if within else "least error there"


def _pool_bias_note(one: Candidate, mass: float) -> str:
    """Return a sentence on the share of pool bias in the errors."""
    functions, worst, assumed = one.mechanism.settings["m"], _share(one.worst), _share(one.assumed)
    return (
        f"{one.name}: all reports share its {functions:,} hash functions, which makes {worst} of its MSE in the "
        f"worst case and {assumed} where {mass:.1%} have a sensitive value. More users do not lessen that; more "
        "functions do."
    )


def _share(losses: Losses) -> str:
    return f"{losses.pool_bias:.2e} ({losses.pool_bias / losses.mse:.1%})" if losses.mse else "nothing"


def comparison_chart(found: MechanismComparison) -> Any:
    """Return the chart of the errors against epsilon and against the number of users."""
    requirements, error = found.requirements, "root mean squared error (share of people)"
    each = f", {requirements.reports_per_user} reports each" if requirements.reports_per_user > 1 else ""
    epsilons = LossPanel(f"{requirements.crowd}{each}", _lines(against_epsilon(requirements)), requirements.epsilon)
    users = LossPanel(
        f"epsilon = {requirements.epsilon:g}{each}", _lines(against_users(requirements)), requirements.users or COUNTED
    )
    panels = [(epsilons, "epsilon (nats)"), (users, "users (people)")]
    title = f"{requirements.domain.size:,} values, {requirements.domain.sensitive_count:,} sensitive"
    heading = Heading(title, [*_about(found), "Grey: what was asked."])
    return loss_chart(panels, y_title=error, bound=LOWER_BOUND, heading=heading)


def _about(found: MechanismComparison) -> list[str]:
    if found.requirements.target == "distribution":
        return [
            "Error of the linear estimate, all values together, for the given distribution; no bound is known there."
        ]
    where = {
        "worst-case": "for the worst distribution",
        "sensitive-mass": f"if {found.sensitive_mass:.1%} of the people have a sensitive value, spread evenly",
    }[found.requirements.target]
    return [
        f"Error of the linear estimate, all values together, {where}.",
        "Dotted: no unbiased estimate under any mechanism has less.",
    ]


def _lines(curves: Sequence[Curve]) -> list[tuple[str, Points]]:
    return [(curve.name, curve.points) for curve in curves]


class OptionRow(Struct, frozen=True):
    """Record of a mechanism at its largest epsilon."""

    name: str
    law: Any
    epsilon_per_report: float
    epsilon_realised: float
    epsilon_together: float
    identification_limits_epsilon: bool
    identification: Bound
    identification_error: float
    pie: Bound
    in_clear: float
    worst_case_mse: float
    largest_standard_error: float

    @classmethod
    def of(cls, option: Option) -> "OptionRow":
        """Return the record of an option."""
        bounds = option.bounds
        return cls(
            name=option.name,
            law=option.mechanism.law.describe(),
            epsilon_per_report=option.mechanism.epsilon,
            epsilon_realised=bounds.epsilon,
            epsilon_together=bounds.total_epsilon,
            identification_limits_epsilon=option.limited,
            identification=bounds.identification,
            identification_error=bounds.error,
            pie=bounds.pie,
            in_clear=bounds.in_clear,
            worst_case_mse=option.worst_mse,
            largest_standard_error=option.standard_error,
        )


class IdentificationOptions(Struct, frozen=True):
    """Record of the options for a wanted identification risk, an object per mechanism."""

    users: int
    identification_error: float | None
    reports_per_user: int
    epsilon_limit: float | None
    mechanisms: list[OptionRow]
    cannot: tuple[str, ...]
    recommendation: str
    without_noise: str | None
    note: str = SIDE_BY_SIDE

    @classmethod
    def of(cls, found: IdentificationPlan) -> "IdentificationOptions":
        """Return the record of the options."""
        wanted, rows = found.wanted, [OptionRow.of(option) for option in found.options]
        people = wanted.users, wanted.error, wanted.reports
        return cls(*people, found.epsilon, rows, found.refused, found.recommendation, found.without_noise)


def identification_parts(found: IdentificationPlan) -> Iterator[str | Table]:
    """Yield the wanted risk, the table of the options, the recommendation and the notes."""
    wanted = found.wanted
    each = f", {wanted.reports} reports each" if wanted.reports > 1 else ""
    limit = "no limit on epsilon" if found.epsilon is None else f"epsilon at most {found.epsilon:g}"
    yield f"{found.domain!r}, {wanted.users:,} users{each}, identification error >= {wanted.error:g}, {limit}"
    headings = ["mechanism", "epsilon", "together", "error >=", "PIE (bits)", "in clear", "MSE", "max s.e."]
    yield Table(
        "Attribute risk, identification risk, and error of the estimate", headings, _identification_cells(found)
    )
    yield found.recommendation
    yield from _identification_notes(found)


def _identification_cells(found: IdentificationPlan) -> list[list[str]]:
    cells = []
    for one in found.options:
        bounds = one.bounds
        risks = [
            f"{bounds.epsilon:.6g}",
            f"{bounds.total_epsilon:.6g}",
            f"{bounds.error:.6g}",
            f"{bounds.pie.value:.4g}",
        ]
        errors = [f"{bounds.in_clear:.4g}", f"{one.worst_mse:.3e}", f"{one.standard_error:.3e}"]
        cells.append([f"{one.name}{'' if one.limited else ' !'}", *risks, *errors])
    return cells


def _identification_notes(found: IdentificationPlan) -> list[str]:
    notes = [
        SIDE_BY_SIDE,
        "error >=: identification error of any adversary who guesses one user; in clear: how often a value that is not",
        "sensitive is told as it is, which names a user who alone has it. MSE: largest expected sum of squared errors.",
    ]
    bounds = [one.bounds for one in found.options]
    notes += [sentence for sentence in (conditions(bounds), _odds(bounds)) if sentence]
    if not all(one.limited for one in found.options):
        most = LARGEST_EPSILON if found.epsilon is None else found.epsilon
        notes.append(
            f"!: the identification error is kept at any epsilon up to {most:g}; only this, and what the integers of a "
            "sampler can reach, limits it."
        )
    if found.refused:
        notes.append(f"Cannot keep it at any epsilon: {', '.join(found.refused)}.")
    if found.without_noise is not None:
        notes.append(found.without_noise)
    return notes


def _odds(bounds: list[Bounds]) -> str:
    """Return a sentence on the odds behind the largest epsilon, if it is large."""
    odds = in_odds(max((one.total_epsilon for one in bounds), default=0.0))
    return f"At the largest epsilon: {odds}" if odds else ""
