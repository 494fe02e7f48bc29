"""Strata: how often the right user is named, by what a public column says of the users."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.result_table import Cells
from discreet.risk.assessment import TraceAssessment, even_groups
from discreet.risk.attacks.traces import level_of_each
from discreet.risk.generalisation import is_numeric
from discreet.risk.scores.rates import Rate, rate

FEWEST = 20
"""Strata of fewer traces are not shown: their figures would be those of single people."""

_MOST_NUMBERS = 12
_SEVERAL = "no single value"


@dataclass(frozen=True, slots=True)
class TraceStratum:
    """The traces of users of whom a column says the same.

    Attributes:
        name: that value, or the ends of a range of numbers.
        success: how often the attack names the right user of these traces; the intervals of all strata hold at once.
    """

    name: str
    success: Rate


@dataclass(frozen=True, slots=True)
class TraceStrata:
    """The strata of an assessment, the one most often named first.

    Attributes:
        column: its name.
        shown: strata of at least `FEWEST` traces.
        hidden: number of traces in smaller ones.
        whole: how often the right user is named of all traces.
    """

    column: str
    shown: tuple[TraceStratum, ...]
    hidden: int
    whole: Rate

    @property
    def heading(self) -> str:
        """The title of a table of strata."""
        return f"Right user named, by {self.column}"

    @property
    def cells(self) -> Cells:
        """Headings and rows for people."""
        rows = [
            [
                stratum.name,
                f"{stratum.success.trials:,}",
                f"{stratum.success.value:.2%}",
                f"{rate.low:.2%} to {rate.high:.2%}",
            ]
            for stratum in self.shown
            for rate in [stratum.success]
        ]
        return [[self.column, "traces", "named", "interval"], *rows]

    @property
    def worse(self) -> tuple[TraceStratum, ...]:
        """Strata shown to be named more often than all traces together: their interval is above that of all."""
        return tuple(stratum for stratum in self.shown if stratum.success.low > self.whole.high)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The strata in sentences for a report."""
        named = ", ".join(stratum.name for stratum in self.worse)
        lines = [f"Shown to be named more often than all traces together, by {self.column}: {named or 'none'}."]
        if not self.worse and self.shown:
            lines[0] = f"No stratum of {self.column} is shown to be named more often than all traces together."
        if self.hidden:
            lines.append(f"{self.hidden:,} traces are in strata of fewer than {FEWEST}, which are not shown.")
        return tuple(lines)


def trace_strata(assessment: TraceAssessment, column: str, values: Any) -> TraceStrata:
    """Return the strata of an assessment.

    Args:
        assessment: the assessment.
        column: its name.
        values: ``(probes,)`` values of it for the users of the traces that were attributed (`places.users`), in Arrow;
            null where it says several things of a user. More than a dozen different numbers become ten ranges.

    Example:
        >>> import pyarrow as pa
        >>> from discreet.core.random import SeededRandom
        >>> from discreet.core.traces import Traces, by_half
        >>> from discreet.risk.assessment import assess
        >>> users = np.repeat(range(60), 4)
        >>> assessed = assess(by_half(Traces.of(users, np.minimum(users, 30))), random=SeededRandom(1))
        >>> towns = pa.array(["seen" if user < 30 else "hidden" for user in assessed.places.users])
        >>> found = trace_strata(assessed, "town", towns)
        >>> [one.name for one in found.shown], [one.name for one in found.worse]
        (['seen', 'hidden'], ['seen'])
    """
    hits = assessment.places.hits()
    coded = values.dictionary_encode(null_encoding="encode")
    names = [_SEVERAL if name is None else str(name) for name in coded.dictionary.to_pylist()]
    groups = np.asarray(coded.indices)
    if is_numeric(values.type) and not values.null_count and len(names) > _MOST_NUMBERS:
        numbers = np.asarray(values)
        groups = even_groups(numbers)
        inside = [numbers[groups == group] for group in range(groups.max() + 1)]
        names = [f"{each.min()} to {each.max()}" for each in inside]
    sizes = np.bincount(groups, minlength=len(names))
    shown = np.flatnonzero(sizes >= FEWEST)
    level = level_of_each(assessment.success.level, max(len(shown), 1))
    rows = [TraceStratum(names[at], rate(float(hits[groups == at].sum()), int(sizes[at]), level=level)) for at in shown]
    rows.sort(key=lambda stratum: -stratum.success.value)
    return TraceStrata(column, tuple(rows), int(sizes[sizes < FEWEST].sum()), assessment.success)
