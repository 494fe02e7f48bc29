"""Evidence of the frequencies, as a likelihood reads it: rows a + (B diag(k) p), and the counts of values in clear.

A block has a = 1/c and members as its row of B; an output of an explicit channel has a = 0 and the column of Q.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np

from discreet.accuracy.decoder import PerValue
from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.arrays import BoolArray, FloatArray
from discreet.core.reports import Blocks, Reports
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.consistency import Maker, checked_tally_of, refuse_unfit_tally
from discreet.mechanisms.counting import Counting
from discreet.mechanisms.membership import Extent, MatrixRows


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
    membership: Extent
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
    blocks: Callable[[], Extent] | None = None
    rows_of: Callable[[Any], Any] | None = None

    @cached_property
    def membership(self) -> Extent | None:
        """The matrix B as an operator; None if the tally does not determine it."""
        return None if self.blocks is None else self.blocks()


class _Blocks(Maker, Protocol):
    """The part of a block mechanism that its likelihood needs."""

    @property
    def law(self) -> BlockLaw: ...

    @property
    def counts(self) -> Counting: ...

    @property
    def tally_suffices(self) -> bool: ...

    @property
    def numbers(self) -> LinearDecoder: ...

    @property
    def contrast(self) -> float: ...

    @property
    def contrasts(self) -> PerValue: ...

    def blocks_of_unknown(self, reports: Reports) -> Blocks: ...


class _Outputs(Maker, Protocol):
    """The part of an explicit channel that its likelihood needs."""

    @property
    def matrix(self) -> FloatArray: ...


def evidence_of_blocks(mechanism: _Blocks, data: Data) -> Evidence:
    """Return the evidence of blocks.

    Raises:
        DataError: if there is no report, or none that this mechanism makes.
        MismatchError: if they belong to another plan.
    """
    tally, counts, numbers = judged(mechanism, data), mechanism.counts, mechanism.numbers
    own, largest = mechanism.contrasts, mechanism.contrast
    blocks: Callable[[], Extent] | None = None
    if mechanism.tally_suffices:
        blocks = lambda: counts.membership_of(tally.support)  # noqa: E731
    elif isinstance(data, StoredBlocks):
        blocks = lambda: data.membership  # noqa: E731
    elif isinstance(data, Reports):
        blocks = lambda: mechanism.law.membership(mechanism.blocks_of_unknown(data))  # noqa: E731
    one_per_value = counts.one_per_value and mechanism.domain.sensitive_count > 0
    return Evidence(
        tally,
        largest,
        mechanism.domain.sensitive,
        own / largest if isinstance(own, np.ndarray) else None,
        numbers.truth,
        _each(numbers.noisy * numbers.inclusion, mechanism.domain.sensitive_count) if one_per_value else None,
        numbers.pool_bias.left(mechanism.domain.sensitive_count),
        blocks,
        data.rows_of if isinstance(data, StoredBlocks) and not mechanism.tally_suffices else None,
    )


def _each(numbers: PerValue, size: int) -> FloatArray:
    """Return one number for each value; one number for all is not spelled out."""
    return np.broadcast_to(np.asarray(numbers, np.float64), size)


def evidence_of_outputs(channel: _Outputs, data: Data) -> Evidence:
    """Return the evidence of a channel's outputs; errors as for `evidence_of_blocks`."""
    tally = judged(channel, data)
    seen = np.flatnonzero(tally.support)
    rows = MatrixRows(np.ascontiguousarray(channel.matrix[:, seen].T), tally.support[seen].astype(np.float64))
    everything = np.ones(channel.domain.size, dtype=np.bool_)
    # Columns of Q bend the likelihood otherwise than blocks do, so that no variance is read off its diagonal.
    return Evidence(tally, inf, everything, information_left=0.0, blocks=lambda: rows)


def judged(mechanism: Maker, data: object) -> Tally:
    """Return the tally of data that this mechanism can have made; errors as for `evidence_of_blocks`.

    Raises:
        DataError: if they are neither reports nor a tally.
    """
    if isinstance(data, StoredBlocks):
        return refuse_unfit_tally(mechanism, data.tally)
    if isinstance(data, Tally):
        return refuse_unfit_tally(mechanism, data)
    if not isinstance(data, Reports):
        raise DataError(f"reports or a tally of them are needed, got {type(data).__name__}.")
    return checked_tally_of(mechanism, data)


def needs_reports(method: str) -> ParameterError:
    """Return the refusal of a method that needs more than a tally."""
    return ParameterError(
        f"method {method!r} needs the reports of this mechanism, not only their tally; "
        "pass the reports, or choose linear, threshold, norm-sub or projected."
    )
