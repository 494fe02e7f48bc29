"""Derived mechanisms: compositions with the promise that follows from their parts."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import AnyArray, BoolArray, frozen
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms import Channel
from discreet.privacy.notions import Notion, logarithm

_MOST_ENTRIES = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """A mechanism composed of others, with the promise that follows from its parts.

    Attributes:
        notion: what is promised, for the sensitive values of the channel's domain.
        ratio: e^epsilon of the promise, exactly.
        epsilon: its logarithm, in nats.
        protected: ``(|Y|,)`` which outputs are protected.
        weights: ``(|X|, |Y|)`` Python integers, the parts' own probabilities multiplied out: every row adds up to the
            same total. The promise is about these.
        channel: the same as one channel, whose sampler rounds them to integers over 2^64.
    """

    notion: Notion
    ratio: Fraction
    epsilon: float
    protected: BoolArray
    weights: AnyArray
    channel: Channel


def derive(notion: Notion, ratio: Fraction, weights: AnyArray, protected: BoolArray, domain: Domain) -> Derived:
    """Return a derived mechanism; see `Derived`."""
    channel = Channel((weights / weights[0].sum()).astype(np.float64), domain)
    return Derived(notion, ratio, logarithm(ratio), frozen(protected), frozen(weights), channel)


def refuse_large(entries: int) -> None:
    """Refuse a product with too many entries.

    Raises:
        ParameterError: if there are more than 2e6 entries.
    """
    if entries > _MOST_ENTRIES:
        raise ParameterError(
            f"the product must have at most {_MOST_ENTRIES:g} entries, got {entries:.3g}; use smaller alphabets."
        )
