"""Information in reports about a user, in nats: capacity, contraction coefficients, and success of guesses, exactly.

Entropies and divergences are computed from deviations from the mean. Differences of large entropies would lose their
digits where a report reveals little.

**Truth or noise, capacity.** I(U;Y) is convex in the distribution of the report given the user. So the worst users have
one value each, and alpha_n is the largest Shannon capacity of the mechanism on a set S of at most n values. A value in
clear leaks more than any other, because its report can be turned into a report of any sensitive value. So S has b =
min(n, N) values in clear and a = min(n - b, v) sensitive ones. Let w be the total weight of the sensitive values, which
is uniform, z = K/a their share in a noise block, E = e^eps, and t = 1 + (E - 1) w z. Then

    I(w) = (1 - s)(w pi E eps - E[t ln t]) + (1 - w) s (ln b - ln(1 - w)),
    I'(w)/s = ln(kappa/b) + ln(1 - w) - E*[ln t],   ln(kappa) = eps E/(E - 1),

where E* weighs by z. If no value is in clear, w = 1 and, with h(u) = (1 + u) ln(1 + u) - u,

    alpha = pi h(s/pi - s) + (1 - pi) h(-s) - E[h(s z/pi - s)].

**Truth or noise, success.** V = sum over reports y of max over users u of p_u Q(y|x_u), with a prior p over users. The
users with the largest p have different values, as far as values suffice. A block of noise contributes most for the
likeliest user whose value it contains. With hit(j) = P(a noise block contains one of j given values), its steps h_j,
and p in decreasing order,

    V = s sum of p_j in clear + (1 - s) p_1 + sum of h_i ((1 - s + s/pi) p_j(i) - (1 - s) p_1)_+,

where the last sum is over the i-th likeliest user with a sensitive value. These users are the likeliest k and the least
likely a - k, for some k: a user's loss by a sensitive value is concave in p, and its slope rises as h falls.

**An explicit matrix.** For any weights p of the inputs, with q = p Q, the capacity lies between the sum of
p_x D(Q_x || q) and the largest D(Q_x || q) [Blahut; Arimoto]. The contraction coefficient eta_KL is the least eta with
I(U;Y) <= eta I(U;X) for all sources. It is the largest value, over pairs x, x' and b in 0..1, of

    f(b) = 1 - sum over y of Q_x Q_x' / (b Q_x + (1 - b) Q_x'),

which is concave in b [Ordentlich and Polyanskiy]. No pair exceeds its total variation, so eta_KL is at most
eta_TV [Dobrushin], and at most eta_TV tanh(eps/2) under epsilon-LDP.
"""

from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb, exp, expm1, inf, log, log1p, perm, tanh
from typing import NamedTuple

import numpy as np

from discreet.arrays import FloatArray
from discreet.mechanisms.block_law import HitDistribution
from discreet.theory.arithmetic import bisected, bisected_each, golden_section

BITS = 1 / log(2)
"""Bits per nat."""

# At 1/16 both formulas are right to 14 digits.
_SMALL = 0.0625
_TERMS = 16


def excess(u: float | FloatArray) -> FloatArray:
    """Return h(u) = (1 + u) ln(1 + u) - u for u >= -1, without cancellation; it is about u^2/2."""
    u = np.asarray(u, dtype=np.float64)
    grown = 1 + u
    direct = grown * np.log(np.where(grown > 0, grown, 1.0)) - u
    series = np.zeros_like(u)
    near = np.where(np.abs(u) < _SMALL, u, 0.0)
    for j in range(_TERMS, 1, -1):
        series = 1 / (j * (j - 1)) - near * series
    return np.where(np.abs(u) < _SMALL, near * near * series, direct)


def shortfall(x: float) -> float:
    """Return x - ln(1 + x) for x > -1, without cancellation; it is about x^2/2."""
    if abs(x) >= _SMALL:
        return x - log1p(x)
    series = 0.0
    for j in range(_TERMS, 1, -1):
        series = 1 / j - x * series
    return x * x * series


def binary_divergence(p: float, u: float) -> float:
    """Return the Kullback-Leibler divergence of Bernoulli distributions with probabilities p (1 + u) and p, in nats.

    Args:
        p: the second probability, in (0, 1).
        u: the relative difference, at least 0, with p (1 + u) at most 1.
    """
    rest = max(-p * u / (1 - p), -1.0)
    return p * float(excess(u)) + (1 - p) * float(excess(rest))


