"""Composition: the guarantee of several reports of one person, and of reports after further processing.

The epsilons of several reports of one value add up, also if each report depends on the earlier ones.

[ULDP, Prop. 1]: if Q0 is (X_S, Y_0P, eps0)-ULDP and Q1(y0) is (X_S, Y_1P, eps1)-ULDP for each y0, both together are
(X_S, Y_0P x Y_1P, eps0 + eps1)-ULDP: a pair of outputs is protected only if both of its parts are. Everything is
multiplied out in the samplers' own integers. So the promise, a product of fractions, can be recomputed exactly.

Post-processing of reports.

LDP and OSLDP survive any further map. Under ULDP each output is either protected or invertible, so the map must
*preserve data types* [ULDP, on post-processing]: no invertible output is mapped to a protected one, and each invertible
output of the map has exactly one origin, which was invertible too.

Minimax rates: the smallest error of any mechanism, up to unknown constants.

[Duchi, Jordan, Wainwright 2013, "Local Privacy and Minimax Bounds: Sharp Rates for Probability Estimation"]: for
epsilon in [0, 1], for any mechanism and estimator, the expected loss for the worst distribution over d values
is at least a constant times

    min(1, d / sqrt(n eps^2)) in l1,   min(1, 1 / sqrt(n eps^2), d / (n eps^2)) in squared l2.

[ULDP, on lower bounds]: under ULDP the same holds with d = |X_S|, because all people may have sensitive values. The
simple forms d / sqrt(n eps^2) and d / (n eps^2) need n eps^2 >= d^2.

Decomposition of one-sided LDP into ULDP and a map of the reports [ULDP, arXiv version, Prop. 13].

Let Q_O be (X_S, eps)-OSLDP, Y_P the outputs that sensitive values can cause, and Q_max(y) the largest Q_O(y|x) over
the sensitive x. Q_U limits every output in Y_P to Q_max(y), and reports x in clear with the remaining probability a(x),

    Q_U(y|x) = min(Q_O(y|x), Q_max(y)) for y in Y_P,   Q_U(x|x) = a(x),

which is (X_S, Y_P, eps)-ULDP. Q_R then maps a value in clear to the outputs beyond the minimum, with probabilities
(Q_O(y|x) - min)/a(x) for y in Y_P, and Q_O(y|x)/a(x) elsewhere. So Q_O = Q_R after Q_U: OSLDP has no advantage over
ULDP.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nextafter, sqrt
from typing import Any, Literal, cast

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray, read_only
from discreet.core.checks import checked_epsilon, checked_n, checked_whole, real_number
from discreet.core.domain import Domain
from discreet.core.random import WORD_RANGE
from discreet.errors import MismatchError, ParameterError
from discreet.mechanisms import Channel, Mechanism
from discreet.privacy.notions import Notion, Protection, exact_ratio, logarithm, required, smallest_epsilon
from discreet.privacy.verify import verify

_MOST_ENTRIES = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """A mechanism composed of other mechanisms, with the guarantee that follows from their guarantees.

    Attributes:
        notion: the privacy notion, for the sensitive values of the channel's domain.
        ratio: e^epsilon of the promise, exactly.
        epsilon: the epsilon of the promise, in nats.
        protected: ``(|Y|,)`` booleans: true for a protected output.
        weights: ``(|X|, |Y|)`` Python integers, the products of the parts' probabilities. Every row has the same sum.
            The promise holds for these weights.
        channel: the same mechanism as one channel, whose sampler rounds the weights to integers over 2^64.
    """

    notion: Notion
    ratio: Fraction
    epsilon: float
    protected: BoolArray
    weights: AnyArray
    channel: Channel


def derive(notion: Notion, ratio: Fraction, weights: AnyArray, protected: BoolArray, domain: Domain) -> Derived:
    """Return the composed mechanism that has the given weights; see `Derived`."""
    channel = Channel((weights / weights[0].sum()).astype(np.float64), domain)
    return Derived(notion, ratio, logarithm(ratio), read_only(protected), read_only(weights), channel)


def refuse_large(entries: int) -> None:
    """Raise an error if the matrix of a product of channels has too many entries.

    Raises:
        ParameterError: if there are more than 2e6 entries.
    """
    if entries > _MOST_ENTRIES:
        raise ParameterError("channel.too-large", most_entries=_MOST_ENTRIES, entries=entries)


def sequential(first: Mechanism, second: Mechanism | Sequence[Mechanism]) -> Derived:
    """Return the composed mechanism of two reports on one value, with its guarantee.

    Args:
        first: Q0; a mechanism is converted to its channel, here and below.
        second: Q1, the same for every first report; or, adaptively, one channel per output of ``first``.

    Returns:
        the mechanism whose output ``y0 * |Y1| + y1`` is the pair (y0, y1), and its promise, eps0 + eps1.

    Raises:
        ParameterError: if a part is not ULDP for any epsilon, or there is not one second channel per first output.
        MismatchError: if they have different domains.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "park"], sensitive=["clinic"])
        >>> pair = sequential(dc.RandomizedResponse(domain, 1.0), dc.RandomizedResponse(domain, 0.5))
        >>> round(pair.epsilon, 9), pair.protected.tolist()
        (1.5, [True, False, False, False])
    """
    first = _channel(first, "first")
    protection = required(smallest_epsilon(first, "ULDP"), "the first channel")
    seconds = _one_per_output(first, second)
    known: dict[int, Protection] = {}
    for y, channel in enumerate(seconds):
        if id(channel) not in known:
            known[id(channel)] = required(smallest_epsilon(channel, "ULDP"), f"the second channel after output {y}")
    after = [known[id(channel)] for channel in seconds]
    ratio = exact_ratio(protection) * max(exact_ratio(later) for later in known.values())
    protected = protection.protected[:, None] & np.array([later.protected for later in after])
    refuse_large(first.domain.size * first.outputs * seconds[0].outputs)
    pairs = [first.weights[:, y, None] * channel.weights for y, channel in enumerate(seconds)]
    return derive("ULDP", ratio, np.hstack(pairs), protected.reshape(-1), first.domain)


def integrated(own: Mechanism, other: Mechanism) -> Derived:
    """Return the composition of a ULDP report to one collector and an LDP report of the same value to another.

    Together, a protected report of the first and any report of the second change the odds between two values by at most
    e^(eps_A + eps_B) [ULDP, on compatibility with LDP].

    Args:
        own: (X_S, Y_P, eps_A)-ULDP.
        other: eps_B-LDP over the same values, whichever its domain calls sensitive.

    Raises:
        ParameterError: if ``own`` is not ULDP, or ``other`` not LDP, for any epsilon.
        MismatchError: if they have different values.

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
        raise MismatchError("channels.different-values")
    # Protection of all values includes the values that the first collector calls sensitive.
    return sequential(first, Channel(second.matrix, first.domain))


