"""Obfuscation of many values at once: one coin and one block per device, in the order of the values."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.columns import integers
from discreet.core.random import BATCH, Coins, RandomSource, half_toss, or_noise, toss
from discreet.core.reports import Blocks, Column, Reports, is_plain, report_columns, smallest_unsigned
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
    stored = smallest_unsigned(mechanism.domain.size)
    clear, filled = [np.empty(0, dtype=stored)], 0
    for start in range(0, len(codes), CHUNK):
        chunk = codes[start : start + CHUNK]
        draw = _draw_together if len(chunk) >= BATCH else _draw_each
        out = {name: column[filled : filled + len(chunk)] for name, column in blocks.items()}
        told = draw(mechanism, chunk, random, out)
        filled += len(chunk)
        if told is not None and in_clear is not None:
            in_clear[start : start + len(chunk)] = told
            clear.append(chunk.astype(stored).compress(told))
            filled -= 0 if mechanism.clear_blocks else len(clear[-1])
    # A view would keep the memory of the rows that were not filled.
    blocks = blocks if filled == len(codes) else {name: column[:filled].copy() for name, column in blocks.items()}
    columns = report_columns(mechanism.domain.size, in_clear is not None, tuple(mechanism.block_columns))
    return Reports(
        mechanism.fingerprint, len(codes), in_clear, np.concatenate(clear), blocks, not random.secure, columns
    )


def _draw_each(mechanism: Sampling, codes: AnyArray, random: RandomSource, out: Blocks) -> BoolArray | None:
    """Draw a coin and a block per device, as one device alone does; the first rows of ``out`` are filled.

    Returns:
        ``(n,)`` booleans: who reports in clear, and sends no block unless blocks of noise go with clear values; None if
        every value is sensitive.
    """
    truth = toss(len(codes), mechanism.threshold, random)
    slots = mechanism.domain.slots
    if slots is None:
        mechanism.law.draw(or_noise(codes, truth), random, out)
        return None
    slot = slots[codes]
    told: BoolArray = truth & (slot < 0)
    members = or_noise(slot, truth & ~told)
    members = members if mechanism.clear_blocks else members[~told]
    mechanism.law.draw(members, random, _first(out, len(members)))
    return told


def _draw_together(mechanism: Sampling, codes: AnyArray, random: RandomSource, out: Blocks) -> BoolArray | None:
    """Draw the coins and blocks of a batch; as `_draw_each`, from fewer words."""
    n, law, threshold, slots = len(codes), mechanism.law, mechanism.threshold, mechanism.domain.slots
    if slots is None:
        law.fill(codes, law.coins(n, threshold, random), random, out)
        return None
    slot: AnyArray = slots.take(codes)
    # Noise that comes with the coins is for those who do not tell the truth; here others send some too.
    coins = Coins(half_toss(n, threshold, random)) if mechanism.clear_blocks else law.coins(n, threshold, random)
    told: BoolArray = coins.truth & (slot < 0)
    if mechanism.clear_blocks:
        law.fill(slot, Coins(coins.truth & ~told), random, out)
        return told
    rows = np.flatnonzero(~told)
    if coins.noise is None or len(out) > 1:
        law.fill(slot.take(rows), coins.take(rows), random, _first(out, len(rows)))
        return told
    # One choice among finished symbols, not among all that they are made of.
    law.fill(slot, coins, random, out)
    for column in out.values():
        column[: len(rows)] = column.take(rows)
    return told


def _first(blocks: Blocks, rows: int) -> dict[str, AnyArray]:
    return {name: column[:rows] for name, column in blocks.items()}


def obfuscated_batches(mechanism: ReportMaker, codes: Any, size: int | None, random: RandomSource) -> Iterator[Reports]:
    """Return an iterator over the reports of values, in batches of ``size``; None for about 64 MB."""
    if size is None:
        size = min(max(_BATCH_BYTES // sum(column.bytes for column in mechanism.columns), 1), _MOST_PER_BATCH)
    # Checked here and now, not when the first batch is asked for.
    step, source = checked_whole("size", size), random
    column = codes if is_plain(codes) else integers(codes, "codes")
    return (mechanism.obfuscate_codes(column[at : at + step], random=source) for at in range(0, len(column), step))
