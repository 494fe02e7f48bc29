"""Defences: changes of traces before a release, compared by lost information and by identification risk.

A defence changes the released traces. The attacker's knowledge stays the same, and the attacker writes it in the same
form. The loss is measured in bits: events (and times, if any) carry the bits that a code by their shares needs, which
is m H for m events of entropy H. The loss is the share of these bits that is gone. For t reports of a user, it is at
least the share that the bound on their information excludes.

All intervals hold together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.arrow import one_array
from discreet.core.checks import checked_whole
from discreet.core.domain import Domain
from discreet.core.random import RandomSource, checked_source
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, text_column
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.risk.assessment import Assessment, assess
from discreet.risk.attacks.traces import level_of_each
from discreet.risk.bounds.identification import identification_bounds, limit
from discreet.risk.generalisation import LEFT_OUT, Step
from discreet.risk.scores.rates import Rate
from discreet.risk.traces import Split, Traces

_CLOCKS = ("s", "ms", "us", "ns")


@dataclass(frozen=True, slots=True)
class Defence:
    """A change of traces before their release.

    Attributes:
        name: a description.
        apply: a function from the split before the defence to the split after it.
        mechanism: the mechanism that reports events; None if events are released.
        reports: the number of reports of each user.

    Example:
        >>> traces = Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc"))
        >>> len(first_events(1).apply(Split(traces.first(2), traces.after(2))).target)
        2
    """

    name: str
    apply: Callable[[Split], Split]
    mechanism: BlockMechanism | None = None
    reports: int = 1


AS_THEY_ARE = Defence("events as they are", lambda split: split)


def first_events(count: int) -> Defence:
    """Return the defence that releases only the first events of each user."""
    count = checked_whole("count", count)
    name = "first event of each user" if count == 1 else f"first {count:,} events of each user"
    return Defence(name, lambda split: Split(split.training, split.target.first(count)))


def without_rare(users: int) -> Defence:
    """Return the defence that omits events of fewer than the given number of users."""
    least = checked_whole("users", users)

    def common(split: Split) -> Split:
        return Split(split.training, split.target.only(_having(split.target)[split.target.events] >= least))

    return Defence(f"without events of fewer than {least:,} users", common)


def coarser_events(column: str, step: Step) -> Defence:
    """Return the defence that makes events coarser; the traces must have labels."""

    def coarser(traces: Traces) -> Traces:
        if traces.labels is None:
            raise DataError("traces.without-labels")
        groups, labels = _groups(column, step, traces.labels)
        return replace(traces, events=groups[traces.events], event_count=len(labels), labels=labels)

    return Defence(_written(column, step), lambda split: _both(split, coarser))


def coarser_times(column: str, step: Step) -> Defence:
    """Return the defence that makes times coarser; the order of events with equal coarse times is also lost."""

    def coarser(traces: Traces, known: AnyArray, written: AnyArray) -> Traces:
        who = np.repeat(np.arange(traces.users), traces.lengths)
        times = written[np.searchsorted(known, np.asarray(traces.times))]
        order = np.lexsort((traces.events, times, who))
        return replace(traces, events=traces.events[order], times=None if step.text == LEFT_OUT else times[order])

    def apply(split: Split) -> Split:
        if split.target.times is None or split.training.times is None:
            raise DataError("traces.without-times")
        known, unit = np.unique(np.concatenate([split.training.times, split.target.times])), split.target.unit
        instants = pa.array(known)
        if unit in _CLOCKS and known.dtype.kind == "i":
            instants = instants.cast(pa.timestamp(unit))
        groups, _ = _groups(column, step, instants)
        # The first time of each group represents all its times, so that clocks stay clocks.
        firsts = np.unique(groups, return_index=True)[1]
        written = known[firsts][groups]
        return _both(split, lambda traces: coarser(traces, known, written))

    return Defence(_written(column, step), apply)


def reported(name: str, mechanism: BlockMechanism, reports: int = 1) -> Defence:
    """Return the defence that releases reports of the first events of each user; the traces must have labels."""

    def coded(traces: Traces, domain: Domain) -> Traces:
        if traces.labels is None:
            raise DataError("traces.without-labels")
        codes = np.asarray(domain.space.encode(traces.labels), dtype=np.int32)
        if outside := int(np.count_nonzero(codes < 0)):
            raise DataError("traces.outside-domain", name=name, outside=outside, codes_count=len(codes))
        return replace(traces, events=codes[traces.events], event_count=domain.size, labels=None)

    return Defence(name, lambda split: _both(split, lambda side: coded(side, mechanism.domain)), mechanism, reports)


def combined(*defences: Defence) -> Defence:
    """Return the defence that applies several defences, one after the other.

    Raises:
        ParameterError: if a plan is not the last one, because only reports would remain.

    Example:
        >>> combined(without_rare(5), first_events(1)).name
        'without events of fewer than 5 users + first event of each user'
    """
    *before, last = defences
    if any(defence.mechanism is not None for defence in before):
        raise ParameterError("defence.plan-not-last")

    def apply(split: Split) -> Split:
        for defence in defences:
            split = defence.apply(split)
        return split

    return Defence(" + ".join(defence.name for defence in defences), apply, last.mechanism, last.reports)


def _written(column: str, step: Step) -> str:
    return f"no {column}" if step.text == LEFT_OUT else f"{column}: {step.text}"


def _both(split: Split, change: Callable[[Traces], Traces]) -> Split:
    training = change(split.training)
    # An attacker who knows the traces still knows them.
    return Split(training, training if split.target is split.training else change(split.target))


def _groups(column: str, step: Step, values: Any) -> tuple[IntArray, Any]:
    """Return the ``(d,)`` numbers of coarse values for values in Arrow, and the coarse values."""
    coded = one_array(step.coarsen(column, values).dictionary_encode(null_encoding="encode"))
    return np.asarray(coded.indices).astype(np.int32), coded.dictionary


def _having(traces: Traces) -> IntArray:
    """Return the ``(d,)`` numbers of users with each event."""
    who = np.repeat(np.arange(traces.users), traces.lengths)
    pairs = np.unique(who * np.int64(max(traces.event_count, 1)) + traces.events)
    return np.bincount(pairs % max(traces.event_count, 1), minlength=traces.event_count)


def _shares(column: AnyArray) -> FloatArray:
    shares: FloatArray = np.unique(column, return_counts=True)[1] / max(len(column), 1)
    return shares


def entropy_bits(traces: Traces) -> float:
    """Return the number of bits in events and times, with a code by their shares."""
    columns = [traces.events] if traces.times is None else [traces.events, traces.times]
    return float(sum(-len(traces) * (shares @ np.log2(shares)) for shares in map(_shares, columns)))


@dataclass(frozen=True, slots=True)
class DefenceRisk:
    """The risk with a defence; all shares are of the traces before it, and some users may have no event after it.

    Attributes:
        name: the name of the defence.
        identified: the rate at which the strongest attack identifies the right user.
        unlearned: the share of traces that the attack learned nothing about.
        risk: the upper bound on the share of users identified. Traces that the attack learned nothing about count as
            identified; for reports this is the theoretical bound.
        most: the limit for every attack.
        loss: the share of lost bits; for reports the smallest possible share.
    """

    name: str
    identified: Rate
    unlearned: float
    risk: float
    most: float
    loss: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DefenceComparison(TabularResult):
    """A comparison of defences by identification risk, the smallest first, with the lost information.

    Attributes:
        rows: a row per defence, with the unchanged events among them.
        level: the confidence level of all intervals together.
    """

    rows: tuple[DefenceRisk, ...]
    level: float

    def answer(self, knowledge: str) -> str:
        """Return the sentence on the share of people identified without a defence, and with the best one."""
        best = self.rows[0].identified
        plain = next(row.identified for row in self.rows if row.name == AS_THEY_ARE.name)
        return (
            f"An attacker who knows {knowledge} identifies {plain.value:.1%} of the {plain.trials:,} people without a "
            f"defence, and {best.value:.1%} with the first one of the table."
        )

    @property
    def idle(self) -> tuple[str, ...]:
        """The names of defences that are not shown to reduce the risk below the success without a defence."""
        plain = next(row for row in self.rows if row.name == AS_THEY_ARE.name)
        return tuple(row.name for row in self.rows if row is not plain and row.risk >= plain.identified.low)

    def table(self) -> ResultTable:
        """Return a table with a row per defence: the success rate, the risk and the loss."""
        column = partial(ResultColumn.of, self.rows)

        def identified(row: DefenceRisk) -> str:
            return f"{row.identified.value:.3g} ({row.identified.low:.3g} to {row.identified.high:.3g})"

        columns = [
            text_column("defence", [row.name for row in self.rows]),
            column("identified", identified, "identified"),
            column("risk", "risk", "risk", limit),
            column("at_most", "most", "at most", limit),
            column("lost", "loss", "lost", ".3g"),
        ]
        title = f"Least identification risk first; {self.rows[0].identified.trials:,} users"
        return ResultTable(title, columns, notes=self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The comparison as sentences."""
        verdict = f"Not shown to reduce the risk: {', '.join(self.idle)}." if self.idle else "Every defence helps."
        return (
            verdict,
            "identified: the share of all users whom the strongest attack identifies.",
            "risk: the upper limit of this share. Traces that no attack learned from count as identified.",
            "at most: the limit for every attack. lost: the removed share of the information in events and times.",
            f"All intervals hold together ({self.level:.0%}). Where they overlap, the ranking is not reliable.",
        )