def split_epsilon(epsilon: float, reports: int) -> float:
    """Return epsilon/t rounded down: the epsilon of each of t reports that together have at most `epsilon`.

    Raises:
        ParameterError: if ``reports`` is not an integer of at least 1, or epsilon is not a positive number.

    Example:
        >>> split_epsilon(1.0, reports=4)
        0.25
    """
    epsilon, reports = checked_epsilon(epsilon), checked_whole("reports", reports)
    each = epsilon / reports
    return nextafter(each, 0) if Fraction(each) * reports > Fraction(epsilon) else each


def repeated_epsilon(mechanism: Mechanism, reports: int) -> float:
    """Return the epsilon of t independent reports of one value: t times the realised epsilon of one report.

    Args:
        mechanism: any mechanism with a guarantee; it need not be small.
        reports: t, the number of reports.

    Raises:
        ParameterError: if the mechanism gives no guarantee, or ``reports`` is not an integer of at least 1.

    Example:
        >>> import discreet as dc
        >>> round(repeated_epsilon(dc.RandomizedResponse(dc.Domain(range(10_000)), 0.5), reports=4), 9)
        2.0
    """
    reports = checked_whole("reports", reports)
    verification = verify(mechanism)
    if not isfinite(verification.realised):
        raise ParameterError("mechanism.not-protected")
    return reports * verification.realised


