"""Samplers: the integers with which a device draws a report, without the plan and without epsilon.

    {"size": |Z|, "sensitive": [[start, stop], ...], "truth": "S", "clear_blocks": false, "law": {...}}

``sensitive`` lists ascending half-open ranges of codes with gaps between them. ``law`` is the complete description of
the block law. Integers that may exceed 2^53 are decimal texts. Epsilon follows from these integers alone, so everybody
with a sampler can check it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.checks import is_whole, quoted
from discreet.core.guarantee import likelihood_ratio, logarithm
from discreet.core.random import WORD_RANGE, RandomSource, bernoulli
from discreet.core.reports import CLEAR, Column, smallest_unsigned
from discreet.device.protocol.frames import LARGEST_RECORD
from discreet.device.protocol.shapes import fits
from discreet.errors import DataError, ParameterError
from discreet.formats.records import RecordCodec
from discreet.mechanisms import BlockMechanism, description_of, law_of
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.laws.translates import SetTranslates
from discreet.mechanisms.obfuscation import Sampling, obfuscated
from discreet.mechanisms.personalized import common_of
from discreet.mechanisms.registry import UnknownLawError

_LARGEST_SIZE = (1 << 31) - 1
# Laws that mark the values of a block, with one byte per sensitive value on every device.
_MARKING, _MOST_MARKS = ("subsets", "mixed subsets"), 1 << 22
_TRUTH = re.compile(r"[1-9][0-9]{0,19}")
_SHAPE = {"size": int, "sensitive": [(int, int)], "truth": _TRUTH, "clear_blocks": bool, "law": dict}


class SamplerError(DataError):
    """Raised if devices cannot use the sampler."""


class UnknownSamplerError(SamplerError):
    """Raised if the sampler has an unknown block law, so that its epsilon cannot be computed."""


@dataclass(frozen=True)
class Sampler:
    """The integers with which a device draws reports.

    Attributes:
        size: |Z|, the number of codes, including placeholders.
        sensitive: half-open ranges of sensitive codes, ascending, with gaps between them.
        truth: S; a report is truthful with probability S / 2^64.
        clear_blocks: whether reports in clear also contain a block of noise.
        law: the complete description of the block law.

    Raises:
        SamplerError: if the integers are not valid, or protect nobody.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100), sensitive=[3, 4, 50]), epsilon=1.0)
        >>> sampler = Sampler.of(mechanism)
        >>> sampler.sensitive, sampler.law, round(sampler.realised, 9)
        (((3, 5), (50, 51)), {'law': 'singletons', 'size': 3}, 1.0)
        >>> Sampler.parse(sampler.document()) == sampler
        True
        >>> len(sampler.record(3, dc.SecureRandom()))
        2
    """

    size: int
    sensitive: tuple[tuple[int, int], ...]
    truth: int
    clear_blocks: bool
    law: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Check the integers of the sampler."""
        if not _is_int(self.size, 1, _LARGEST_SIZE):
            raise SamplerError("sampler.wrong-size", most=_LARGEST_SIZE, size=quoted(self.size))
        _check_ranges(self.sensitive, self.size)
        if not _is_int(self.truth, 1, WORD_RANGE - 1):
            raise SamplerError("sampler.wrong-truth")
        if not isinstance(self.clear_blocks, bool):
            raise SamplerError("sampler.wrong-clear-blocks", value=quoted(self.clear_blocks))
        self._check_law()

    def _check_law(self) -> None:
        count, law = self.sensitive_count, self.block_law
        if law.size != count:
            raise SamplerError("sampler.other-law-size", count=count, size=law.size)
        if self.law["law"] in _MARKING and count > _MOST_MARKS:
            raise SamplerError("sampler.subset-too-large", most=_MOST_MARKS, count=count)
        is_set = self.law["law"] == SetTranslates.kind
        if self.clear_blocks and (is_set or law.inclusion != law.conditional_inclusion):
            raise SamplerError("sampler.dependent-clear-blocks")
        if self.codec.width > LARGEST_RECORD:
            raise SamplerError("sampler.record-too-large", most=LARGEST_RECORD, width=self.codec.width)

    @classmethod
    def of(cls, mechanism: object) -> "Sampler":
        """Return the sampler of a block mechanism, or of the block mechanism of a personalized plan.

        Raises:
            SamplerError: if the mechanism is not a block mechanism, or protects nobody.
        """
        try:
            blocks = BlockMechanism.checked(common_of(mechanism))
        except ParameterError:
            raise SamplerError("sampler.not-block-mechanism", kind=type(mechanism).__name__) from None
        domain, law = blocks.domain, _description(blocks.law)
        return cls(domain.size, _ranges(domain.sensitive), blocks.threshold, blocks.clear_blocks, law)

    @classmethod
    def parse(cls, document: Any) -> "Sampler":
        """Parse a JSON object, and return the sampler.

        Raises:
            SamplerError: if the object does not have the form that `document` returns.
        """
        if not fits(document, _SHAPE):
            raise SamplerError("sampler.wrong-form")
        ranges = tuple((start, stop) for start, stop in document["sensitive"])
        return cls(document["size"], ranges, int(document["truth"]), document["clear_blocks"], document["law"])

    def document(self) -> dict[str, Any]:
        """Return the sampler as a JSON object."""
        return {
            "size": self.size,
            "sensitive": [list(pair) for pair in self.sensitive],
            "truth": str(self.truth),
            "clear_blocks": self.clear_blocks,
            "law": _description(self.block_law),
        }

    @cached_property
    def sensitive_count(self) -> int:
        """The number of sensitive codes, |Z_S|."""
        return sum(stop - start for start, stop in self.sensitive)

    @cached_property
    def block_law(self) -> BlockLaw:
        """The block law, built from its description.

        Raises:
            SamplerError: if the description is malformed.
        """
        try:
            return law_of(self.law)
        except UnknownLawError as error:
            raise UnknownSamplerError("sampler.unknown-law", fault=error.sentence()) from None
        except ParameterError as error:
            raise SamplerError("sampler.wrong-law", fault=error.sentence()) from None

    @cached_property
    def realised(self) -> float:
        """The realised epsilon in nats, computed from the integers and rounded up."""
        return self.realised_at(self.truth)

    def realised_at(self, truth: int) -> float:
        """Return epsilon in nats for another probability of the truth, ``truth / 2^64``."""
        return logarithm(likelihood_ratio(truth, self.block_law.inclusion))

    @cached_property
    def codec(self) -> RecordCodec:
        """The codec for the records of this sampler."""
        in_clear = Column(CLEAR, smallest_unsigned(self.size), bound=self.size)
        columns = (in_clear, *self.block_law.columns) if self.sensitive_count < self.size else self.block_law.columns
        return RecordCodec(columns, self.clear_blocks)

    def record(self, code: int, random: RandomSource, truth: int | None = None) -> bytes:
        """Draw a report on one value, and return the report as a record.

        Random words are taken in the order in which `BlockMechanism.obfuscate_codes` takes them for one value.

        Args:
            code: the code of the value, 0..size - 1.
            random: the source of words; another author's source must have passed
                `discreet.core.random.checked_source`.
            truth: a report is truthful with probability ``truth / 2^64``; None for the sampler's own S.

        Returns:
            W bytes.

        Raises:
            SamplerError: if the code is out of range; it is not quoted.
        """
        if not is_whole(code) or not 0 <= int(code) < self.size:
            raise SamplerError("code.out-of-range", argument="code", last=self.size - 1)
        sampling = self._sampling if truth is None else replace(self._sampling, threshold=truth)
        reports = obfuscated(sampling, np.array([int(code)]), random)
        return self.codec.encode(reports).tobytes()

    def round_record(self, memo: bytes, threshold: int, random: RandomSource) -> bytes:
        """Draw the report of one round: the permanent record with probability ``threshold / 2^64``, or fresh noise.

        Args:
            memo: the permanent record, W bytes.
            threshold: S_2, 1..2^64 - 1.
            random: the source of words: first for the coin, then for the noise, which is always drawn.
        """
        coin = bernoulli(1, threshold, random)
        # A report that is never truthful is noise, for any value.
        noise = np.frombuffer(self.record(0, random, truth=0), np.uint8)
        # No branch: its time would reveal the coin.
        return np.where(coin, np.frombuffer(memo, np.uint8), noise).tobytes()

    @cached_property
    def _sampling(self) -> Sampling:
        slots = _Ranks(self.sensitive) if self.sensitive_count < self.size else None
        law = self.block_law
        # Records contain no fingerprint of a plan, so any name serves.
        return Sampling(self.size, slots, law, law.columns, self.truth, self.clear_blocks, "sampler")


