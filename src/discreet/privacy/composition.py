"""Composition: the epsilons of several reports of one value add up, also if each depends on the reports before it.

[ULDP, Prop. 1]: if Q0 is (X_S, Y_0P, eps0)-ULDP and Q1(y0) is (X_S, Y_1P, eps1)-ULDP for each y0, both together are
(X_S, Y_0P x Y_1P, eps0 + eps1)-ULDP: a pair of outputs is protected only if both of its parts are. Everything is
multiplied out in the samplers' own integers, so that the promise, a product of fractions, can be recomputed exactly.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite, nextafter

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.checks import checked_epsilon, checked_whole
from discreet.errors import MismatchError, ParameterError
from discreet.mechanisms import Channel, Mechanism
from discreet.mechanisms.given import as_blocks, as_channel
from discreet.privacy.derived import Derived, derive, refuse_large
from discreet.privacy.notions import Protection, exact_ratio, required, smallest_epsilon
from discreet.privacy.verify import verify


def sequential(first: Mechanism, second: Mechanism | Sequence[Mechanism]) -> Derived:
    """Return the composition of two reports of one value.

    Args:
        first: Q0; a mechanism is spelled out as its channel, here and below.
        second: Q1, the same whatever the first report says; or, adaptively, one channel per output of ``first``.

    Returns:
        the mechanism whose output ``y0 * |Y1| + y1`` is the pair (y0, y1), and its promise, eps0 + eps1.

    Raises:
        ParameterError: if a part is not ULDP for any epsilon, or there is not one second channel per first output.
        MismatchError: if they are not over the same domain.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "park"], sensitive=["clinic"])
        >>> pair = sequential(dc.RandomizedResponse(domain, 1.0), dc.RandomizedResponse(domain, 0.5))
        >>> round(pair.epsilon, 9), pair.protected.tolist()
        (1.5, [True, False, False, False])
    """
    first = _channel(first, "first")
    found = required(smallest_epsilon(first, "ULDP"), "the first channel")
    seconds = _one_per_output(first, second)
    known: dict[int, Protection] = {}
    for y, channel in enumerate(seconds):
        if id(channel) not in known:
            known[id(channel)] = required(smallest_epsilon(channel, "ULDP"), f"the second channel after output {y}")
    after = [known[id(channel)] for channel in seconds]
    ratio = exact_ratio(found) * max(exact_ratio(one) for one in known.values())
    protected = found.protected[:, None] & np.array([one.protected for one in after])
    return _product(first, seconds, protected.reshape(-1), ratio)


def integrated(own: Mechanism, other: Mechanism) -> Derived:
    """Return the composition of a ULDP report to one collector and an LDP report of the same value to another.

    A protected report of the first and any report of the second are at most a factor e^(eps_A + eps_B) likelier from
    one value than from another [ULDP, on compatibility with LDP].

    Args:
        own: (X_S, Y_P, eps_A)-ULDP.
        other: eps_B-LDP over the same values, for every one of them, whatever its domain calls sensitive.

    Raises:
        ParameterError: if ``own`` is not ULDP, or ``other`` not LDP, for any epsilon.
        MismatchError: if they are not over the same values.

    Example:
        >>> import discreet as dc
        >>> own = dc.RandomizedResponse(dc.Domain(["clinic", "park"], sensitive=["clinic"]), 1.0)
        >>> other = dc.RandomizedResponse(dc.Domain(["clinic", "park"]), 0.5)
        >>> round(integrated(own, other).epsilon, 9)
        1.5
    """
    first, second = _channel(own, "own"), _channel(other, "other")
    required(smallest_epsilon(second, "LDP"), "the other collector's channel")
    if first.domain.space.describe() != second.domain.space.describe():
        raise MismatchError("both channels must be over the same values in the same order.")
    # What protects every value protects those that the first collector calls sensitive.
    return sequential(first, Channel(second.matrix, first.domain))


def split_epsilon(epsilon: float, reports: int) -> float:
    """Return the epsilon of each of t reports with ``epsilon`` in total: eps/t, never more.

    Raises:
        ParameterError: if ``reports`` is not an integer of at least 1, or epsilon no promise.

    Example:
        >>> split_epsilon(1.0, reports=4)
        0.25
    """
    epsilon, reports = checked_epsilon(epsilon), checked_whole("reports", reports)
    each = epsilon / reports
    return nextafter(each, 0) if Fraction(each) * reports > Fraction(epsilon) else each


def repeated_epsilon(mechanism: Mechanism, reports: int) -> float:
    """Return the epsilon of t independent reports of one value: t times the realised epsilon of one.

    Args:
        mechanism: any mechanism that protects; it need not be small.
        reports: t.

    Raises:
        ParameterError: if the mechanism gives no guarantee, or ``reports`` is not an integer of at least 1.

    Example:
        >>> import discreet as dc
        >>> round(repeated_epsilon(dc.RandomizedResponse(dc.Domain(range(10_000)), 0.5), reports=4), 9)
        2.0
    """
    reports = checked_whole("reports", reports)
    found = verify(mechanism)
    if not isfinite(found.realised):
        raise ParameterError("the mechanism must protect its sensitive values with some epsilon, got none.")
    return reports * found.realised


def _channel(given: object, name: str) -> Channel:
    mechanism = as_channel(given) or as_blocks(given)
    if mechanism is None:
        raise ParameterError(f"{name} must be a channel or a mechanism, got {type(given).__name__}.")
    return mechanism.channel()


def _one_per_output(first: Channel, second: Mechanism | Sequence[Mechanism]) -> list[Channel]:
    given = list(second) if isinstance(second, list | tuple) else [second] * first.outputs
    # Spelled out once each: the same one may stand for many outputs.
    spelled = {id(one): _channel(one, "second") for one in given}
    seconds = [spelled[id(one)] for one in given]
    if len(seconds) != first.outputs or len({channel.outputs for channel in seconds}) != 1:
        raise ParameterError(
            f"second must be a channel, or {first.outputs} channels (one per output of the first) with equally many "
            f"outputs, got {len(seconds)} channels."
        )
    if any(channel.domain.fingerprint != first.domain.fingerprint for channel in seconds):
        raise MismatchError("all channels must be over one domain with the same sensitive values.")
    return seconds


def _product(first: Channel, seconds: list[Channel], protected: BoolArray, ratio: Fraction) -> Derived:
    refuse_large(first.domain.size * first.outputs * seconds[0].outputs)
    pairs = [first.weights[:, y, None] * channel.weights for y, channel in enumerate(seconds)]
    return derive("ULDP", ratio, np.hstack(pairs), protected, first.domain)
