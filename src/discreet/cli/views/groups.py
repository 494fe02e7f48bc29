"""Estimates by group, and comparisons: tables for people, records for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.cli.output import SIMULATED_REPORTS, Table
from discreet.core.comparison import Comparison
from discreet.core.confidence_intervals import DEFAULT_LEVEL
from discreet.core.estimate import Estimate
from discreet.core.estimate_table import spelled_p_value
from discreet.core.grouped_estimate import GroupedEstimate, spelled
from discreet.core.significance import Control
from discreet.io.estimates import estimate_facts, objects

if TYPE_CHECKING:
    from discreet.cli.publications import Statement

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
        found, confidence = self.found, DEFAULT_LEVEL if self.level is None else self.level
        codes = found.overall.chosen(largest)
        # Without columns of groups, everybody is the only one.
        chosen, cells = set(found.largest(_GROUPS)) if found.names else set(), []
        groups = [(label, found[label]) for label in found if label in chosen]
        for label, one in [*groups, ("everybody", found.overall)]:
            columns = one.columns(self.level, simultaneous=self.simultaneous, shown=len(codes))
            for code, name in zip(codes, found.domain.names(codes), strict=True):
                numbers = [
                    f"{columns[field][code]:.4%}" for field in ("frequency", "lower", "upper") if field in columns
                ]
                cells.append([spelled(label), f"{one.n:,}", name, *numbers])
        kind = "simultaneous " if self.simultaneous else ""
        headings = ["group", "reports", "value", "estimate", f"{kind}{confidence * 100:g}% from", "to"]
        method = next(iter(found.values())).method
        title = f"{len(codes)} of {found.domain.size} values; method {method}"
        title = f"{len(found)} groups, {title}" if groups else title
        yield Table(title, headings[: len(cells[0])], cells, left=3)
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
        rows = found.clearest(largest)
        listed = {one.value for one in found.significant(self.rate, control=self.control)}
        cells = [
            [one.value, "yes" if one.value in listed else "no", *(f"{share:.3%}" for share in one[2:4])]
            + [f"{number:+.3%}" for number in one[4:7]]
            + [spelled_p_value(one.p_value)]
            for one in rows
        ]
        sizes = [f"{title} ({n:,} reports)" if n else title for title, n in zip(found.titles, found.sizes, strict=True)]
        methods = " and ".join(dict.fromkeys(found.methods))
        title = f"{sizes[0]} less {sizes[1]}: {len(rows)} of {found.domain.size} values; method {methods}"
        kind = "simultaneous " if found.simultaneous else ""
        headings = [
            "value",
            "significant",
            *found.titles,
            "difference",
            f"{kind}{found.level * 100:g}% from",
            "to",
            "p",
        ]
        yield Table(title, headings, cells, left=2)
        yield f"{len(listed)} of {found.domain.size} values differ significantly ({self.control}, {self.rate:g})."
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
