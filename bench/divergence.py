"""Divergences from samples: how fast, how biased, and how often their intervals hold the truth.

The laws have known divergences. Everything here is in nats.
"""

from collections.abc import Callable, Iterator
from math import log

import numpy as np

from bench.measure import Group, Row, median_seconds
from discreet import SeededRandom
from discreet.risk.det import det
from discreet.risk.divergence import METHODS, divergence
from discreet.risk.pse import pse_of_scores

COLUMNS = ("seconds", "truth", "bias", "its error", "spread", "coverage")
N, M = 1_000_000, 10_000_000
BIAS_N, BIAS_REPEATS = 10_000, 200
COVERAGE_N, COVERAGE_M, COVERAGE_REPEATS, HALVES = 1000, 10_000, 400, 100
MOST_SECONDS, MOST_BIAS, COVERED = 2.0, 0.03, (0.90, 0.99)
USERS = 1000
_NATS = log(2)

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _normal(mean: float) -> Draw:
    return lambda rng, n: rng.normal(mean, 1, n)


def _atom(share: float, mean: float) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < share, 0.0, rng.normal(mean, 1, n))


def _chosen(shares: list[float]) -> Draw:
    return lambda rng, n: rng.choice(float(len(shares)) + np.arange(len(shares)), n, p=shares)


_LAWS: dict[str, tuple[Draw, Draw, float]] = {
    "same Gaussian": (_normal(0), _normal(0), 0.0),
    "Gaussians 1 apart": (_normal(1), _normal(0), 0.5),
    "Gaussians 2 apart": (_normal(2), _normal(0), 2.0),
    "exponentials 1 : 3": (
        lambda rng, n: rng.exponential(1, n),
        lambda rng, n: rng.exponential(3, n),
        log(3) + 1 / 3 - 1,
    ),
    "exponentials 3 : 2": (
        lambda rng, n: rng.exponential(1.5, n),
        lambda rng, n: rng.exponential(1, n),
        0.5 - log(1.5),
    ),
    "exponentials 3 : 1": (lambda rng, n: rng.exponential(3, n), lambda rng, n: rng.exponential(1, n), 2 - log(3)),
    "atom .3 : .9 and Gaussians": (
        _atom(0.3, 1),
        _atom(0.9, 0),
        0.3 * log(0.3 / 0.9) + 0.7 * log(0.7 / 0.1) + 0.7 / 2,
    ),
    "three atoms": (
        _chosen([0.2, 0.3, 0.5]),
        _chosen([0.8, 0.15, 0.05]),
        0.2 * log(0.2 / 0.8) + 0.3 * log(2) + 0.5 * log(10),
    ),
    "Gaussians to 4 decimals": (
        lambda rng, n: np.round(rng.normal(1, 1, n), 4),
        lambda rng, n: np.round(rng.normal(0, 1, n), 4),
        0.5,
    ),
}
_COVERED = (
    "same Gaussian",
    "Gaussians 1 apart",
    "atom .3 : .9 and Gaussians",
    "three atoms",
    "Gaussians to 4 decimals",
)


def run() -> Group:
    """Measure every case."""
    rows = [*_speeds(), *_biases(), *_coverages(), _certified()]
    notes = [
        f"Speed: medians, {N:,} genuine against {M:,} impostor scores, unsorted, without intervals.",
        f"Bias: mean over {BIAS_REPEATS} repetitions at n = {BIAS_N:,}. Where 5% of the genuine scores lie beyond "
        "all impostors (exponentials 3 : 1) it is low, which the output then says.",
        f"Coverage: of 95% intervals, {COVERAGE_REPEATS} repetitions at n = {COVERAGE_N:,}, m = {COVERAGE_M:,}, "
        f"{HALVES} halves. A divergence of 0 can be missed on one side only. Certified: D(f_G || f_mix) of Gaussians 2 "
        f"apart, {USERS:,} users, and how often its lower limit is no more than the truth.",
    ]
    return Group("Divergence of scores", COLUMNS, rows, notes)


