"""Verification: the realised epsilon, recomputed by code that is independent of the mechanism's claim.

There are two computations. One takes the logarithm of an exact fraction, from the integers that the sampler compares
with random words. The other needs a small mechanism: it reads the matrix output by output (`discreet.privacy.notions`).
The probability that a noise block contains a value is also counted from the blocks (`discreet.mechanisms.registry`).
With too many blocks, it is counted for the same law over few values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Literal

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.domain import Domain
from discreet.mechanisms import BlockMechanism, Channel, Mechanism
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.law import is_small
from discreet.mechanisms.memo import Memo
from discreet.mechanisms.registry import at_small_sizes, examined, is_countable, law_from_parts
from discreet.privacy.notions import at_most, logarithm, smallest_epsilon

_WORDS = 1 << 64
# The relative error of a ratio from a matrix of doubles.
_MATRIX_TOLERANCE = 1e-9
_COUNTED = {
    "all": "counted from all blocks",
    "few values": "as the law states; counted only for few values",
    "none": "as the law states; not counted",
}


@dataclass(frozen=True, slots=True)
class Verification:
    """The verification of a mechanism: its realised epsilon, recomputed from the sampler's integers.

    Attributes:
        notion: ``"LDP"``, ``"ULDP"`` or ``"none"``.
        promised: the promised epsilon, in nats; None without a promise.
        ratio: e^eps exactly, as a fraction of the sampler's integers; None for an explicit channel or if unbounded.
        integers: the sampler's integers, by name.
        realised: the logarithm of the ratio, in nats.
        from_matrix: epsilon computed from the channel's matrix, in nats; None if the matrix is too large.
        holds: whether every computed epsilon is within the promise; for the exact one without any tolerance.
        counted: the blocks from which pi and rho were counted: all blocks, the blocks of the same law over few values,
            or none, if only the law itself states pi and rho.
        faults: a sentence for each number of the law that differs from its blocks; the promise does not hold then.

    Example:
        >>> import discreet as dc
        >>> verify(dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0)).integers
        {'truth': '8524556932045589908 / 2^64', 'block contains a given value': '1 / 2'}
    """

    notion: str
    promised: float | None
    ratio: Fraction | None
    integers: dict[str, str]
    realised: float
    from_matrix: float | None
    holds: bool
    counted: Literal["all", "few values", "none"] = "all"
    faults: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """A sentence on whether the promise holds, and whether this relies on claims of the law."""
        if not self.holds:
            return "THE PROMISE IS BROKEN: do not use this mechanism."
        return (
            "The promise holds if pi and rho are as the law states: the blocks were not counted."
            if self.counted == "none"
            else "The promise holds."
        )

    @property
    def figures(self) -> list[list[str]]:
        """The sampler's integers and the epsilons that follow, as pairs of a name and a text."""
        if self.ratio is None:
            return []
        return [
            *([name, number] for name, number in self.integers.items()),
            ["e^epsilon realised, exactly", f"{self.ratio.numerator} / {self.ratio.denominator}"],
            ["epsilon realised", f"{self.realised:.17g}"],
            ["epsilon from the matrix", epsilon_text(self.from_matrix)],
            ["epsilon promised", f"{self.promised:.17g}"],
            ["pi and rho of the law", _COUNTED[self.counted]],
        ]


def epsilon_text(from_matrix: float | None) -> str:
    """Return an epsilon as text, or a note that the matrix is too large.

    Example:
        >>> epsilon_text(1.0), epsilon_text(None)
        ('1', 'too large to be computed')
    """
    return "too large to be computed" if from_matrix is None else f"{from_matrix:.15g}"


