"""The contract of a block mechanism: each check raises AssertionError with a sentence if it fails.

The checks examine every output of a mechanism, with its probability as an integer (`Outputs`). They do not use the
mechanism's own channel. They compute the probabilities again, from the law's alphabet and from the integer that the
sampler compares with its random words. Most checks enumerate: the block law, the promise, the estimate and its errors,
flaws, tallies, files. Others draw with seeded words: blocks follow the law, reports follow the channel, and the number
of words reveals nothing. Counts of draws are tested with Pearson's chi-square, with bounds of its tails that need no
table [Laurent and Massart 2000, lemma 1; Birge 2001, lemma 8.1]. A false alarm has a probability of about 1e-12. A
check raises an error if it would miss the alternative with a probability above 1e-6. Under the alternative, a tenth of
the draws comes from every second outcome.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm, log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from discreet.core.random import WORD_RANGE, SeededRandom
from discreet.core.reports import Blocks, Reports, smallest_unsigned
from discreet.errors import DataError, DiscreetError, MismatchError, ParameterError
from discreet.estimators import estimate
from discreet.mechanisms import BlockMechanism, description_of
from discreet.mechanisms.mechanism import tallies_by_group
from discreet.mechanisms.obfuscation import coins_of, fill
from discreet.mechanisms.registry import (
    Enumeration,
    as_keys,
    common_denominator,
    keys,
    law_from_description,
    positions_in,
)


def hold(promise: bool, broken: str) -> None:
    """Raise an AssertionError if a condition is false; unlike the assert statement, also with Python's ``-O``.

    Raises:
        AssertionError: if the condition is false; ``broken`` is its sentence.
    """
    if not promise:
        raise AssertionError(broken)


def no_fault(faults: Iterable[str]) -> None:
    """Raise an AssertionError with the first fault, if there is one.

    Raises:
        AssertionError: if there is a fault.
    """
    for fault in faults:
        hold(False, fault)


_MOST_ENTRIES = 1_000_000
# Stored with the mechanism, because all checks need it; it is as immutable as the mechanism.
_KEPT = "_outputs"


@dataclass(frozen=True, eq=False)
class Outputs:
    """All outputs of a mechanism: the blocks of its alphabet, then the values that may be reported in clear.

    Attributes:
        mechanism: the mechanism.
        reports: ``(|Y|,)`` one report per output.
        numerators: ``(|X|, |Y|)`` Python integers; Q(y|x) is one of them over ``denominator``.
        denominator: the common denominator.
        contained: ``(|Y|, v)`` booleans: true where the output's block contains the sensitive value.
        clear: ``(|Y|,)`` rank of the output's value in clear, or -1.

    Example:
        >>> import discreet as dc
        >>> outputs = outputs_of(dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0))
        >>> outputs.matrix.round(2).tolist()
        [[0.73, 0.27], [0.27, 0.73]]
    """

    mechanism: BlockMechanism
    reports: Reports
    numerators: AnyArray
    denominator: int
    contained: BoolArray
    clear: IntArray

    @cached_property
    def matrix(self) -> FloatArray:
        """The ``(|X|, |Y|)`` probabilities Q(y|x)."""
        return (self.numerators / self.denominator).astype(np.float64)

    @cached_property
    def counts(self) -> tuple[IntArray, IntArray]:
        """The counts that a report of each output adds to a tally: counts of blocks, and of values in clear."""
        tallies = [self.mechanism.tally(self.reports.part(row, row + 1)) for row in range(self.reports.n)]
        return np.array([tally.support for tally in tallies]), np.array([tally.clear for tally in tallies])

    @cached_property
    def contributions(self) -> FloatArray:
        """The ``(|Y|, |X|)`` linear estimates from a single report of each output."""
        tally, parts = self.mechanism.tally, (self.reports.part(row, row + 1) for row in range(self.reports.n))
        return np.array([estimate(self.mechanism, tally(part), method="linear").frequencies for part in parts])

    def places(self, reports: Reports) -> IntArray:
        """Return the ``(n,)`` indices of the outputs that equal the reports; -1 for a report that is no output."""
        return positions_in(_keys_of(reports), _keys_of(self.reports))


def outputs_of(mechanism: BlockMechanism) -> Outputs:
    """Return all outputs of a mechanism with their probabilities, from a cache.

    The truth has the probability S / 2^64, and noise the rest.

    Raises:
        ParameterError: if the mechanism has too many outputs.

    Example:
        >>> import discreet as dc
        >>> outputs = outputs_of(dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0))
        >>> outputs.reports.n, outputs.contained.tolist()
        (2, [[True, False], [False, True]])
    """
    attributes = vars(mechanism)
    if _KEPT not in attributes:
        attributes[_KEPT] = _enumerated(mechanism)
    outputs: Outputs = attributes[_KEPT]
    return outputs


def _enumerated(mechanism: BlockMechanism) -> Outputs:
    domain, law = mechanism.domain, mechanism.law
    if law.alphabet_size * (domain.clear_count + 1) * domain.size > _MOST_ENTRIES:
        raise ParameterError(
            "contract.too-large", most_entries=_MOST_ENTRIES, alphabet_size=law.alphabet_size, size=domain.size
        )
    blocks, weights = law.alphabet()
    contained, (noise, denominator) = law.contains(blocks), common_denominator(weights)
    truthful, noisy = mechanism.threshold, WORD_RANGE - mechanism.threshold
    conditional = [Fraction(denominator, int(noise[column].sum())) for column in contained.T]
    scale = lcm(*{chance.denominator for chance in conditional})
    rows = np.empty((domain.size, len(noise)), dtype=object)
    rows[:] = noise * noisy * scale
    for rank, code in enumerate(domain.sensitive_codes):
        rows[code] = rows[code] + np.where(contained[:, rank], noise * truthful * int(scale * conditional[rank]), 0)
    beside = noise if mechanism.clear_blocks else np.array([noise.sum()], dtype=object)
    clear = np.repeat(np.arange(domain.clear_count), len(beside))
    in_clear = np.zeros((domain.size, len(clear)), dtype=object)
    in_clear[domain.clear_codes[clear], np.arange(len(clear))] = np.tile(beside * truthful * scale, domain.clear_count)
    within = contained if mechanism.clear_blocks else np.zeros((1, law.size), dtype=np.bool_)
    return Outputs(
        mechanism,
        _one_of_each(mechanism, blocks, clear),
        np.hstack([rows, in_clear]),
        denominator * WORD_RANGE * scale,
        np.vstack([contained, np.tile(within, (domain.clear_count, 1))]),
        np.concatenate([np.full(len(noise), -1), clear]),
    )


def _one_of_each(mechanism: BlockMechanism, blocks: Blocks, clear: IntArray) -> Reports:
    domain, count = mechanism.domain, len(next(iter(blocks.values())))
    if mechanism.clear_blocks:
        blocks = {name: np.concatenate([column] * (domain.clear_count + 1)) for name, column in blocks.items()}
    in_clear = np.arange(count + len(clear)) >= count if domain.clear_count else None
    codes = domain.clear_codes[clear].astype(smallest_unsigned(domain.size))
    return Reports(mechanism.fingerprint, count + len(clear), in_clear, codes, blocks, columns=mechanism.columns)


def _keys_of(reports: Reports) -> AnyArray:
    codes = np.full(reports.n, -1, dtype=np.int64)
    carrying = np.ones(reports.n, dtype=np.bool_)
    if reports.in_clear is not None:
        codes[reports.in_clear] = reports.clear
        carrying = ~reports.in_clear if reports.block_count < reports.n else carrying
    within = keys(reports.blocks)
    beside = np.zeros((reports.n, within.dtype.itemsize), dtype=np.uint8)
    beside[carrying] = within.view(np.uint8).reshape(len(within), -1)
    return as_keys(np.hstack([codes[:, None].view(np.uint8), beside]))


_MOST_WRITTEN = 1 << 18
_CUTS = (0, 1, 2, 700, 700, 2999, 3001)


def flaws_are_what_the_alphabet_lacks(mechanism: BlockMechanism) -> None:
    """Check that a law rejects exactly the blocks outside its alphabet, among all that the columns can hold."""
    no_fault(Enumeration(mechanism.law).flaw_faults(_MOST_WRITTEN))


def tallies_agree_and_merge(mechanism: BlockMechanism) -> None:
    """Check that tallies decode to the mean of their reports, can be added, and reject reports of other plans."""
    outputs, reports = outputs_of(mechanism), _reports(mechanism)
    whole = mechanism.tally(reports)
    each = outputs.contributions[outputs.places(reports)]
    off = abs(estimate(mechanism, whole, method="linear").frequencies - each.mean(axis=0))
    room = 1e-11 * (1 + abs(each).mean(axis=0))
    hold(bool((off <= room).all()), f"a tally must decode to the mean of its reports, it is {off.max():.2g} off.")
    off = abs(mechanism.decoder.contributions(reports) - each)
    hold(bool((off <= room).all()), f"contributions must be the estimate from one report, it is {off.max():.2g} off.")
    parts = [mechanism.tally(reports.part(start, stop)) for start, stop in pairwise(_CUTS)]
    zero = mechanism.empty_tally()
    hold(sum(parts) == whole, "tallies of parts must add up to the tally of the whole.")
    hold(sum(reversed(parts), zero) == whole, "tallies must add up in any order, from the empty one.")
    added = zero.support.copy(), zero.clear.copy()
    mechanism.add_tally(reports, *added)
    same = all(np.array_equal(left, other) for left, other in zip(added, (whole.support, whole.clear), strict=True))
    hold(same, "add_tally must add what tally counts.")
    groups = np.arange(reports.n) % 3
    tallies = tallies_by_group(mechanism, reports, groups, 3)
    same = all(part == mechanism.tally(reports.take(np.flatnonzero(groups == at))) for at, part in enumerate(tallies))
    hold(same, "add_by_group must add to the row of each group what add counts of its reports.")
    try:
        mechanism.tally(replace(reports, fingerprint="another plan"))
    except MismatchError:
        return
    hold(False, "reports of another plan must be refused with a MismatchError, they were counted.")


def membership_is_what_blocks_contain(mechanism: BlockMechanism) -> None:
    """Check that the law's membership operator equals the matrix of the blocks' members."""
    law, random = mechanism.law, np.random.default_rng(3)
    blocks = _reports(mechanism).blocks
    contained, operator = law.contains(blocks).astype(np.float64), law.membership(blocks)
    times = np.ones(operator.rows) if operator.multiplicity is None else operator.multiplicity
    values = random.dirichlet(np.ones(law.size))
    pairs = {
        "a sum over blocks": (times @ np.log1p(3 * operator.dot(values)), np.log1p(3 * (contained @ values)).sum()),
        "transpose_dot of how often they came": (operator.transpose_dot(times), contained.sum(axis=0)),
    }
    if operator.multiplicity is None:
        weights = random.normal(size=operator.rows)
        pairs |= {
            "dot": (operator.dot(values), contained @ values),
            "transpose_dot": (operator.transpose_dot(weights), weights @ contained),
        }
    for name, (counted, wanted) in pairs.items():
        same = np.allclose(counted, wanted, rtol=1e-9, atol=1e-9)
        hold(
            same,
            f"{name} of membership must be that of what blocks contain, it is {abs(counted - wanted).max():.2g} off.",
        )


def reports_survive_the_wire(mechanism: BlockMechanism) -> None:
    """Check that every possible report is unchanged after writing and reading, in every format."""
    from discreet.formats.reports import read_reports, write_reports

    one_of_each = replace(outputs_of(mechanism).reports, simulated=True)
    with TemporaryDirectory() as folder:
        for suffix in ("parquet", "arrow", "jsonl"):
            path = Path(folder) / f"reports.{suffix}"
            try:
                write_reports(path, mechanism, one_of_each)
                read = read_reports(path, mechanism)
            except DataError as error:
                raise AssertionError(
                    f"every report must be written and read as {suffix}, some are not: {error}"
                ) from None
            hold(_same(read, one_of_each), f"reports must be the same after {suffix}, they are others.")


def devices_know_the_law(mechanism: BlockMechanism) -> None:
    """Check that the law can be rebuilt from its description as JSON, and that its class is in ``laws``."""
    law: Any = mechanism.law
    try:
        rebuilt = law_from_description(type(law), json.loads(json.dumps(description_of(law))))
    except (DiscreetError, TypeError, ValueError) as error:
        raise AssertionError(f"a law's description must make it again, this one does not: {error}") from None
    same = rebuilt.describe() == law.describe() and rebuilt.inclusion == law.inclusion
    hold(same, "a law's description must make it again, this one makes another.")
    known = type(law) in mechanism.laws
    hold(known, f"laws of a mechanism must list the classes of its block laws, {type(law).__name__} is not there.")


def _same(first: Reports, second: Reports) -> bool:
    pairs = [(first.clear, second.clear), *((first.blocks[name], column) for name, column in second.blocks.items())]
    if first.in_clear is not None or second.in_clear is not None:
        pairs += [(np.asarray(first.in_clear), np.asarray(second.in_clear))]
    return first.n == second.n and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def _reports(mechanism: BlockMechanism) -> Reports:
    codes = np.random.default_rng(11).integers(0, mechanism.domain.size, _CUTS[-1])
    return mechanism.obfuscate_codes(codes, random=SeededRandom(11))


DRAWS = 1 << 17
_FALSE_ALARM, _MISSED = log(1e12), log(1e6)
# Enough draws for the chi-square distribution to hold far into the tail.
_LEAST_EXPECTED = 200
_SEED = 31


def blocks_follow_the_law(mechanism: BlockMechanism) -> None:
    """Check the probabilities of drawn blocks, of noise and of blocks that contain a given value."""
    law = mechanism.law
    blocks, weights = law.alphabet()
    chances, contained, alphabet = weights.astype(np.float64), law.contains(blocks), keys(blocks)
    for member in range(-1, law.size):
        drawn = keys(_drawn(mechanism, np.full(DRAWS, member), SeededRandom(_SEED + member)))
        shares = chances if member < 0 else np.where(contained[:, member], chances, 0.0)
        name = "blocks of noise" if member < 0 else f"blocks drawn for value {member}"
        _follow(name, positions_in(drawn, alphabet), shares / shares.sum())


def members_and_noise_keep_their_rows(mechanism: BlockMechanism) -> None:
    """Check that in a mixed batch every block for a value contains the value, and that noise follows Lambda."""
    law = mechanism.law
    blocks, weights = law.alphabet()
    rows = np.arange(2 * DRAWS)
    members = np.where(rows % 2 == 0, rows // 2 % law.size, -1)
    places = positions_in(keys(_drawn(mechanism, members, SeededRandom(_SEED))), keys(blocks))
    inside = law.contains(blocks)[places[::2], members[::2]]
    hold(bool(inside.all()), f"a block must contain its member, {np.count_nonzero(~inside)} of {len(inside)} do not.")
    _follow("blocks of noise between members", places[1::2], weights.astype(np.float64))


def reports_follow_the_channel(mechanism: BlockMechanism) -> None:
    """Check that the reports of each value have the probabilities of the enumerated channel."""
    outputs = outputs_of(mechanism)
    for code in range(mechanism.domain.size):
        reports = mechanism.obfuscate_codes(np.full(DRAWS, code), random=SeededRandom(_SEED + code))
        _follow(f"reports of value {code}", outputs.places(reports), outputs.matrix[code])


def words_tell_nothing(mechanism: BlockMechanism) -> None:
    """Check that the number of random words does not depend on the value, or on whether there is a value."""
    law, n = mechanism.law, 4096
    wanted = [np.full(n, member) for member in range(-1, law.size)]
    wanted.append(np.random.default_rng(1).integers(-1, law.size, n))
    calls = []
    for members in wanted:
        source = _Counted()
        _drawn(mechanism, members, source)
        calls.append(source.calls)
    other = sum(call != calls[0] for call in calls)
    hold(other == 0, f"draws must take the same words for any member, {other} of {len(calls) - 1} take others.")
    calls = [_calls_of_batch(mechanism, members) for members in wanted]
    other = sum(call != calls[0] for call in calls)
    hold(other == 0, f"batches must take the same words for any member, {other} of {len(calls) - 1} take others.")


DRAWN = (blocks_follow_the_law, members_and_noise_keep_their_rows, reports_follow_the_channel, words_tell_nothing)
"""The checks that draw many blocks; the others enumerate."""


def _calls_of_batch(mechanism: BlockMechanism, members: IntArray) -> list[int]:
    """Return the numbers of random words that a batch draws, call by call."""
    source, law = _Counted(), mechanism.law
    coins = coins_of(law, len(members), mechanism.threshold, source)
    fill(law, np.maximum(members, 0), coins._replace(truth=members >= 0), source, _empty(mechanism, len(members)))
    return source.calls


class _Counted:
    """Seeded random words, with a record of the number of words in each call."""

    secure = False

    def __init__(self) -> None:
        self.calls: list[int] = []
        self._random = SeededRandom(_SEED)

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` new random words."""
        self.calls.append(n)
        return self._random.words(n)


