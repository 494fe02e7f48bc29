"""Measured information, with its interval and its meaning."""

from dataclasses import dataclass
from math import isfinite, log
from statistics import NormalDist

NATS_PER_BIT = log(2)
MUCH_BEYOND = 0.01
"""From which share of genuine scores beyond all impostor scores on an estimate has no upper limit."""


@dataclass(frozen=True, slots=True)
class Information:
    """An estimate of information, in bits.

    Attributes:
        name: what is estimated, such as ``D(f_G || f_mix)``.
        bits: the estimate; near 0 it may come out negative.
        interval: lower and upper confidence limit, in bits; the upper one is infinite where the scores show no limit;
            None if none was asked for.
        level: confidence of the interval.
        method: how it was estimated.
        n: number of genuine scores.
        m: number of impostor scores.
        bounds_pie: whether what is estimated is at most I(U;S), hence at most the PIE, for any number of users.
        capped: whether the estimate stopped at what m impostor scores can show at most.
        separated: whether the genuine scores lie in a gap of the impostor scores, whose width decides.
        beyond: the share of genuine scores that lie beyond all impostor scores, where the estimate is too low.
    """

    name: str
    bits: float
    interval: tuple[float, float] | None
    level: float
    method: str
    n: int
    m: int
    bounds_pie: bool
    capped: bool = False
    separated: bool = False
    beyond: float = 0.0

    @property
    def certified(self) -> float | None:
        """Lower bound on the PIE by the lower limit, in bits; None if this is no bound or has no interval."""
        return max(self.interval[0], 0.0) if self.bounds_pie and self.interval else None

    def __str__(self) -> str:
        between = ""
        if self.interval:
            low, high = self.interval
            upto = f" ({self.level:.0%} interval {low:.4g} to {high:.4g})"
            between = upto if isfinite(high) else f" (at least {low:.4g} with {(1 + self.level) / 2:.4g} confidence)"
        role = (
            "a lower bound on the PIE"
            if self.bounds_pie
            else "the limit of the PSE for many users, and for few not a lower bound on the PIE"
        )
        ends = "; all that so many impostor scores can show, the truth may be larger" if self.capped else ""
        gap = "; no impostor score lies among the genuine ones" if self.separated else ""
        if self.beyond > MUCH_BEYOND and not self.bounds_pie:
            gap += f"; {self.beyond:.1%} of the genuine scores lie beyond all impostor scores, so it is rather too low"
        return (
            f"{self.name} is about {self.bits:.4g} bits{between}, by {self.method} from {self.n} genuine and {self.m} "
            f"impostor scores: {role}{ends}{gap}."
        )


def bits(nats: float) -> float:
    """Return nats in bits."""
    return nats / NATS_PER_BIT


def normal_quantile(level: float) -> float:
    """Return z such that a normal variable is within z standard deviations with probability ``level``."""
    return NormalDist().inv_cdf((1 + level) / 2)