def verify(mechanism: Mechanism) -> Verification:
    """Recompute the realised epsilon of a mechanism from its sampler's integers.

    Args:
        mechanism: the mechanism to verify.

    Returns:
        The verification. From `mechanism.guarantee` it reads only the notion and the promise.

    Example:
        >>> import discreet as dc
        >>> result = verify(dc.SubsetSelection(dc.Domain(range(20), sensitive=range(5)), 1.0))
        >>> result.holds, round(result.realised, 9), round(result.from_matrix, 9)
        (True, 1.0, 1.0)
    """
    notion = Mechanism.checked(mechanism).guarantee.notion
    if notion == "none":
        return Verification(notion, None, None, {}, float("inf"), None, holds=True)
    if mechanism.is_explicit:
        epsilon = smallest_epsilon(mechanism.channel(), "ULDP").epsilon
        return Verification(notion, None, None, {"weights": "over 2^64"}, epsilon, epsilon, holds=isfinite(epsilon))
    return _of_blocks(BlockMechanism.checked(mechanism), notion)


def _of_blocks(mechanism: BlockMechanism, notion: str) -> Verification:
    promised, truth, law = mechanism.epsilon, mechanism.threshold, mechanism.law
    countable = is_countable(law)

    def of_size(size: int) -> BlockLaw:
        parts = {name: part for name, part in law.describe().items() if name != "law"}
        return law_from_parts(type(law), parts | {"size": size})

    makers = [lambda size: replace(mechanism, domain=Domain(range(size))).law, of_size]
    others = at_small_sizes(*([law.smaller] if hasattr(law, "smaller") else makers))
    examinations = [examined(candidate) for candidate in ([law] if countable else others)]
    faults = [fault for _, law_faults in examinations for fault in law_faults]
    # There is no matrix only because of its size, or because reports have two parts.
    has_matrix = not mechanism.clear_blocks and is_small(mechanism.domain, law)
    channel = _channel_of(mechanism, faults) if has_matrix else None
    # The rarer a value is in noise, the more a block with it reveals. A value in no block at all is a fault.
    inclusions = examinations[0][0] if countable else None
    noise = min(filter(None, inclusions or ()), default=law.inclusion)
    truthful, noisy = Fraction(truth, _WORDS), Fraction(_WORDS - truth, _WORDS)
    # A block that contains x has probability s + (1 - s) pi for x, and (1 - s) pi for others, times one factor.
    ratio = (truthful + noisy * noise) / (noisy * noise)
    spelled = None if channel is None else matrix_epsilon(channel.matrix, mechanism.domain.sensitive)
    holds = at_most(ratio, promised) and (spelled is None or spelled <= promised + _MATRIX_TOLERANCE)
    integers = {
        "truth": f"{truth} / 2^64",
        "block contains a given value": f"{noise.numerator} / {noise.denominator}",
    }
    counted: Literal["all", "few values", "none"] = "all" if countable else "few values" if examinations else "none"
    return Verification(
        notion, promised, ratio, integers, logarithm(ratio), spelled, holds and not faults, counted, tuple(faults)
    )


@dataclass(frozen=True, slots=True)
class MemoVerification:
    """The verification of permanent reports: the epsilon of t rounds, recomputed from both thresholds.

    Attributes:
        one: the verification of the mechanism of one round.
        promised: the promised epsilon for any number of rounds, in nats.
        integers: the integers of both coins, by name.
        ratio: e^epsilon exactly, for any number of rounds.
        ratios: e^eps_t exactly, by t; with too many blocks to count, ``ratio`` for more than one round.
        holds: whether both promises hold, and no number of rounds reveals more than the memo itself.

    Example:
        >>> import discreet as dc
        >>> checked = verify_memo(dc.Memo(dc.RandomizedResponse(dc.Domain(range(3)), epsilon=1.0), infinity=2.0))
        >>> checked.holds, [round(float(ratio), 3) for ratio in checked.ratios.values()]
        (True, [2.718, 5.264, 6.769])
    """

    one: Verification
    promised: float
    integers: dict[str, str]
    ratio: Fraction
    ratios: dict[int, Fraction]
    holds: bool