def _drawn(mechanism: BlockMechanism, members: IntArray, random: SeededRandom | _Counted) -> Blocks:
    out = _empty(mechanism, len(members))
    mechanism.law.draw(members, random, out)
    return out


def _empty(mechanism: BlockMechanism, n: int) -> dict[str, AnyArray]:
    """Return columns of invalid entries, so that an entry which a law does not write is detected."""
    return {
        column.name: np.full(column.shape(n), np.iinfo(column.dtype).max, dtype=column.dtype)
        for column in mechanism.law.columns
    }


def _follow(name: str, places: IntArray, chances: FloatArray) -> None:
    """Check that ``(n,)`` draws, given as indices of outcomes, have the given probabilities."""
    impossible = np.count_nonzero(places < 0) + np.count_nonzero(chances[np.maximum(places, 0)] == 0)
    hold(impossible == 0, f"{name} must be possible ones, {impossible} of {len(places)} are not.")
    counts = np.bincount(places, minlength=len(chances))
    counts, expected = _grouped(counts[chances > 0], len(places) * chances[chances > 0])
    if np.count_nonzero(chances) == 1:
        return
    freedom = len(counts) - 1
    critical = freedom + 2 * sqrt(freedom * _FALSE_ALARM) + 2 * _FALSE_ALARM
    shift = _shift_of_rival(expected)
    if freedom + shift - 2 * sqrt((freedom + 2 * shift) * _MISSED) < critical:
        raise ParameterError("contract.draws-alike", name=name, places_count=len(places))
    chi = float(((counts - expected) ** 2 / expected).sum())
    hold(chi <= critical, f"{name} must follow the law, got a chi-square of {chi:.1f}, above {critical:.1f}.")


