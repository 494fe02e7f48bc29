"""Audits: lower bounds on epsilon, from reports that are drawn at random.

If a mechanism's promise holds, no set of (protected) reports is more than e^eps times likelier from one value than
from another. The same holds for sets of pairs of neighbouring reports, if the pair's other value is the same. So an
audit draws reports of a few values, and pairs of neighbouring reports. With less than half of the draws it chooses the
pair of values and the set of reports that look most revealing (see `discreet.privacy.events`: block contents, whole
reports, every bit and parity, and a trained sum of bits). It then draws fresh reports from these two values only. With
many values, it first draws reports of all values in turn, and adds the values with the most unusual reports to the few.
One set is tested, on draws that had no part in its choice. Each of its two probabilities has a Clopper-Pearson
bound with half of the error (Bonferroni). So the bound exceeds the true epsilon with a probability of at most
1 - confidence, for any number of sets that were considered.

An audit can refute a promise but never prove one; `discreet.privacy.verify` proves it from the mechanism's numbers.
Verification trusts these numbers, while an audit tests the reports.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.core.checks import checked_between, checked_whole
from discreet.core.domain import Domain
from discreet.core.guarantee import rounded_down, rounded_up
from discreet.core.random import BATCH, RandomSource, SeededRandom, checked_source
from discreet.core.reports import Reports
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.mechanisms.memo import Memo
from discreet.privacy.events import Event, Sample, ScoredEvent, Values, best_candidate, suspicious
from discreet.privacy.notions import required, smallest_epsilon
from discreet.theory.binomial import lower_bound, upper_bound

_FEWEST = 1000
# Sizes of small batches, and the reports of each size; up to this epsilon all of them repeat by chance once in 1e9.
_SMALL, _SMALL_DRAWS, _MOST_NOISY = (1, 2, 17), 500, 3.0
_DIGITS = 6
_SELECTION, _NEIGHBOURS, _SCREENING = 0.1, 0.05, 0.1
_MOST_VALUES = 8
_SUSPICIOUS = 1
_LEAST_PER_VALUE = 20
_MOST_MEMBERS = 1 << 25
_LEAST_SHARE = 0.1
_BATCH = 1 << 17
# A report is expanded into bits, a byte each, several times.
_BITS = 16
_BATCH_BYTES = 1 << 26
_SELECTION_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit: a lower bound on epsilon, and the set of reports that demonstrates it.

    Attributes:
        promised: the promised epsilon, in nats.
        lower_bound: the lower bound on epsilon, in nats, at the given confidence; 0 if the event never occurred.
        confidence: the confidence of the bound.
        draws: the total number of reports drawn.
        holds: whether the bound is within the promise.
        event: the tested set of reports, and the codes of the two values that it compares.
        counts: the number of times the event occurred for the first value and for the second.
        trials: the number of fresh reports, or of pairs of neighbouring reports, for the first value and for the
            second.
        simulated: whether the random source is seeded.

    Example:
        >>> import discreet as dc
        >>> channel = dc.Channel([[0.75, 0.25], [0.25, 0.75]])
        >>> result = audit(channel, draws=20_000, random=dc.SeededRandom(1))
        >>> round(result.promised, 2), round(result.lower_bound, 2), result.event.describe("yes", "no")
        (1.1, 1.02, 'one of 1 chosen outputs')
    """

    promised: float
    lower_bound: float
    confidence: float
    draws: int
    holds: bool
    event: Event
    counts: tuple[int, int]
    trials: tuple[int, int]
    simulated: bool

    def __str__(self) -> str:
        verdict = (
            "the draws do not refute the promise" if self.holds else "THE PROMISE IS BROKEN: do not use this mechanism"
        )
        return (
            f"With confidence {self.confidence:.6g}, epsilon is at least {rounded_down(self.lower_bound, _DIGITS)} "
            f"({self.draws} reports drawn); promised is {rounded_up(self.promised, _DIGITS)}: {verdict}."
        )


