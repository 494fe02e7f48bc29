"""The expected losses as the papers and the spec print them, from their equations and from nothing else.

v sensitive values come first among w; E = e^eps, u = e^eps - 1 (r and u for its root), a = p(X_S). Every l1 and every
squared l2 is for n users drawn independently from p.
"""

from math import asinh, exp, expm1, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.stats import binom

Costs = tuple[float, float]


def even(v: int, w: int, a: float) -> Any:
    """Mass a spread evenly over the sensitive values, the rest over the others."""
    return np.concatenate([np.full(v, a / v), np.full(w - v, (1 - a) / max(w - v, 1))])


# Asymptotic l1


def urr_l1(v: int, epsilon: float, p: Any, n: int) -> float:
    """[ULDP, (11)]."""
    u, S, N = expm1(epsilon), p[:v], p[v:]
    V = (v + u) / u
    # For v = 1 and p(x) = 1 the second factor is 0, and rounding may take it below.
    sensitive = np.sqrt((S + 1 / u) * np.maximum(V - S - 1 / u, 0)).sum()
    return sqrt(2 / (n * pi)) * float(sensitive + np.sqrt(N * (V - N)).sum())


def urap_l1(v: int, epsilon: float, p: Any, n: int) -> float:
    """[ULDP, (16)]."""
    u, S, N = expm1(epsilon / 2), p[:v], p[v:]
    V = (1 + u) / u
    return sqrt(2 / (n * pi)) * float(np.sqrt((S + 1 / u) * (V - S)).sum() + np.sqrt(N * (V - N)).sum())


# Squared l2


def urr_l2(v: int, epsilon: float, p: Any, n: int) -> float:
    """[ULDP, arXiv (46)]."""
    u = expm1(epsilon)
    return float((2 * u * (v - p[:v].sum()) + v * (v - 1)) / u**2 + 1 - p @ p) / n


def urap_l2(v: int, epsilon: float, p: Any, n: int) -> float:
    """[ULDP, arXiv (48)]."""
    r = exp(epsilon / 2)
    return float(1 + ((v + 1) * r - 1) / (r - 1) ** 2 - p[:v].sum() / (r - 1) - p @ p) / n


# Worst cases: the loss, and the sensitive mass of the distribution that has it


def urr_worst_l1(v: int, w: int, epsilon: float, n: int) -> tuple[float, float]:
    """[ULDP, Prop. 5], and p* from eps = ln(N + 1) on."""
    u, N = expm1(epsilon), w - v
    if epsilon >= log(N + 1):
        return sqrt(2 * (w - 1) / (n * pi)) * (v + u) / u, v * (1 - N / u) / w
    V = (v + u) / u
    return sqrt(2 / (n * pi)) * (v * sqrt((V - 1 / u) / u) + sqrt(N * V - 1)), 0.0


def urr_worst_l2(v: int, w: int, epsilon: float, n: int) -> tuple[float, float]:
    """The same, in squared l2."""
    u, N = expm1(epsilon), w - v
    if epsilon >= log(N + 1):
        return (v + u) ** 2 / (n * u**2) * (1 - 1 / w), v * (1 - N / u) / w
    return urr_l2(v, epsilon, even(v, w, 0.0), n), 0.0


def urap_worst_l1(v: int, w: int, epsilon: float, n: int) -> tuple[float, float]:
    """[ULDP, Prop. 8] in its true range, and what is worst beyond it [spec of the optimum, section 8]."""
    s, N = exp(epsilon / 2), w - v
    if N and epsilon <= 2 * asinh(N / 2):
        V = s / (s - 1)
        return sqrt(2 / (n * pi)) * (v * sqrt(V / (s - 1)) + sqrt(N * V - 1)), 0.0
    m1, r1, r2 = v / 2, v / 2 * (1 + 2 / (s - 1)), s * N / (2 * (s - 1))
    m2 = 1 - r2
    a = (m1 * r2 + m2 * r1) / (r1 + r2)
    return sqrt(2 / (n * pi)) * sqrt((r1 + r2) ** 2 - (m1 - m2) ** 2), a


def urap_worst_l2(v: int, w: int, epsilon: float, n: int) -> tuple[float, float]:
    """Uniform over the others below eps = 2 ln(N/2 + 1), as printed; beyond, where the derivative by a vanishes."""
    r, N = exp(epsilon / 2), w - v
    a = 1.0 if not N else 0.0 if epsilon < 2 * log(N / 2 + 1) else (1 / N - 1 / (2 * (r - 1))) / (1 / v + 1 / N)
    return urap_l2(v, epsilon, even(v, w, a), n), a


# Exact l1 for every n [spec of the optimum, section 7]


def urr_exact_l1(v: int, epsilon: float, p: Any, n: int) -> float:
    """Every report is one value."""
    c2, c3 = 1 / (v + expm1(epsilon)), expm1(epsilon) / (v + expm1(epsilon))
    shares = p * c3 + np.where(np.arange(len(p)) < v, c2, 0)
    return float((_deviation(n, shares) / c3).sum() / n)


def urap_exact_l1(v: int, epsilon: float, p: Any, n: int) -> float:
    """Every report has all v bits, at the paper's theta."""
    theta = exp(epsilon / 2) / (exp(epsilon / 2) + 1)
    d1, d2 = 1 / (exp(epsilon / 2) + 1), exp(-epsilon / 2)
    sensitive = _deviation(n, d1 + p[:v] * (theta - d1)) / (theta - d1)
    return float((sensitive.sum() + _deviation(n, p[v:] * (1 - d2)).sum() / (1 - d2)) / n)