def _grouped(counts: IntArray, expected: FloatArray) -> tuple[IntArray, FloatArray]:
    """Group rare outcomes, the most probable first, so that each group has a sufficient expected count."""
    order, starts, gathered = np.argsort(-expected, kind="stable"), [0], 0.0
    for place, chance in enumerate(expected[order]):
        if gathered >= _LEAST_EXPECTED:
            starts.append(place)
            gathered = 0.0
        gathered += chance
    if gathered < _LEAST_EXPECTED and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(counts[order], starts), np.add.reduceat(expected[order], starts)


def _shift_of_rival(expected: FloatArray) -> float:
    """Return the noncentrality of the chi-square test for a wrong law that the test must detect."""
    second = np.arange(len(expected)) % 2 == 1
    if not second.any():
        return 0.0
    rival = 0.9 * expected + 0.1 * expected.sum() * second / np.count_nonzero(second)
    return float(((rival - expected) ** 2 / expected).sum())


_DIGITS = 60
_PEOPLE = 57


def blocks_are_written_as_the_columns_say(mechanism: BlockMechanism) -> None:
    """Check that the alphabet lists every block once in the law's columns, with probabilities that add up to 1."""
    law = mechanism.law
    hold(law.size == max(mechanism.domain.sensitive_count, 1), f"the law must be over X_S, got size {law.size}.")
    no_fault(Enumeration(law).form_faults())


