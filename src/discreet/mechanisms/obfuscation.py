"""Obfuscation of many values at once: one coin and one block per device, in the order of the values."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.columns import integers
from discreet.core.random import RandomSource, toss
from discreet.core.reports import Column, Reports, is_plain, report_columns, smallest_unsigned
from discreet.mechanisms.block_law import BlockLaw

CHUNK = 1 << 14
"""Reports that are drawn together, one kind of word after the other: whole chunks are drawn alike wherever they are."""

_BATCH_BYTES = 1 << 26
_MOST_PER_BATCH = 1 << 20


class Codes(Protocol):
    """The part of a domain that a report depends on."""

    @property
    def size(self) -> int:
        """|X|."""
        ...

    @property
    def clear_count(self) -> int:
        """|X_N|."""
        ...

    @property
    def slots(self) -> Any:
        """Ranks by code, as of `Domain.slots`, or anything that gives those of an array of codes; None if all do."""
        ...


class Sampling(Protocol):
    """The part of a block mechanism that one report depends on."""

    @property
    def clear_blocks(self) -> bool:
        """True if reports in clear carry a block of noise too."""
        ...

    @property
    def domain(self) -> Codes:
        """The values."""
        ...

    @property
    def law(self) -> BlockLaw:
        """The block law."""
        ...

    @property
    def threshold(self) -> int:
        """S, the truth threshold: the truth is told with probability S / 2^64."""
        ...

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the plan."""
        ...

    @property
    def block_columns(self) -> tuple[Column, ...]:
        """The columns of a block."""
        ...


class ReportMaker(Sampling, Protocol):
    """The part of a block mechanism that makes reports."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a report."""
        ...

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Return the reports of values that are given by their codes."""
        ...


def obfuscated(mechanism: Sampling, codes: IntArray, random: RandomSource) -> Reports:
    """Return the reports of values that are given by their codes."""
    blocks = {c.name: np.empty(c.shape(len(codes)), dtype=c.dtype) for c in mechanism.block_columns}
    in_clear = np.zeros(len(codes), dtype=np.bool_) if mechanism.domain.clear_count else None
    clear, filled = [np.empty(0, dtype=np.int64)], 0
    for start in range(0, len(codes), CHUNK):
        chunk = codes[start : start + CHUNK]
        members, told = _truth_or_noise(mechanism, chunk, random)
        if told is not None and in_clear is not None:
            in_clear[start : start + len(chunk)] = told
            clear.append(chunk[told])
            members = members if mechanism.clear_blocks else members[~told]
        out = {name: column[filled : filled + len(members)] for name, column in blocks.items()}
        mechanism.law.draw(members, random, out)
        filled += len(members)
    # A view would keep the memory of the rows that were not filled.
    blocks = blocks if filled == len(codes) else {name: column[:filled].copy() for name, column in blocks.items()}
    stored = np.concatenate(clear).astype(smallest_unsigned(mechanism.domain.size))
    columns = report_columns(mechanism.domain.size, in_clear is not None, tuple(mechanism.block_columns))
    return Reports(mechanism.fingerprint, len(codes), in_clear, stored, blocks, not random.secure, columns)


def _truth_or_noise(mechanism: Sampling, codes: AnyArray, random: RandomSource) -> tuple[IntArray, BoolArray | None]:
    """Draw the coins of devices: ``(n,)`` members that blocks must contain (-1: none), and who reports in clear."""
    truth = toss(len(codes), mechanism.threshold, random)
    slots = mechanism.domain.slots
    if slots is None:
        return _or_noise(codes, truth), None
    slot = slots[codes]
    told = truth & (slot < 0)
    return _or_noise(slot, truth & ~told), told


def obfuscated_batches(mechanism: ReportMaker, codes: Any, size: int | None, random: RandomSource) -> Iterator[Reports]:
    """Return an iterator over the reports of values, in batches of ``size``; None for about 64 MB."""
    if size is None:
        size = min(max(_BATCH_BYTES // sum(column.bytes for column in mechanism.columns), 1), _MOST_PER_BATCH)
    # Checked here and now, not when the first batch is asked for.
    step, source = checked_whole("size", size), random
    column = codes if is_plain(codes) else integers(codes, "codes")
    return (mechanism.obfuscate_codes(column[at : at + step], random=source) for at in range(0, len(column), step))


def _or_noise(members: AnyArray, told: BoolArray) -> IntArray:
    """Return the members that are told, and -1 for the others; without a branch, whose time would reveal the coin."""
    masked: IntArray = np.bitwise_or(members, told.view(np.int8) - np.int8(1), dtype=np.int64)
    return masked
