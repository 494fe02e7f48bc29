"""What estimation needs of the reports, as whole numbers that add up exactly."""

from dataclasses import dataclass
from typing import Self

from discreet.arrays import IntArray, frozen
from discreet.core.reports import refuse_strangers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """Counts over a batch of reports; a commutative monoid under ``+`` whose zero is `Mechanism.empty_tally`.

    Attributes:
        fingerprint: marks the plan.
        n: number of reports.
        support: ``(v,)`` T: in how many reports the block contains each sensitive value (for an explicit channel,
            how often each output came).
        clear: ``(|X_N|,)`` F: how often each other value came in clear.
        simulated: whether any of the reports was simulated.
    """

    fingerprint: str
    n: int
    support: IntArray
    clear: IntArray
    simulated: bool = False

    def __post_init__(self) -> None:
        """Make the counts read-only."""
        object.__setattr__(self, "support", frozen(self.support))
        object.__setattr__(self, "clear", frozen(self.clear))

    def __repr__(self) -> str:
        marks = ", simulated" if self.simulated else ""
        return f"Tally(n={self.n}, plan={self.fingerprint[:12]}{marks})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and (self.fingerprint, self.n, self.simulated) == (other.fingerprint, other.n, other.simulated)
            and bool((self.support == other.support).all() and (self.clear == other.clear).all())
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def clear_total(self) -> int:
        """F: how many reports were in clear."""
        return int(self.clear.sum())

    def __add__(self, other: Self) -> Self:
        """Return the tally of both batches.

        Raises:
            MismatchError: if they belong to different plans.
        """
        if not isinstance(other, Tally):
            return NotImplemented
        refuse_strangers({self.fingerprint, other.fingerprint})
        return type(self)(
            self.fingerprint,
            self.n + other.n,
            self.support + other.support,
            self.clear + other.clear,
            self.simulated or other.simulated,
        )

    def __radd__(self, other: object) -> Self:
        """Let ``sum`` start from its 0."""
        return self if other == 0 and isinstance(other, int) else NotImplemented