def inclusions_equal_enumeration(mechanism: BlockMechanism) -> None:
    """Check that pi and rho equal the exact probabilities in the alphabet.

    Rho is checked only if nothing public was drawn for all reports.
    """
    no_fault(Enumeration(mechanism.law).number_faults())


def channel_equals_enumeration(mechanism: BlockMechanism) -> None:
    """Check that the enumerated channel is a channel, and that the method ``channel`` returns it."""
    outputs = outputs_of(mechanism)
    hold(
        bool((outputs.numerators.sum(axis=1) == outputs.denominator).all()),
        "the probabilities of a value's reports must add up to 1: a block law is missing blocks, or has too many.",
    )
    if not mechanism.clear_blocks:
        off = abs(mechanism.channel().matrix - outputs.matrix)
        same = bool((off <= 1e-12 * outputs.matrix).all())
        hold(same, f"channel() must be what truth and noise make of the law, got one that is {off.max():.2g} off.")


def epsilon_is_kept(mechanism: BlockMechanism) -> None:
    """Check that no report is more than e^epsilon times likelier for a sensitive value than for any other.

    Epsilon is computed from the sampler's integers with 60 digits, and the guarantee must state it. Reports that no
    sensitive value can cause must come from one value only.
    """
    outputs, worst = outputs_of(mechanism), Fraction(1)
    least = outputs.numerators.min(axis=0)
    for code in mechanism.domain.sensitive_codes:
        own_chances = outputs.numerators[code]
        caused = own_chances > 0
        hold(bool((least[caused] > 0).all()), f"every value must be able to cause what value {code} causes.")
        ratio = max(Fraction(a, b) for a, b in zip(own_chances[caused], least[caused], strict=True))
        with localcontext() as context:
            context.prec = _DIGITS
            hold(
                _decimal(ratio) <= Decimal(mechanism.epsilon).exp(),
                f"a report must make value {code} at most e^{mechanism.epsilon!r} times likelier, got "
                f"{float(ratio)!r} times.",
            )
        worst = max(worst, ratio)
    _check_guarantee(mechanism, worst)
    invertible = ~(outputs.numerators[mechanism.domain.sensitive_codes] > 0).any(axis=0)
    causes = (outputs.numerators[:, invertible] > 0).sum(axis=0)
    hold(bool((causes == 1).all()), "what no sensitive value causes must come from one value only.")


