"""Priors over the users who may have sent a report."""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, frozen
from discreet.core.checks import checked_whole
from discreet.errors import ParameterError

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A prior over the users who may have sent a report.

    Attributes:
        users: n.
        probabilities: ``(n,)`` of the users, falling; None if all are equally likely.
    """

    users: int
    probabilities: FloatArray | None = None

    @classmethod
    def of(cls, users: Any, probabilities: Any = None) -> "Prior":
        """Return a prior.

        Args:
            users: n.
            probabilities: ``(n,)`` in any order; None if all users are equally likely.

        Raises:
            ParameterError: if the number is none, or there are not n probabilities.
        """
        users = checked_whole("users", users)
        if probabilities is None:
            return cls(users)
        try:
            numbers = np.array(probabilities, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("prior must be one probability per user.") from None
        if numbers.shape != (users,):
            raise ParameterError(f"prior must have one probability for each of {users} users, got {numbers.shape}.")
        if not np.isfinite(numbers).all() or numbers.min() < 0 or abs(numbers.sum() - 1) > _TOLERANCE:
            raise ParameterError(f"prior must hold probabilities that sum to 1, got the sum {float(numbers.sum())!r}.")
        falling = np.sort(numbers / numbers.sum())[::-1]
        # The same as nothing known, and that has closed forms.
        return cls(users) if falling[0] == falling[-1] else cls(users, frozen(falling))

    @property
    def likeliest(self) -> float:
        """p_1, the probability of the likeliest user."""
        return 1 / self.users if self.probabilities is None else float(self.probabilities[0])

    def guessed(self, listed: int) -> float:
        """Return P_k, the probability that the right user is among the k likeliest."""
        if listed >= self.users:
            return 1.0
        if self.probabilities is None:
            return listed / self.users
        return min(float(self.probabilities[:listed].sum()), 1.0)

    @property
    def entropy(self) -> float:
        """H(U), in nats: the information that would name the user."""
        if self.probabilities is None:
            return log(self.users)
        positive = self.probabilities[self.probabilities > 0]
        return max(-float(positive @ np.log(positive)), 0.0)