def _channel(source: object, name: str) -> Channel:
    if not callable(getattr(source, "channel", None)) or isinstance(source, type):
        raise ParameterError("argument.not-channel", argument=name, kind=type(source).__name__)
    channel: Channel = cast("Mechanism", source).channel()
    return channel


def _one_per_output(first: Channel, second: Mechanism | Sequence[Mechanism]) -> list[Channel]:
    stages = list(second) if isinstance(second, list | tuple) else [second] * first.outputs
    # Each is converted once, because the same channel may follow many outputs.
    spelled = {id(stage): _channel(stage, "second") for stage in stages}
    seconds = [spelled[id(stage)] for stage in stages]
    if len(seconds) != first.outputs or len({channel.outputs for channel in seconds}) != 1:
        raise ParameterError(
            "channels.wrong-number", argument="second", outputs=first.outputs, seconds_count=len(seconds)
        )
    if any(channel.domain.fingerprint != first.domain.fingerprint for channel in seconds):
        raise MismatchError("channels.different-domains")
    return seconds


@dataclass(frozen=True, slots=True, eq=False)
class DataTypes:
    """The outcome of a check that a map of outputs preserves data types, with the reason if it does not.

    Attributes:
        preserved: whether the map preserves data types.
        reason: a clause that says why not; None if the map preserves data types.
        protected: ``(|Z|,)`` Z_P, the possible images of protected outputs.
        invertible: ``(|Z|,)`` Z_I, the possible images of invertible outputs only.

    Example:
        >>> types = preserves_data_types([[0.5, 0.5], [0.0, 1.0]], np.array([True, False]))
        >>> types.preserved, types.reason
        (False, 'result 1 can come from a protected and from an invertible output')
    """

    preserved: bool
    reason: str | None
    protected: BoolArray
    invertible: BoolArray


def preserves_data_types(processing: Any, protected: Any, *, invertible: Any = None) -> DataTypes:
    """Check whether a randomized map of outputs preserves data types [ULDP, on post-processing].

    Args:
        processing: the map: a `Channel` or an ``(|Y|, |Z|)`` stochastic matrix.
        protected: ``(|Y|,)`` booleans, Y_P.
        invertible: ``(|Y|,)`` booleans, Y_I; None for all other outputs. An output in neither set must never occur.

    Raises:
        ParameterError: if the sizes of the arguments differ.

    Example:
        >>> preserves_data_types([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], np.array([True, False])).preserved
        True
    """
    stage = Channel.of(processing)
    before, telling = _checked_types(protected, invertible, stage.domain.size)
    possible = stage.matrix > 0
    after: BoolArray = np.any(possible[before], axis=0)
    tells = possible[telling].any(axis=0) & ~after
    # This is the only possible division: images of protected outputs are protected, all other images are invertible.
    mixed = np.flatnonzero(possible[telling].any(axis=0) & after)
    merged = np.flatnonzero(tells & (possible[telling].sum(axis=0) > 1))
    reason = None
    if len(mixed):
        reason = f"result {mixed[0]} can come from a protected and from an invertible output"
    elif len(merged):
        reason = f"result {merged[0]} can come from several invertible outputs"
    return DataTypes(reason is None, reason, read_only(after), read_only(tells))