def log_odds_gain(epsilon: float) -> float:
    """Return ln(kappa) = eps e^eps / (e^eps - 1), for the number kappa of values in clear that is explained below.

    With kappa or more values in clear, sensitive values do not increase the capacity.
    """
    return -epsilon / expm1(-epsilon)


def ldp_capacity(epsilon: float, inputs: int) -> float:
    """Return an upper bound on I(U;Y) under epsilon-LDP, in nats: the smallest of three bounds.

    The bounds are u - 1 - ln u with u = eps/(1 - e^-eps), which is about eps^2/8 [Prop. 10 of PIE has eps^2];
    tanh(eps/2)^2 ln(m); and ln(m E / (m + E - 1)) with E = e^eps.

    Args:
        epsilon: the privacy loss, in nats, at least 0; may be infinite.
        inputs: m, the number of values in use: the smaller one of the numbers of users and values.
    """
    if inputs <= 1 or epsilon <= 0:
        return 0.0
    lost = -expm1(-epsilon)
    leaked = log1p((inputs - 1) * lost / (inputs * (1 - lost) + lost))
    if epsilon > 700:
        return leaked
    beyond = epsilon - lost if epsilon > 0.5 else shortfall(-lost)
    return min(shortfall(beyond / lost), tanh(epsilon / 2) ** 2 * log(inputs), leaked)


_HALVINGS = 100
_SIMPLE = 50.0


@dataclass(frozen=True, slots=True)
class Inputs:
    """The parameters of a block mechanism, and the numbers of values in use.

    Attributes:
        truth: s.
        noisy: 1 - s.
        inclusion: pi.
        epsilon: the realised epsilon, in nats.
        sensitive: a, the number of sensitive values in use.
        clear: b, the number of other values in use.
    """

    truth: float
    noisy: float
    inclusion: float
    epsilon: float
    sensitive: int
    clear: int

    @property
    def contrast(self) -> float:
        """The contrast e^eps - 1 of a block mechanism."""
        return expm1(self.epsilon)


def capacity(inputs: Inputs, hits: HitDistribution | None) -> float:
    """Return alpha_n, the capacity for n users in nats; an upper bound if the distribution of hits is not exact.

    Args:
        inputs: the numbers of the mechanism.
        hits: the distribution of hits for ``inputs.sensitive`` values; None if there are none.
    """
    s, b = inputs.truth, inputs.clear
    if inputs.sensitive == 0 or hits is None:
        return s * log(b) if b > 1 else 0.0
    if b == 0:
        return _without_clear(inputs, hits)
    room = log_odds_gain(inputs.epsilon) - log(b)
    if room <= 0:
        return s * log(b)
    # The unknown is ln(1 - w), because 1 - w loses digits near w = 1.
    low, _ = bisected(lambda rest: not _gain(inputs, hits, rest) > 0, -room, 0.0, _HALVINGS)
    attained = s * (log(b) - low) - inputs.noisy * hits.mean(_log_t(inputs, hits, low))
    # At the solution both classes have the same divergence; the larger one is a certified bound.
    return attained + s * max(_gain(inputs, hits, low), 0.0)


def _without_clear(inputs: Inputs, hits: HitDistribution) -> float:
    if inputs.sensitive == 1:
        return 0.0
    s, pi = inputs.truth, inputs.inclusion
    containing = pi * excess(s * (1 / pi - 1)) + (1 - pi) * excess(-s)
    # For large blocks z/pi - 1 is a difference of close numbers; its error is of second order.
    common = hits.mean(excess(np.maximum(s * (hits.shares / pi - 1), -1.0)))
    return max(float(containing) - common, 0.0)


def _log_t(inputs: Inputs, hits: HitDistribution, rest: float) -> FloatArray:
    """Return ln t at the share w = 1 - e^rest of sensitive values, with t from the formula for I(w) above."""
    return np.log1p(-inputs.contrast * expm1(rest) * hits.shares)


def _gain(inputs: Inputs, hits: HitDistribution, rest: float) -> float:
    """Return I'(w)/s by the module's formula, where w = 1 - e^rest."""
    weights = hits.probabilities * hits.shares
    biased = float(weights @ _log_t(inputs, hits, rest)) / float(weights.sum())
    return log_odds_gain(inputs.epsilon) - log(inputs.clear) + rest - biased


