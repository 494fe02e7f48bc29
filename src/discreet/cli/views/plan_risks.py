"""Risks of plans: a record per plan, their table, and the conditions of the figures."""

from collections.abc import Iterator, Sequence
from math import log2
from pathlib import Path

from msgspec import Struct

from discreet.cli.output import Table
from discreet.core.guarantee import in_odds
from discreet.mechanisms import BlockMechanism
from discreet.risk.bounds.bound import Bound, limit
from discreet.risk.bounds.identification import Bounds, conditions


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
