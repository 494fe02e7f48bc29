"""Views of risk.

Risks of plans: a record per plan, their table, and the conditions of the figures.

Figures of a biometric matcher: their record.

An assessment of identification risk: its record, its table and its sentences.
"""

from collections.abc import Iterator, Sequence
from math import log2
from pathlib import Path
from typing import Any

from msgspec import Struct

from discreet.cli.output import Table
from discreet.core.guarantee import in_odds
from discreet.core.traces import Split, Traces
from discreet.mechanisms import BlockMechanism
from discreet.risk.assessment import Assessment
from discreet.risk.bounds.identification import Bound, Bounds, conditions, limit
from discreet.risk.scores.biometric import Biometric
from discreet.simulation.pages import measured, tried_in_words


class PlanRisk(Struct, frozen=True):
    """Record of the risks and the error of a plan."""

    plan: Path
    mechanism: str
    epsilon: float
    identification: Bound
    pie: Bound
    told_in_clear: float
    worst_case_mse: float
    attribution_in_a_sealed_batch: Bound | None

    @classmethod
    def of(cls, path: Path, mechanism: BlockMechanism, bounds: Bounds, users: int) -> "PlanRisk":
        """Return the record of a plan."""
        risks = bounds.total_epsilon, bounds.identification, bounds.pie, bounds.in_clear
        return cls(path, mechanism.name, *risks, mechanism.decoder.worst_case_mse(users), bounds.attribution)


def plan_risk_parts(
    risks: Sequence[PlanRisk], bounds: Sequence[Bounds], users: int, reports: int
) -> Iterator[str | Table]:
    """Yield the table of plans, the least identification risk first, and the conditions of its figures."""
    cells = [
        [
            str(risk.plan),
            risk.mechanism,
            limit(risk.identification.value),
            limit(risk.pie.value, log2(users)),
            f"{risk.epsilon:.4g}",
            f"{risk.told_in_clear:.3g}",
            f"{risk.worst_case_mse:.3e}",
        ]
        for risk in risks
    ]
    heads = ["plan", "mechanism", "identified <=", "PIE <= (bits)", "epsilon, together", "told in clear", "worst MSE"]
    each = f", {reports} reports each" if reports > 1 else ""
    yield Table(f"Least identification risk first; {users:,} users{each}", heads, cells, left=2)
    yield (
        "identified <=: probability that the right user is named, on average over users, whoever guesses.\n"
        "The two risks are different things: epsilon is about values, identification about users."
    )
    sealed = [(risk.plan, risk.attribution_in_a_sealed_batch) for risk in risks]
    yield from (f"{plan}: {bound}." for plan, bound in sealed if bound is not None)
    odds = in_odds(max(risk.epsilon for risk in risks))
    yield from filter(None, (conditions(list(bounds)), f"At the largest epsilon: {odds}" if odds else ""))


class AssessedMatcher(Struct, frozen=True):
    """Record of a matcher's figures."""

    users: int
    dropped: int
    success: Any
    bse_at_least_bits: float | None
    bse: dict[str, Any]
    equal_error_rate: float
    in_words: str

    @classmethod
    def of(cls, found: Biometric) -> "AssessedMatcher":
        """Return the record of a matcher's figures."""
        figures = {
            figure.name: figure for figure in (found.bse.certified, found.bse.info_nce, found.bse.paper) if figure
        }
        information = found.bse.best.certified, figures, found.det.equal_error_rate
        return cls(found.users, found.dropped, found.ranks.rates[0], *information, str(found))


class AssessedTraces(Struct, frozen=True):
    """Record of an assessment."""

    users: int
    events: int
    different_events: int
    attack: str
    attacks_tried: Sequence[Any]
    level: float
    attacker_knows: str
    reports: int | None
    success: Any
    risk: float
    list: int
    success_of_list: Any
    singled_out: int
    pie_at_least_bits: float
    pie_at_most_bits: float | None
    lower_bounds: Sequence[Any]
    divergence_of_the_paper: Any
    equal_error_rate: float
    list_at_most: Any
    identification_at_most: Any
    all_bounds: Sequence[Any]
    epsilon_together: float | None
    attribution_in_a_sealed_batch: Any
    consistent: bool
    in_words: Sequence[str]
    traces_of_which_nothing_was_learned: float
    rows_left_out: int
    users_left_out: int

    @classmethod
    def of(cls, found: Assessment, split: Split, knowledge: str, read: Traces) -> "AssessedTraces":
        """Return the record of an assessment."""
        bounds = found.bounds
        return cls(
            users=found.users,
            events=split.target.events.size,
            different_events=split.target.event_count,
            attack=found.attack,
            attacks_tried=found.tried,
            level=found.level,
            attacker_knows=knowledge,
            reports=found.reports,
            success=found.success,
            risk=found.risk,
            list=found.largest_list,
            success_of_list=found.listed,
            singled_out=found.singled_out,
            pie_at_least_bits=found.certified,
            pie_at_most_bits=None if bounds is None else found.alpha,
            lower_bounds=(found.pse.certified, found.rank_pse),
            divergence_of_the_paper=found.pse.paper,
            equal_error_rate=found.det.equal_error_rate,
            list_at_most=found.list_bound,
            identification_at_most=None if bounds is None else bounds.identification,
            all_bounds=() if bounds is None else (*bounds.pies, *bounds.identifications),
            epsilon_together=None if bounds is None else bounds.total_epsilon,
            attribution_in_a_sealed_batch=None if bounds is None else bounds.attribution,
            consistent=found.consistent,
            in_words=found.sentences,
            traces_of_which_nothing_was_learned=found.unlearned,
            rows_left_out=read.left_out,
            users_left_out=read.users - split.target.users,
        )


def assessment_parts(
    found: Assessment, split: Split, knowledge: str, read: Traces, files: Sequence[Path]
) -> Iterator[str | Table]:
    """Yield the attack, the table of measured and bounding numbers, the sentences and the files."""
    bounds = found.bounds
    if read.left_out:
        yield f"{read.left_out:,} rows are left out, since a user, an event or a time is missing in them."
    if users := read.users - split.target.users:
        yield f"{users:,} of {read.users:,} users are left out, who have too few events; nothing is said of them."
    yield f"{split.target!r}; attack: {found.attack}; the attacker knows {knowledge}"
    yield Table("Identification risk", *measured(found))
    if len(found.tried) > 1:
        yield "Right user named, by each attack: " + "; ".join(tried_in_words(found)) + "."
    if found.pse.paper is not None:
        yield str(found.pse.paper)
    yield from found.sentences
    if bounds is not None:
        yield from filter(None, (bounds.attribution_sentence, bounds.condition_sentence))
    if not found.consistent:
        yield "What was measured is above what bounds it: do not trust these numbers, and please report this."
    if files:
        yield "Written: " + ", ".join(str(file) for file in files)
