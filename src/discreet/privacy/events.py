"""Events for an audit: sets of reports that are much likelier from one value than from another.

An observation is one report, or two neighbouring reports: one of the value in question and one of a known value.
There are four partitions of observations into cells; an event is a set of cells of one partition:

- by *membership*: whether the block contains each of the two values, or the value in clear. Such events attain the
  likelihood ratio of every block law, however large its alphabet;
- by *output*: the whole report, where few different ones occur;
- by *parity*: one bit of the report's bytes, or the parity of two bits, of a column or of all bits; for neighbours
  also whether they have the same column;
- by *score*: a weighted sum of all these bits, trained to distinguish the two values (naive Bayes), in sixteen steps.

The test assumes nothing about the mechanism: any cell is a set of reports.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.reports import Reports
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.mechanisms.block_law import members_of
from discreet.mechanisms.evidence import Membership

Cell: TypeAlias = tuple[str, Hashable]
"""A set of observations: its kind, and an identifier within the kind."""

Partition: TypeAlias = Literal["membership", "output", "parity", "score"]
"""A kind of partition of observations."""

_CLEAR, _BLOCK, _OUTPUT, _BITS = "clear", "block", "output", "bits"
# The score is lowered by this number of standard errors. Otherwise a rare event would win by chance.
_CAUTION = 2.5
_TINY = 1e-6
_LEAST_PER_OUTPUT = 30
_MOST_PAIRED = 160
_STEPS = 16


class Values(NamedTuple):
    """The values of an observation: the code of the value in question, and the code of a neighbouring report's value.

    Attributes:
        code: the code of the value in question.
        beside: the code of the neighbouring report's value; None if an observation is one report.
        place: 0 if the report in question is the first of the two reports, 1 if it is the second.
    """

    code: int
    beside: int | None = None
    place: int = 0


_NONE = Values(-1)


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations of reports that all come from the same values.

    Attributes:
        mechanism: the mechanism of the reports.
        reports: the reports, in order; two for each observation where there are neighbours.
        invertible: ``(|Y|,)`` the invertible outputs of an explicit channel; None for a block mechanism.
        values: the values of each observation; the code is not used here.
    """

    mechanism: Mechanism
    reports: Reports
    invertible: BoolArray | None = None
    values: Values = _NONE

    @property
    def size(self) -> int:
        """The number of observations in a sample."""
        return self.reports.n if self.values.beside is None else self.reports.n // 2

    @cached_property
    def by_output(self) -> Counter[Cell]:
        """The number of observations of each output in a sample."""
        names, labels = np.unique(_opaque(self._written), return_inverse=True)
        return self._counted([(_OUTPUT, name.tobytes()) for name in names], labels)

    def by_membership(self, first: int, second: int) -> Counter[Cell]:
        """Count the observations by whether the block contains the first value, and the second value."""
        labels = 2 * self._contains(first) + self._contains(second)
        return self._counted([(_BLOCK, place) for place in range(4)], labels)

    @cached_property
    def bits(self) -> AnyArray:
        """The ``(m, b)`` bits, 0 or 1, of the observations whose report in question has a block."""
        parts = self._parts
        folded = np.stack([np.bitwise_xor.reduce(part, axis=1) for part in parts], axis=1)
        sums = np.bitwise_xor.reduce(np.unpackbits(folded[:, :, None], axis=2), axis=2)
        whole, is_clear = np.bitwise_xor.reduce(sums, axis=1), (self.clear >= 0).astype(np.uint8)
        own_bits = np.hstack(
            [np.unpackbits(np.hstack(parts), axis=1, bitorder="little"), sums, whole[:, None], is_clear[:, None]]
        )
        if self.values.beside is None:
            return own_bits if not is_clear.any() else own_bits[self.clear < 0]
        place = self.values.place
        same = [(part[::2] == part[1::2]).all(axis=1, keepdims=True).astype(np.uint8) for part in self._parts]
        both = np.hstack([own_bits[place::2], own_bits[1 - place :: 2], *same])
        return both[self.clear[place::2] < 0]

    def picked(self, chosen: tuple[int, ...]) -> AnyArray:
        """Return some columns of `bits` in single precision. The result is cached."""
        if chosen not in self._picked:
            self._picked[chosen] = self.bits[:, list(chosen)].astype(np.float32)
        return self._picked[chosen]

    @cached_property
    def _picked(self) -> dict[tuple[int, ...], AnyArray]:
        return {}

    def bit_names(self) -> list[str]:
        """Return the names of a sample's bits, which are the columns of `bits`."""
        names = [name for name, _ in self._named_parts]
        own_names = [f"bit {at} of {name}" for name, part in self._named_parts for at in range(8 * part.shape[1])]
        own_names += [*(f"the parity of {name}" for name in names), "the parity of the report", "being in clear"]
        if self.values.beside is None:
            return own_names
        return [
            *own_names,
            *(f"{name} of its neighbour" for name in own_names),
            *(f"the same {name} as its neighbour" for name in names),
        ]

    @cached_property
    def clear(self) -> IntArray:
        """``(n,)`` codes of the values in clear, or of invertible outputs; -1 for all other reports."""
        codes = np.full(self.reports.n, -1, dtype=np.int64)
        if self.invertible is not None:
            output = self.reports.blocks["output"].astype(np.int64)
            return np.where(self.invertible[output], output, codes)
        if self.reports.in_clear is not None:
            codes[self.reports.in_clear] = self.reports.clear
        return codes

    @cached_property
    def _unknown(self) -> dict[str, AnyArray]:
        """The columns of the blocks in a sample, for the reports that are not in clear."""
        if self.invertible is not None:
            return {name: column[self.clear < 0] for name, column in self.reports.blocks.items()}
        return dict(BlockMechanism.checked(self.mechanism).blocks_of_unknown(self.reports))

    @cached_property
    def _named_parts(self) -> list[tuple[str, AnyArray]]:
        """The name and the ``(n, w)`` bytes of each column; the bytes of reports in clear are 0."""
        parts = []
        for name, column in self._unknown.items():
            rows = np.ascontiguousarray(column.reshape(len(column), *(column.shape[1:] or (1,))))
            written = np.zeros((self.reports.n, rows.itemsize * rows.shape[1]), dtype=np.uint8)
            written[self.clear < 0] = rows.view(np.uint8).reshape(len(rows), written.shape[1])
            parts.append((name, written))
        return parts

    @property
    def _parts(self) -> list[AnyArray]:
        return [part for _, part in self._named_parts]

    @property
    def _written(self) -> AnyArray:
        return np.hstack(self._parts)

    def _counted(self, names: list[Cell], labels: IntArray) -> Counter[Cell]:
        """Count the observations by the labels of their reports. Each value in clear has a separate label."""
        clear_codes, codes = self._clear_labels
        joint = np.where(self.clear < 0, labels, len(names) + codes)
        names = [*names, *((_CLEAR, int(code)) for code in clear_codes)]
        if self.values.beside is not None:
            place = self.values.place
            joint = joint[place::2] * len(names) + joint[1 - place :: 2]
        occurring = _occurring(joint)
        if self.values.beside is None:
            return Counter({names[label]: count for label, count in occurring})
        pairs = ((divmod(label, len(names)), count) for label, count in occurring)
        return Counter({(names[first][0], (names[first][1], names[other])): count for (first, other), count in pairs})

    @cached_property
    def _clear_labels(self) -> tuple[IntArray, IntArray]:
        """The different codes in `clear`, and the ``(n,)`` index of each report's code among them."""
        clear_codes, codes = np.unique(self.clear, return_inverse=True)
        return clear_codes, codes

    @cached_property
    def _known(self) -> dict[int, IntArray]:
        return {}

    def _contains(self, code: int) -> IntArray:
        """Return ``(n,)`` integers: 1 if a report's block contains a value, else 0.

        It is 0 for a value not sensitive.
        """
        if code not in self._known:
            domain, inside = self.mechanism.domain, np.zeros(self.reports.n, dtype=np.int64)
            if domain.sensitive[code] and (self.clear < 0).any():
                inside[self.clear < 0] = self._inside(int(np.searchsorted(domain.sensitive_codes, code)))
            self._known[code] = inside
        return self._known[code]

    def _inside(self, rank: int) -> AnyArray:
        law = BlockMechanism.checked(self.mechanism).law
        matrix = self._membership
        if matrix.multiplicity is None:
            return np.asarray(matrix.dot((np.arange(law.size) == rank).astype(np.float64))) > 0.5
        # Such a matrix has a row for each of a few different blocks, not for each report.
        rows, inverse = self._different
        return law.contains(rows)[:, rank][inverse]

    @cached_property
    def _membership(self) -> Membership:
        return BlockMechanism.checked(self.mechanism).law.membership(self._unknown)

    @cached_property
    def _different(self) -> tuple[dict[str, AnyArray], AnyArray]:
        _, at, inverse = np.unique(_opaque(self._written[self.clear < 0]), return_index=True, return_inverse=True)
        return {name: column[at] for name, column in self._unknown.items()}, inverse


