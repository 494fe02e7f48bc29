"""Risk in a population of which the table is a random sample: individual risks, and people who are alone in it.

If a class of f people of the table has F people in the population, whoever looks for one of them there is right with
probability 1/F. F is not known; given the sample, two models say how it varies, and both have one form. With pi the
fraction of the population that is in the table, F - f is negative binomial with f - alpha successes of probability pi
and

    E(1/F | f) = pi integral_0^1 u^(f - 1) (pi + (1 - pi) u)^(-1 - alpha) du.

alpha = 0 is the individual risk of Benedetti and Franconi (1998), with the closed forms of Capobianchi, Polettini and
Lucarelli (2001): that of sdcMicro. The other one is Pitman's model of random partitions (Hoshino 2001, "Applying
Pitman's sampling formula to microdata disclosure risk assessment"; Dankar et al. 2012 recommend it for fractions up to
a tenth), whose sample of any size is of the same model: alpha in (0, 1) and theta > -alpha are learned from the sizes
of the classes, pi becomes (n + theta)/(N + theta), and somebody alone in the table is alone in the population with
probability pi^(1 - alpha).

What is not known of alpha and theta is their posterior on a grid, with a prior uniform in alpha and in
log(theta + alpha); figures are of draws from it, each with the chance that its own population adds.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.checks import checked_between, checked_level
from discreet.core.random import RandomSource, checked_source, fresh_words
from discreet.errors import DataError, ParameterError

_NODES, _REACH = 128, 60.0
_GRID, _ZOOMS, _DRAWS = 49, 12, 200
# Differences of the logarithm of a likelihood that are no longer looked at.
_FAR = 12.0
_MOST_PEOPLE = 1e12


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure that is not known, with the limits between which it lies with some confidence."""

    value: float
    low: float
    high: float


def individual_risk(sizes: Any, fraction: Any, alpha: float = 0.0) -> FloatArray:
    """Return the expected 1/F of people in classes of f people of the table.

    Args:
        sizes: ``(K,)`` f, at least 1.
        fraction: pi, of the population in the table, in (0, 1]; one number, or one for each class.
        alpha: 0 for the risk of Benedetti and Franconi; below 1.

    Example:
        >>> individual_risk([1, 2, 3], 0.1).round(4).tolist()
        [0.2558, 0.0827, 0.0464]
    """
    classes, share = np.broadcast_arrays(np.asarray(sizes, dtype=np.float64), np.asarray(fraction, dtype=np.float64))
    x, weights = _nodes()
    inner = (share[:, None] + (1 - share[:, None]) * np.exp(-x / classes[:, None])) ** (-1 - alpha)
    risks: FloatArray = np.minimum(share / classes * (inner @ weights), 1 / classes)
    return risks


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Return places and weights of an integral over x with weights e^-x: with u = e^(-x/f) what is left is smooth."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    x = (nodes + 1) * _REACH / 2
    return x, weights * _REACH / 2 * np.exp(-x)


@dataclass(frozen=True, slots=True)
class PopulationEstimate:
    """An estimate of the risk in a population from a sample, under Pitman's model.

    Attributes:
        fraction: pi, of the population in the table.
        alpha: posterior mean; 1 where no two people of the table are alike, so that all may be alone.
        theta: posterior mean.
        level: confidence of the limits, if the population is as the model says.
        uniques: people of the table who are alone in the population.
        population_uniques: people of the population who are alone in it.
        risk: mean of 1/F over the people of the table.
        worst: expected 1/F in the smallest class.
        above: share of the people with an expected 1/F above the limit.
        plain: mean, worst and share above the limit by the negative binomial model (`individual_risk`).

    Example:
        >>> import discreet as dc
        >>> estimate = population_estimate([1] * 60 + [2] * 20 + [5] * 10, 0.1, random=dc.SeededRandom(1))
        >>> estimate.uniques.low <= estimate.uniques.value <= estimate.uniques.high <= 60
        True
    """

    fraction: float
    alpha: float
    theta: float
    level: float
    uniques: Spread
    population_uniques: Spread
    risk: Spread
    worst: float
    above: float
    plain: tuple[float, float, float]


