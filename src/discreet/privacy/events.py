"""Events for an audit: sets of reports that one value makes much likelier than another, chosen from a sample.

Reports are partitioned into cells in two ways, and an event is a set of cells of one partition. By *membership*:
whether the block contains each of the two values (such events attain the likelihood ratio of every block law, however
large its alphabet), or the value in clear. By *output*: the whole report, where few different ones occur. The test
assumes nothing about the mechanism: any cell is a set of reports.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from typing import TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.reports import Reports
from discreet.mechanisms import Mechanism
from discreet.mechanisms.given import as_channel, block_mechanism
from discreet.mechanisms.membership import Membership

Cell: TypeAlias = tuple[str, Hashable]
"""A set of reports: a kind, and which one of it."""

_CLEAR, _BLOCK, _OUTPUT = "clear", "block", "output"
# Selection favours what is sure, by so many standard errors: less, and the luckiest of many rare events would win.
_CAUTION = 2.5
_TINY = 1e-6
_LEAST_PER_OUTPUT = 30


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample of reports of one value.

    Attributes:
        mechanism: what made them.
        reports: the reports.
        telling: ``(|Y|,)`` the invertible outputs of an explicit channel; None for a block mechanism.
    """

    mechanism: Mechanism
    reports: Reports
    telling: BoolArray | None = None

    @cached_property
    def by_output(self) -> Counter[Cell]:
        """Counts of the reports by output."""
        if self.telling is not None:
            found, counts = np.unique(self.reports.blocks["output"], return_counts=True)
            cells = [(_CLEAR if self.telling[y] else _OUTPUT, int(y)) for y in found]
            return Counter(dict(zip(cells, counts.tolist(), strict=True)))
        found, counts = np.unique(_written(list(self._unknown.values())), return_counts=True)
        blocks = {(_OUTPUT, one.tobytes()): int(count) for one, count in zip(found, counts, strict=True)}
        return self._in_clear + Counter(blocks)

    def by_membership(self, first: int, second: int) -> Counter[Cell]:
        """Return counts by which of two values, passed as codes, the block contains."""
        counts = np.bincount(
            2 * self._contains(first) + self._contains(second), self._membership.multiplicity, minlength=4
        )
        return self._in_clear + Counter({(_BLOCK, place): int(count) for place, count in enumerate(counts)})

    @cached_property
    def _unknown(self) -> dict[str, AnyArray]:
        """Columns of the blocks of the reports that are not in clear."""
        return dict(block_mechanism(self.mechanism).blocks_of_unknown(self.reports))

    @cached_property
    def _in_clear(self) -> Counter[Cell]:
        found, counts = np.unique(self.reports.clear, return_counts=True)
        return Counter({(_CLEAR, int(code)): int(count) for code, count in zip(found, counts, strict=True)})

    @cached_property
    def _membership(self) -> Membership:
        return block_mechanism(self.mechanism).law.membership(self._unknown)

    @cached_property
    def _known(self) -> dict[int, IntArray]:
        return {}

    def _contains(self, code: int) -> IntArray:
        """Return ``(rows,)`` 0 or 1: which blocks contain a value; none contains one that is not sensitive."""
        if code not in self._known:
            domain, rows = self.mechanism.domain, self._membership.rows
            one = (np.arange(self._membership.size) == np.searchsorted(domain.sensitive_codes, code)).astype(np.float64)
            inside = self._membership.dot(one) > 0.5 if domain.sensitive[code] and rows else np.zeros(rows)
            self._known[code] = np.asarray(inside, dtype=np.int64)
        return self._known[code]


Samples: TypeAlias = Mapping[int, Sample]
"""Samples by the code of their value."""


