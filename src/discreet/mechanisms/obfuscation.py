"""Obfuscation of many values at once: a truth-or-noise decision and a block for each device, in the order of values."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.batches import new_batches
from discreet.core.random import BATCH, WORD_RANGE, Coins, RandomSource, bernoulli, bernoulli32, or_noise
from discreet.core.reports import Blocks, Column, Reports, report_columns, smallest_unsigned
from discreet.mechanisms.block_law import BlockLaw

CHUNK = 1 << 14
"""Reports drawn together, one kind of random word after the other; a whole chunk always draws in the same way."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """The parameters with which the sampler of a block mechanism draws reports.

    Attributes:
        size: |X|.
        signed_ranks: ranks by code, as in `Domain.signed_ranks`, or an object that returns the ranks of an array of
            codes; None if every value is sensitive.
        law: the block law.
        columns: the columns of a block.
        threshold: S, the truth threshold: the truth is reported with probability S / 2^64.
        clear_blocks: whether reports in clear carry a block of noise too.
        fingerprint: the plan's fingerprint.
    """

    size: int
    signed_ranks: Any
    law: BlockLaw
    columns: tuple[Column, ...]
    threshold: int
    clear_blocks: bool
    fingerprint: str


def obfuscated(mechanism: Sampling, codes: IntArray, random: RandomSource) -> Reports:
    """Return one private report for each value; the values are given by their codes."""
    blocks = {c.name: np.empty(c.shape(len(codes)), dtype=c.dtype) for c in mechanism.columns}
    in_clear = None if mechanism.signed_ranks is None else np.zeros(len(codes), dtype=np.bool_)
    stored = smallest_unsigned(mechanism.size)
    clear, filled = [np.empty(0, dtype=stored)], 0
    for start in range(0, len(codes), CHUNK):
        chunk = codes[start : start + CHUNK]
        draw = _draw_together if len(chunk) >= BATCH else _draw_each
        out = {name: column[filled : filled + len(chunk)] for name, column in blocks.items()}
        is_clear = draw(mechanism, chunk, random, out)
        filled += len(chunk)
        if is_clear is not None and in_clear is not None:
            in_clear[start : start + len(chunk)] = is_clear
            clear.append(chunk.astype(stored).compress(is_clear))
            filled -= 0 if mechanism.clear_blocks else len(clear[-1])
    # A view would keep the memory of the unused rows alive.
    blocks = blocks if filled == len(codes) else {name: column[:filled].copy() for name, column in blocks.items()}
    columns = report_columns(mechanism.size, in_clear is not None, mechanism.columns)
    simulated, batches = not random.secure, new_batches(len(codes))
    return Reports(
        mechanism.fingerprint, len(codes), in_clear, np.concatenate(clear), blocks, simulated, columns, batches
    )


def _draw_each(mechanism: Sampling, codes: AnyArray, random: RandomSource, out: Blocks) -> BoolArray | None:
    """Draw a decision and a block for each device, as a single device does, into the first rows of ``out``.

    Returns:
        ``(n,)`` booleans: true for a report in clear, which has no block unless reports in clear carry blocks of noise;
        None if every value is sensitive.
    """
    truth = bernoulli(len(codes), mechanism.threshold, random)
    slots = mechanism.signed_ranks
    if slots is None:
        mechanism.law.draw(or_noise(codes, truth), random, out)
        return None
    slot = slots[codes]
    is_clear: BoolArray = truth & (slot < 0)
    members = or_noise(slot, truth & ~is_clear)
    members = members if mechanism.clear_blocks else members[~is_clear]
    mechanism.law.draw(members, random, _first(out, len(members)))
    return is_clear


def coins_of(law: BlockLaw, n: int, threshold: int, random: RandomSource) -> Coins:
    """Draw the truth-or-noise decisions of a batch, true with probability ``threshold / 2^64``.

    Some laws draw noise from the same words.
    """
    drawn: Coins = (
        law.coins(n, threshold, random) if hasattr(law, "coins") else Coins(bernoulli32(n, threshold, random))
    )
    return drawn


def fill(law: BlockLaw, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
    """Draw the blocks of a batch, given the truth-or-noise decisions.

    Args:
        law: the block law.
        ranks: ``(m,)`` ranks of the values that truthful blocks must contain; ignored elsewhere.
        coins: the decisions on these reports.
        random: the source of random words.
        out: columns of length m, to be filled.
    """
    if hasattr(law, "fill"):
        law.fill(ranks, coins, random, out)
    else:
        law.draw(or_noise(ranks, coins.truth), random, out)


def _draw_together(mechanism: Sampling, codes: AnyArray, random: RandomSource, out: Blocks) -> BoolArray | None:
    """Draw the decisions and blocks of a batch, as `_draw_each` does, from fewer random words."""
    n, law, threshold, slots = len(codes), mechanism.law, mechanism.threshold, mechanism.signed_ranks
    if slots is None:
        fill(law, codes, coins_of(law, n, threshold, random), random, out)
        return None
    slot: AnyArray = slots.take(codes)
    # Noise from the words of the decisions is for reports that are not truthful. Here reports in clear need blocks too.
    coins = Coins(bernoulli32(n, threshold, random)) if mechanism.clear_blocks else coins_of(law, n, threshold, random)
    is_clear: BoolArray = coins.truth & (slot < 0)
    if mechanism.clear_blocks:
        fill(law, slot, Coins(coins.truth & ~is_clear), random, out)
        return is_clear
    rows = np.flatnonzero(~is_clear)
    if coins.noise is None or len(out) > 1:
        fill(law, slot.take(rows), coins.take(rows), random, _first(out, len(rows)))
        return is_clear
    # One choice between finished symbols, not between their parts.
    fill(law, slot, coins, random, out)
    for column in out.values():
        column[: len(rows)] = column.take(rows)
    return is_clear


def resent_reports(sampling: Sampling, memos: Reports, threshold: int, random: RandomSource) -> Reports:
    """Return one round's reports: each is the memo with probability S_2 / 2^64, and otherwise fresh noise.

    The decision and the noise are drawn for everybody, whatever the memo is. Noise may replace a value in clear too.

    Args:
        sampling: the parameters of the mechanism.
        memos: n reports, one for each person in the round.
        threshold: S_2, 0..2^64.
        random: the random words; all coins are drawn before the noise.
    """
    if threshold == WORD_RANGE:
        return replace(memos, batches=new_batches(memos.n))
    again = (bernoulli32 if memos.n >= BATCH else bernoulli)(memos.n, threshold, random)
    fresh = obfuscated(replace(sampling, threshold=0), np.zeros(memos.n, np.int64), random)
    is_clear = np.zeros(memos.n, np.bool_) if memos.in_clear is None else memos.in_clear & again
    in_clear = np.zeros(memos.n, np.bool_) if memos.in_clear is None else memos.in_clear
    with_block = np.flatnonzero(~in_clear) if memos.block_count < memos.n else np.arange(memos.n)
    blocks = {name: column.copy() for name, column in fresh.blocks.items()}
    for name, column in blocks.items():
        coin = again[with_block].reshape(-1, *[1] * (column.ndim - 1))
        column[with_block] = np.where(coin, memos.blocks[name], column[with_block])
    if not sampling.clear_blocks:
        blocks = {name: column[~is_clear] for name, column in blocks.items()}
    return replace(
        memos,
        in_clear=None if memos.in_clear is None else is_clear,
        clear=memos.clear[again[in_clear]],
        blocks=blocks,
        simulated=memos.simulated or not random.secure,
        batches=new_batches(memos.n),
    )


def _first(blocks: Blocks, rows: int) -> dict[str, AnyArray]:
    return {name: column[:rows] for name, column in blocks.items()}
