"""Fano's inequality and related ones: from a bound on information to a bound on identification.

V_k is the probability that the right user is among k guesses; P_k is the probability for the k likeliest users before
any report. All information is in nats. [PIE, Prop. 7, Cor. 8; spec of exact risk, section 3]
"""

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, log1p

import numpy as np

from discreet.arrays import FloatArray
from discreet.risk.bounds.capacity import binary_divergence, excess
from discreet.risk.bounds.hits import binomial
from discreet.theory.arithmetic import bisected, last_whole

_HALVINGS = 120


def corollary_8(information: float, likeliest: float) -> float:
    """Return the identification error by Cor. 8 of PIE, 1 + (I + 1)/log(1 - beta_U) with I and log in bits.

    Args:
        information: I, in nats.
        likeliest: p_1 = 1 - beta_U; for n equally likely users 1/n.

    Returns:
        beta, at least 0; 0 if there is a single user.
    """
    return max(1 - (information + log(2)) / -log(likeliest), 0.0) if likeliest < 1 else 0.0


def tight_fano(information: float, likeliest: float) -> float:
    """Return the largest V with d_KL(V || P) <= I: Fano's inequality in its tight form.

    Args:
        information: I, in nats.
        likeliest: P, the probability of a right guess before any report.
    """
    return _largest(likeliest, information, lambda u: binary_divergence(likeliest, u))


def of_order(information: float, likeliest: float, order: float) -> float:
    """Return the largest V with D_a(V || P) <= I_a, where I_a has a finite order a > 1 in Sibson's sense, in nats."""

    def divergence(u: float) -> float:
        rest = max(1 - likeliest * (1 + u), 0.0)
        logs = order * log1p(u) + log(likeliest)
        others = exp(order * log(rest / (1 - likeliest)) + log1p(-likeliest)) if rest > 0 else 0.0
        return (float(np.logaddexp(logs, log(others))) if others else logs) / (order - 1)

    return _largest(likeliest, information, divergence)


def _largest(likeliest: float, limit: float, divergence: Callable[[float], float]) -> float:
    """Return the largest V = P (1 + u) with a divergence, increasing in u, within a limit; rounded up."""
    if likeliest >= 1:
        return 1.0
    if limit <= 0:
        return likeliest
    top = 1 / likeliest - 1
    if divergence(top) <= limit:
        return 1.0
    _, high = bisected(lambda u: divergence(exp(u)) <= limit, log(1e-18), log(top), _HALVINGS)
    return min(likeliest * (1 + exp(high)), 1.0)


def distortion_rate(information: float, prior: FloatArray) -> float:
    """Return the largest V that information I allows for a prior: Erokhin's function, which is attained.

    The best guesses are J users, those with p_j > lambda. Then V = lambda + sum over them of (p_j - lambda), and
    I/lambda = F(sum of c_j) - sum of F(c_j), where c_j = p_j/lambda - 1 and F(c) = (1 + c) ln(1 + c).

    Args:
        information: I, in nats.
        prior: ``(n,)`` probabilities of the users, in descending order.
    """
    if information <= 0 or len(prior) == 1:
        return float(prior[0])
    positive = prior[prior > 0]
    # The number of users to guess: the rate at lambda = p_(J+1) grows with J.
    last = 1 + last_whole(lambda j: _rate(positive[:j], positive[j]) <= information, 0, len(positive))
    guessable = positive[:last]
    floor = float(positive[last]) if last < len(positive) else 0.0
    total = float(guessable.sum())
    if floor == 0 and total * log(total) - float(guessable @ np.log(guessable)) <= information:
        return min(total, 1.0)
    top = float(guessable[-1])
    low, _ = bisected(
        lambda level: not (level > 0 and _rate(guessable, level) <= information), floor, top, _HALVINGS // 2
    )
    return min(low + float(np.sum(guessable - low)), 1.0)


def _rate(guessable: FloatArray, level: float) -> float:
    """Return the mutual information I if guesses are the users with probabilities above lambda."""
    over = guessable / level - 1
    return level * (float(excess(over.sum())) - float(excess(over).sum()))


def ldp_success(epsilon: float, guessed: float) -> float:
    """Return P E/(1 + P (E - 1)), E = e^eps, a bound on V_k for every single report under epsilon-LDP."""
    return guessed / (guessed + (1 - guessed) * exp(-epsilon)) if guessed < 1 else 1.0


def erased_success(revealed: float, reports: int, guessed: float, values: int) -> float:
    """Return a bound on V_k after t reports, where each reveals its value with a given probability, and else nothing.

    V <= E min(1, P d^B), B ~ Bin(t, revealed), because B values have at most d^B different outcomes. For one report the
    result is the minimum of this and Doeblin's bound, P + (1 - P) revealed.

    Args:
        revealed: the probability: 1 - delta, where Doeblin's delta is the sum over outputs of their smallest
            probability; s for truth or noise.
        reports: t, the number of reports.
        guessed: P_k.
        values: d, the number of values.
    """
    heard = _heard(revealed, reports)
    if heard is None:
        return 1.0
    counts, probabilities = heard
    known = np.minimum(log(guessed) + counts * log(values), 0.0)
    if reports == 1:
        return min(guessed + (1 - guessed) * revealed, float(probabilities @ np.exp(known)))
    return min(float(probabilities @ np.exp(known)), 1.0)


def erased_information(eta: float, reports: int, users: int, values: int) -> float:
    """Return E min(ln n, B ln d), B ~ Bin(t, eta), a bound on I(U; t reports), in nats.

    A channel that contracts information by eta_KL reveals at most as much as one that erases its input with probability
    1 - eta_KL. The same holds for t channels together, with fresh noise each time and data that do not react to
    reports. The data may depend on each other, and the mechanisms on earlier reports.
    """
    heard = _heard(eta, reports)
    if heard is None:
        return min(log(users), reports * log(values))
    counts, probabilities = heard
    return float(probabilities @ np.minimum(log(users), counts * log(values)))


def _heard(revealed: float, reports: int) -> tuple[FloatArray, FloatArray] | None:
    """Return the distribution of B; None if every report reveals its value."""
    if revealed >= 1:
        return None
    law = binomial(reports, Fraction(max(revealed, 0.0)))
    return np.rint(law.shares * reports), law.probabilities


def leaked_success(leakage: float, reports: int, guessed: float) -> float:
    """Return the bound P_k ML^t on V_k, where ML is the sum of the largest probabilities of one report."""
    exponent = log(guessed) + reports * log(leakage)
    return exp(exponent) if exponent < 0 else 1.0