def audit(
    mechanism: Mechanism,
    *,
    draws: int = 1_000_000,
    confidence: float = 0.999,
    codes: Any = None,
    random: RandomSource | None = None,
) -> Audit:
    """Audit a promised epsilon: draw reports, and compute a lower bound on epsilon from their frequencies.

    Args:
        mechanism: a mechanism with a guarantee; for an explicit channel its realised epsilon is the promise.
        draws: the total number of reports, at least 1000.
        confidence: the confidence of the lower bound, in (1/2, 1).
        codes: two or more values to compare. By default all of up to eight values. Of more values, eight are chosen
            evenly, sensitive ones first. The most unusual values from a draw of all values in turn are added, with at
            least 20 reports each. A fault that shows for other values only is not detected.
        random: the random words; None for fresh words under a key of the operating system.

    Raises:
        ParameterError: if there is no guarantee, or fewer than two values, or a parameter is out of range. Also if
            reports in batches of 1, 2 or 17 do not follow the random words.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> result = audit(mechanism, draws=10_000, random=dc.SeededRandom(1))
        >>> result.holds, round(result.lower_bound, 2)
        (True, 0.85)
    """
    draws, confidence = checked_whole("draws", draws, _FEWEST), checked_between("confidence", confidence, 0.5, 1)
    promised, invertible = _promise(mechanism)
    values = _spread(mechanism.domain) if codes is None else np.unique(mechanism.domain.check_codes(codes))
    if len(values) < 2:
        raise ParameterError("audit.too-few-values", values_count=len(values))
    device, rest = _Device(mechanism, invertible, checked_source(random)), draws
    if codes is None and mechanism.domain.size > len(values):
        screened, used = _screened(device, int(draws * _SCREENING))
        values, rest = np.unique([*_spread(mechanism.domain, _MOST_VALUES // 2), *screened]), rest - used
    sizes = _observed(values, draws, mechanism.domain)
    room = device.most(2 * len(sizes), _SELECTION_BYTES // _BITS)
    sizes = {case: min(size, room) for case, size in sizes.items()}
    if min(sizes.values()) == 0:
        least = 10 * len(values)
        raise ParameterError(
            "audit.too-few-draws", argument="draws", least=least, values_count=len(values), draws=draws
        )
    chosen_on, scored_on = ({case: device.sample(case, size) for case, size in sizes.items()} for _ in range(2))
    candidate = best_candidate(chosen_on, scored_on, mechanism.domain.sensitive)
    rest -= sum(2 * size * _reports(case) for case, size in sizes.items())
    trials = _shared_out(rest // _reports(candidate.event.first), candidate)
    event = candidate.event
    counts = device.count(event, event.first, trials[0]), device.count(event, event.second, trials[1])
    bound = epsilon_at_least(counts, trials, 1 - confidence)
    seeded = not device.random.secure
    if bound <= promised:
        _check_follows_words(mechanism, promised, int(values[np.argsort(mechanism.domain.sensitive[values])[0]]))
    return Audit(promised, bound, confidence, draws, bound <= promised, event, counts, trials, seeded)


def _check_follows_words(mechanism: Mechanism, promised: float, code: int) -> None:
    """Raise an error if reports in small batches, as devices draw them, do not repeat and change with random words.

    Noise of a block mechanism cannot leave hundreds of reports unchanged by chance, unless epsilon is large.
    """

    def drawn(size: int, seed: int) -> list[bytes]:
        random, codes = SeededRandom(seed), np.full(size, code)
        each = (mechanism.obfuscate_codes(codes, random=random) for _ in range(_SMALL_DRAWS // size))
        return [column.tobytes() for reports in each for column in (reports.clear, *reports.blocks.values())]

    changes = not mechanism.is_explicit and promised <= _MOST_NOISY
    for size in _SMALL:
        if drawn(size, 1) != drawn(size, 1) or (changes and drawn(size, 1) == drawn(size, 2)):
            raise ParameterError("audit.words-not-followed", size=size)


def epsilon_at_least(counts: tuple[int, int], trials: tuple[int, int], error: float) -> float:
    """Return a lower bound on ln(p/q), at least 0, from k successes of n trials and l successes of m.

    Args:
        counts: k and l, the number of times an event occurred.
        trials: n and m, the numbers of trials.
        error: shared equally between a lower bound on p and an upper bound on q.

    Example:
        >>> round(epsilon_at_least((600, 400), (1000, 1000), error=0.001), 3)
        0.192
    """
    least = lower_bound(counts[0], trials[0], error / 2)
    most = upper_bound(counts[1], trials[1], error / 2)
    return max(log(least / most), 0.0) if least > 0 else 0.0


@dataclass(frozen=True, slots=True)
class RoundsAudit:
    """The result of an audit of permanent reports: a lower bound on the epsilon of several rounds.

    Attributes:
        promised: the promised epsilon of these rounds, in nats.
        lower_bound: the lower bound on the epsilon of these rounds, at the given confidence.
        counts: for each value, the number of histories in which all rounds have one block, with the first value and
            without the second.
        trials: the number of histories drawn for each value.
        holds: whether the bound is within the promise.
        simulated: whether the random source is seeded.

    Example:
        >>> import discreet as dc
        >>> memo = dc.Memo(dc.RandomizedResponse(dc.Domain(range(3)), epsilon=1.0), infinity=2.0)
        >>> audited = audit_rounds(memo, 2, draws=2000, random=dc.SeededRandom(1))
        >>> audited.holds, audited.lower_bound < audited.promised
        (True, True)
    """

    promised: float
    lower_bound: float
    counts: tuple[int, int]
    trials: int
    holds: bool
    simulated: bool


def audit_rounds(
    memo: Memo, rounds: int, *, draws: int = 1_000_000, confidence: float = 0.999, random: RandomSource | None = None
) -> RoundsAudit:
    """Audit permanent reports: draw the reports of t rounds from unchanged values, and bound epsilon from below.

    The event is fixed in advance: all rounds have one block. It is the most revealing if all blocks are equally likely.

    Args:
        memo: the memo.
        rounds: t, the number of reports of each person.
        draws: the total number of reports.
        confidence: the confidence of the lower bound, in (1/2, 1).
        random: the random words; None for fresh words under a key of the operating system.

    Raises:
        ParameterError: if a number is out of range, or there is only one value.

    Example:
        >>> import discreet as dc
        >>> memo = dc.Memo(dc.RandomizedResponse(dc.Domain(["yes", "no"]), 0.5), infinity=1.0)
        >>> result = audit_rounds(memo, 2, draws=40_000, random=dc.SeededRandom(1))
        >>> result.holds, round(result.promised, 2), round(result.lower_bound, 2)
        (True, 0.81, 0.69)
    """
    domain, source = memo.mechanism.domain, checked_source(random)
    confidence = checked_between("confidence", confidence, 0.5, 1)
    trials = checked_whole("draws", draws, _FEWEST) // (2 * checked_whole("rounds", rounds))
    if domain.size < 2:
        raise ParameterError("audit.too-few-values", values_count=domain.size)
    first = int(domain.sensitive_codes[0])
    second = int(domain.clear_codes[0]) if domain.clear_count else int(domain.sensitive_codes[1])
    who, when = np.tile(np.arange(trials), rounds), np.repeat(np.arange(rounds), trials)
    counts = []
    for code in (first, second):
        histories = memo.obfuscate_rounds(np.full(trials * rounds, code), who, when, random=source)
        counts.append(_of_one_block(memo.mechanism, list(histories.values()), (first, second)))
    bound = epsilon_at_least((counts[0], counts[1]), (trials, trials), 1 - confidence)
    promised = memo.epsilon(rounds)
    return RoundsAudit(promised, bound, (counts[0], counts[1]), trials, bound <= promised, not source.secure)


def _of_one_block(mechanism: BlockMechanism, rounds: list[Reports], codes: tuple[int, int]) -> int:
    """Count the people whose reports all have the same block, which contains the first value and not the second."""
    clear = [each.in_clear for each in rounds if each.in_clear is not None]
    in_clear = np.logical_or.reduce(clear) if clear else np.zeros(rounds[0].n, np.bool_)
    blocks = [each.take(np.flatnonzero(~in_clear)).blocks for each in rounds]
    alike = np.ones(np.count_nonzero(~in_clear), np.bool_)
    for later in blocks[1:]:
        for name, column in later.items():
            same = column == blocks[0][name]
            alike &= same if same.ndim == 1 else same.all(axis=1)
    inside = mechanism.law.contains({name: column[alike] for name, column in blocks[0].items()})
    ranks = [int(np.searchsorted(mechanism.domain.sensitive_codes, code)) for code in codes]
    others = inside[:, ranks[1]] if mechanism.domain.sensitive[codes[1]] else False
    return int(np.count_nonzero(inside[:, ranks[0]] & ~np.asarray(others)))


@dataclass(frozen=True, slots=True)
class _Device:
    """A mechanism with a random source, from which reports are drawn for an audit."""

    mechanism: Mechanism
    invertible: BoolArray | None
    random: RandomSource

    def sample(self, values: Values, n: int) -> Sample:
        """Draw n observations: half of the reports one by one as on a device, half in batches."""
        codes = [values.code] if values.beside is None else [values.code, values.beside][:: 1 - 2 * values.place]
        return self.drawn(np.tile(codes, n), values)

    def drawn(self, codes: IntArray, values: Values) -> Sample:
        """Draw one report for each code; the reports of neighbouring codes are drawn by one call."""
        each = _reports(values)
        half, step = len(codes) // (2 * each) * each, (BATCH - 1) // each * each
        cuts = [*range(0, half, step), half, len(codes)]
        parts = [codes[start:end] for start, end in pairwise(cuts) if end > start]
        reports = [self.mechanism.obfuscate_codes(part, random=self.random) for part in parts]
        return Sample(self.mechanism, Reports.concatenate(reports), self.invertible, values)

    def most(self, samples: int, room: int) -> int:
        """Return the largest sample size for which this number of samples fits into `room` bytes."""
        return max(room // (samples * sum(column.bytes for column in self.mechanism.columns)), 1)

    def count(self, event: Event, values: Values, n: int) -> int:
        size = min(self.most(1, _BATCH_BYTES), _BATCH)
        return sum(event.count(self.sample(values, min(size, n - start))) for start in range(0, n, size))


def _reports(values: Values) -> int:
    """Return the number of reports in one observation: 1, or 2 if the observation has a neighbouring report."""
    return 1 if values.beside is None else 2


def _observed(values: IntArray, draws: int, domain: Domain) -> dict[Values, int]:
    """Return the values to observe, each with the number of observations in a sample."""
    single = [Values(int(code)) for code in values]
    # One sensitive value, if there is any, and one value that is not sensitive, if there is any.
    order = values[np.argsort(~domain.sensitive[values], kind="stable")]
    two = int(order[0]), int(order[-1])
    pairs = [Values(code, beside, place) for code in two for beside in two for place in (0, 1)]
    alone = dict.fromkeys(single, int(draws * _SELECTION) // len(single))
    return alone | dict.fromkeys(pairs, int(draws * _NEIGHBOURS) // (2 * len(pairs)))


def _screened(device: _Device, n: int) -> tuple[list[int], int]:
    """Draw reports of all values in turn. Return the values with unusual reports, and the number of reports."""
    domain = device.mechanism.domain
    n = min(n, device.most(1, _SELECTION_BYTES // _BITS), _MOST_MEMBERS // max(domain.sensitive_count, 1))
    values = np.linspace(0, domain.size - 1, min(domain.size, n // _LEAST_PER_VALUE)).astype(np.int64)
    if len(values) < 2:
        return [], 0
    codes = np.resize(values, n)
    return suspicious(device.drawn(codes, Values(-1)), codes, _SUSPICIOUS), n


def _promise(mechanism: Mechanism) -> tuple[float, BoolArray | None]:
    """Return the promised epsilon, and for an explicit channel the invertible outputs."""
    if mechanism.guarantee.notion == "none":
        raise ParameterError("audit.nothing-sensitive")
    if mechanism.is_explicit:
        protection = required(smallest_epsilon(mechanism.channel(), "ULDP"), "the channel")
        return protection.epsilon, protection.invertible
    return BlockMechanism.checked(mechanism).epsilon, None


def _spread(domain: Domain, most: int = _MOST_VALUES) -> IntArray:
    """Return at most `most` codes, spread evenly: three quarters of sensitive values, one quarter of other values."""
    clear = min(domain.clear_count, max(most // 4, most - domain.sensitive_count))
    sensitive = min(domain.sensitive_count, most - clear)
    picked = _evenly(domain.sensitive_codes, sensitive), _evenly(domain.clear_codes, clear)
    return np.sort(np.concatenate(picked))


def _evenly(codes: IntArray, count: int) -> IntArray:
    return codes[np.linspace(0, max(len(codes) - 1, 0), count).astype(np.int64)]


def _shared_out(n: int, candidate: ScoredEvent) -> tuple[int, int]:
    """Divide n fresh reports between two values. The value for which the event is rarer gets more."""
    k, m = (count + 1.0 for count in candidate.counts)
    share = float(np.clip(np.sqrt(m) / (np.sqrt(k) + np.sqrt(m)), _LEAST_SHARE, 1 - _LEAST_SHARE))
    first = int(n * share)
    return first, n - first