def _deviation(n: int, m: Any) -> Any:
    k = np.floor(n * m) + 1
    return 2 * k * (1 - m) * binom.pmf(k, n, m)


# n times the squared error of any linear decoder [spec of the optimum, section 2]


def squared_error(costs: Costs, v: int, p: Any, n: int) -> float:
    """g_S a + g_N (1 - a) - |p|^2, over n."""
    a = p[:v].sum()
    return float(costs[0] * a + costs[1] * (1 - a) - p @ p) / n


def worst_squared_error(costs: Costs, v: int, w: int, n: int) -> tuple[float, float]:
    """The largest, and the mass that has it."""
    N = w - v
    a = 1.0 if not N else min(max(((costs[0] - costs[1]) / 2 + 1 / N) / (1 / v + 1 / N), 0.0), 1.0)
    return squared_error(costs, v, even(v, w, a), n), a


def block_design(v: int, epsilon: float, k: int) -> Costs:
    """g_S and g_N of uBD(k)."""
    tau = 1 / expm1(epsilon)
    q = k / (k + v * tau)
    g_S = (k + (v - 1) * tau) ** 2 / k + (k - 1 + (v - 1) * tau) ** 2 / (v - k)
    return g_S, (1 - q) * g_S + 1 / q + q * v * tau**2 / k**2


def hadamard(v: int, epsilon: float) -> Costs:
    """g_S and g_N of uHR."""
    c = (exp(epsilon) + 1) / (exp(epsilon) - 1)
    return v * c**2, v * c * (c - 1) + c


def unary(v: int, epsilon: float, theta: float, paper: bool) -> Costs:
    """g_S and g_N of uRAP(theta): (c0/theta + B/(1 - theta))/(E - 1)^2 at a = 1 and a = 0."""
    E = exp(epsilon)
    every, nobody = (E * (v - 1) + 1, E * v) if paper else (v + (E - 1) * (v - 1), float(v))
    c0 = E * (v + E - 1)
    return (c0 / theta + every / (1 - theta)) / (E - 1) ** 2, (c0 / theta + nobody / (1 - theta)) / (E - 1) ** 2


def best_theta(v: int, epsilon: float, a: float, paper: bool) -> float:
    """1 / (1 + sqrt(B/c0)) [spec of the optimum, section 4]."""
    E = exp(epsilon)
    B = E * (v - a) + a if paper else v + a * (E - 1) * (v - 1)
    return 1 / (1 + sqrt(B / (E * (v + E - 1))))


# Mixtures and the optimum [spec of the optimum, section 3]


def sums(v: int, w: int, epsilon: float, alpha: float, t: dict[int, float]) -> tuple[float, float, float]:
    """J1, J2, J3."""
    E, N = exp(epsilon), w - v
    J1 = v * (E - 1) ** 2 / (v - 1)
    J1 *= sum(s * k * (v - k) / ((alpha * k * (E - 1) + v) * (k * E + v - k)) for k, s in t.items())
    J2 = N * (E - 1) / (1 - alpha) * sum(s * k / (k * E + v - k) for k, s in t.items())
    J3 = v * N * (E - 1) / (w * (1 - alpha)) * sum(s * k / (alpha * k * (E - 1) + v) for k, s in t.items())
    return J1, J2, J3


def mixture_bound(v: int, w: int, epsilon: float, alpha: float, t: dict[int, float]) -> float:
    """M(alpha, t)."""
    J1, J2, J3 = sums(v, w, epsilon, alpha, t)
    return (v - 1) / J1 + (w - v - 1) / J2 + 1 / J3


def mixture(v: int, w: int, epsilon: float, alpha: float, t: dict[int, float]) -> Costs:
    """g_S and g_N of the mixture decoder, from what each report is worth."""
    E, N = exp(epsilon), w - v
    J1, J2, J3 = sums(v, w, epsilon, alpha, t)
    beta = 1 / ((1 - alpha) * w * J3)
    g_S = g_N = 0.0
    for k, share in t.items():
        omega = v / (alpha * k * (E - 1) + v)
        b = omega * (E - 1) * k / (w * J3)
        inside = alpha / v + b * N / v + omega * (E - 1) * (1 - k / v) / J1
        outside = alpha / v + b * N / v - omega * (E - 1) * k / v / J1
        worth = k * inside**2 + (v - k) * outside**2 + N * ((1 - alpha) / N - b) ** 2
        noise = v / (k * E + v - k)
        silent, other = alpha / v - N * beta, (1 - alpha) / N + v * beta - 1 / ((1 - alpha) * J2)
        own = other + N / ((1 - alpha) * J2)
        told = v * silent**2 + (N - 1) * other**2 + own**2
        g_S += share * worth
        g_N += share * (noise * worth + (1 - noise) * told)
    return g_S, g_N


def optimum(v: int, w: int, epsilon: float) -> float:
    """M* where it has a closed form."""
    E, N = exp(epsilon), w - v
    if v >= 3 and sqrt((v - 1) * (v - 2) / 2) >= E:
        sizes = {int(v / (E + 1)), int(v / (E + 1)) + 1} - {0}
        return min((v - 1) ** 2 * (k * E + v - k) ** 2 / (v * k * (v - k) * (E - 1) ** 2) for k in sizes)
    if v == 1 and E - 1 <= N:
        return 1 - 1 / N + 2 / (E - 1)
    assert v == 1 or (w >= 3 and sqrt((w - 1) * (w - 2) / 2) <= E - N)
    return (1 + v / (E - 1)) ** 2 * (1 - 1 / w)
