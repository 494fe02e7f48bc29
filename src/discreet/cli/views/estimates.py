"""Views of estimates, groups and comparisons.

An estimate: its largest values, its bots, and the files that it is written to.

Estimates by group, and comparisons: tables for people, records for programs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import IntArray
from discreet.cli.output import SIMULATED_REPORTS, Table, left_out_sentences
from discreet.core.result_table import ResultColumn, rows_of, spelled_p_value, text_column
from discreet.estimators.tags import TagEstimate
from discreet.files.paths import ending
from discreet.files.writing import json_text
from discreet.formats.plan import Plan
from discreet.formats.tallies import estimate_facts, objects, write_columns
from discreet.results.comparison import Comparison
from discreet.results.estimate import Estimate
from discreet.results.groups import GroupedEstimate, spelled
from discreet.theory.binomial import Control

if TYPE_CHECKING:
    from discreet.cli.publications import Statement


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
    columns = [one.at(codes) for one in found.stated(level, simultaneous=simultaneous, shown=len(codes))]
    headings, *cells = rows_of([text_column("value", found.domain.names(codes)), *columns], "page")
    title = f"{len(codes)} largest of {found.domain.size} values; {found.n:,} reports, method {found.method}"
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


# Groups that are printed, those with most reports.
_GROUPS = 40


@dataclass(frozen=True, slots=True)
class GroupsView:
    """Estimates by group with their intervals, and notes on the files that were read.

    Attributes:
        found: the estimates.
        level: confidence of the intervals; None for the default.
        simultaneous: whether all intervals of a group hold at once.
        notes: sentences on files that another tool rewrote.
        said: what the estimates tell of a person; None if that is left out.
    """

    found: GroupedEstimate
    level: float | None
    simultaneous: bool
    notes: Sequence[str]
    said: "Statement | None" = None

    def record(self) -> dict[str, Any]:
        """Return the estimates ready for JSON: ``groups`` has an object for each, ``overall`` is that of everybody."""
        names = self.found.names or ("group",)
        groups = []
        for label, one in self.found.items():
            labels = label if isinstance(label, tuple) else (label,)
            groups.append({**dict(zip(names, labels, strict=True)), **self._of_cell(one), **self._facts(one)})
        left_out = {"groups": self.found.left_out[0], "reports": self.found.left_out[1]}
        more = {"minimum": self.found.minimum, "left_out": left_out, "notes": self.notes}
        said = {} if self.said is None else self.said.record()
        return {"groups": groups, "overall": self._facts(self.found.overall), **said, **more}

    def _of_cell(self, one: Estimate) -> dict[str, Any]:
        """Return the figures on a person in one group; of two digits of n, so that many groups are alike."""
        if self.said is None:
            return {}
        from discreet.privacy.publication import two_digits

        whole = self.said.alone
        n = two_digits(one.n)
        return {"publication": replace(whole, batches=(n,), remarks=()).figures()}

    def _facts(self, one: Estimate) -> dict[str, Any]:
        return estimate_facts(one, self.level, simultaneous=self.simultaneous)

    def parts(self, largest: int) -> Iterator[str | Table]:
        """Yield a table with a row for each value of each of the largest groups, and what holds of all groups."""
        found, codes = self.found, self.found.overall.chosen(largest)
        # Without columns of groups, everybody is the only one.
        chosen, cells = set(found.largest(_GROUPS)) if found.names else set(), []
        groups = [(label, found[label]) for label in found if label in chosen]
        for label, one in [*groups, ("everybody", found.overall)]:
            columns = [
                each.at(codes) for each in one.stated(self.level, simultaneous=self.simultaneous, shown=len(codes))
            ]
            headings, *rows = rows_of([text_column("value", found.domain.names(codes)), *columns], "groups")
            cells += [[spelled(label), f"{one.n:,}", *row] for row in rows]
        method = next(iter(found.values())).method
        title = f"{len(codes)} of {found.domain.size} values; method {method}"
        title = f"{len(found)} groups, {title}" if groups else title
        yield Table(title, ["group", "reports", *headings], cells, left=3)
        if smaller := len(found) - len(groups) if groups else 0:
            noun = "group is" if smaller == 1 else "groups are"
            yield f"{smaller:,} smaller {noun} not shown; -o and --json give all."
        yield f"Everybody: {found.overall.n:,} reports, method {found.overall.method}."
        if noise := found.overall.selected(len(codes), self.level, simultaneous=self.simultaneous):
            yield noise
        if found.left_out[0]:
            few, people = found.left_out
            noun = "group" if few == 1 else "groups"
            yield f"Left out: {few:,} {noun} with fewer than {found.minimum} reports ({people:,} reports)."
        if self.said is not None:
            yield from self.said.parts()
        if found.overall.simulated:
            yield SIMULATED_REPORTS
        yield from (f"Note: {note}" for note in self.notes)


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A comparison, with the rate of errors that its significant values keep.

    Attributes:
        found: the comparison.
        rate: the limit.
        control: of what.
        notes: sentences on files that another tool rewrote.
        said: what the comparison tells of a person; None if that is left out.
    """

    found: Comparison
    rate: float
    control: Control
    notes: Sequence[str]
    said: "Statement | None" = None

    def record(self) -> dict[str, Any]:
        """Return the comparison ready for JSON."""
        found = self.found
        columns = {name: column.tolist() for name, column in found.columns().items()}
        columns["significant"] = found.significant_values(self.rate, control=self.control).tolist()
        test = None if found.overall is None else found.overall._asdict()
        sides = [{"title": title, "n": n} for title, n in zip(found.titles, found.sizes, strict=True)]
        asked = {
            "methods": found.methods,
            "level": found.level,
            "simultaneous": found.simultaneous,
            "rate": self.rate,
            "control": self.control,
        }
        marks = {"simulated": found.simulated, "remark": found.remark or None, "notes": self.notes}
        said = {} if self.said is None else self.said.record()
        return {"sides": sides, **asked, "overall": test, **said, **marks, "values": objects(columns)}

    def parts(self, largest: int) -> Iterator[str | Table]:
        """Yield the table of the clearest differences, and the tests."""
        found = self.found
        codes = found.clearest_values(largest)
        significant = found.significant_values(self.rate, control=self.control)
        columns = [ResultColumn("significant", significant, unit="mark"), *found.stated()]
        names = text_column("value", found.domain.names(codes))
        headings, *cells = rows_of([names, *(one.at(codes) for one in columns)], "page")
        sizes = [f"{title} ({n:,} reports)" if n else title for title, n in zip(found.titles, found.sizes, strict=True)]
        methods = " and ".join(dict.fromkeys(found.methods))
        title = f"{sizes[0]} less {sizes[1]}: {len(codes)} of {found.domain.size} values; method {methods}"
        yield Table(title, headings, cells, left=2)
        some = f"{np.count_nonzero(significant)} of {found.domain.size} values differ significantly"
        yield f"{some} ({self.control}, {self.rate:g})."
        if found.overall is not None:
            statistic, degrees, p_value = found.overall
            p = spelled_p_value(p_value, sign=True)
            yield f"No difference at all: chi-square {statistic:.2f}, {degrees} degrees of freedom, p {p[0]} {p[1:]}."
        if found.remark:
            yield found.remark
        if self.said is not None:
            yield from self.said.parts()
        if found.simulated:
            yield SIMULATED_REPORTS
        yield from (f"Note: {note}" for note in self.notes)