def _check_guarantee(mechanism: BlockMechanism, worst: Fraction) -> None:
    guarantee = mechanism.guarantee
    with localcontext() as context:
        context.prec = _DIGITS
        exact = _decimal(worst).ln()
    understated = mechanism.domain.sensitive_count > 0 and Decimal(guarantee.realised) < exact
    hold(not understated, f"the guarantee must not state less than {exact:.17g}, got {guarantee.realised!r}.")
    stated = guarantee.promised is None or exact * (1 - Decimal("1e-12")) <= Decimal(guarantee.realised) <= Decimal(
        guarantee.promised
    )
    hold(stated, f"the guarantee must state {exact:.17g} and promise no less, got {guarantee.realised!r}.")


def _decimal(ratio: Fraction) -> Decimal:
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


def estimate_is_unbiased(mechanism: BlockMechanism) -> None:
    """Check that the linear estimate is unbiased for every true value."""
    outputs = outputs_of(mechanism)
    off = abs(outputs.matrix @ outputs.contributions - np.eye(mechanism.domain.size))
    room = 1e-11 * (1 + outputs.matrix @ abs(outputs.contributions))
    hold(bool((off <= room).all()), f"the linear estimate must be unbiased, got a bias of {off.max():.2g}.")


def contributions_keep_their_range(mechanism: BlockMechanism) -> None:
    """Check that the stated range of contributions is the exact range over all reports."""
    added, stated_ends = outputs_of(mechanism).contributions, mechanism.decoder.contribution_range
    ends = added.min(axis=0), added.max(axis=0)
    for name, stated, actual in zip(("smallest", "largest"), stated_ends, ends, strict=True):
        off = abs(stated - actual)
        exact = bool((off <= 1e-11 * (1 + abs(added).max())).all())
        hold(exact, f"contribution_range must state the {name} contribution of any report, it is {off.max():.2g} off.")


