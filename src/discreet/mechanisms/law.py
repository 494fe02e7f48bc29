"""Truth or noise: the conditional distribution of reports that all block mechanisms share.

With probability s a device reports the truth: a sensitive value as a block that contains it, any other in clear.
Otherwise it sends a block of noise, which does not depend on the value. With s/(1 - s) = pi (e^eps - 1) this is
(X_S, eps)-ULDP with equality (LDP if every value is sensitive). A `BlockLaw` defines the blocks, and this module
everything else.

The sampler compares random words with S, which is 2^64 s rounded *down*. So the realised epsilon is the logarithm of an
exact fraction, and it never exceeds the promise.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, partial
from math import nan
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.checks import check_truth_possible, checked_epsilon, checked_flag
from discreet.core.domain import Domain, checked_domain
from discreet.core.guarantee import Guarantee, likelihood_ratio, logarithm
from discreet.core.random import WORD_RANGE, RandomSource, checked_source
from discreet.core.reports import Blocks, Column, Reports, smallest_unsigned
from discreet.core.tally import total
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, Counting, IndexedLaw
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.decoders import BlockDecoder, PlaceDecoder
from discreet.mechanisms.evidence import Data, Evidence, Membership, StoredBlocks
from discreet.mechanisms.mechanism import Decoder, Mechanism
from discreet.mechanisms.obfuscation import Sampling, obfuscated
from discreet.theory.linear_decoder import DecoderBesideClear, LinearDecoder

Law = TypeVar("Law", bound=BlockLaw)


def linear_decoder(domain: Domain, law: BlockLaw, threshold: int, clear_blocks: bool = False) -> LinearDecoder:
    """Return the coefficients of the linear decoder of a truth-or-noise mechanism."""
    kind, rho = DecoderBesideClear if clear_blocks else LinearDecoder, law.conditional_inclusion
    return kind(
        domain.sensitive_count,
        domain.clear_count,
        threshold / WORD_RANGE,
        (WORD_RANGE - threshold) / WORD_RANGE,
        float(law.inclusion),
        nan if rho is None else float(rho),
    )


def minimax_law(domain: Domain, epsilon: float, laws: Sequence[Law]) -> Law:
    """Return the law with the smallest worst-case error; the first one if several are equal."""

    def error(law: Law) -> float:
        return linear_decoder(domain, law, truth_threshold(epsilon, law.inclusion)).worst_case_mse(1)

    return min(laws, key=error)


MOST_ENTRIES = 20_000_000
"""The largest number of entries in a channel's matrix."""


def matrix_of(domain: Domain, law: BlockLaw, numbers: LinearDecoder) -> FloatArray:
    """Return the mechanism's matrix Q(y|x), with rows in the domain's order.

    Raises:
        ParameterError: if the matrix would be too large, or reports have two parts.
    """
    if numbers.clear_blocks:
        raise ParameterError("matrix.two-parts")
    if not is_small(domain, law):
        # The product may be too large even for a float.
        raise ParameterError("matrix.too-large", most_entries=MOST_ENTRIES, size=domain.size)
    listed, chances = law.alphabet()
    weights, contained = chances.astype(np.float64), law.contains(listed)
    blocks = np.broadcast_to(numbers.noisy * weights, (domain.size, len(weights))).copy()
    shares = np.where(contained.T, numbers.truth * weights / numbers.inclusion, 0.0)
    blocks[domain.sensitive_codes] += shares[: domain.sensitive_count]
    in_clear = np.zeros((domain.size, domain.clear_count))
    in_clear[domain.clear_codes, np.arange(domain.clear_count)] = numbers.truth
    return np.hstack([blocks, in_clear])


def is_small(domain: Domain, law: BlockLaw) -> bool:
    """Return true if the channel's matrix is small enough to be computed."""
    return (law.alphabet_size + domain.clear_count) * domain.size <= MOST_ENTRIES


_FORMAT = 2
_MOST_NUMBERS = 20


_DIGITS = 120


