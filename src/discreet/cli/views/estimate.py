"""An estimate: its largest values, its bots, and the files that it is written to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.arrays import IntArray
from discreet.cli.output import SIMULATED_REPORTS, Table, left_out_sentences
from discreet.core.confidence_intervals import DEFAULT_LEVEL
from discreet.core.estimate import Estimate
from discreet.estimators.tags import TagEstimate
from discreet.io.endings import ending
from discreet.io.estimates import estimate_facts, objects, write_columns
from discreet.io.json_text import json_text
from discreet.io.plan import Plan

if TYPE_CHECKING:
    from discreet.cli.publications import Statement

_NUMBERS = ("frequency", "standard_error", "lower", "upper")


@dataclass(frozen=True)
class EstimateView:
    """An estimate with its plan, its intervals, and notes on the files that were read.

    Attributes:
        plan: the plan.
        found: the estimate.
        tagged: the same with its bots, under a personalized plan.
        level: confidence of the intervals; None for the default.
        simultaneous: whether all intervals hold at once.
        left_out: number of rows left out, by reason.
        notes: sentences on files that another tool rewrote.
        trust_plan: whether the caller vouched for such files.
        said: what the estimate tells of a person; None if that is left out.
    """

    plan: Plan
    found: Estimate
    tagged: TagEstimate | None
    level: float | None
    simultaneous: bool
    left_out: Mapping[str, int]
    notes: tuple[str, ...]
    trust_plan: bool
    said: "Statement | None" = None

    def record(self) -> dict[str, Any]:
        """Return the estimate, the bots, and what there is to say of the reading, ready for JSON."""
        facts = estimate_facts(self.found, self.level, simultaneous=self.simultaneous)
        bots = {} if self.tagged is None else _bots(self.tagged)
        if self.said is not None:
            facts |= self.said.record()
        reading = {"left_out": self.left_out, "trust_plan": self.trust_plan, "notes": self.notes}
        return {**facts, **bots, **{name: fact for name, fact in reading.items() if fact}}

    def parts(self, largest: int) -> Iterator[str | Table]:
        """Yield the table of the largest values, and what holds of all of them."""
        found, mechanism = self.found, self.plan.personalized() if self.plan.is_personalized else self.plan.mechanism()
        codes = found.chosen(max(largest, 1))
        yield _largest_values(found, self.level, simultaneous=self.simultaneous, codes=codes)
        if noise := found.selected(len(codes), self.level, simultaneous=self.simultaneous):
            yield noise
        if contradiction := found.contradiction(self.level, simultaneous=self.simultaneous, shown=len(codes)):
            yield contradiction
        if found.remark:
            yield found.remark
        if found.gap is not None:
            yield f"Log-likelihood certified to {found.gap:.1e} nats per report."
        yield str(mechanism.guarantee)
        if self.said is not None:
            yield from self.said.parts()
        if found.simulated:
            yield SIMULATED_REPORTS
        yield from left_out_sentences(self.left_out)
        yield from (f"Note: {note}" for note in self.notes)
        if self.tagged is not None:
            yield from _bot_parts(self.tagged, largest)

    def picture(self) -> Any:
        """Return the picture of the estimate with its intervals."""
        return self.found.plot(self.level, simultaneous=self.simultaneous)

    def write(self, path: Path) -> None:
        """Write the estimate in the form that the file's name says."""
        if ending(path) == ".csv":
            self.found.to_csv(path, self.level, simultaneous=self.simultaneous)
        elif ending(path) == ".json":
            text = json_text(estimate_facts(self.found, self.level, simultaneous=self.simultaneous))
            path.write_text(text + "\n", encoding="utf-8")
        else:
            write_columns(path, self.found.to_arrow(self.level, simultaneous=self.simultaneous))


def _largest_values(found: Estimate, level: float | None, *, simultaneous: bool, codes: IntArray) -> Table:
    columns = found.columns(level, simultaneous=simultaneous, shown=len(codes))
    cells = [
        [name, "yes" if columns["sensitive"][code] else "no", *(f"{columns[field][code]:.4%}" for field in _NUMBERS)]
        for code, name in zip(codes, found.domain.names(codes), strict=True)
    ]
    kind, confidence = "simultaneous " if simultaneous else "", DEFAULT_LEVEL if level is None else level
    title = f"{len(codes)} largest of {found.domain.size} values; {found.n:,} reports, method {found.method}"
    headings = ["value", "sensitive", "estimate", "std. error", f"{kind}{confidence * 100:g}% from", "to"]
    return Table(title, headings, cells, left=2)


def _bots(found: TagEstimate) -> dict[str, Any]:
    """Return the frequencies and errors of the bots, an object per tag, and the worst case behind them."""
    errors = found.intermediate.standard_errors[found.estimate.domain.size :]
    columns = {"tag": list(found.bots), "frequency": list(found.bots.values()), "standard_error": errors.tolist()}
    return {"bots": objects(columns), "worst_case_l1": found.worst_case}


def _bot_parts(found: TagEstimate, largest: int) -> Iterator[str | Table]:
    """Yield the largest bots, and the error that wrong background knowledge of them can cause."""
    errors = found.intermediate.standard_errors[found.estimate.domain.size :]
    ranked = sorted(zip(found.bots.items(), errors, strict=True), key=lambda bot: -bot[0][1])
    cells = [[tag, f"{mass:.4%}", f"{error:.4%}"] for (tag, mass), error in ranked[: max(largest, 1)]]
    title = f"{len(cells)} largest of {len(ranked)} bots"
    yield Table(title, ["secret of its user", "estimate", "std. error"], cells)
    yield (
        f"What is behind the bots is assumed, not measured: at worst that misplaces {found.worst_case / 2:.4%} "
        "of the people."
    )
