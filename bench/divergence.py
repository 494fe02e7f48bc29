"""Divergences from samples: how fast and how biased, and how often certified limits hold.

The laws have known divergences. Everything here is in nats.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from bench.measure import Group, Row, median_seconds, progress
from discreet import SeededRandom
from discreet.risk.scores import Scores
from discreet.risk.scores.pse import divergence, pse_of_scores
from discreet.risk.scores.rates import det

COLUMNS = ("truth", "bias", "its error", "spread", "coverage")
MOST_SECONDS, MOST_BIAS = 2.0, 0.03
USERS = 1000
_NATS = log(2)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is drawn, and how often.

    Attributes:
        n: genuine scores where speed is measured.
        m: impostor scores there.
        bias_n: genuine scores where bias is.
        bias_repeats: how often.
        coverage_n: genuine scores where coverage is.
        coverage_m: impostor scores there.
        coverage_repeats: how often.
    """

    n: int = 1_000_000
    m: int = 10_000_000
    bias_n: int = 10_000
    bias_repeats: int = 200
    coverage_n: int = 1000
    coverage_m: int = 10_000
    coverage_repeats: int = 400


QUICK = Sizes(10_000, 20_000, 1000, 2, 200, 400, 2)
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


def run(*, quick: bool = False) -> Group:
    """Measure every case."""
    sizes = QUICK if quick else Sizes()
    speed = f"Medians of 3, {sizes.n:,} genuine against {sizes.m:,} impostor scores, unsorted."
    rows = [*_biases(sizes), _certified(sizes)]
    notes = [
        f"Bias: mean over {sizes.bias_repeats} repetitions at n = {sizes.bias_n:,}. Where 5% of the genuine scores lie "
        "beyond all impostors (exponentials 3 : 1) it is low, which the output then says.",
        f"Certified: D(f_G || f_mix) of Gaussians 2 apart, {USERS:,} users, and how often its lower limit is no more "
        f"than the truth: {sizes.coverage_repeats} repetitions, n = {sizes.coverage_n:,}, m = {sizes.coverage_m:,}.",
    ]
    accuracy = Group("Bias of divergences", COLUMNS, rows, notes)
    return Group("Divergence of scores", ("seconds",), list(_speeds(sizes)), [speed], also=[accuracy])


def _speeds(sizes: Sizes) -> Iterator[Row]:
    rng = np.random.default_rng(1)
    genuine, impostors = rng.normal(2, 1, sizes.n), rng.normal(0, 1, sizes.m)
    works: dict[str, Callable[[], object]] = {"generalized": lambda: divergence(Scores.of_pairs(genuine, impostors))}
    fixed = (genuine * (1 << 20)).astype(np.int64), (impostors * (1 << 20)).astype(np.int64)
    works["in fixed point"] = lambda: divergence(Scores.of_pairs(*fixed))
    works["DET curve"] = lambda: det(Scores.of_pairs(genuine, impostors))
    works["D(f_G || f_mix) and D(f_G || f_I)"] = lambda: pse_of_scores(Scores.of_pairs(genuine, impostors))
    for name, work in works.items():
        progress(f"speed, {name}")
        spent = median_seconds(work, repeats=3)
        yield Row(name, {"seconds": spent}, f"<= {MOST_SECONDS:g} s", spent <= MOST_SECONDS)


def _biases(sizes: Sizes) -> Iterator[Row]:
    for name, (genuine, impostors, truth) in _LAWS.items():
        progress(f"bias, {name}")
        for m in (sizes.bias_n, 10 * sizes.bias_n):
            rng = np.random.default_rng(2)
            values = np.array(
                [
                    divergence(Scores.of_pairs(genuine(rng, sizes.bias_n), impostors(rng, m))).bits * _NATS
                    for _ in range(sizes.bias_repeats)
                ]
            )
            spread, bias = float(values.std(ddof=1)), float(values.mean()) - truth
            cells = {"truth": truth, "bias": bias, "its error": spread / sizes.bias_repeats**0.5, "spread": spread}
            yield Row(f"bias, {name}, m = {m:,}", cells, f"|bias| <= {MOST_BIAS:g}", abs(bias) <= MOST_BIAS)


def _certified(sizes: Sizes) -> Row:
    """Gaussians two apart: D(f_G || f_mix) by quadrature."""
    x = np.linspace(-8, 12, 200_001)
    density = np.exp(-((x - 2) ** 2) / 2) / np.sqrt(2 * np.pi)
    ratio = np.exp(2 - 2 * x)
    truth = -float((density * np.log(1 / USERS + (1 - 1 / USERS) * ratio)).sum() * (x[1] - x[0]))
    rng, words, values, hits = np.random.default_rng(4), SeededRandom(2), [], 0
    for _ in range(sizes.coverage_repeats):
        sample = rng.normal(2, 1, sizes.coverage_n), rng.normal(0, 1, sizes.coverage_m)
        found = pse_of_scores(Scores.of_pairs(*sample), users=USERS, random=words).certified
        values.append(found.bits * _NATS)
        hits += (found.certified or 0.0) * _NATS <= truth
    covered, spread = hits / sizes.coverage_repeats, float(np.std(values))
    cells = {"truth": truth, "bias": float(np.mean(values)) - truth, "spread": spread, "coverage": covered}
    cells["its error"] = spread / sizes.coverage_repeats**0.5
    return Row(f"certified, {USERS:,} users", cells, "lower limit holds in >= 97.5%", covered >= 0.975)