def errors_equal_enumeration(mechanism: BlockMechanism) -> None:
    """Check that the stated errors equal the enumerated ones, and do not exceed the stated worst case."""
    outputs, n = outputs_of(mechanism), _PEOPLE
    worst = mechanism.decoder.worst_case_mse(n)
    for p in _distributions(mechanism):
        second = p @ outputs.matrix @ outputs.contributions**2
        variances = (second - p * p) / n
        room = 1e-9 * second / n
        stated = mechanism.decoder.variances(n, p)
        off = float((abs(stated - variances) / (room + 1e-300)).max())
        hold(off <= 1, f"standard errors must be those of enumeration, got variances {off:.2g} times the rounding off.")
        mse = mechanism.decoder.mse(n, p)
        away = abs(mse - float(variances.sum()))
        hold(away <= float(room.sum()), f"the mean squared error must be {variances.sum()!r}, got {mse!r}.")
        hold(mse <= worst * (1 + 1e-9), f"no mean squared error must exceed the worst case {worst!r}, got {mse!r}.")


def _distributions(mechanism: BlockMechanism) -> list[FloatArray]:
    """Return distributions: uniform, skewed, on one value, on the sensitive values, and on the others."""
    domain = mechanism.domain
    random = np.random.default_rng(20260101)
    weights = [np.ones(domain.size), *random.dirichlet(np.ones(domain.size) / 2, 5), *np.eye(domain.size)]
    weights += [mask.astype(np.float64) for mask in (domain.sensitive, ~domain.sensitive) if mask.any()]
    return [weight / weight.sum() for weight in weights]