def verify_memo(memo: Memo, rounds: Sequence[int] = (1, 2, 3)) -> MemoVerification:
    """Recompute the epsilon of t rounds of permanent reports, for each given t, from both thresholds.

    Where blocks can be counted, the mixture over all memos is summed for every block; the rarest block is not assumed
    to be the worst one.

    Args:
        memo: the memo.
        rounds: the numbers of rounds t.

    Example:
        >>> import discreet as dc
        >>> result = verify_memo(dc.Memo(dc.RandomizedResponse(dc.Domain(range(10)), 1.0), 2.0))
        >>> result.holds, [round(logarithm(ratio), 3) for ratio in result.ratios.values()]
        (True, [1.0, 1.753, 1.96])
    """
    mechanism, law = memo.mechanism, memo.mechanism.law
    alone, truth, again = verify(mechanism), Fraction(memo.truth, _WORDS), Fraction(memo.coin_threshold, _WORDS)
    blocks, pi = _counted_memos(mechanism, truth) if is_countable(law) else (set(), law.inclusion)
    bound, first = (1 + s / ((1 - s) * pi) for s in (truth, truth * again))
    unknown = {t: first if t == 1 else bound for t in rounds}
    ratios = {t: _worst_ratio(blocks, again, t) for t in rounds} if blocks else unknown
    promised = mechanism.epsilon if memo.infinity is None else memo.infinity
    holds = alone.holds and at_most(bound, promised) and at_most(first, mechanism.epsilon)
    integers = {"truth of the memo": f"{memo.truth} / 2^64", "second coin": f"{memo.coin_threshold} / 2^64"}
    holds = holds and max(first, *ratios.values()) <= bound
    return MemoVerification(alone, promised, integers, bound, ratios, holds)


def _counted_memos(
    mechanism: BlockMechanism, truth: Fraction
) -> tuple[set[tuple[Fraction, Fraction, Fraction]], Fraction]:
    """Return three probabilities of each block (as noise, and the largest and smallest as a memo), and the smallest pi.

    The three are the block's probability as noise, and its largest and smallest probability as a permanent report.
    """
    listed, chances = mechanism.law.alphabet()
    contained, blocks = mechanism.law.contains(listed), set()
    pi = np.array([chances[column].sum() for column in contained.T], dtype=object)
    # For a value outside the block, or in no block at all, a block can only be noise.
    outside = [Fraction(0)] if mechanism.domain.clear_count else []
    for chance, inside in zip(chances, contained, strict=True):
        truths = [*(inside * truth * chance / pi), *outside]
        blocks.add((chance, (1 - truth) * chance + max(truths), (1 - truth) * chance + min(truths)))
    return blocks, min(pi)


def _worst_ratio(blocks: set[tuple[Fraction, Fraction, Fraction]], again: Fraction, rounds: int) -> Fraction:
    """Return the largest likelihood ratio of two values for the event that all rounds show the same block."""
    most = Fraction(1)
    for chance, likely, unlikely in blocks:
        hit, miss = (again + (1 - again) * chance) ** rounds, ((1 - again) * chance) ** rounds
        most = max(most, (likely * hit + (1 - likely) * miss) / (unlikely * hit + (1 - unlikely) * miss))
    return most


def _channel_of(mechanism: BlockMechanism, faults: list[str]) -> Channel | None:
    """Return the channel of a mechanism; None if its matrix is wrong, with a sentence added to `faults`."""
    try:
        return mechanism.channel()
    except Exception as failure:  # another package's code, which may raise anything
        faults.append(
            f"the mechanism must be spelled out as a matrix, but {type(failure).__name__} was raised: {failure}"
        )
        return None


def matrix_epsilon(matrix: FloatArray, sensitive: BoolArray) -> float:
    """Return the smallest epsilon for which a matrix satisfies (X_S, Y_P, epsilon)-ULDP, or LDP if all are sensitive.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities.
        sensitive: ``(|X|,)`` booleans.

    Returns:
        epsilon in nats; infinite if no epsilon suffices.

    Raises:
        ParameterError: if the rows are not probabilities.

    Example:
        >>> matrix = np.array([[0.75, 0.25], [0.25, 0.75]])
        >>> round(matrix_epsilon(matrix, np.array([True, True])), 4)
        1.0986
    """
    return smallest_epsilon(matrix, "ULDP", sensitive=sensitive).epsilon
