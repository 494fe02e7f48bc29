"""Evidence of the frequencies, as a likelihood reads it: rows a + (B diag(k) p), and the counts of values in clear.

A block has a = 1/c and members as its row of B; an output of an explicit channel has a = 0 and the column of Q.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from discreet.arrays import BoolArray, FloatArray
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import Membership


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlocks:
    """The blocks of reports that are not kept in this memory, and their tally.

    Attributes:
        tally: the counts of the reports.
        membership: the matrix of the blocks, in files or on other machines.
        rows_of: a function from a likelihood to its `Rows`, which sum over the blocks where they are; None for the
            rows of this process.
    """

    tally: Tally
    membership: Membership
    rows_of: Callable[[Any], Any] | None = None


Data: TypeAlias = Reports | Tally | StoredBlocks
"""What estimates are made of."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """A tally that was checked, and the terms of the likelihood of its reports.

    Attributes:
        tally: the counts.
        contrast: c = 1/a, the largest one of any value; infinite for an explicit channel.
        covered: ``(|X|,)`` booleans: true for a value with a column of B; the others come in clear.
        shares: ``(v,)`` k, each value's own contrast divided by c; None if all have the same.
        truth: s, the probability that a value that is not covered comes in clear.
        noise: ``(v,)`` probabilities of the values as noise, where each block is a single value; None elsewhere.
        information_left: the share of the information of the rows about a frequency that is left where the part that
            all reports have in common is unknown too.
        blocks: a function that returns the matrix B; None if the tally does not determine it.
        rows_of: as for `StoredBlocks`.
    """

    tally: Tally
    contrast: float
    covered: BoolArray
    shares: FloatArray | None = None
    truth: float = 1.0
    noise: FloatArray | None = None
    information_left: float = 1.0
    blocks: Callable[[], Membership] | None = None
    rows_of: Callable[[Any], Any] | None = None

    @cached_property
    def membership(self) -> Membership | None:
        """The matrix B as an operator; None if the tally does not determine it."""
        return None if self.blocks is None else self.blocks()


def needs_reports(method: str) -> ParameterError:
    """Return the refusal of a method that needs more than a tally."""
    return ParameterError(
        f"method {method!r} needs the reports of this mechanism, not only their tally; "
        "pass the reports, or choose linear, threshold, norm-sub or projected."
    )