def post_process(channel: Channel, processing: Any, *, notion: Notion = "ULDP") -> Derived:
    """Return a channel followed by a randomized map of its outputs. The channel's guarantee still holds.

    Args:
        channel: Q0.
        processing: Q1, a `Channel` over the outputs or an ``(|Y|, |Z|)`` stochastic matrix.
        notion: the notion to preserve. LDP and OSLDP survive every map; ULDP survives maps that preserve data types.

    Returns:
        Q1 after Q0, with the protected outputs and the epsilon of ``channel``.

    Raises:
        ParameterError: if the channel does not satisfy the notion for any epsilon, the map does not fit, or it does not
            preserve data types.

    Example:
        >>> import discreet as dc
        >>> channel = dc.RandomizedResponse(dc.Domain(["clinic", "court"]), 1.0).channel()
        >>> noisier = post_process(channel, [[0.9, 0.1], [0.1, 0.9]], notion="LDP")
        >>> round(noisier.epsilon, 9), noisier.channel.matrix.round(3).tolist()
        (1.0, [[0.685, 0.315], [0.315, 0.685]])
    """
    protection = required(smallest_epsilon(channel, notion), "the channel")
    stage = Channel.of(processing)
    if stage.domain.size != channel.outputs:
        raise ParameterError(
            "processing.wrong-rows", argument="processing", outputs=channel.outputs, size=stage.domain.size
        )
    refuse_large(channel.domain.size * channel.outputs * stage.outputs)
    protected: BoolArray = np.any(stage.matrix[protection.protected] > 0, axis=0)
    if notion == "ULDP":
        types = preserves_data_types(stage, protection.protected, invertible=protection.invertible)
        if not types.preserved:
            raise ParameterError("processing.changes-data-types", argument="processing", reason=types.reason)
        protected = types.protected
    weights: AnyArray = channel.weights.dot(stage.weights)
    return derive(notion, exact_ratio(protection), weights, protected, channel.domain)


def _checked_types(protected: Any, invertible: Any, size: int) -> tuple[BoolArray, BoolArray]:
    before: BoolArray = np.asarray(protected)
    if before.shape != (size,) or before.dtype != np.bool_:
        raise ParameterError("protected.not-booleans", argument="protected", size=size)
    telling: BoolArray = ~before if invertible is None else np.asarray(invertible)
    if telling.shape != (size,) or telling.dtype != np.bool_ or (before & telling).any():
        raise ParameterError("invertible.not-booleans", argument="invertible", size=size)
    return before, telling


@dataclass(frozen=True, slots=True)
class LowerBoundRate:
    """The rate of a lower bound on the error. The constant factor is not known.

    Attributes:
        loss: ``"l1"`` or ``"squared l2"``.
        rate: the growth of the smallest possible loss; compare rates with each other, not with a measured error.

    Example:
        >>> rate = l1_rate(100_000, 1.0, protected=76)
        >>> rate.loss, round(rate.rate, 3)
        ('l1', 0.24)
    """

    loss: Literal["l1", "squared l2"]
    rate: float

    def __str__(self) -> str:
        return f"the expected {self.loss} loss is at least of the order of {self.rate:.2g}, up to an unknown constant"


def l1_rate(n: int, epsilon: float, protected: int, *, reports: int = 1) -> LowerBoundRate:
    """Return the minimax rate of the expected l1 loss under LDP or ULDP.

    Args:
        n: number of users.
        epsilon: the total epsilon of each user, in [0, 1].
        protected: |X_S|, or |X| for LDP; at least 2.
        reports: t, the number of reports of each user, at epsilon/t each: the rate is sqrt(t) times larger.

    Raises:
        ParameterError: if epsilon is outside [0, 1], where the theorem does not apply, or a count is too small.

    Example:
        >>> [round(l1_rate(n, 1.0, protected=76).rate, 3) for n in (100_000, 400_000)]
        [0.24, 0.12]
    """
    informative = _information(n, epsilon, protected, reports)
    return LowerBoundRate("l1", min(1.0, protected / sqrt(informative)) if informative else 1.0)


def squared_l2_rate(n: int, epsilon: float, protected: int, *, reports: int = 1) -> LowerBoundRate:
    """Return the minimax rate of the expected squared l2 loss under LDP or ULDP.

    With t reports it is t times larger.

    Example:
        >>> [round(squared_l2_rate(100_000, 1.0, protected=76, reports=t).rate, 5) for t in (1, 2)]
        [0.00076, 0.00152]
    """
    informative = _information(n, epsilon, protected, reports)
    if not informative:
        return LowerBoundRate("squared l2", 1.0)
    return LowerBoundRate("squared l2", min(1.0, 1 / sqrt(informative), protected / informative))


