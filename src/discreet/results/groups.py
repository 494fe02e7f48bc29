"""Estimates by group: a mapping from groups to estimates that is also a table."""

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.domain import Domain
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, rounded_by
from discreet.pictures.charts import small_multiples
from discreet.results.estimate import Estimate
from discreet.theory.binomial import DEFAULT_LEVEL

# Rows and columns that are shown: the largest groups, and the most frequent values.
_GROUPS, _VALUES = 12, 4
# Entries of a column that are computed at a time: intermediate results need about 20 times the memory.
ENTRIES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EstimatesOnDemand(Mapping[Any, Estimate]):
    """The estimates of groups, each computed on first use; a table of all groups does not use them.

    Attributes:
        sizes: number of reports of each group, by label.
        make: a function that returns the estimate of one group.
        stacked: a function that returns one estimate of g groups, with ``(g, |X|)`` frequencies, errors and limits.
        made: the estimates that were requested so far.
    """

    sizes: Mapping[Any, int]
    make: Callable[[Any], Estimate]
    stacked: Callable[[Sequence[Any]], Estimate]
    made: dict[Any, Estimate] = field(default_factory=dict)

    def __getitem__(self, group: Any) -> Estimate:
        if group not in self.made and group in self.sizes:
            self.made[group] = self.make(group)
        return self.made[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __contains__(self, group: object) -> bool:
        return group in self.sizes

    def stacks(self, size: int) -> Iterator[Estimate]:
        """Yield stacked estimates of all groups: as many groups at a time as columns of ``size`` values allow."""
        labels, step = list(self.sizes), max(ENTRIES_AT_ONCE // size, 1)
        yield from (self.stacked(labels[start : start + step]) for start in range(0, len(labels), step))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupedEstimate(TabularResult):
    """The estimates of groups of people, by the label of the group, and the estimate of all people.

    It has the methods of a mapping but is not a Mapping: otherwise libraries of tables would not see the columns.

    Attributes:
        names: names of the columns that make the groups; empty for one column without a name.
        estimates: the estimates by label; by tuples of labels if there are several columns.
        overall: the estimate of everybody; weighted by known shares of the groups if these were passed.
        minimum: number of people in the smallest group that is estimated.
        left_out: ``(groups, people)`` left out because the groups are smaller; all of these people are in ``overall``.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=2.0)
        >>> values, regions = ["bus"] * 600 + ["car"] * 400, ["north"] * 500 + ["south"] * 500
        >>> reports = mechanism.obfuscate(values, random=dc.SeededRandom(1))
        >>> grouped = dc.estimate_groups(mechanism, reports, groups=regions)
        >>> list(grouped), round(grouped["south"]["car"].frequency, 2)
        (['north', 'south'], 0.8)
        >>> grouped
        GroupedEstimate(linear, n=1000, 2 groups, 3 values, simulated)
          group          n                    bus                     car                    walk
          north        500  1.001 (0.946 - 1.000)  -0.001 (0.000 - 0.042)  -0.001 (0.000 - 0.042)
          south        500  0.187 (0.135 - 0.244)   0.805 (0.742 - 0.864)   0.008 (0.000 - 0.052)
          everybody  1,000  0.594 (0.549 - 0.640)   0.402 (0.358 - 0.447)   0.004 (0.000 - 0.034)
    """

    names: tuple[str, ...]
    estimates: Mapping[Any, Estimate]
    overall: Estimate
    minimum: int
    left_out: tuple[int, int] = (0, 0)

    def __getitem__(self, group: Any) -> Estimate:
        """Return the estimate of one group of people.

        Raises:
            KeyError: if no group has this label; the message lists the labels of groups.
        """
        if group not in self.estimates:
            known = ", ".join(str(label)[:40] for label in list(self.estimates)[:_GROUPS])
            raise KeyError(f"there is no estimate of this group; the groups are {known}")
        return self.estimates[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __contains__(self, group: object) -> bool:
        return group in self.estimates

    def keys(self) -> KeysView[Any]:
        """Return the labels of the groups that have estimates."""
        return self.estimates.keys()

    def values(self) -> ValuesView[Estimate]:
        """Return the estimates of the groups, in the order of the groups' labels."""
        return self.estimates.values()

    def items(self) -> ItemsView[Any, Estimate]:
        """Return the labels of the groups with the groups' estimates."""
        return self.estimates.items()

    @property
    def sizes(self) -> Mapping[Any, int]:
        """The number of reports of each group, by the group's label."""
        if isinstance(self.estimates, EstimatesOnDemand):
            return self.estimates.sizes
        return {label: estimate.n for label, estimate in self.estimates.items()}

    def largest(self, count: int) -> list[Any]:
        """Return the labels of the ``count`` groups with most reports, in descending order."""
        sizes = self.sizes
        return sorted(sizes, key=lambda label: -sizes[label])[:count]

    @property
    def domain(self) -> Domain:
        """The domain of values whose frequencies are estimated in each group."""
        return self.overall.domain

    @property
    def heading(self) -> str:
        """One line with the method and the numbers of reports, groups and values."""
        first, marks = next(iter(self.estimates.values())), ", simulated" if self.overall.simulated else ""
        sizes = f"n={self.overall.n}, {len(self)} groups, {self.domain.size} values"
        return f"GroupedEstimate({first.method}, {sizes}{marks})"

    def view(self) -> ResultTable:
        """Return a table of the largest groups with the most frequent values, and notes on the others."""
        labels, codes = self.largest(_GROUPS), self.overall.chosen(_VALUES)
        rows = [(spelled(label), self.estimates[label]) for label in labels] + [("everybody", self.overall)]
        cells = [[name, f"{estimate.n:,}", *_numbers(estimate, codes)] for name, estimate in rows]
        return ResultTable.of(self.heading, ["group", "n", *self.domain.names(codes)], cells, " ".join(self._notes()))

    def _notes(self) -> Iterator[str]:
        """Yield sentences on the groups and values that a table does not show."""
        groups, values = len(self) - _GROUPS, self.domain.size - _VALUES
        hidden = [f"{groups:,} smaller groups" if groups > 0 else "", f"{values:,} values" if values > 0 else ""]
        if any(hidden):
            yield f"and {' and '.join(filter(None, hidden))} more; to_pandas, to_polars and to_arrow return all."
        if values > 0:
            yield self.overall.selected(_VALUES)
        if self.left_out[0]:
            groups, people = self.left_out
            yield f"{groups:,} groups with fewer than {self.minimum} reports are left out ({people:,} reports)."

    def table(self, level: float = DEFAULT_LEVEL, *, simultaneous: bool = False) -> ResultTable:
        """Return a table of the estimates with a row for each group and value.

        The columns are the group's labels, n, and the columns of `Estimate.table`.

        A column of group labels with the name of another column is called ``group_...`` here.

        Args:
            level: confidence of the intervals.
            simultaneous: as for `Estimate.interval`, within each group.
        """
        estimates, rows = self.estimates, self.domain.size
        stacks = estimates.stacks(rows) if isinstance(estimates, EstimatesOnDemand) else estimates.values()
        parts = []
        for stack in stacks:
            columns, shape = stack.columns(level, simultaneous=simultaneous), stack.frequencies.shape
            parts.append({name: np.broadcast_to(column, shape).reshape(-1) for name, column in columns.items()})
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        labels = zip(*self.estimates, strict=True) if len(self.names) > 1 else [list(self.estimates)]
        keys = {
            name: np.repeat(label_column(list(each)), rows)
            for name, each in zip(self.names or ("group",), labels, strict=True)
        }
        reserved = {*whole, "n"}
        named = {f"group_{name}" if name in reserved else name: column for name, column in keys.items()}
        named |= {"n": np.repeat(list(self.sizes.values()), rows), **whole}
        return ResultTable("Estimates by group", [ResultColumn(name, column) for name, column in named.items()])

    def plot(self, level: float = DEFAULT_LEVEL, *, largest: int = 12, groups: int = 12, title: str = "") -> Any:
        """Return an Altair chart with a panel for each group, all on one axis; sensitive values are marked.

        Args:
            level: confidence of the intervals.
            largest: number of values to draw, the most frequent ones among everybody.
            groups: number of groups to draw, the ones with most reports.
            title: the name of the variable, for the title; by default the attribute, if it is known.
        """
        codes = self.overall.chosen(largest)
        largest_groups = set(self.largest(groups))
        chosen = [label for label in self.estimates if label in largest_groups]
        panels = [
            self.estimates[label].panel(f"{spelled(label)}\n{self.estimates[label].n:,} reports", codes, level=level)
            for label in chosen
        ]
        method = self.estimates[chosen[0]].method
        facts = f"Estimated shares by group: {self.overall.n:,} reports, method {method}, {level * 100:g}% intervals"
        return small_multiples(panels, ": ".join(filter(None, [title or self.overall.about, facts])))


def spelled(label: Any) -> str:
    """Return the label of a group as text; labels of several columns are joined by commas."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def label_column(labels: list[Any]) -> AnyArray:
    """Return the labels of groups as an array of texts, integers or booleans."""
    column = np.array(labels)
    if column.dtype.kind in "bi":
        return column
    return np.array([str(label) for label in labels], dtype=np.dtypes.StringDType())


def _numbers(estimate: Estimate, codes: AnyArray) -> list[str]:
    """Return the estimated frequencies of some values, with their intervals, as texts."""
    low, high = estimate.interval(shown=max(len(codes), 1))
    columns = estimate.frequencies, low, high, estimate.standard_errors
    rows = zip(*(column[codes].tolist() for column in columns), strict=True)
    return ["{} ({} - {})".format(*(rounded_by(number, error) for number in numbers)) for *numbers, error in rows]
