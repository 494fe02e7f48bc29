"""The capacity of truth or noise among n users: the exact PIE of one report, over all sources.

I(U;Y) is convex in the law of the report given the user, so the worst users have one value each, and alpha_n is the
largest Shannon capacity of the mechanism on a set S of at most n values. A value in clear leaks more than any other
(its report can be turned into the report of any sensitive value), so S holds b = min(n, N) values in clear and
a = min(n - b, v) sensitive ones. Let w be the total weight of the latter, uniform, z = K/a their share in a noise
block, E = e^eps, and t = 1 + (E - 1) w z. Then

    I(w) = (1 - s)(w pi E eps - E[t ln t]) + (1 - w) s (ln b - ln(1 - w)),
    I'(w)/s = ln(kappa/b) + ln(1 - w) - E*[ln t],   ln(kappa) = eps E/(E - 1),

where E* weighs by z. Where no value is in clear, w = 1 and, with h(u) = (1 + u) ln(1 + u) - u,

    alpha = pi h(s/pi - s) + (1 - pi) h(-s) - E[h(s z/pi - s)].

Everything is in nats.
"""

from dataclasses import dataclass
from math import exp, expm1, inf, log, log1p

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.searching import bisected, golden_section
from discreet.leakage.entropies import excess, log_odds_gain
from discreet.leakage.hits import HitDistribution

_HALVINGS = 100
_SIMPLE = 50.0


@dataclass(frozen=True, slots=True)
class Inputs:
    """The numbers of a block mechanism, and the number of values in use.

    Attributes:
        truth: s.
        noisy: 1 - s.
        inclusion: pi.
        epsilon: as realised, in nats.
        sensitive: a, how many sensitive values are in use.
        clear: b, how many of the others.
    """

    truth: float
    noisy: float
    inclusion: float
    epsilon: float
    sensitive: int
    clear: int

    @property
    def contrast(self) -> float:
        """Return e^eps - 1."""
        return expm1(self.epsilon)


def capacity(inputs: Inputs, hits: HitDistribution | None) -> float:
    """Return alpha_n, the capacity for n users in nats; an upper bound if the hit distribution is not exact.

    Args:
        inputs: the numbers.
        hits: the hit distribution of ``inputs.sensitive`` values; None if there are none.
    """
    s, b = inputs.truth, inputs.clear
    if inputs.sensitive == 0 or hits is None:
        return s * log(b) if b > 1 else 0.0
    if b == 0:
        return _without_clear(inputs, hits)
    room = log_odds_gain(inputs.epsilon) - log(b)
    if room <= 0:
        return s * log(b)
    # In ln(1 - w): next to w = 1 the difference would have lost its digits.
    low, _ = bisected(lambda rest: not _gain(inputs, hits, rest) > 0, -room, 0.0, _HALVINGS)
    attained = s * (log(b) - low) - inputs.noisy * hits.mean(_log_t(inputs, hits, low))
    # Both classes' divergences are then the same; the larger one certifies.
    return attained + s * max(_gain(inputs, hits, low), 0.0)


def _without_clear(inputs: Inputs, hits: HitDistribution) -> float:
    if inputs.sensitive == 1:
        return 0.0
    s, pi = inputs.truth, inputs.inclusion
    containing = pi * excess(s * (1 / pi - 1)) + (1 - pi) * excess(-s)
    # Where the block is large, z/pi - 1 is a difference of neighbours; what is lost there is second order.
    common = hits.mean(excess(np.maximum(s * (hits.shares / pi - 1), -1.0)))
    return max(float(containing) - common, 0.0)


def _log_t(inputs: Inputs, hits: HitDistribution, rest: float) -> FloatArray:
    """Return ln t for w = 1 - e^rest."""
    return np.log1p(-inputs.contrast * expm1(rest) * hits.shares)


def _gain(inputs: Inputs, hits: HitDistribution, rest: float) -> float:
    """Return I'(w)/s."""
    weights = hits.probabilities * hits.shares
    biased = float(weights @ _log_t(inputs, hits, rest)) / float(weights.sum())
    return log_odds_gain(inputs.epsilon) - log(inputs.clear) + rest - biased


def order_capacity(inputs: Inputs, hits: HitDistribution | None, order: float) -> float:
    """Return the largest mutual information of a finite order a > 1 in Sibson's sense, in nats.

    It is a/(a - 1) ln F with F = s b^(1-1/a) (1 - w)^(1/a) + (1 - s) E[(1 + (E^a - 1) w z)^(1/a)], concave in w.
    """
    if inputs.sensitive == 0 or hits is None:
        return _of_order(order, inputs.truth * expm1((1 - 1 / order) * log(max(inputs.clear, 1))))
    if inputs.clear == 0:
        return _of_order(order, _order_gain(inputs, hits, order, -inf))

    def gain(away: float) -> float:
        return _order_gain(inputs, hits, order, -away)

    most = 2 * order * (inputs.epsilon + log(inputs.clear) + 1)
    return _of_order(order, max(map(gain, (*golden_section(gain, 0.0, most, _HALVINGS), 0.0, inf))))


def _of_order(order: float, gain: float) -> float:
    return max(order / (order - 1) * log1p(gain), 0.0)


def _order_gain(inputs: Inputs, hits: HitDistribution, order: float, rest: float) -> float:
    """Return F - 1 for w = 1 - e^rest."""
    told = inputs.truth * inputs.clear ** (1 - 1 / order) * exp(rest / order) if inputs.clear else 0.0
    share = -expm1(rest) * hits.shares
    power = order * inputs.epsilon
    if power < _SIMPLE:
        logs = np.log1p(expm1(power) * share)
    else:
        logs = np.logaddexp(np.log1p(-np.minimum(share, 1 - 1e-16)), power + np.log(np.maximum(share, 1e-300)))
    return told - inputs.truth + inputs.noisy * hits.mean(np.expm1(logs / order))