def _information(n: int, epsilon: float, protected: int, reports: int) -> float:
    """Return n t (eps/t)^2: the number of reports times the squared epsilon of one report."""
    checked_n(n)
    checked_whole("reports", reports)
    # With one sensitive value there is nothing to hide under LDP. Under ULDP its error is smaller, of the order of
    # 1/(n eps), so the theorem does not apply.
    checked_whole("protected", protected, 2)
    number = real_number(epsilon)
    if not isfinite(number) or not 0 <= number <= 1:
        raise ParameterError("epsilon.outside-rates", argument="epsilon", epsilon=epsilon)
    return n * number**2 / reports


_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """An OSLDP channel, written as a ULDP channel followed by a map of its outputs.

    Attributes:
        optimized: Q_U, a ULDP mechanism on the same domain. Its outputs are the ``shared`` ones, in order, then one per
            value that is not sensitive, in the order of `Domain.clear_codes`.
        recovery: Q_R, from the outputs of ``optimized`` to the mechanism's outputs.
        shared: the outputs in Y_P.
        protection: the recomputed protection of ``optimized``: ULDP with the mechanism's epsilon.
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
    """Divide a one-sided LDP (OSLDP) channel into a ULDP channel and a map of its outputs, and check both.

    Args:
        channel: (X_S, epsilon)-OSLDP for some epsilon.

    Raises:
        ParameterError: if the channel is not OSLDP, or if no value is sensitive.

    Example:
        >>> import discreet as dc
        >>> channel = dc.Channel([[0.5, 0.5], [0.2, 0.8]], dc.Domain(["clinic", "park"], sensitive=["clinic"]))
        >>> decomposition = decompose(channel)
        >>> decomposition.optimized.matrix.round(3).tolist(), round(decomposition.protection.epsilon, 4)
        ([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3]], 0.9163)
    """
    if channel.domain.sensitive_count == 0:
        raise ParameterError("channel.nothing-sensitive")
    one_sided = required(smallest_epsilon(channel, "OSLDP"), "the channel")
    shared = np.flatnonzero(one_sided.protected)
    weights, domain = channel.weights, channel.domain
    # As integers over 2^64: min(Q_O, Q_max), ``(|X|, |Y_P|)``, and Q_O minus it, ``(|X_N|, |Y|)``.
    common = np.minimum(weights[:, shared], weights[domain.sensitive_codes][:, shared].max(axis=0))
    beyond = weights[domain.clear_codes]
    beyond[:, shared] = beyond[:, shared] - common[domain.clear_codes]
    clear_columns = np.zeros((domain.size, domain.clear_count), dtype=object)
    # a(x) is a sum of the remaining entries, without cancellation, so that 0 stays 0.
    clear_columns[domain.clear_codes, np.arange(domain.clear_count)] = beyond.sum(axis=1)
    optimized = Channel(np.hstack([common, clear_columns]) / WORD_RANGE, domain)
    recovery = Channel(_recovery(channel, shared, beyond))
    protection = required(smallest_epsilon(optimized, "ULDP"), "the first stage")
    error = float(abs(optimized.matrix @ recovery.matrix - channel.matrix).max())
    # Both hold by construction; a failure would be a bug here, or a matrix whose rows do not sum to 1.
    if error > _TOLERANCE or protection.epsilon > one_sided.epsilon + _TOLERANCE:
        raise ParameterError("channel.not-decomposable")
    return Decomposition(optimized, recovery, read_only(shared), protection, error)


def _recovery(channel: Channel, shared: IntArray, beyond: AnyArray) -> AnyArray:
    """Return the matrix Q_R, which maps the outputs of the ULDP channel to the outputs of the given channel."""
    itself = np.zeros((len(shared), channel.outputs))
    itself[np.arange(len(shared)), shared] = 1.0
    left_over = beyond.sum(axis=1)
    # A value that is never reported in clear needs a row too; any row will do, such as its row of the channel.
    never = left_over == 0
    beyond[never] = channel.weights[channel.domain.clear_codes[never]]
    left_over[never] = WORD_RANGE
    recovered = (beyond / left_over[:, None]).astype(np.float64).reshape(-1, channel.outputs)
    return np.vstack([itself, recovered])
