"""Evidence: reports or tallies as a likelihood reads them, after a check that the mechanism can have made them.

Checks that reports and tallies can be of a mechanism, before anything is estimated from them.

Reports from files are checked row by row as they are read (`protocol/frames.py`). Reports and tallies that a caller
puts together carry the fingerprint of the plan, but need not be possible under its mechanism.

Evidence of the frequencies, as a likelihood reads it: rows a + (B diag(k) p), and the counts of values in clear.

A block has a = 1/c and members as its row of B; an output of an explicit channel has a = 0 and the column of Q.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.core.random import RandomSource
from discreet.core.reports import Blocks, Column, Reports, check_same_plan
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.block_law import BlockLaw, Counting, Extent, MatrixRows
from discreet.theory.linear_decoder import LinearDecoder, PerValue


class Maker(Protocol):
    """The part of a mechanism by which its reports and tallies are checked."""

    @property
    def domain(self) -> Domain:
        """Return the values."""
        ...

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the plan."""
        ...

    def block_count(self, n: int, in_clear: int) -> int:
        """Return the number of blocks of n reports of which some are in clear."""
        ...

    @property
    def block_columns(self) -> tuple[Column, ...]:
        """Return the columns of a block."""
        ...

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block that no device can have sent."""
        ...

    @property
    def tally_sizes(self) -> tuple[int, int]:
        """Return the numbers of counts of blocks and of values in clear in a tally."""
        ...

    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return true if counts could be those of n reports."""
        ...

    def tally(self, reports: Reports) -> Tally:
        """Return the tally of reports; refuses codes in clear that no device sends."""
        ...

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Obfuscate values that are given by their codes."""
        ...


def refuse_unfit_reports(mechanism: Maker, reports: object) -> Reports:
    """Return reports with the columns of this mechanism, or refuse them; `refuse_flaws` checks the blocks.

    Raises:
        DataError: if they are no reports, or none that this mechanism makes.
        MismatchError: if they belong to another plan.
    """
    if not isinstance(reports, Reports):
        raise DataError(f"reports are needed, got {type(reports).__name__}.")
    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    wanted = {column.name: column for column in mechanism.block_columns}
    if set(reports.blocks) != set(wanted):
        raise DataError(f"reports of this mechanism have the columns {', '.join(wanted)}, these have others.")
    for name, column in wanted.items():
        shape = (reports.block_count,) if column.width is None else (reports.block_count, column.width)
        if reports.blocks[name].dtype != column.dtype or reports.blocks[name].shape != shape:
            width = "" if column.width is None else f" in rows of {column.width}"
            raise DataError(f"column {name!r} of reports of this mechanism must be {np.dtype(column.dtype)}{width}.")
    if reports.block_count != mechanism.block_count(reports.n, len(reports.clear)):
        raise DataError("reports of this mechanism must each have a block, or a value in clear in its place.")
    return reports


def counted_in_clear(domain: Domain, codes: AnyArray) -> IntArray:
    """Return the ``(|X_N|,)`` counts F of values in clear.

    Args:
        domain: of the mechanism.
        codes: ``(m,)`` codes of values in clear.

    Raises:
        DataError: if one of them is of a sensitive value, or of none.
    """
    slots = domain.slots
    if not len(codes):
        return np.zeros(domain.clear_count, dtype=np.int64)
    if slots is not None and codes.max() < domain.size and (codes.dtype.kind == "u" or codes.min() >= 0):
        # A sensitive value's rank is not below 0, and no number below 0 can be counted.
        with suppress(ValueError):
            return np.bincount(~slots[codes], minlength=domain.clear_count).astype(np.int64, copy=False)
    wrong = (codes >= domain.size) | (codes < 0)
    wrong = wrong | domain.sensitive[np.where(wrong, 0, codes)]
    raise DataError(
        f"{np.count_nonzero(wrong)} of {len(codes)} codes in clear are of no value that may go in clear; "
        "take reports as the mechanism made them."
    )


def refuse_flaws(mechanism: Maker, reports: Reports) -> None:
    """Refuse reports with a block that no device can have sent.

    Raises:
        DataError: if there is one; it says how many.
    """
    flawed = np.zeros(reports.block_count, dtype=np.bool_)
    for column in mechanism.block_columns:
        entries = reports.blocks[column.name]
        if column.bound is not None and entries.size and entries.max() >= column.bound:
            flawed |= (entries >= column.bound).reshape(len(entries), -1).any(axis=1)
    if not flawed.any():
        flawed = mechanism.flaws(reports.blocks)
    if flawed.any():
        raise DataError(
            f"{np.count_nonzero(flawed)} of {len(flawed)} blocks are none that a device can send; "
            "take reports as the mechanism made them."
        )


def checked_tally_of(mechanism: Maker, reports: object) -> Tally:
    """Return the tally of reports that this mechanism can have made, of one at least.

    Raises:
        DataError: if there is no report, or none that this mechanism makes.
        MismatchError: if they belong to another plan.
    """
    refuse_flaws(mechanism, checked := refuse_unfit_reports(mechanism, reports))
    return refuse_unfit_tally(mechanism, mechanism.tally(checked))


def refuse_unfit_tally(mechanism: Maker, tally: object) -> Tally:
    """Return a tally of at least one report that this mechanism can have made.

    Raises:
        DataError: if it is no tally, of no report, or its counts cannot be those of reports of this mechanism.
        MismatchError: if it belongs to another plan.
    """
    if not isinstance(tally, Tally):
        raise DataError(f"a tally is needed, got {type(tally).__name__}.")
    check_same_plan({mechanism.fingerprint, tally.fingerprint})
    if tally.n == 0:
        raise DataError("at least one report is needed to estimate anything, got none.")
    sizes = mechanism.tally_sizes
    if (len(tally.support), len(tally.clear)) != sizes:
        raise DataError(
            f"a tally of this mechanism has {sizes[0]} counts of blocks and {sizes[1]} of values in clear, got "
            f"{len(tally.support)} and {len(tally.clear)}."
        )
    if not mechanism.is_consistent(tally.n, tally.support, tally.clear):
        raise DataError(
            f"the counts of this tally must be those of {tally.n} reports of this mechanism, which they cannot be."
        )
    return tally


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