def exponential_below(epsilon: float) -> Fraction:
    """Return a fraction just below e^epsilon, with about a hundred correct digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        value = Decimal(epsilon).exp()
        context.rounding = ROUND_FLOOR
        return Fraction(value * (1 - Decimal(10) ** (2 - _DIGITS)))


def truth_threshold(epsilon: float, inclusion: Fraction) -> int:
    """Return the largest S for which truth with probability S / 2^64 keeps the promise epsilon.

    Args:
        epsilon: the promise, in nats.
        inclusion: pi, the probability that a noise block contains a given sensitive value.

    Raises:
        ParameterError: if S is 0: the truth would never be sent.
    """
    odds = inclusion * (exponential_below(epsilon) - 1)
    threshold = int(WORD_RANGE * odds / (1 + odds))
    check_truth_possible(epsilon, threshold)
    return min(threshold, WORD_RANGE - 1)


@dataclass(frozen=True, eq=False, repr=False)
class BlockMechanism(Mechanism):
    """A mechanism of truth or noise: a domain, an epsilon and options, from which its block law follows.

    Options are the other fields, by keyword. `dataclasses.replace`, equality, repr, pickles and the schema of plans use
    these fields.

    Attributes:
        laws: the classes of its block laws, so that a device can rebuild a law from its description.
        proposed: options of new plans that differ from the defaults; old plans rely on the defaults.
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
    """

    laws: ClassVar[tuple[type[BlockLaw], ...]] = ()
    proposed: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    domain: Domain
    epsilon: float

    def __post_init__(self) -> None:
        """Raise an error for an invalid epsilon, options that define no law, or a law for another number of values.

        Raises:
            ParameterError: if one of these checks fails.
        """
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        size = sensitive_size(self.domain)
        if self.law.size != size:
            raise ParameterError("block-law.wrong-size", size=size, size_2=self.law.size)
        if self.clear_blocks and self.law.inclusion != self.law.conditional_inclusion:
            raise ParameterError("clear-blocks.dependent-values")
        _ = self.threshold

    def __repr__(self) -> str:
        changed = [option for option in self.options() if getattr(self, option.name) != option.default]
        options = [f"{option.name}={_short(getattr(self, option.name))}" for option in changed]
        listed = [repr(self.domain), f"epsilon={self.epsilon!r}", *options, f"plan={self.fingerprint[:12]}"]
        return f"{type(self).__name__}({', '.join(listed)})"

    @classmethod
    def options(cls) -> tuple[Field[Any], ...]:
        """Return the fields of a mechanism besides domain and epsilon: its options."""
        return tuple(option for option in fields(cls) if option.name not in ("domain", "epsilon"))

    @classmethod
    def needs_options(cls) -> bool:
        """Return true if the mechanism has an option without a default."""
        return any(option.default is MISSING for option in cls.options())

    @property
    def settings(self) -> dict[str, float]:
        """Return the parameters of the law, given or chosen by the mechanism, under their letters in the literature."""
        return {}

    @cached_property
    def law(self) -> BlockLaw:
        """The block law, from which blocks of sensitive values are drawn."""
        raise ParameterError("block-law.missing")

    @property
    def follows_from_matrix(self) -> bool:
        """True if there is no common rho, because some pairs of values share more blocks than others."""
        return self.law.conditional_inclusion is None

    @cached_property
    def threshold(self) -> int:
        """S, the integer with which the sampler compares random words: the largest that keeps the promise."""
        return WORD_RANGE if self.domain.sensitive_count == 0 else truth_threshold(self.epsilon, self.law.inclusion)

    @cached_property
    def coefficients(self) -> LinearDecoder:
        """The coefficients of the mechanism's linear decoder, with the decoder's exact errors."""
        return linear_decoder(self.domain, self.law, self.threshold, self.clear_blocks)

    @cached_property
    def decoder(self) -> Decoder:
        """The linear decoder of tallies; if there is no common rho, a right inverse of the channel.

        Raises:
            ParameterError: if the law has no common rho and does not list its blocks.
        """
        if not self.follows_from_matrix:
            return BlockDecoder(self, self.law, self.coefficients)
        if not isinstance(self.law, IndexedLaw):
            raise ParameterError("block-law.unlisted", kind=self.law.kind)
        return PlaceDecoder(self, matrix_of(self.domain, self.law, self.coefficients), law=self.law)

    @cached_property
    def counts(self) -> Counting:
        """The counts of blocks that a tally of the mechanism stores."""
        return self.law.counts

    @property
    def tally_suffices(self) -> bool:
        """True if a tally determines the likelihood; false if reports in clear carry blocks too."""
        return self.counts.suffices and not self.clear_blocks

    @cached_property
    def contrast(self) -> float:
        """The realised contrast c = e^epsilon - 1: a block is 1 + c times likelier for a value that it contains."""
        return float(Fraction(self.threshold, max(WORD_RANGE - self.threshold, 1)) / self.law.inclusion)

    @cached_property
    def block_columns(self) -> tuple[Column, ...]:
        """The formats of the columns that store a report's block."""
        return self.law.columns

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block that no device can have sent."""
        return self.law.flaws(blocks)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything on which the meaning of a report depends."""
        facts = {
            "format": _FORMAT,
            "domain": self.domain.fingerprint,
            "epsilon": self.epsilon.hex(),
            "truth": self.threshold,
            "clear_blocks": self.clear_blocks,
            "law": self.law.describe(),
            # A part of old plans with several epsilons: without it every fingerprint would change.
            "epsilons": [],
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    @cached_property
    def guarantee(self) -> Guarantee:
        """The mechanism's guarantee, with the promised epsilon and the realised epsilon of the sampler's integers."""
        domain = self.domain
        if domain.sensitive_count == 0:
            return Guarantee("none", domain, None, float("inf"))
        notion = "LDP" if domain.clear_count == 0 else "ULDP"
        return Guarantee(notion, domain, self.epsilon, logarithm(likelihood_ratio(self.threshold, self.law.inclusion)))

    def _sampling(self, threshold: int) -> Sampling:
        """Return the parameters of the sampler, with truth probability ``threshold / 2^64``."""
        slots, numbers = self.domain.signed_ranks, (threshold, self.clear_blocks, self.fingerprint)
        return Sampling(self.domain.size, slots, self.law, self.block_columns, *numbers)

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Return one report for each value; the codes of the values are ``(n,)`` integers in 0..|X| - 1."""
        return obfuscated(self._sampling(self.threshold), self.domain.check_codes(codes), checked_source(random))

    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return true if n reports of the mechanism can have these nonnegative counts."""
        clear_count = total(clear)
        fits = clear_count <= n and len(support) > 0
        return self.counts.is_consistent(support, self.block_count(n, clear_count)) if fits else clear_count == n

    def blocks_of_unknown(self, reports: Reports) -> Blocks:
        """Return the blocks of the reports that are not in clear, from which a likelihood is computed."""
        if not self.clear_blocks or reports.in_clear is None:
            return reports.blocks
        return {name: column[~reports.in_clear] for name, column in reports.blocks.items()}

    def evidence(self, data: Data) -> Evidence:
        """Return the evidence for a likelihood in reports, or in a tally; see `Mechanism.evidence`."""
        tally, counts, numbers, size = self.tally_of(data), self.counts, self.coefficients, self.domain.sensitive_count
        blocks: Callable[[], Membership] | None = None
        rows_of: Callable[[Any], Any] | None = None
        if self.tally_suffices:
            blocks = partial(counts.membership_of, tally.support)
        elif isinstance(data, StoredBlocks):
            blocks, rows_of = partial(getattr, data, "membership"), data.rows_of
        elif isinstance(data, Reports):
            blocks = partial(self.law.membership, self.blocks_of_unknown(data))
        return Evidence(
            tally,
            self.contrast,
            self.domain.sensitive,
            numbers.truth,
            numbers.noisy_inclusion if size and counts.one_per_value else None,
            blocks=blocks,
            rows_of=rows_of,
        )

    def likelihoods(self, reports: Reports) -> FloatArray:
        """Return ``(n, |X|)`` probabilities of the reports given each value, each row up to a constant factor.

        A block is 1 + c times likelier from a value that it contains than from any other. A value in clear comes only
        from that value.
        """
        self.checked_reports(reports)
        rows = np.zeros((reports.n, self.domain.size))
        in_clear = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
        rows[np.flatnonzero(in_clear), reports.clear.astype(np.int64)] = 1
        noisy = np.flatnonzero(~in_clear)
        if len(noisy):
            rows[noisy] = 1
            contained = self.law.contains(self.blocks_of_unknown(reports))
            rows[np.ix_(noisy, self.domain.sensitive_codes)] += self.contrast * contained
        return rows

    def channel(self) -> Channel:
        """Return the mechanism's matrix of conditional probabilities as a channel; see `Mechanism.channel`."""
        return Channel(matrix_of(self.domain, self.law, self.coefficients), self.domain)

    def bytes_per_report(self, sensitive_mass: float) -> float:
        """Return the expected size of a report's columns in bytes, if p(X_S) is the sensitive mass."""
        block = sum(column.bytes for column in self.law.columns)
        in_clear = self.coefficients.truth * (1 - sensitive_mass) if self.domain.clear_count else 0.0
        value = smallest_unsigned(self.domain.size).itemsize
        return in_clear * value + (1.0 if self.clear_blocks else 1 - in_clear) * block


def _short(option: object) -> str:
    """Return the repr of an option, or the length of a long tuple."""
    if isinstance(option, tuple) and len(option) > _MOST_NUMBERS:
        return f"<{len(option)} numbers>"
    return repr(option)


def sensitive_size(domain: Domain) -> int:
    """Return the size of a block law over this domain: v, or 1 where no value is sensitive."""
    return max(checked_domain(domain).sensitive_count, 1)


@dataclass(frozen=True, eq=False, repr=False)
class LawMechanism(BlockMechanism):
    """A mechanism of truth or noise for a given block law.

    Attributes:
        law: the block law, over the sensitive values.
        clear_blocks: whether reports in clear carry a block of noise too.
    """

    name: ClassVar[str] = "law"
    law: BlockLaw = field()
    clear_blocks: bool = False

    def __post_init__(self) -> None:
        """Raise an error if the given law is no block law.

        Raises:
            ParameterError: if it is not.
        """
        if not isinstance(self.law, BlockLaw):
            raise ParameterError("block-law.wrong-type", argument="law", kind=type(self.law).__name__)
        object.__setattr__(self, "clear_blocks", checked_flag("clear_blocks", self.clear_blocks))
        super().__post_init__()

    @property
    def laws(self) -> tuple[type[BlockLaw], ...]:  # type: ignore[override]
        """The class of the given block law, as a tuple."""
        return (type(self.law),)
