"""Every output of a mechanism with its probability as an integer: the subject of the checks.

Nothing here asks the mechanism how it combines truth and noise; that is written out anew, from the law's alphabet and
from the integer that the sampler compares its words with.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.random import WORD_RANGE
from discreet.core.reports import Blocks, Reports, smallest_unsigned
from discreet.errors import ParameterError
from discreet.estimators import estimate
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.enumeration import as_keys, found_among, in_whole_numbers, keys

_MOST_ENTRIES = 1_000_000
# With the mechanism, whose checks all ask for it; it is as frozen as the mechanism is.
_KEPT = "_outputs"


@dataclass(frozen=True, eq=False)
class Outputs:
    """Every output of a mechanism once: the blocks of its alphabet, then the values that may go in clear.

    Attributes:
        mechanism: whose outputs.
        reports: ``(|Y|,)`` one of each.
        numerators: ``(|X|, |Y|)`` Python integers; Q(y|x) is one of them over ``denominator``.
        denominator: of all of them.
        contained: ``(|Y|, v)`` which output's block contains which sensitive value.
        clear: ``(|Y|,)`` rank of the value that the output gives in clear, or -1.

    Example:
        >>> import discreet as dc
        >>> outputs = spell_out(dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0))
        >>> outputs.matrix.round(2).tolist()
        [[0.73, 0.27], [0.27, 0.73]]
    """

    mechanism: BlockMechanism
    reports: Reports
    numerators: AnyArray
    denominator: int
    contained: BoolArray
    clear: IntArray

    @cached_property
    def matrix(self) -> FloatArray:
        """Q(y|x), ``(|X|, |Y|)``."""
        return (self.numerators / self.denominator).astype(np.float64)

    @cached_property
    def counts(self) -> tuple[IntArray, IntArray]:
        """The counts that a report of each output adds to a tally: of blocks, and in clear."""
        tallies = [self.mechanism.tally(self.reports.part(row, row + 1)) for row in range(self.reports.n)]
        return np.array([tally.support for tally in tallies]), np.array([tally.clear for tally in tallies])

    @cached_property
    def worths(self) -> FloatArray:
        """``(|Y|, |X|)`` the linear estimate from one report of each output."""
        tally, parts = self.mechanism.tally, (self.reports.part(row, row + 1) for row in range(self.reports.n))
        return np.array([estimate(self.mechanism, tally(part), method="linear").frequencies for part in parts])

    @cached_property
    def aim(self) -> FloatArray:
        """``(|X|, |X|)`` what the linear estimate must be on average for each true value: that value.

        Where a law has drawn something public for all reports, its rho is a mean over such draws, and what is drawn
        moves the estimates: x's by (R_xx' - rho) / (1 - rho) for each x', with R_xx' what rho is for these two.
        """
        moved, law = np.eye(self.mechanism.domain.size), self.mechanism.law
        if any(law.conditional_variation):
            contained = law.contains(law.alphabet()[0]).astype(np.float64)
            together = contained.T @ contained / contained.sum(axis=0)[:, None]
            rho = float(law.conditional_inclusions[0])
            off = (together - rho) / (1 - rho)
            np.fill_diagonal(off, 1.0)
            codes = self.mechanism.domain.sensitive_codes
            moved[np.ix_(codes, codes)] = off.T
        return moved

    def places(self, reports: Reports) -> IntArray:
        """Return ``(n,)`` which output each report is; -1 where it is none."""
        return found_among(_keys_of(reports), _keys_of(self.reports))


def spell_out(mechanism: BlockMechanism) -> Outputs:
    """Spell a mechanism out, once: truth with probability S / 2^64, else noise.

    Raises:
        ParameterError: if its alphabet is too large for that.

    Example:
        >>> import discreet as dc
        >>> outputs = spell_out(dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0))
        >>> outputs.reports.n, outputs.contained.tolist()
        (2, [[True, False], [False, True]])
    """
    kept = vars(mechanism)
    if _KEPT not in kept:
        kept[_KEPT] = _spelled_out(mechanism)
    outputs: Outputs = kept[_KEPT]
    return outputs


def _spelled_out(mechanism: BlockMechanism) -> Outputs:
    domain, law = mechanism.domain, mechanism.law
    if law.alphabet_size * (domain.clear_count + 1) * domain.size > _MOST_ENTRIES:
        raise ParameterError(
            f"mechanisms are checked where blocks times values are at most {_MOST_ENTRIES}, got {law.alphabet_size} "
            f"blocks for {domain.size} values; take a smaller domain, or smaller blocks."
        )
    blocks, weights = law.alphabet()
    contained, (noise, denominator) = law.contains(blocks), in_whole_numbers(weights)
    told, untold = mechanism.threshold, WORD_RANGE - mechanism.threshold
    given = [Fraction(denominator, int(noise[column].sum())) for column in contained.T]
    scale = lcm(*{one.denominator for one in given})
    rows = np.empty((domain.size, len(noise)), dtype=object)
    rows[:] = noise * untold * scale
    for rank, code in enumerate(domain.sensitive_codes):
        rows[code] = rows[code] + np.where(contained[:, rank], noise * told * int(scale * given[rank]), 0)
    beside = noise if mechanism.clear_blocks else np.array([noise.sum()], dtype=object)
    clear = np.repeat(np.arange(domain.clear_count), len(beside))
    in_clear = np.zeros((domain.size, len(clear)), dtype=object)
    in_clear[domain.clear_codes[clear], np.arange(len(clear))] = np.tile(beside * told * scale, domain.clear_count)
    within = contained if mechanism.clear_blocks else np.zeros((1, law.size), dtype=np.bool_)
    return Outputs(
        mechanism,
        _one_of_each(mechanism, blocks, clear),
        np.hstack([rows, in_clear]),
        denominator * WORD_RANGE * scale,
        np.vstack([contained, np.tile(within, (domain.clear_count, 1))]),
        np.concatenate([np.full(len(noise), -1), clear]),
    )


def _one_of_each(mechanism: BlockMechanism, blocks: Blocks, clear: IntArray) -> Reports:
    domain, count = mechanism.domain, len(next(iter(blocks.values())))
    if mechanism.clear_blocks:
        blocks = {name: np.concatenate([column] * (domain.clear_count + 1)) for name, column in blocks.items()}
    told = np.arange(count + len(clear)) >= count if domain.clear_count else None
    codes = domain.clear_codes[clear].astype(smallest_unsigned(domain.size))
    return Reports(mechanism.fingerprint, count + len(clear), told, codes, blocks, columns=mechanism.columns)


def _keys_of(reports: Reports) -> AnyArray:
    codes = np.full(reports.n, -1, dtype=np.int64)
    carrying = np.ones(reports.n, dtype=np.bool_)
    if reports.in_clear is not None:
        codes[reports.in_clear] = reports.clear
        carrying = ~reports.in_clear if reports.block_count < reports.n else carrying
    within = keys(reports.blocks)
    beside = np.zeros((reports.n, within.dtype.itemsize), dtype=np.uint8)
    beside[carrying] = within.view(np.uint8).reshape(len(within), -1)
    return as_keys(np.hstack([codes[:, None].view(np.uint8), beside]))
