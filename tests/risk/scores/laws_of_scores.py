"""Laws of genuine and impostor scores whose divergence is known, in nats."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Case:
    name: str
    genuine: Draw
    impostors: Draw
    nats: float


def normal(mean: float, deviation: float = 1.0) -> Draw:
    return lambda rng, n: rng.normal(mean, deviation, n)


def exponential(mean: float) -> Draw:
    return lambda rng, n: rng.exponential(mean, n)


def with_atom(share: float, rest: Draw, atom: float = 0.0) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < share, atom, rest(rng, n))


def rounded(draw: Draw, decimals: int) -> Draw:
    return lambda rng, n: np.round(draw(rng, n), decimals)


def fixed_point(draw: Draw, scale: int) -> Draw:
    return lambda rng, n: (draw(rng, n) * scale).astype(np.int64)


CASES = [
    Case("the same law", normal(0), normal(0), 0.0),
    Case("Gaussians, one apart", normal(1), normal(0), 0.5),
    Case("narrower Gaussian", normal(0, 0.5), normal(0), log(2) + 0.125 - 0.5),
    Case("exponentials, heavier impostors", exponential(1), exponential(3), log(3) + 1 / 3 - 1),
    Case("exponentials, lighter impostors", exponential(1.5), exponential(1), -log(1.5) + 0.5),
    Case(
        "atom and Gaussian",
        with_atom(0.3, normal(1)),
        with_atom(0.9, normal(0)),
        0.3 * log(0.3 / 0.9) + 0.7 * log(0.7 / 0.1) + 0.7 * 0.5,
    ),
    Case(
        "atom of the impostors only",
        normal(1),
        with_atom(0.5, normal(0)),
        0.5 + log(2),
    ),
    Case(
        "two atoms",
        lambda rng, n: rng.choice([0.0, 1.0], n, p=[0.2, 0.8]),
        lambda rng, n: rng.choice([0.0, 1.0], n, p=[0.9, 0.1]),
        0.2 * log(0.2 / 0.9) + 0.8 * log(0.8 / 0.1),
    ),
    # Rounding to so many digits hides less than 1e-4 nats.
    *(Case(f"Gaussians with {d} decimals", rounded(normal(1), d), rounded(normal(0), d), 0.5) for d in (2, 3, 4, 5)),
    Case("Gaussians in fixed point", fixed_point(normal(1), 1 << 14), fixed_point(normal(0), 1 << 14), 0.5),
]