def population_estimate(
    sizes: Any,
    fraction: float,
    *,
    suppress: int = 1,
    limit: float = 0.2,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> PopulationEstimate:
    """Return an estimate of the risk in a population from the sizes of a sample's classes.

    Args:
        sizes: ``(K,)`` f, people of the table in each class.
        fraction: pi, of the population in the table, between 0 and 1.
        suppress: the model learns from all classes, and all figures but that of the population are about those of at
            least so many people; there must be one.
        limit: risk, of which the share of people above it is told.
        level: confidence of limits.
        random: draws parameters and populations; None for fresh words.

    Raises:
        DataError: if there is nobody.
        ParameterError: if the fraction or the level is not between 0 and 1, or the fraction is far too small.
    """
    share, confidence = checked_between("fraction", fraction), checked_level(level)
    if np.sum(sizes) > share * _MOST_PEOPLE:
        raise ParameterError(
            f"fraction must be larger: at fraction={share:g} the population has over {_MOST_PEOPLE:.0e} people."
        )
    f, classes = np.unique(np.asarray(sizes, dtype=np.int64), return_counts=True)
    if not len(f) or f[0] < 1:
        raise DataError("there must be somebody in every class of a sample, and at least one class.")
    words = fresh_words(checked_source(random), 4).tolist()
    generator = np.random.Generator(np.random.PCG64(words))
    people, groups = int(f @ classes), int(classes.sum())
    size = people / share
    alpha, theta = _posterior_draws(f, classes, generator)
    inside = (people + theta) / (size + theta)
    alone = inside ** (1 - alpha)
    uniques = generator.binomial(int(classes[f == 1].sum()), alone)
    shown = np.where(f >= suppress, f * classes, 0)
    weights = shown / shown.sum()
    # People outside the table whose class is not in it: their share varies, and so does who of them is alone.
    fresh = generator.beta(np.maximum(theta + alpha * groups, 1e-9), np.maximum(people - alpha * groups, 1e-9))
    others = generator.poisson((size - people) * fresh * alone)
    each = np.array([individual_risk(f, pi, shape) for pi, shape in zip(inside, alpha, strict=True)])
    mean = each @ weights
    # 1/F lies in (0, 1/f], so that its variance is at most m (1/f - m) at the mean m.
    spread = np.sqrt((each * (1 - f * each)) @ (weights / shown.sum()))
    means = np.clip(mean + spread * generator.normal(size=len(mean)), 0, 1)
    expected, plain = each.mean(axis=0), individual_risk(f, share)

    def summary(risks: FloatArray) -> tuple[float, float, float]:
        return float(risks @ weights), float(risks[weights > 0].max()), float(weights @ (risks > limit))

    _, worst, above = summary(expected)
    return PopulationEstimate(
        share,
        float(alpha.mean()),
        float(theta.mean()),
        confidence,
        _spread(uniques if suppress <= 1 else np.zeros(1), confidence),
        _spread(uniques + others, confidence),
        _spread(means, confidence),
        worst,
        above,
        summary(plain),
    )


def _spread(draws: AnyArray, level: float) -> Spread:
    ends = (1 - level) / 2
    return Spread(float(draws.mean()), *map(float, np.quantile(draws, [ends, 1 - ends])))


def _posterior_draws(
    sizes: IntArray, classes: IntArray, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return draws of alpha and theta from their posterior."""
    people = int(sizes @ classes)
    if sizes[-1] == 1:
        # Nobody is like anybody else: nothing says that it is otherwise in the population.
        return np.ones(1), np.zeros(1)
    box = np.array([[1e-6, 1 - 1e-6], [np.log(1e-4), np.log(1e3 * people)]])
    for _ in range(_ZOOMS):
        alpha, shift = (np.linspace(low, high, _GRID) for low, high in box)
        weights = _log_likelihood(sizes, classes, alpha, shift)
        weights -= weights.max()
        near = [np.flatnonzero((weights > -_FAR).any(axis=axis)) for axis in (1, 0)]
        closer = [
            [axis[max(at[0] - 1, 0)], axis[min(at[-1] + 1, _GRID - 1)]]
            for axis, at in zip((alpha, shift), near, strict=True)
        ]
        if np.array_equal(box, closer):
            break
        box = np.array(closer)
    chances = np.exp(weights).ravel()
    places = generator.choice(chances.size, _DRAWS, p=chances / chances.sum())
    chosen = alpha[places // _GRID]
    return chosen, np.exp(shift[places % _GRID]) - chosen


def _log_likelihood(sizes: IntArray, classes: IntArray, alpha: FloatArray, shift: FloatArray) -> FloatArray:
    """Return ``(a, s)`` logarithms of Pitman's sampling formula at alpha and log(theta + alpha), up to a constant.

    Products such as (theta + 1) ... (theta + n - 1) are beta functions but for a constant, which loses no digits.
    """
    from scipy.special import betaln, gammaln

    people, groups = int(sizes @ classes), int(classes.sum())
    column = alpha[:, None]
    theta = np.exp(shift) - column
    joined = (gammaln(sizes - column) - gammaln(1 - column)) @ classes
    result: FloatArray = joined[:, None] + betaln(theta + 1, people - 1)
    if groups > 1:
        result += (groups - 1) * np.log(column) - betaln(theta / column + 1, groups - 1)
    return result
