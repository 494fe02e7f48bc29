"""The users who may have sent a report, with their prior."""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, frozen
from discreet.core.checks import checked_whole
from discreet.errors import ParameterError

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """The users who may have sent a report, with their prior.

    Attributes:
        count: n.
        prior: ``(n,)`` their probabilities, falling; None if all are equally likely.
    """

    count: int
    prior: FloatArray | None = None

    @classmethod
    def of(cls, count: Any, prior: Any = None) -> "Users":
        """Return users from their number and their prior.

        Args:
            count: n.
            prior: ``(n,)`` probabilities in any order; None if all are equally likely.

        Raises:
            ParameterError: if the number is none, or the prior is not n probabilities.
        """
        count = checked_whole("users", count)
        if prior is None:
            return cls(count)
        try:
            numbers = np.array(prior, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("prior must be one probability per user.") from None
        if numbers.shape != (count,):
            raise ParameterError(f"prior must have one probability for each of {count} users, got {numbers.shape}.")
        if not np.isfinite(numbers).all() or numbers.min() < 0 or abs(numbers.sum() - 1) > _TOLERANCE:
            raise ParameterError(f"prior must hold probabilities that sum to 1, got the sum {float(numbers.sum())!r}.")
        falling = np.sort(numbers / numbers.sum())[::-1]
        # The same as nothing known, and that has closed forms.
        return cls(count) if falling[0] == falling[-1] else cls(count, frozen(falling))

    @property
    def likeliest(self) -> float:
        """Return p_1, the probability of the likeliest user."""
        return 1 / self.count if self.prior is None else float(self.prior[0])

    def guessed(self, listed: int) -> float:
        """Return P_k, the probability that the right user is among the k likeliest."""
        if listed >= self.count:
            return 1.0
        return listed / self.count if self.prior is None else min(float(self.prior[:listed].sum()), 1.0)

    @property
    def entropy(self) -> float:
        """H(U), in nats: the information that would name the user."""
        if self.prior is None:
            return log(self.count)
        positive = self.prior[self.prior > 0]
        return max(-float(positive @ np.log(positive)), 0.0)