class _Ranks:
    """A mapping from sensitive codes to their ranks. Ranks are computed from ranges, without an array of all ranks."""

    def __init__(self, sensitive: tuple[tuple[int, int], ...]) -> None:
        self._starts, self._stops = np.array(sensitive, dtype=np.int64).T
        self._before = np.cumsum(self._stops - self._starts) - (self._stops - self._starts)

    def __getitem__(self, codes: IntArray) -> IntArray:
        """Return the ranks of sensitive codes, and -1 for other codes."""
        place = np.maximum(np.searchsorted(self._starts, codes, side="right") - 1, 0)
        inside = (codes >= self._starts[place]) & (codes < self._stops[place])
        ranks: IntArray = np.where(inside, self._before[place] + codes - self._starts[place], -1)
        return ranks


def _is_int(number: object, least: int, most: int) -> bool:
    return type(number) is int and least <= number <= most


def _check_ranges(ranges: tuple[tuple[int, int], ...], size: int) -> None:
    """Check that the ranges are within the codes, ascending and separate."""
    last = -1
    for start, stop in ranges:
        if not _is_int(start, last + 1, size) or not _is_int(stop, start + 1, size):
            raise SamplerError("sampler.wrong-ranges")
        last = stop
    if not ranges:
        raise SamplerError("sampler.nothing-sensitive")


def _ranges(sensitive: BoolArray) -> tuple[tuple[int, int], ...]:
    """Return the half-open ranges of sensitive codes."""
    edges: AnyArray = np.flatnonzero(np.diff(np.concatenate([[False], sensitive, [False]]).astype(np.int8)))
    return tuple((int(start), int(stop)) for start, stop in edges.reshape(-1, 2))


def _description(law: BlockLaw) -> dict[str, Any]:
    try:
        return description_of(law)
    except ParameterError as error:
        raise SamplerError("sampler.wrong-law", fault=error.sentence()) from None