Samples: TypeAlias = Mapping[Values, Sample]
"""Samples by the values of their observations."""


def _opaque(rows: AnyArray) -> AnyArray:
    """Return rows of bytes as ``(m,)`` items that can be compared and sorted."""
    # Up to eight bytes are sorted as numbers, which is much faster.
    padded = np.zeros((len(rows), max(rows.shape[1], 8)), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    kind = np.dtype("<u8") if padded.shape[1] == 8 else np.dtype((np.void, padded.shape[1]))
    return padded.view(kind).reshape(-1)


def _occurring(labels: IntArray) -> list[tuple[int, int]]:
    """Return the labels that occur and their counts, in ascending order. Labels are 0, 1, ..."""
    if len(labels) and int(labels.max()) > len(labels):
        # With far more labels than observations, sorting the observed labels is faster than counting all labels.
        occurring, counts = np.unique(labels, return_counts=True)
        return list(zip(occurring.tolist(), counts.tolist(), strict=True))
    counts = np.bincount(labels)
    occurring = np.flatnonzero(counts)
    return list(zip(occurring.tolist(), counts[occurring].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Event:
    """A set of observations whose probabilities for two values an audit compares.

    Attributes:
        first: the value, with its neighbour, for which the event should be likely.
        second: the value, with the same neighbour, for which the event should be unlikely.
        partition: the partition of the cells.
        cells: the cells of the event.
        chosen: the numbers of the bits whose parity or weighted sum defines the cells.
        weights: the weights of the sum, and the ends of its steps.
        words: the names of the bits.
    """

    first: Values
    second: Values
    partition: Partition
    cells: frozenset[Cell] = frozenset()
    chosen: tuple[int, ...] = ()
    weights: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    words: str = ""

    def table(self, sample: Sample) -> Counter[Cell]:
        """Count the observations of a sample in each cell of the event's partition."""
        if self.partition == "membership":
            return sample.by_membership(self.first.code, self.second.code)
        if self.partition == "output":
            return sample.by_output
        if self.partition == "parity":
            labels = np.bitwise_xor.reduce(sample.bits[:, list(self.chosen)], axis=1)
        else:
            weights = np.array(self.weights[0], dtype=np.float32)
            labels = np.searchsorted(np.array(self.weights[1]), sample.picked(self.chosen) @ weights)
        return Counter({(_BITS, label): count for label, count in _occurring(labels)})

    def count(self, sample: Sample) -> int:
        """Count the observations of a sample that are in the event."""
        table = self.table(sample)
        return sum(table[cell] for cell in self.cells)

    def describe(self, first: str, second: str) -> str:
        """Return a text that describes an event, with names for the two values."""
        beside = "" if self.first.beside is None else ", of two neighbouring reports"
        if self.partition in {"parity", "score"}:
            values = " or ".join(str(label) for label in sorted(str(cell[1]) for cell in self.cells))
            return f"a block with {self.words}: {values or 'nothing'}{beside}"
        if beside:
            return f"one of {len(self.cells)} chosen pairs, by {self.partition}{beside}"
        both = {0: "neither", 1: f"{second} but not {first}", 2: f"{first} but not {second}", 3: "both"}
        parts = [f"a block that contains {both[place]}" for place in sorted(both) if (_BLOCK, place) in self.cells]
        for kind, words in ((_OUTPUT, "one of {} chosen outputs"), (_CLEAR, "one of {} values in clear")):
            count = sum(cell[0] == kind for cell in self.cells)
            parts += [words.format(count)] if count else []
        return " or ".join(parts) or "nothing"


@dataclass(frozen=True, slots=True)
class ScoredEvent:
    """An event with a score of how well it distinguishes two values, and with its counts in a sample.

    Attributes:
        event: the event.
        score: a cautious estimate of ln(P(event | first) / P(event | second)).
        counts: the number of times the event occurred, for the first value and for the second.
    """

    event: Event
    score: float
    counts: tuple[int, int]


def best_candidate(chosen_on: Samples, scored_on: Samples, sensitive: BoolArray) -> ScoredEvent:
    """Return the event that best distinguishes two values, and these two values.

    Events are chosen on one sample and compared on another, so that a choice from many cells gives no advantage.

    Args:
        chosen_on: samples by the values of their observations; at least two of them must be comparable.
        scored_on: other samples of the same values.
        sensitive: ``(|X|,)`` booleans. A value that is not sensitive may be reported in clear; for it only protected
            reports count.
    """
    scored = []
    for alike in (
        [case for case in chosen_on if case[1:] == rest] for rest in dict.fromkeys(case[1:] for case in chosen_on)
    ):
        samples = {case: chosen_on[case] for case in alike}
        # Where nearly every report is different, past reports do not predict the next ones.
        few = all(len(sample.by_output) * _LEAST_PER_OUTPUT <= sample.size for sample in samples.values())
        # Where few different outputs occur, bits add nothing to them.
        bits = None if few else _Bits(samples)
        for first, second in permutations(samples, 2):
            events = [*_by_cells(samples, first, second, sensitive, few=few)]
            events += [] if bits is None else bits.events(first, second)
            left, right = scored_on[first], scored_on[second]
            for event in events:
                counts = event.count(left), event.count(right)
                a, b = (np.array([count], dtype=np.float64) for count in counts)
                scored.append(ScoredEvent(event, float(_cautious(a, b, left.size, right.size)[0]), counts))
    return max(scored, key=lambda candidate: candidate.score)


def _by_cells(samples: Samples, first: Values, second: Values, sensitive: BoolArray, *, few: bool) -> Iterator[Event]:
    """Yield the best event by membership, and the best event by output if only a few different outputs occur."""
    channel = samples[first].mechanism.is_explicit
    partitions: list[Partition] = [*([] if channel else ["membership"]), *(["output"] if few or channel else [])]  # type: ignore[list-item]
    for partition in partitions:
        blank = Event(first, second, partition)
        yield _with_cells(blank, samples, may_be_clear=not sensitive[first.code])


def _with_cells(blank: Event, samples: Samples, *, may_be_clear: bool) -> Event:
    first_table, second_table = (blank.table(samples[values]) for values in (blank.first, blank.second))
    sizes = samples[blank.first].size, samples[blank.second].size
    return replace(blank, cells=_steepest_cells(first_table, second_table, sizes, may_be_clear=may_be_clear))


class _Bits:
    """The bits of several samples, whose parities and weighted sums can distinguish two values."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        stacked = {values: sample.bits for values, sample in samples.items()}
        self.sums = {values: bits.sum(axis=0, dtype=np.int64) for values, bits in stacked.items()}
        total, rows = sum(self.sums.values()), sum(map(len, stacked.values()))
        self.varying = np.flatnonzero((np.asarray(total) > 0) & (np.asarray(total) < rows))
        spread = np.linspace(0, len(self.varying) - 1, min(len(self.varying), _MOST_PAIRED)).astype(np.int64)
        self.paired = self.varying[spread] if len(self.varying) else self.varying
        signs = {values: 1 - 2 * bits[:, self.paired].astype(np.float32) for values, bits in stacked.items()}
        # The number of times two bits differ, from products of signs: integers far below 2^24.
        self.differ = {values: (len(sign) - sign.T @ sign) / 2 for values, sign in signs.items()}
        self.rows = {values: len(bits) for values, bits in stacked.items()}
        self.names = next(iter(samples.values())).bit_names()

    def events(self, first: Values, second: Values) -> Iterator[Event]:
        """Yield the events that best distinguish two values: one bit, a parity of two bits, a weighted sum of bits."""
        if not len(self.varying):
            return
        pair = first, second
        steepest = self._steepest(pair, [self.sums[values][self.varying] for values in pair])
        yield self._parity(pair, (int(self.varying[steepest[0]]),), steepest[1])
        if len(self.paired) > 1:
            place, odd = self._steepest(pair, [self.differ[values].reshape(-1) for values in pair])
            chosen = tuple(int(self.paired[at]) for at in divmod(place, len(self.paired)))
            if len(set(chosen)) == 2:
                yield self._parity(pair, chosen, odd)
            yield self._trained(pair)

    def _steepest(self, pair: tuple[Values, Values], odd: list[AnyArray]) -> tuple[int, int]:
        """Return the position of the bit with the largest cautious score, and the value of this bit, 0 or 1."""
        sizes = self.samples[pair[0]].size, self.samples[pair[1]].size
        even = [self.rows[values] - count for values, count in zip(pair, odd, strict=True)]
        scores = [_cautious(a.astype(np.float64), b.astype(np.float64), *sizes) for a, b in (even, odd)]
        label, place = divmod(int(np.argmax(scores)), len(scores[0]))
        return place, label

    def _parity(self, pair: tuple[Values, Values], chosen: tuple[int, ...], label: int) -> Event:
        words = " xor ".join(self.names[at] for at in chosen)
        return Event(*pair, "parity", frozenset({(_BITS, label)}), chosen, words=words)

    def _trained(self, pair: tuple[Values, Values]) -> Event:
        """Return the event for a sum of bits, in which each bit has its log odds as weight (naive Bayes)."""
        rates = [(self.sums[values][self.paired] + 1) / (self.rows[values] + 2) for values in pair]
        weights = np.log(rates[0] / rates[1]) - np.log((1 - rates[0]) / (1 - rates[1]))
        chosen = tuple(self.paired.tolist())
        sums = np.concatenate([self.samples[values].picked(chosen) @ weights.astype(np.float32) for values in pair])
        # Rounding may decide between two nearly equal sums. This only changes the event slightly.
        ends = np.quantile(sums, np.linspace(0, 1, _STEPS + 1)[1:-1]) if len(sums) else np.zeros(0)
        words = f"a trained sum of {len(self.paired)} bits in the steps"
        trained = tuple(weights.tolist()), tuple(np.unique(ends).tolist())
        blank = Event(*pair, "score", frozenset(), chosen, trained, words)
        return _with_cells(blank, self.samples, may_be_clear=False)


def _steepest_cells(
    first_table: Counter[Cell], second_table: Counter[Cell], sizes: tuple[int, int], *, may_be_clear: bool
) -> frozenset[Cell]:
    """Return the union of cells with the largest cautious score. Cells are added by descending likelihood ratio."""
    cells = sorted((cell for cell in first_table | second_table if not (may_be_clear and cell[0] == _CLEAR)), key=str)
    if not cells:
        return frozenset()
    a, b = (np.array([table[cell] for cell in cells], dtype=np.float64) for table in (first_table, second_table))
    order = np.argsort(-(a + 0.5) / (b + 0.5), kind="stable")
    scores = _cautious(np.cumsum(a[order]), np.cumsum(b[order]), *sizes)
    return frozenset(cells[place] for place in order[: int(scores.argmax()) + 1])


def _cautious(a: FloatArray, b: FloatArray, n: int, m: int) -> FloatArray:
    """Return a cautious estimate of ln(p/q) from a of n and b of m observations, for choosing events only."""
    # Square roots of counts have nearly the same standard deviation, 1/2, also for small counts.
    least = np.sqrt(a) - _CAUTION / 2 * np.sqrt(1 - a / n)
    most = np.sqrt(b + 1) + _CAUTION / 2 * np.sqrt(1 - b / m)
    score: FloatArray = 2 * np.log(np.maximum(least, _TINY) / most) + np.log(m / n)
    return score


def suspicious(sample: Sample, codes: IntArray, most: int) -> list[int]:
    """Return the values whose reports are most unusual, from a sample with reports of many values.

    The values are compared by two rates: how often a block contains the value reported, and how often a value is in
    clear. They are also compared by each bit and each parity of two bits. The result is used for choices only.

    Args:
        sample: the reports.
        codes: ``(n,)`` the values of the reports.
        most: the number of values to return for each of these statistics.
    """
    order = np.argsort(codes, kind="stable")
    values, starts = np.unique(codes[order], return_index=True)
    counts = np.diff([*starts, len(codes)])
    clear_counts = np.add.reduceat((sample.clear[order] >= 0).astype(np.float64), starts)
    measures = [_standardised(kind, clear_counts, counts) for kind in _kinds(sample.mechanism, values)]
    if not sample.mechanism.is_explicit:
        own_counts = np.add.reduceat(_holds_own(sample, codes)[order], starts)
        measures += [_standardised(kind, own_counts, counts) for kind in _kinds(sample.mechanism, values)]
    measures.append(_parities(sample, codes, values))
    return [int(values[at]) for measure in measures for at in np.argsort(-measure, kind="stable")[:most] if measure[at]]


def _kinds(mechanism: Mechanism, values: IntArray) -> list[BoolArray]:
    sensitive = mechanism.domain.sensitive[values]
    return [kind for kind in (sensitive, ~sensitive) if kind.any()]


def _standardised(kind: BoolArray, successes: FloatArray, counts: IntArray) -> FloatArray:
    """Return each value's deviation from the rate of its kind, in standard errors; 0 for values of another kind."""
    rate = successes[kind].sum() / counts[kind].sum()
    off = abs(successes - counts * rate) / np.sqrt(counts * rate * (1 - rate) + 1)
    return np.where(kind, off, 0.0)


def _holds_own(sample: Sample, codes: IntArray) -> FloatArray:
    """Return ``(n,)`` numbers: 1 if a report's block contains the person's value, else 0."""
    mechanism, marks = BlockMechanism.checked(sample.mechanism), np.zeros(len(codes))
    domain, unknown = mechanism.domain, np.flatnonzero(sample.clear < 0)
    ranks = np.where(domain.sensitive[codes], np.searchsorted(domain.sensitive_codes, codes), -1)[unknown]
    start = 0
    for sizes, members in members_of(mechanism.law, sample._unknown):
        rows = np.repeat(np.arange(start, start + len(sizes)), sizes)
        marks[unknown[rows[members == ranks[rows]]]] = 1.0
        start += len(sizes)
    return marks


def _parities(sample: Sample, codes: IntArray, values: IntArray) -> FloatArray:
    """Return for each value the largest deviation of a parity of two bits from the mean, in standard errors."""
    bits, of = sample.bits, codes[sample.clear < 0]
    varying = np.flatnonzero(bits.any(axis=0) & ~bits.all(axis=0))
    spread = np.linspace(0, max(len(varying) - 1, 0), min(len(varying), _MOST_PAIRED // 2)).astype(np.int64)
    signs = np.hstack([np.ones((len(bits), 1)), 1.0 - 2.0 * bits[:, varying[spread]]]).astype(np.float32)
    mean, scores = signs.T @ signs / max(len(signs), 1), np.zeros(len(values))
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], [values, values + 1])
    for at, (start, end) in enumerate(ends.T):
        group_signs = signs[order[start:end]]
        n = end - start
        scores[at] = (abs(group_signs.T @ group_signs - n * mean) / np.sqrt(n * (1 - mean**2) + 1)).max()
    return scores