def order_capacity(inputs: Inputs, hits: HitDistribution | None, order: float) -> float:
    """Return the largest mutual information of a finite order a > 1 in Sibson's sense, in nats.

    With F = s b^(1-1/a) (1 - w)^(1/a) + (1 - s) E[(1 + (E^a - 1) w z)^(1/a)], it is a/(a - 1) ln F; F is concave in w.
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
    """Return F(w) - 1 for w = 1 - e^rest, by the formula for F in the docstring of `order_capacity`."""
    clear_term = inputs.truth * inputs.clear ** (1 - 1 / order) * exp(rest / order) if inputs.clear else 0.0
    share = -expm1(rest) * hits.shares
    power = order * inputs.epsilon
    if power < _SIMPLE:
        logs = np.log1p(expm1(power) * share)
    else:
        logs = np.logaddexp(np.log1p(-np.minimum(share, 1 - 1e-16)), power + np.log(np.maximum(share, 1e-300)))
    return clear_term - inputs.truth + inputs.noisy * hits.mean(np.expm1(logs / order))


_MOST_STEPS = 20_000
_MOST_SEARCHED = 3_000
_LARGEST_STEP = 1e6


class Interval(NamedTuple):
    """A certified lower and a certified upper bound on the same number.

    Attributes:
        low: the lower bound.
        high: the upper bound.
    """

    low: float
    high: float


def channel_capacity(matrix: FloatArray, *, tolerance: float = 1e-10) -> Interval:
    """Return certified bounds on the Shannon capacity of a channel, in nats.

    The steps of Blahut and Arimoto, p_x times e^(D(Q_x || q)), are enlarged for as long as that helps. This makes them
    fast where several inputs are nearly equal.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities Q(y|x).
        tolerance: stop when the bounds are within this distance, in nats.
    """
    rows = matrix[:, matrix.any(axis=0)]
    negentropies = np.where(rows > 0, rows * np.log(np.where(rows > 0, rows, 1.0)), 0.0).sum(axis=1)
    p, step = np.full(len(rows), 1 / len(rows)), 1.0
    best = p
    low, high = 0.0, log(len(rows))
    for _ in range(_MOST_STEPS):
        divergences = _divergences(rows, negentropies, p)
        information = float(p @ divergences)
        high = min(high, float(divergences.max()))
        if information > low:
            low, best, step = information, p, min(step * 1.5, _LARGEST_STEP)
        elif step > 1:
            p, step = best, max(step / 4, 1.0)
            divergences = _divergences(rows, negentropies, p)
        if high - low <= tolerance:
            break
        p = p * np.exp(np.minimum(step * (divergences - divergences.max()), 0.0))
        p /= p.sum()
    return Interval(max(low, 0.0), max(high, low, 0.0))


def _divergences(rows: FloatArray, negentropies: FloatArray, p: FloatArray) -> FloatArray:
    """Return the ``(|X|,)`` divergences D(Q_x || p Q) of the rows of a matrix."""
    mixed = p @ rows
    divergences: FloatArray = negentropies - rows @ np.log(np.maximum(mixed, 1e-300))
    return np.maximum(divergences, 0.0)


def capacity_of_users(matrix: FloatArray, users: int, eta: float) -> Interval:
    """Return certified bounds on the largest capacity of at most n inputs of a channel, in nats.

    If n reaches the rank of the matrix, it is the capacity of all inputs. Otherwise every set of n is tried if there
    are few sets. If there are many, the upper bound is min(C, eta ln n), and the lower bound is the capacity of a
    greedy choice of inputs.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities.
        users: n.
        eta: eta_KL of the matrix.
    """
    if users == 1:
        return Interval(0.0, 0.0)
    whole = channel_capacity(matrix)
    if users >= len(matrix) or users >= int(np.linalg.matrix_rank(matrix)):
        return whole
    if comb(len(matrix), users) <= _MOST_SEARCHED:
        capacities = [channel_capacity(matrix[list(rows)]) for rows in combinations(range(len(matrix)), users)]
        return Interval(max(capacity.low for capacity in capacities), max(capacity.high for capacity in capacities))
    chosen = _spread_out(matrix, users)
    return Interval(channel_capacity(matrix[chosen]).low, min(whole.high, eta * log(users)))


def _spread_out(matrix: FloatArray, users: int) -> list[int]:
    """Return n inputs chosen greedily: each next input adds most to the sum over outputs of the largest probability."""
    chosen = [int(np.argmax(matrix.max(axis=1)))]
    best = matrix[chosen[0]]
    while len(chosen) < users:
        gains = np.maximum(matrix - best, 0.0).sum(axis=1)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        best = np.maximum(best, matrix[chosen[-1]])
    return chosen


def matrix_leakage(matrix: FloatArray, users: int) -> Interval:
    """Return bounds on the largest maximal leakage of n inputs: the sum over outputs of the largest probability."""
    whole = float(matrix.max(axis=0).sum())
    if users >= len(matrix):
        return Interval(whole, whole)
    if comb(len(matrix), users) <= _MOST_SEARCHED:
        sets = combinations(range(len(matrix)), users)
        largest = max(float(matrix[list(rows)].max(axis=0).sum()) for rows in sets)
        return Interval(largest, largest)
    low = float(matrix[_spread_out(matrix, users)].max(axis=0).sum())
    # Each further input adds at most its excess over the smallest probability of all.
    over = np.sort((matrix - matrix.min(axis=0)).sum(axis=1))[::-1]
    return Interval(low, min(whole, float(matrix.min(axis=0).sum() + over[:users].sum())))


def matrix_success(matrix: FloatArray, prior: FloatArray) -> Interval:
    """Return certified bounds on V, the success probability of the best guess, for users with a prior.

    The bounds are equal if all assignments of inputs to the likeliest users can be tried. They are also equal if all
    users are equally likely and the leakage is exact.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities.
        prior: ``(n,)`` probabilities, in decreasing order.
    """
    used = prior[: len(matrix)]
    leakage = matrix_leakage(matrix, len(used))
    if used[-1] == used[0]:
        return Interval(float(used[0]) * leakage.low, min(float(used[0]) * leakage.high, 1.0))
    if perm(len(matrix), len(used)) <= _MOST_SEARCHED:
        ways = (matrix[list(rows)] for rows in permutations(range(len(matrix)), len(used)))
        largest = max(float((used[:, None] * way).max(axis=0).sum()) for way in ways)
        return Interval(largest, largest)
    rows = _spread_out(matrix, len(used))
    low = float((used[:, None] * matrix[rows]).max(axis=0).sum())
    # The part of a report's distribution that all inputs share reveals nothing [Doeblin].
    common = float(matrix.min(axis=0).sum())
    doeblin = float(used[0]) * common + float(np.sum(used)) * (1 - common)
    return Interval(low, max(min(float(used[0]) * leakage.high, doeblin, 1.0), low))


_CONTRACTION_HALVINGS = 60
_CHUNK = 1 << 21


@dataclass(frozen=True, slots=True)
class Contraction:
    """The contraction coefficients of a channel: of total variation and of mutual information.

    Attributes:
        total_variation: eta_TV, the largest total variation between two rows.
        information: bounds on eta_KL.
        common: Doeblin's delta, the sum over outputs of the smallest probability under any value.
    """

    total_variation: float
    information: Interval
    common: float


def contraction(matrix: FloatArray) -> Contraction:
    """Return the contraction coefficients eta_TV and eta_KL, and Doeblin's delta, of an ``(|X|, |Y|)`` matrix."""
    common = float(matrix.min(axis=0).sum())
    first, second = np.triu_indices(len(matrix), k=1)
    if not len(first):
        return Contraction(0.0, Interval(0.0, 0.0), common)
    step = max(_CHUNK // matrix.shape[1], 1)
    pieces = [slice(start, start + step) for start in range(0, len(first), step)]
    # The total variation of each pair of rows.
    apart = np.concatenate([np.abs(matrix[first[piece]] - matrix[second[piece]]).sum(axis=1) / 2 for piece in pieces])
    order = np.argsort(-apart, kind="stable")
    low = high = 0.0
    for piece in pieces:
        pairs = order[piece]
        # The value of a pair is at most its total variation, so the other pairs cannot exceed the largest value so far.
        pairs = pairs[apart[pairs] > low]
        if not len(pairs):
            break
        lows, highs = _largest_values(matrix[first[pairs]], matrix[second[pairs]])
        low, high = max(low, float(lows.max())), max(high, float(highs.max()))
    largest = float(apart.max())
    return Contraction(largest, Interval(min(low, largest), min(max(high, low), largest)), common)


def _largest_values(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the largest f(b) over b in [0, 1], for each pair of rows; f is explained at the top."""
    both = first * second
    ends = np.zeros((len(first), 1)), np.ones((len(first), 1))
    low, high = bisected_each(lambda b: _slope(first, second, both, b) > 0, *ends, _CONTRACTION_HALVINGS)
    slope = np.maximum(_slope(first, second, both, low), 0.0)
    value = _value(first, second, low[:, 0])
    # A concave function stays below its tangent.
    return value, value + (slope * (high - low))[:, 0]


def _mixed(first: FloatArray, second: FloatArray, b: FloatArray) -> FloatArray:
    mixed = b * first + (1 - b) * second
    return np.where(mixed > 0, mixed, 1.0)


def _slope(first: FloatArray, second: FloatArray, both: FloatArray, b: FloatArray) -> FloatArray:
    slopes: FloatArray = (both * (first - second) / _mixed(first, second, b) ** 2).sum(axis=1, keepdims=True)
    return slopes


def _value(first: FloatArray, second: FloatArray, b: FloatArray) -> FloatArray:
    """Return f(b) of the module's formula for eta_KL, in a form without cancellation.

    It is b (1 - b) sum of (Q_x - Q_x')^2 / (b Q_x + (1 - b) Q_x').
    """
    b = b[:, None]
    inside = b * (1 - b) * ((first - second) ** 2 / _mixed(first, second, b)).sum(axis=1, keepdims=True)
    # At an end this form is 0/0: outputs that only the other row has count in full.
    only_first = np.where(second == 0, first, 0.0).sum(axis=1, keepdims=True)
    only_second = np.where(first == 0, second, 0.0).sum(axis=1, keepdims=True)
    values: FloatArray = np.where(b <= 0, only_first, np.where(b >= 1, only_second, inside))[:, 0]
    return values


class Sizes(NamedTuple):
    """The numbers of users, of sensitive values, and of values that may be in clear.

    Attributes:
        users: n.
        sensitive: v.
        clear: N.
    """

    users: int
    sensitive: int
    clear: int


def uniform_success(inputs: Inputs, hit: float, users: int) -> float:
    """Return V, the success probability of the best guess, for n equally likely users.

    Args:
        inputs: the numbers of the mechanism, with the values in use.
        hit: P(a noise block contains one of the sensitive values in use).
        users: n.
    """
    return min(leakage(inputs, hit) / users, 1.0)


def leakage(inputs: Inputs, hit: float) -> float:
    """Return the maximal leakage of the values in use: the sum over outputs y of the largest probability Q(y|x)."""
    return inputs.truth * inputs.clear + inputs.noisy + inputs.truth / inputs.inclusion * hit


def success(inputs: Inputs, hits: FloatArray, prior: FloatArray) -> float:
    """Return V, the success probability of the best guess, for users with a prior.

    Args:
        inputs: the numbers of the mechanism, with the values in use.
        hits: ``(a + 1,)`` hit(0), hit(1), ...
        prior: ``(n,)`` probabilities, in decreasing order.
    """
    a, b = inputs.sensitive, inputs.clear
    used = prior[: a + b]
    base = inputs.noisy * float(prior[0])
    gain = inputs.noisy + inputs.truth / inputs.inclusion
    steps = np.diff(hits)
    likeliest = steps * np.maximum(gain * used[:a] - base, 0.0)
    unlikeliest = steps * np.maximum(gain * used[b : b + a] - base, 0.0)
    ends = np.concatenate([[0.0], np.cumsum(likeliest)])
    ends += np.concatenate([np.cumsum(unlikeliest[::-1])[::-1], [0.0]])
    sums = np.concatenate([[0.0], np.cumsum(used)])
    # For each k, the users between the likeliest k and the least likely a - k have values in clear.
    in_clear = inputs.truth * (sums[b : b + a + 1] - sums[: a + 1])
    return min(base + float(np.max(ends + in_clear)), 1.0)


def listed_success(inputs: Inputs, hits: HitDistribution | None, sizes: Sizes, listed: int) -> float:
    """Return V_k, the success probability of k guesses, for n equally likely users.

    It is an upper bound, which is attained if the distribution of hits is exact and users spread evenly over the
    values. Up to k users may share a value in clear; all other users share the sensitive ones.

    Args:
        inputs: s, 1 - s and pi.
        hits: the distribution for the min(n - N k, v) sensitive values in use; None if there are none.
        sizes: n, v and N.
        listed: k, the number of guesses.
    """
    clear_users = min(sizes.users, sizes.clear * listed)
    rest = sizes.users - clear_users
    blocks = inputs.noisy * listed
    if rest and hits is not None:
        contained = float(min(listed, rest * inputs.inclusion))
        if hits.exact:
            contained = min(contained, hits.mean(np.minimum(listed, rest * hits.shares)))
        blocks += inputs.truth / inputs.inclusion * contained
    return min((inputs.truth * clear_users + blocks) / sizes.users, 1.0)
