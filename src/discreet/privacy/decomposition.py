"""Decomposition of one-sided LDP into ULDP and a map of the reports [ULDP, arXiv version, Prop. 13].

Let Q_O be (X_S, eps)-OSLDP, Y_P the outputs that sensitive values can cause, and Q_max(y) the largest Q_O(y|x) over
the sensitive x. Q_U limits every output in Y_P to Q_max(y), and reports x in clear with the remaining probability a(x),

    Q_U(y|x) = min(Q_O(y|x), Q_max(y)) for y in Y_P,   Q_U(x|x) = a(x),

which is (X_S, Y_P, eps)-ULDP. Q_R then maps a value in clear to the outputs beyond the minimum, with probabilities
(Q_O(y|x) - min)/a(x) for y in Y_P, and Q_O(y|x)/a(x) elsewhere. So Q_O = Q_R after Q_U: OSLDP has no advantage over
ULDP.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, IntArray, frozen
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError
from discreet.mechanisms import Channel
from discreet.privacy.notions import Protection, required, smallest_epsilon

_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """The decomposition of an OSLDP channel into a ULDP channel and a map of its outputs.

    Attributes:
        optimized: Q_U, a ULDP mechanism on the same domain. Its outputs are those of ``shared``, in order, then one per
            value that is not sensitive, in the order of `Domain.clear_codes`.
        recovery: Q_R, from the outputs of ``optimized`` to those of the mechanism.
        shared: the outputs in Y_P.
        protection: what ``optimized`` provides, recomputed: ULDP with the mechanism's own epsilon.
        error: the largest difference between the mechanism's matrix and the product of both stages.

    Example:
        >>> import discreet as dc
        >>> channel = dc.Channel([[0.5, 0.5], [0.2, 0.8]], dc.Domain(["clinic", "park"], sensitive=["clinic"]))
        >>> decomposition = decompose(channel)
        >>> decomposition.recovery.matrix.round(3).tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """

    optimized: Channel
    recovery: Channel
    shared: IntArray
    protection: Protection
    error: float


def decompose(channel: Channel) -> Decomposition:
    """Return the decomposition of an OSLDP channel, checked.

    Args:
        channel: (X_S, epsilon)-OSLDP for some epsilon.

    Raises:
        ParameterError: if it is not, or if nothing is sensitive.

    Example:
        >>> import discreet as dc
        >>> channel = dc.Channel([[0.5, 0.5], [0.2, 0.8]], dc.Domain(["clinic", "park"], sensitive=["clinic"]))
        >>> decomposition = decompose(channel)
        >>> decomposition.optimized.matrix.round(3).tolist(), round(decomposition.protection.epsilon, 4)
        ([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3]], 0.9163)
    """
    if channel.domain.sensitive_count == 0:
        raise ParameterError("the channel's domain must have sensitive values, got none.")
    one_sided = required(smallest_epsilon(channel, "OSLDP"), "the channel")
    shared = np.flatnonzero(one_sided.protected)
    kept, beyond = _kept_and_beyond(channel, shared)
    optimized = Channel(_optimized(channel, kept, beyond) / WORD_RANGE, channel.domain)
    recovery = Channel(_recovery(channel, shared, beyond))
    protection = required(smallest_epsilon(optimized, "ULDP"), "the first stage")
    error = float(abs(optimized.matrix @ recovery.matrix - channel.matrix).max())
    # Both hold by construction; what fails here is our own doing, or a matrix whose rows do not add up.
    if error > _TOLERANCE or protection.epsilon > one_sided.epsilon + _TOLERANCE:
        raise ParameterError("the channel could not be decomposed to 1e-12; its rows must sum to 1 more precisely.")
    return Decomposition(optimized, recovery, frozen(shared), protection, error)


def _kept_and_beyond(channel: Channel, shared: IntArray) -> tuple[AnyArray, AnyArray]:
    """Return min(Q_O, Q_max), ``(|X|, |Y_P|)``, and Q_O minus it, ``(|X_N|, |Y|)``, as integers over 2^64."""
    weights, domain = channel.weights, channel.domain
    most = weights[domain.sensitive_codes][:, shared].max(axis=0)
    kept = np.minimum(weights[:, shared], most)
    beyond = weights[domain.clear_codes]
    beyond[:, shared] = beyond[:, shared] - kept[domain.clear_codes]
    return kept, beyond


def _optimized(channel: Channel, kept: AnyArray, beyond: AnyArray) -> AnyArray:
    """Return Q_U as integers over 2^64."""
    domain = channel.domain
    told = np.zeros((domain.size, domain.clear_count), dtype=object)
    # a(x) as a sum of what is left over: nothing is lost by cancellation, and 0 is 0.
    told[domain.clear_codes, np.arange(domain.clear_count)] = beyond.sum(axis=1)
    return np.hstack([kept, told])


def _recovery(channel: Channel, shared: IntArray, beyond: AnyArray) -> AnyArray:
    """Return Q_R as a matrix."""
    itself = np.zeros((len(shared), channel.outputs))
    itself[np.arange(len(shared)), shared] = 1.0
    left_over = beyond.sum(axis=1)
    # A value that never tells itself needs a row all the same; its own will do.
    never = left_over == 0
    beyond[never] = channel.weights[channel.domain.clear_codes[never]]
    left_over[never] = WORD_RANGE
    recovered = (beyond / left_over[:, None]).astype(np.float64).reshape(-1, channel.outputs)
    return np.vstack([itself, recovered])