def compare_defences(
    split: Split,
    defences: Sequence[Defence],
    *,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> DefenceComparison:
    """Return a comparison of defences by identification risk, including the unchanged events.

    Args:
        split: the attacker's knowledge, and the release before any defence.
        defences: the defences.
        level: the confidence level of all intervals together.
        random: as for `assess`.

    Raises:
        DataError: if a defence leaves fewer than two users with an event, and as for `assess`.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> users = np.repeat(range(60), 4)
        >>> traces = Traces.of(users, users)
        >>> found = compare_defences(Split(traces, traces), [first_events(4)], random=SeededRandom(1))
        >>> found.rows[0].identified.value, found.idle
        (1.0, ('first 4 events of each user',))
    """
    source, every = checked_source(random), (AS_THEY_ARE, *defences)
    each, before = level_of_each(level, len(every)), entropy_bits(split.target)
    users = int(np.count_nonzero(split.target.lengths))
    rows = []
    for defence in every:
        after = defence.apply(split)
        left = int(np.count_nonzero(after.target.lengths))
        if left < 2:
            raise DataError("defence.leaves-too-few", name=defence.name, left=left)
        sent = defence.mechanism, defence.reports
        assessment = assess(after, mechanism=sent[0], reports=sent[1], level=each, random=source)
        rows.append(_row(defence, after, assessment, users, before))
    rows.sort(key=lambda row: (row.risk, row.loss))
    return DefenceComparison(tuple(rows), level)


def _row(defence: Defence, after: Split, assessment: Assessment, users: int, before: float) -> DefenceRisk:
    """Return the risk with a defence, given the numbers of users and bits before it."""
    share, rate = int(np.count_nonzero(after.target.lengths)) / users, assessment.success
    risk = assessment.risk
    assert risk is not None
    unlearned, most, bits = 0.0, risk, entropy_bits(after.target)
    if assessment.unique is not None:
        unlearned, most = assessment.unlearned, assessment.unique.limit
    elif defence.mechanism is not None:
        sent = after.target.first(defence.reports)
        shares = _shares(sent.events)
        bits = len(sent) * identification_bounds(defence.mechanism, len(shares), prior=shares).pie.value
    return DefenceRisk(
        defence.name,
        replace(rate, value=rate.value * share, low=rate.low * share, high=rate.high * share, trials=users),
        unlearned * share,
        risk * share,
        most * share,
        max(1 - bits / before, 0.0) if before else 0.0,
    )
