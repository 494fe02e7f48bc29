"""Independent bits: RAPPOR, optimized unary encoding, and their utility-optimized forms.

Every sensitive value has a bit. Noise sets each bit independently with probability d1; a truthful report always sets
the bit of its value. So pi = rho = d1. With theta = s + (1 - s) d1, the probability that the true value's bit is set,

    d1 = theta e^-eps / (1 - theta + theta e^-eps),   s = theta (1 - e^-eps),

which is generalized RAPPOR [ULDP, section 3.2] when every value is sensitive and uRAP [ULDP, Def. 4] otherwise;
theta = e^(eps/2) / (e^(eps/2) + 1) is basic RAPPOR, theta = 1/2 is OUE [Wang 2017].

Epsilon holds for any d1, because s is adapted to d1. So d1 may be a fraction with few binary digits. Each digit needs
a random bit per noise bit: 3/8 instead of .3775 changes the error by a quarter of a percent, and needs 3 random bits
instead of 13. Bits are drawn 64 at a time: for each bit, an integer of ``depth`` random digits is compared with a
threshold, from the last digit to the first. Bits are sent in bytes and counted in tiles.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, log2
from types import MappingProxyType
from typing import Literal

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.checks import checked_flag, checked_whole, quoted, real_number
from discreet.core.random import RandomSource, fresh_words, rare_bits
from discreet.core.reports import Blocks, Column
from discreet.errors import ParameterError
from discreet.kernels import counting
from discreet.mechanisms.block_law import BlockLaw, BlockLayout, ValueCounts
from discreet.mechanisms.evidence import BitTiles
from discreet.mechanisms.law import BlockMechanism, linear_decoder, sensitive_size, truth_threshold
from discreet.theory.optimum import optimal_theta

# One piece's random words fit into the second-level cache.
_PIECE_WORDS = 1 << 17
_GREATEST_DEPTH = 60
_PRECISION_BITS = 11
# The most binary digits in the probability of a whole string of bits.
_MOST_DIGITS = 1 << 16
# Short strings of bits are counted before a likelihood reads them, if there are this many times more reports.
FEW_BITS, _OFTEN = 12, 4
# Rows that fit into one machine number.
_LANES = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
# Bits with more entropy than this get longer in a file by compression, and five times slower to read.
_RANDOM = 0.8


# The largest changes from fewer digits: of d1 and 1 - d1, as one part in _NEAR; of the worst-case error, as a factor.
_NEAR = 32
_SAME_ERROR = 1 + 2.0**-10


@dataclass(frozen=True, slots=True)
class IndependentBits(BlockLaw):
    """Blocks of independent bits; noise sets each bit with probability ``threshold / 2^depth``.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        threshold: an odd integer in 1..2^depth - 1.
        depth: the number of random bits for one noise bit.
    """

    kind = "bits"
    wide = ("threshold",)

    size: int
    threshold: int
    depth: int

    def __post_init__(self) -> None:
        """Check that there is a value and that the probability is a fraction in lowest terms.

        Raises:
            ParameterError: if the size is below 1, or the fraction is not between 0 and 1 in lowest terms.
        """
        checked_whole("size", self.size)
        checked_whole("depth", self.depth, 1, _GREATEST_DEPTH)
        checked_whole("threshold", self.threshold)
        if not 0 < self.threshold < 1 << self.depth or self.threshold % 2 == 0:
            raise ParameterError("threshold.not-odd", argument="threshold", threshold=self.threshold, depth=self.depth)

    @classmethod
    def near(cls, size: int, inclusion: float) -> "IndependentBits":
        """Return the law with d1 near ``inclusion``: the relative errors of d1 and of 1 - d1 are at most 2^-12."""
        magnitude = ceil(-log2(max(min(inclusion, 1 - inclusion), 2.0**-_GREATEST_DEPTH)))
        depth = min(magnitude + _PRECISION_BITS, _GREATEST_DEPTH)
        rounded = Fraction(min(max(round(inclusion * 2**depth), 1), 2**depth - 1), 2**depth)
        return cls(size, rounded.numerator, rounded.denominator.bit_length() - 1)

    def shorter(self, inclusion: float) -> Iterator["IndependentBits"]:
        """Yield laws whose d1 has fewer binary digits, in ascending order of the number of digits.

        Their d1 and 1 - d1 differ from the wanted probabilities by at most a 32nd.
        """
        room = min(inclusion, 1 - inclusion) / _NEAR
        for depth in range(1, self.depth):
            # The nearest odd integer.
            law = IndependentBits(self.size, int(inclusion * 2**depth) | 1, depth)
            if abs(float(law.inclusion) - inclusion) <= room:
                yield law

    @property
    def inclusion(self) -> Fraction:
        """Return pi = d1, the probability that a noise block contains a given value."""
        return Fraction(self.threshold, 1 << self.depth)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = d1, the probability that a block of one value contains a second value; bits are independent."""
        return self.inclusion

    def joint_inclusion(self, count: int) -> Fraction:
        """Return d1^count, the probability that ``count`` given values are all in a noise block."""
        return self.inclusion**count

    def rare_chances(self, has_others: bool) -> list[Fraction] | None:
        """Return the noise probabilities of a block with one member and of a block with most members; see `Memo`."""
        if self.size * self.depth > _MOST_DIGITS:
            return None
        pi, v = self.inclusion, self.size
        return [pi**k * (1 - pi) ** (v - k) for k in {1, v if has_others else max(v - 1, 1)}]

    @property
    def _row_bytes(self) -> int:
        return -(-self.size // 8)

    @property
    def additions(self) -> tuple[float, float]:
        """Return the cost in additions: one per byte to count a block, and one per value to decode all counts."""
        return self._row_bytes, self.size

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return one column: v bits in bytes, with the bit of value j at 2^(j % 8) of byte j // 8."""
        pi = float(self.inclusion)
        random = 0 < pi < 1 and -pi * log2(pi) - (1 - pi) * log2(1 - pi) > _RANDOM
        return (Column("bits", np.uint8, width=self._row_bytes, random=random),)

    @property
    def alphabet_size(self) -> int:
        """Return 2^v, the number of possible strings of v bits."""
        return 1 << self.size

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks of independent bits into ``out``, in the same steps with and without a required member."""
        # No copy may be made, or the bits would be set in an array that is not sent.
        rows, flat = out["bits"], np.reshape(out["bits"], -1, copy=False)
        self._fill_with_noise(flat, random)
        if self.size % 8:
            rows[:, -1] &= np.uint8((1 << self.size % 8) - 1)
        has_member = members >= 0
        lane = _LANES.get(self._row_bytes)
        if lane is not None:
            rows.view(lane)[:, 0] |= has_member.astype(lane) << (members & (8 * lane.itemsize - 1)).astype(lane)
            return
        bit = has_member.astype(np.uint8) << (members & 7).astype(np.uint8)
        # One flat index is twice as fast as two.
        place = np.arange(0, len(flat), self._row_bytes)
        place += np.maximum(members, 0) >> 3
        flat[place] |= bit

    def _fill_with_noise(self, flat: AnyArray, random: RandomSource) -> None:
        step = 8 * max(_PIECE_WORDS // self.depth, 1)
        for start in range(0, len(flat), step):
            piece = flat[start : start + step]
            lanes = -(-len(piece) // 8)
            words = fresh_words(random, lanes * self.depth).reshape(self.depth, lanes)
            piece[:] = rare_bits(words, self.threshold).view(np.uint8)[: len(piece)]

    @property
    def counts(self) -> ValueCounts:
        """The counts that a tally stores: for each bit the number of blocks in which the bit is set."""
        return ValueCounts(self, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        counts += counting.count_columns(blocks["bits"], self.size)

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        counting.add_bits(blocks["bits"], groups, counts)

    def membership(self, blocks: Blocks) -> BitTiles:
        """Return the membership matrix of blocks of bits, in tiles of 32 reports.

        Short bit strings are counted first, and have one row each.
        """
        rows = blocks["bits"]
        if self.size > FEW_BITS or len(rows) < _OFTEN << self.size:
            return BitTiles.of(rows, self.size)
        strings = np.zeros((len(rows), 2), np.uint8)
        strings[:, : self._row_bytes] = rows
        counts = np.bincount(strings.view("<u2")[:, 0], minlength=1 << self.size)
        every = np.arange(1 << self.size, dtype="<u2").view(np.uint8).reshape(-1, 2)[:, : self._row_bytes]
        return replace(BitTiles.of(np.ascontiguousarray(every), self.size), multiplicity=counts.astype(np.float64))

    @property
    def layout(self) -> BlockLayout:
        """The columns of stored blocks, in tiles of 32 reports."""
        return BlockLayout(
            lambda blocks: {"tiles": BitTiles.of(blocks["bits"], self.size).tiles},
            lambda columns, rows: BitTiles(columns["tiles"], rows, self.size),
            piece_size=32,
        )

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the block has the value's bit set."""
        return np.unpackbits(blocks["bits"], axis=1, count=self.size, bitorder="little").view(np.bool_)

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all 2^v strings of bits with their probabilities as noise."""
        numbers = np.arange(self.alphabet_size, dtype="<u8")
        rows = numbers.view(np.uint8).reshape(-1, 8)[:, : self._row_bytes]
        pi, v = self.inclusion, self.size
        by_weight = np.array([pi**k * (1 - pi) ** (v - k) for k in range(v + 1)], dtype=object)
        return {"bits": np.ascontiguousarray(rows)}, by_weight[np.bitwise_count(numbers)]

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block with a bit set beyond v."""
        if self.size % 8 == 0:
            return np.zeros(len(blocks["bits"]), dtype=np.bool_)
        spare = np.uint8((0xFF << self.size % 8) & 0xFF)
        flawed: BoolArray = (blocks["bits"][:, -1] & spare) != 0
        return flawed


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class UnaryEncoding(BlockMechanism):
    """Unary encoding: basic RAPPOR by default, OUE at theta = 1/2; uRAP and uOUE when only some values are sensitive.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        theta: the probability that the true value's bit is set, in (0, 1); None for e^(eps/2) / (e^(eps/2) + 1);
            ``"optimal"`` for the theta with the smallest worst-case error of the decoder in use.
        clear_bits: add v noise bits to reports in clear too, which the decoder counts. This is exactly the paper's
            uRAP, for reproduction. By default reports in clear have no bits: the guarantee is the same, reports are
            shorter and errors smaller.
        digits: ``"few"`` for few binary digits of d1, the probability of a noise bit. The guarantee is the same, and
            drawing is several times faster. d1 changes by at most a 32nd, the worst-case error by at most a thousandth.
            None for a d1 of 11 bits.

    Raises:
        ParameterError: if a parameter is out of range, or clear_bits is set where no value is reported in clear.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.UnaryEncoding(dc.Domain(["bus", "car", "walk"]), epsilon=2.0, theta="optimal")
        >>> reports = mechanism.obfuscate(["bus"] * 6000 + ["car"] * 4000, random=dc.SeededRandom(1))
        >>> dc.estimate(mechanism, reports, method="projected").frequencies.round(2).tolist()
        [0.6, 0.4, 0.0]
    """

    name = "unary"
    laws = (IndependentBits,)
    proposed = MappingProxyType({"digits": "few"})

    theta: float | Literal["optimal"] | None = None
    clear_bits: bool = False
    digits: Literal["few"] | None = None

    @cached_property
    def law(self) -> IndependentBits:
        """The block law: independent random bits, one for each sensitive value."""
        size = sensitive_size(self.domain)
        object.__setattr__(self, "clear_bits", checked_flag("clear_bits", self.clear_bits))
        if self.clear_bits and self.domain.clear_count == 0:
            raise ParameterError("clear-bits.nothing-clear-here", argument="clear_bits")
        if not (self.digits is None or (isinstance(self.digits, str) and self.digits == "few")):
            raise ParameterError("digits.unknown", argument="digits", digits=quoted(self.digits))
        inclusion = self._noise(size)
        law = IndependentBits.near(size, inclusion)
        if self.digits is None:
            return law
        limit = self._error(law) * _SAME_ERROR
        return next((few for few in law.shorter(inclusion) if self._error(few) <= limit), law)

    def _noise(self, size: int) -> float:
        """Return d1, the probability that noise sets a bit, for theta and epsilon."""
        if self.theta is None:
            return 1 / (1 + exp(self.epsilon / 2))
        if isinstance(self.theta, str) and self.theta == "optimal":
            if self.domain.size < 2:
                raise ParameterError("theta.nothing-to-choose", argument="theta")
            # The d1 of the best theta, or the nearest one that the sampler can realise.
            best = optimal_theta(size, self.domain.size, self.epsilon, clear_bits=self.clear_bits)
            return _inclusion(best.theta, best.complement, self.epsilon)
        theta = real_number(self.theta)
        if not 0 < theta < 1:
            raise ParameterError("theta.not-between-0-and-1", argument="theta", theta=quoted(self.theta))
        noise = _inclusion(theta, 1 - theta, self.epsilon)
        if not 2.0**-_GREATEST_DEPTH < noise < 1 - 2.0**-_GREATEST_DEPTH:
            raise ParameterError("theta.not-drawable", argument="theta", theta=theta)
        return noise

    def _error(self, law: IndependentBits) -> float:
        """Return the worst-case mean squared error of one report with a law."""
        threshold = truth_threshold(self.epsilon, law.inclusion)
        return linear_decoder(self.domain, law, threshold, clear_blocks=self.clear_bits).worst_case_mse(1)

    @property
    def clear_blocks(self) -> bool:  # type: ignore[override]
        """True if reports in clear also carry noise bits."""
        return self.clear_bits

    @property
    def settings(self) -> dict[str, float]:
        """Return the realised theta, and the number of binary digits of d1: the random bits that a noise bit needs."""
        numbers = self.coefficients
        theta = numbers.truth + numbers.noisy * numbers.inclusion
        return {"theta": theta, "digits": self.law.depth}


def _inclusion(theta: float, complement: float, epsilon: float) -> float:
    """Return d1, computed from e^-epsilon, because e^epsilon may overflow."""
    weight = theta * exp(-epsilon)
    return weight / (complement + weight)