def _written(columns: list[AnyArray]) -> AnyArray:
    """Return ``(m,)`` opaque values, equal where the rows of all columns are."""
    parts = [np.ascontiguousarray(column.reshape(len(column), *(column.shape[1:] or (1,)))) for column in columns]
    rows = np.hstack([part.view(np.uint8) for part in parts])
    # Up to eight bytes are sorted as numbers, which is much faster.
    padded = np.zeros((len(rows), max(rows.shape[1], 8)), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    kind = np.dtype("<u8") if padded.shape[1] == 8 else np.dtype((np.void, padded.shape[1]))
    return padded.view(kind).reshape(-1)


@dataclass(frozen=True, slots=True)
class Event:
    """A set of reports, to be compared between two values.

    Attributes:
        first: code of the value that is to make it likely.
        second: code of the value that is to make it unlikely.
        whole: whether the cells are outputs, or memberships of the two values.
        cells: those that the event consists of.
    """

    first: int
    second: int
    whole: bool
    cells: frozenset[Cell] = frozenset()

    def table(self, sample: Sample) -> Counter[Cell]:
        """Return the number of reports of a sample in each cell."""
        return sample.by_output if self.whole else sample.by_membership(self.first, self.second)

    def count(self, sample: Sample) -> int:
        """Return the number of reports of a sample in the event."""
        table = self.table(sample)
        return sum(table[cell] for cell in self.cells)

    def describe(self, first: str, second: str) -> str:
        """Return the event in words, with names for the two values."""
        both = {0: "neither", 1: f"{second} but not {first}", 2: f"{first} but not {second}", 3: "both"}
        parts = [f"a block that contains {both[place]}" for place in sorted(both) if (_BLOCK, place) in self.cells]
        for kind, words in ((_OUTPUT, "one of {} chosen outputs"), (_CLEAR, "one of {} values in clear")):
            count = sum(cell[0] == kind for cell in self.cells)
            parts += [words.format(count)] if count else []
        return " or ".join(parts) or "nothing"


@dataclass(frozen=True, slots=True)
class ScoredEvent:
    """An event with its counts in a sample.

    Attributes:
        event: the event.
        score: a cautious estimate of ln(P(event | first) / P(event | second)).
        counts: how often it came from the first and from the second value.
    """

    event: Event
    score: float
    counts: tuple[int, int]


def best_candidate(
    chosen_on: Samples, scored_on: Samples, sensitive: BoolArray, promised: Mapping[int, float] | None = None
) -> ScoredEvent:
    """Return the most revealing pair of values and event, relative to the promise to the first value.

    Events are chosen on one sample and compared on another, so that many cells have no advantage over few.

    Args:
        chosen_on: samples by the code of their value; of two values at least.
        scored_on: other samples of the same values.
        sensitive: ``(|X|,)`` booleans. A value that is not sensitive may go in clear: for it, only protected reports
            count.
        promised: epsilon of each value, by its code; None if all have the same.
    """
    found = []
    for (first, second), whole in product(permutations(chosen_on, 2), _ways(chosen_on.values())):
        blank = Event(first, second, whole)
        told, other = (blank.table(chosen_on[code]) for code in (first, second))
        event = replace(blank, cells=_steepest_cells(told, other, may_be_clear=not sensitive[first]))
        counts = event.count(scored_on[first]), event.count(scored_on[second])
        a, b = (np.array([count], dtype=np.float64) for count in counts)
        score = float(_cautious(a, b, scored_on[first].reports.n, scored_on[second].reports.n)[0])
        found.append(ScoredEvent(event, score, counts))
    kept = promised or dict.fromkeys(chosen_on, 0.0)
    return max(found, key=lambda candidate: candidate.score - kept[candidate.event.first])


def _ways(samples: Iterable[Sample]) -> tuple[bool, ...]:
    """Return the partitions of reports to try: by output (True), by membership (False), or both."""
    listed = list(samples)
    if any(as_channel(sample.mechanism) for sample in listed):
        return (True,)
    # Where nearly every report is different, none tells anything about the next ones.
    few = all(len(sample.by_output) * _LEAST_PER_OUTPUT <= sample.reports.n for sample in listed)
    return (False, True) if few else (False,)


def _steepest_cells(told: Counter[Cell], other: Counter[Cell], *, may_be_clear: bool) -> frozenset[Cell]:
    """Return the cells with the largest ratios whose union has the largest cautious score."""
    cells = sorted((cell for cell in told | other if not (may_be_clear and cell[0] == _CLEAR)), key=str)
    if not cells:
        return frozenset()
    a, b = (np.array([table[cell] for cell in cells], dtype=np.float64) for table in (told, other))
    order = np.argsort(-(a + 0.5) / (b + 0.5), kind="stable")
    scores = _cautious(np.cumsum(a[order]), np.cumsum(b[order]), told.total(), other.total())
    return frozenset(cells[place] for place in order[: int(scores.argmax()) + 1])


def _cautious(a: FloatArray, b: FloatArray, n: int, m: int) -> FloatArray:
    """Return a cautious lower estimate of ln(p/q) from a of n and b of m; for choosing only."""
    # Square roots of counts have nearly the same spread, 1/2, however small the counts.
    least = np.sqrt(a) - _CAUTION / 2 * np.sqrt(1 - a / n)
    most = np.sqrt(b + 1) + _CAUTION / 2 * np.sqrt(1 - b / m)
    score: FloatArray = 2 * np.log(np.maximum(least, _TINY) / most) + np.log(m / n)
    return score
