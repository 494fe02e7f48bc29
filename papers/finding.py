"""A finding of a paper as a statement that is checked: a number against a threshold."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement, checked on one data set. The threshold is chosen before the data are seen.

    Attributes:
        claim: what the paper says.
        data: name of the data set.
        measured: what the number is.
        number: it.
        relation: how it must compare with the threshold.
        threshold: what it is compared with.
        detail: what the number is made of.
    """

    claim: str
    data: str
    measured: str
    number: float
    relation: Literal[">=", "<="]
    threshold: float
    detail: str = ""

    @property
    def holds(self) -> bool:
        """True if the statement holds; false where the number is nan."""
        return self.number >= self.threshold if self.relation == ">=" else self.number <= self.threshold

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return (
            f"{self.data}: {self.claim}: {verdict} ({self.measured} = {self.number:.4g}, "
            f"wanted {self.relation} {self.threshold:.4g})"
        )
