"""The realised epsilon, recomputed.

Twice, by strangers to the claim: from the integers that the sampler compares its words with, as an exact fraction under
one logarithm; and, where the mechanism is small enough to be spelled out, from its matrix, output by output (see
`discreet.privacy.notions`).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Channel, Mechanism
from discreet.privacy.notions import at_most, logarithm, smallest_epsilon

_WORDS = 1 << 64
# What a matrix of doubles can say about a ratio.
_MATRIX_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Verification:
    """What the numbers say.

    Attributes:
        notion: ``"LDP"``, ``"ULDP"`` or ``"none"``.
        promised: epsilon asked for, in nats; None if nothing was promised.
        ratio: e^eps exactly, as a fraction of the sampler's integers; None for an explicit channel or if unbounded.
        integers: those integers, by name.
        realised: its logarithm, in nats.
        from_matrix: epsilon of the spelled-out matrix, in nats; None if that is too large.
        holds: whether every computed epsilon is within the promise (the exact one exactly).
    """

    notion: str
    promised: float | None
    ratio: Fraction | None
    integers: dict[str, str]
    realised: float
    from_matrix: float | None
    holds: bool


def verify(mechanism: Mechanism) -> Verification:
    """Recompute a mechanism's epsilon from its numbers.

    Args:
        mechanism: any mechanism.

    Returns:
        what was found; nothing is taken from `mechanism.guarantee` but the notion and the promise.
    """
    notion = mechanism.guarantee.notion
    if notion == "none":
        return Verification(notion, None, None, {}, float("inf"), None, holds=True)
    if isinstance(mechanism, Channel):
        found = smallest_epsilon(mechanism, "ULDP").epsilon
        return Verification(notion, None, None, {"weights": "over 2^64"}, found, found, holds=isfinite(found))
    return _of_blocks(mechanism, notion)


def _of_blocks(mechanism: BlockMechanism, notion: str) -> Verification:
    promised, truth, noise = mechanism.epsilon, mechanism.threshold, mechanism.law.inclusion
    # A block that contains x: sent by x with s + (1 - s) pi, by anybody else with (1 - s) pi, times one same factor.
    told, not_told = Fraction(truth, _WORDS), Fraction(_WORDS - truth, _WORDS)
    ratio = (told + not_told * noise) / (not_told * noise)
    spelled = _spelled_epsilon(mechanism)
    kept = at_most(ratio, promised) and (spelled is None or spelled <= promised + _MATRIX_TOLERANCE)
    integers = {"truth": f"{truth} / 2^64", "block contains a given value": f"{noise.numerator} / {noise.denominator}"}
    return Verification(notion, promised, ratio, integers, logarithm(ratio), spelled, holds=kept)


def _spelled_epsilon(mechanism: BlockMechanism) -> float | None:
    try:
        channel = mechanism.channel()
    except ParameterError:
        return None
    return matrix_epsilon(channel.matrix, mechanism.domain.sensitive)


def matrix_epsilon(matrix: FloatArray, sensitive: BoolArray) -> float:
    """Return the smallest epsilon for which a matrix is (X_S, Y_P, epsilon)-ULDP (LDP if all are sensitive).

    Args:
        matrix: ``(|X|, |Y|)`` probabilities.
        sensitive: ``(|X|,)`` booleans.

    Returns:
        epsilon in nats; infinite if there is none.

    Raises:
        ParameterError: if the rows are not probabilities.
    """
    return smallest_epsilon(matrix, "ULDP", sensitive=sensitive).epsilon