def _speeds() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    genuine, impostors = rng.normal(2, 1, N), rng.normal(0, 1, M)
    works: dict[str, Callable[[], object]] = {
        f"{method}": lambda method=method: divergence(genuine, impostors, method=method, halves=0)  # type: ignore[misc]
        for method in METHODS
    }
    fixed = (genuine * (1 << 20)).astype(np.int64), (impostors * (1 << 20)).astype(np.int64)
    works["in fixed point"] = lambda: divergence(*fixed, halves=0)
    works["DET curve"] = lambda: det(genuine, impostors)
    works["D(f_G || f_mix) and D(f_G || f_I)"] = lambda: pse_of_scores(genuine, impostors, halves=0)
    for name, work in works.items():
        spent = median_seconds(work, repeats=3)
        yield Row(f"speed, {name}", {"seconds": spent}, f"<= {MOST_SECONDS:g} s", spent <= MOST_SECONDS)


def _biases() -> Iterator[Row]:
    for name, (genuine, impostors, truth) in _LAWS.items():
        for m in (BIAS_N, 10 * BIAS_N):
            rng = np.random.default_rng(2)
            values = np.array(
                [
                    divergence(genuine(rng, BIAS_N), impostors(rng, m), halves=0).bits * _NATS
                    for _ in range(BIAS_REPEATS)
                ]
            )
            spread, bias = float(values.std(ddof=1)), float(values.mean()) - truth
            cells = {"truth": truth, "bias": bias, "its error": spread / BIAS_REPEATS**0.5, "spread": spread}
            yield Row(f"bias, {name}, m = {m:,}", cells, f"|bias| <= {MOST_BIAS:g}", abs(bias) <= MOST_BIAS)


def _coverages() -> Iterator[Row]:
    for name in _COVERED:
        genuine, impostors, truth = _LAWS[name]
        rng, words, hits = np.random.default_rng(3), SeededRandom(1), 0
        for _ in range(COVERAGE_REPEATS):
            sample = genuine(rng, COVERAGE_N), impostors(rng, COVERAGE_M)
            low, high = divergence(*sample, halves=HALVES, random=words).interval or (0.0, 0.0)
            # Divergences are never negative, nor are the limits.
            hits += low <= truth / _NATS + 1e-12 and truth / _NATS <= high
        covered = hits / COVERAGE_REPEATS
        low, high = COVERED
        yield Row(
            f"coverage, {name}",
            {"truth": truth, "coverage": covered},
            f"{low:.0%} to {high:.0%}",
            low <= covered <= high,
        )


def _certified() -> Row:
    """Gaussians two apart: D(f_G || f_mix) by quadrature."""
    x = np.linspace(-8, 12, 200_001)
    density = np.exp(-((x - 2) ** 2) / 2) / np.sqrt(2 * np.pi)
    ratio = np.exp(2 - 2 * x)
    truth = -float((density * np.log(1 / USERS + (1 - 1 / USERS) * ratio)).sum() * (x[1] - x[0]))
    rng, words, values, hits = np.random.default_rng(4), SeededRandom(2), [], 0
    for _ in range(COVERAGE_REPEATS):
        sample = rng.normal(2, 1, COVERAGE_N), rng.normal(0, 1, COVERAGE_M)
        found = pse_of_scores(*sample, users=USERS, halves=0, random=words).certified
        values.append(found.bits * _NATS)
        hits += (found.certified or 0.0) * _NATS <= truth
    covered, spread = hits / COVERAGE_REPEATS, float(np.std(values))
    cells = {"truth": truth, "bias": float(np.mean(values)) - truth, "spread": spread, "coverage": covered}
    cells["its error"] = spread / COVERAGE_REPEATS**0.5
    return Row(f"certified, {USERS:,} users", cells, "lower limit holds in >= 97.5%", covered >= 0.975)
