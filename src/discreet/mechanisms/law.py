"""The one law: truth or noise.

With probability s a device tells the truth: a sensitive value as a block that contains it, any other value in clear.
Otherwise it sends a block of noise, whatever the value is. With s/(1 - s) = pi (e^eps - 1) this is (X_S, eps)-ULDP with
equality (LDP if every value is sensitive). A `BlockLaw` says what the blocks are; the rest is here, once.

Where the law has groups, pi_x differs, and so does what is promised to x: with s/(1 - s) <= pi_x (e^eps_x - 1) for
every sensitive x, no report makes x more than e^eps_x times likelier than any other value [spec of the optimum, section
5].
"""

import hashlib
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from discreet.accuracy.decoder import Decoder, PerValue
from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.accuracy.pool_bias import PoolBias
from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_epsilon, checked_n, checked_whole, shown
from discreet.core.columns import integers
from discreet.core.domain import Domain, checked_domain
from discreet.core.exact import likelihood_ratio, logarithm, truth_threshold
from discreet.core.guarantee import GroupPromise, Guarantee
from discreet.core.random import WORD_RANGE, RandomSource, checked_source, toss
from discreet.core.reports import CLEAR, Blocks, Column, Reports, check_same_plan, is_plain, smallest_unsigned
from discreet.core.tally import Tally, total
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, CountedBlocks, block_size, group_counts, spread
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.consistency import counted_in_clear, refuse_unfit_reports, refuse_unfit_tally

Law = TypeVar("Law", bound=BlockLaw)

_CHUNK = 1 << 14
_BATCH_BYTES = 1 << 26
_MOST_PER_BATCH = 1 << 20
_FORMAT = 2
_MOST_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False, repr=False)
class BlockMechanism:
    """A mechanism of the one law; its subclasses choose the block law.

    Attributes:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        law: the block law, over the sensitive values.
        clear_blocks: whether reports in clear carry a block of noise too.
        epsilons: the promise to the values of each group of the law; empty if there is one promise to all.
        threshold: S; the truth is told with probability s = S / 2^64.
    """

    name: ClassVar[str]

    domain: Domain
    epsilon: float
    law: BlockLaw
    clear_blocks: bool = False
    epsilons: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an epsilon that is no promise, and a law that is not one over the sensitive values.

        Raises:
            ParameterError: if it is so.
        """
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        size = sensitive_size(self.domain)
        self._check_kinds()
        if self.law.size != size:
            raise ParameterError(f"the block law must be over the {size} sensitive values, got size {self.law.size}.")
        if len(self.promises) != len(self.law.inclusions):
            groups = len(self.law.inclusions)
            raise ParameterError(
                f"epsilons must be one for each group of the law ({groups}), got {len(self.epsilons)}."
            )
        if (largest := max(map(checked_epsilon, self.promises))) != self.epsilon:
            raise ParameterError(
                f"epsilon must be the largest of epsilons, got epsilon={self.epsilon!r} and {largest!r} as the largest."
            )
        if self.clear_blocks and self.law.inclusions != self.law.conditional_inclusions:
            raise ParameterError("clear_blocks needs a law whose values are in a block independently.")
        _ = self.threshold

    def _check_kinds(self) -> None:
        if not all(hasattr(self.law, name) for name in ("inclusions", "draw", "columns")) or isinstance(self.law, type):
            raise ParameterError(f"law must be a block law, got {type(self.law).__name__}.")
        if not isinstance(self.clear_blocks, bool):
            raise ParameterError(f"clear_blocks must be True or False, got {shown(self.clear_blocks)}.")
        if not isinstance(self.epsilons, tuple):
            raise ParameterError(f"epsilons must be a tuple, one for each group, got {type(self.epsilons).__name__}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, epsilon={self.epsilon!r}, plan={self.fingerprint[:12]})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockMechanism) and type(self) is type(other) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @classmethod
    def options(cls) -> dict[str, inspect.Parameter]:
        """Return what its constructor may be told beyond a domain and an epsilon."""
        parameters = inspect.signature(cls.__init__).parameters
        return {name: option for name, option in parameters.items() if name not in ("self", "domain", "epsilon")}

    @classmethod
    def needs_options(cls) -> bool:
        """Return whether a domain and an epsilon are not enough to make one."""
        return any(option.default is inspect.Parameter.empty for option in cls.options().values())

    @staticmethod
    def least_worst(domain: Domain, epsilon: float, laws: Sequence[Law]) -> Law:
        """Return the law with the least worst-case error; the first one of equals."""
        even = (epsilon,)
        return min(laws, key=lambda law: _moments(domain, law, _threshold(even, law)).worst_case_mse(1))

    @property
    def promises(self) -> tuple[float, ...]:
        """Return what is promised to the values of each group of the law, in nats."""
        return self.epsilons or (self.epsilon,)

    @cached_property
    def threshold(self) -> int:
        """S, the integer with which the sampler compares its words: the largest that keeps every promise."""
        return WORD_RANGE if self.domain.sensitive_count == 0 else _threshold(self.promises, self.law)

    @cached_property
    def moments(self) -> LinearDecoder:
        """The numbers that every error follows from."""
        return _moments(self.domain, self.law, self.threshold, self.clear_blocks)

    @property
    def decoder(self) -> Decoder:
        """The linear decoder of its tallies."""
        return self.moments

    @property
    def support_size(self) -> int:
        """How many counts of blocks a tally holds; see `BlockLaw.tally_size`."""
        return self.law.tally_size if self.domain.sensitive_count else 0

    @property
    def tally_suffices(self) -> bool:
        """Whether a tally says all that reports say: blocks are counted, or are single values."""
        return (isinstance(self.law, CountedBlocks) and not self.clear_blocks) or self._block_size == 1

    @cached_property
    def contrasts(self) -> PerValue:
        """e^eps_x - 1 as realised: how much likelier a block is for an x that it contains; one number, or ``(v,)``."""
        odds = Fraction(self.threshold, max(WORD_RANGE - self.threshold, 1))
        return spread(tuple(odds / pi for pi in self.law.inclusions), self.law.groups)

    @property
    def contrast(self) -> float:
        """The largest contrast of any value."""
        contrasts = self.contrasts
        return float(contrasts.max() if isinstance(contrasts, np.ndarray) else contrasts)

    def promised_to(self, code: int) -> float:
        """Return the epsilon that bounds how much likelier than others a report makes a value, given by its code.

        For a value that is not sensitive, that of the mechanism: of such values only what is protected is promised.
        """
        if not self.domain.sensitive[code] or self.law.groups is None:
            return self.epsilon
        return self.epsilons[int(self.law.groups[np.searchsorted(self.domain.sensitive_codes, code)])]

    @cached_property
    def block_columns(self) -> tuple[Column, ...]:
        """How the block of a report is written down."""
        return self.law.columns

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """How a report is written down: the code of a value in clear, where there are such values, or a block."""
        size = self.domain.size
        in_clear = (Column(CLEAR, smallest_unsigned(size), bound=size),) if self.domain.clear_count else ()
        return (*in_clear, *self.block_columns)

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: which blocks no device can have sent."""
        return self.law.flaws(blocks)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that the meaning of a report depends on."""
        facts = {
            "format": _FORMAT,
            "domain": self.domain.fingerprint,
            "epsilon": self.epsilon.hex(),
            "truth": self.threshold,
            "clear_blocks": self.clear_blocks,
            "law": self.law.describe(),
            "epsilons": [epsilon.hex() for epsilon in self.epsilons],
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised and what the sampler's integers realise."""
        domain = self.domain
        if domain.sensitive_count == 0:
            return Guarantee("none", domain, None, float("inf"))
        notion = "LDP" if domain.clear_count == 0 else "ULDP"
        realised = [logarithm(likelihood_ratio(self.threshold, pi)) for pi in self.law.inclusions]
        if self.law.groups is None:
            return Guarantee(notion, domain, self.epsilon, realised[0])
        groups = map(GroupPromise, self.promises, realised, group_counts(self.law.size, self.law.groups))
        return Guarantee(notion, domain, self.epsilon, max(realised), groups=tuple(groups))

    # The device

    def obfuscate(self, values: Any, *, random: RandomSource | None = None) -> Reports:
        """Obfuscate one value per device.

        Args:
            values: ``(n,)`` values of the domain; see `Domain.encode`.
            random: the words; None for fresh ones from the operating system's key.

        Returns:
            n reports, in order.

        Raises:
            DataError: if a value is missing or not in the domain.
        """
        return self.obfuscate_codes(self.domain.encode(values), random=random)

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Obfuscate values that are given by their codes, ``(n,)`` integers in 0..|X| - 1."""
        codes, random = self.domain.check_codes(codes), checked_source(random)
        blocks = self._new_blocks(len(codes))
        in_clear = np.zeros(len(codes), dtype=np.bool_) if self.domain.clear_count else None
        clear, filled = [], 0
        for start in range(0, len(codes), _CHUNK):
            chunk = codes[start : start + _CHUNK]
            members, told = self._truth_or_noise(chunk, random)
            if told is not None and in_clear is not None:
                in_clear[start : start + len(chunk)] = told
                clear.append(chunk[told])
                members = members if self.clear_blocks else members[~told]
            out = {name: column[filled : filled + len(members)] for name, column in blocks.items()}
            self.law.draw(members, random, out)
            filled += len(members)
        # What is cut off would keep memory that nobody filled.
        blocks = blocks if filled == len(codes) else {name: column[:filled].copy() for name, column in blocks.items()}
        return self._reports(len(codes), in_clear, clear, blocks, random)

    def _truth_or_noise(self, codes: AnyArray, random: RandomSource) -> tuple[IntArray, BoolArray | None]:
        """Toss the coin: ``(n,)`` members that blocks must contain (-1: none), and who speaks in clear."""
        truth = toss(len(codes), self.threshold, random)
        slots = self.domain.slots
        if slots is None:
            return _or_noise(codes, truth), None
        slot = slots[codes]
        told = truth & (slot < 0)
        return _or_noise(slot, truth & ~told), told

    def _new_blocks(self, n: int) -> dict[str, AnyArray]:
        shapes = {c.name: ((n,) if c.width is None else (n, c.width), c.dtype) for c in self.block_columns}
        return {name: np.empty(shape, dtype=dtype) for name, (shape, dtype) in shapes.items()}

    def _reports(
        self, n: int, in_clear: BoolArray | None, clear: list[AnyArray], blocks: Blocks, random: RandomSource
    ) -> Reports:
        codes = np.concatenate(clear) if clear else np.empty(0, dtype=np.int64)
        stored = codes.astype(smallest_unsigned(self.domain.size))
        return Reports(self.fingerprint, n, in_clear, stored, blocks, not random.secure)

    def obfuscate_batches(
        self, codes: Any, *, size: int | None = None, random: RandomSource | None = None
    ) -> Iterator[Reports]:
        """Obfuscate many codes batch by batch, so that memory stays small.

        Args:
            codes: ``(n,)`` integers in 0..|X| - 1.
            size: reports per batch; None for about 64 MB of them, a million at most.
            random: as for `obfuscate`.

        Raises:
            ParameterError: if a size is given that is no whole number of at least 1.
            DataError: if codes are no column of integers; if one of them is not in the domain, with its batch.
        """
        if size is None:
            size = min(max(_BATCH_BYTES // sum(column.bytes for column in self.columns), 1), _MOST_PER_BATCH)
        # Checked here and now, not when the first batch is asked for.
        step, source = checked_whole("size", size), checked_source(random)
        column = codes if is_plain(codes) else integers(codes, "codes")
        return (self.obfuscate_codes(column[at : at + step], random=source) for at in range(0, len(column), step))

    # The collector

    def tally(self, reports: Reports) -> Tally:
        """Count what estimation needs.

        Raises:
            DataError: if they are none that this mechanism makes.
            MismatchError: if the reports belong to another plan.
        """
        refuse_unfit_reports(self, reports)
        support = np.zeros(self.support_size, dtype=np.int64)
        if len(support):
            self.law.add_counts(reports.blocks, support)
        return Tally(
            self.fingerprint, reports.n, support, counted_in_clear(self.domain, reports.clear), reports.simulated
        )

    def add_tally(self, reports: Reports, support: IntArray, clear: IntArray) -> None:
        """Add what `tally` counts to ``(support_size,)`` and ``(|X_N|,)`` counts, in place.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        check_same_plan({self.fingerprint, reports.fingerprint})
        if len(support):
            self.law.add_counts(reports.blocks, support)
        slots = self.domain.slots
        if slots is not None and len(reports.clear):
            np.add.at(clear, ~slots[reports.clear], 1)

    @cached_property
    def _block_size(self) -> Fraction | None:
        return block_size(self.law)

    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return whether nonnegative counts could be those of n reports."""
        told = total(clear)
        blocks = n if self.clear_blocks else n - told
        if told > n or (len(support) and int(support.max()) > blocks):
            return False
        if not len(support):
            return told == n
        size = 1 if isinstance(self.law, CountedBlocks) else self._block_size
        return size is None or total(support) == size * blocks

    def empty_tally(self) -> Tally:
        """Return the zero of addition."""
        nothing = (
            np.zeros(self.support_size, dtype=np.int64),
            np.zeros(self.domain.clear_count, dtype=np.int64),
        )
        return Tally(self.fingerprint, 0, *nothing)

    def channel(self) -> Channel:
        """Spell the mechanism out as a matrix.

        Raises:
            ParameterError: if its alphabet is too large for that.
        """
        return Channel(_spelled(self), self.domain)

    def blocks_of_unknown(self, reports: Reports) -> Blocks:
        """Return the blocks of the reports that are not in clear: what the likelihood is about."""
        if not self.clear_blocks or reports.in_clear is None:
            return reports.blocks
        return {name: column[~reports.in_clear] for name, column in reports.blocks.items()}

    # The analyst

    def linear(self, tally: Tally) -> FloatArray:
        """Return the unbiased ``(|X|,)`` estimate of the frequencies; see `LinearDecoder.decode`.

        Raises:
            MismatchError: if the tally belongs to another plan.
            DataError: if it is empty, or none that this mechanism can have made.
        """
        refuse_unfit_tally(self, tally)
        support = self.law.support_of(tally.support) if len(tally.support) else tally.support
        counts = support.astype(np.float64), tally.clear.astype(np.float64)
        return self.arrange(*self.decoder.estimate(*counts, tally.n))

    def variance_of(self, sensitive_mass: float) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` A and B such that n Var(p_hat_x) = A_x + B_x p_x - p_x^2, exactly, given a = p(X_S)."""
        sensitive, clear = self.decoder.variances(sensitive_mass)
        ones, rest = np.ones(self.domain.sensitive_count), np.ones(self.domain.clear_count)
        constant, slope = zip(sensitive, clear, strict=True)
        return self.arrange(constant[0] * ones, constant[1] * rest), self.arrange(slope[0] * ones, slope[1] * rest)

    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(A, B)`` as `variance_of`, with the sensitive mass that the reports in clear leave over.

        A has in it n times what lasts (`pool_bias_variance`), so that it is for this n.
        """
        constant, slope = self.variance_of(self._mass_seen(tally))
        return constant + tally.n * self.pool_bias_variance(tally, linear), slope

    def pool_bias_variance(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` estimates, from the linear ones, of the variance that more reports do not lessen."""
        found, chosen, n = np.zeros(self.domain.size), self.domain.sensitive, tally.n
        if self.moments.pool_bias and n > 1:
            mass, values = self._mass_seen(tally), linear[chosen]
            constant, slope = (numbers[chosen] for numbers in self.variance_of(mass))
            noise = np.maximum(constant + slope * values - values**2, 0) / (n - 1)
            found[chosen] = (1 - 1 / n) * self.moments.pool_bias.estimated(values, noise, mass)
        return found

    def _mass_seen(self, tally: Tally) -> float:
        """Return p(X_S) as the reports in clear leave it over."""
        if self.domain.sensitive_count == 0:
            return 0.0
        told = tally.clear_total / (tally.n * self.moments.truth) if self.domain.clear_count else 0.0
        return min(max(1 - told, 0.0), 1.0)

    def sum_covariance(self, tally: Tally, frequencies: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of linear estimates with their sum; see `LinearDecoder`."""
        chosen = self.domain.sensitive
        sensitive = frequencies[chosen], variances[chosen]
        return self.arrange(*self.decoder.sum_covariance(sensitive, frequencies[~chosen], tally.n))

    def arrange(self, sensitive: FloatArray, clear: FloatArray) -> FloatArray:
        """Put numbers for the sensitive values and for the others into the domain's order."""
        if self.domain.clear_count == 0:
            return sensitive
        whole = np.empty(self.domain.size)
        whole[self.domain.sensitive_codes] = sensitive
        whole[self.domain.clear_codes] = clear
        return whole

    def expected_mse(self, n: int, p: Any) -> float:
        """Return E ||p_hat - p||^2 of the linear estimate, exactly.

        Args:
            n: number of reports.
            p: ``(|X|,)`` the true distribution.
        """
        p = self.domain.check_distribution(p)
        return self.decoder.mse(checked_n(n), p[self.domain.sensitive], float(p @ p))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest `expected_mse` over all distributions."""
        return self.decoder.worst_case_mse(checked_n(n))

    def expected_standard_errors(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` standard deviations of the linear estimate, exactly, for a true ``p``."""
        p = self.domain.check_distribution(p)
        constant, slope = self.variance_of(float(p[self.domain.sensitive].sum()))
        variance = np.maximum(constant + slope * p - p * p, 0) / checked_n(n)
        if pool_bias := self.moments.pool_bias:
            variance[self.domain.sensitive] += (1 - 1 / n) * pool_bias.each(p[self.domain.sensitive])
        errors: FloatArray = np.sqrt(variance)
        return errors

    def bytes_per_report(self, sensitive_mass: float) -> float:
        """Return the expected size of a report's columns, in bytes, when p(X_S) is given."""
        block = sum(column.bytes for column in self.law.columns)
        in_clear = self.moments.truth * (1 - sensitive_mass) if self.domain.clear_count else 0.0
        value = smallest_unsigned(self.domain.size).itemsize
        return in_clear * value + (1.0 if self.clear_blocks else 1 - in_clear) * block


def _or_noise(members: AnyArray, told: BoolArray) -> IntArray:
    """Return the members that are told, -1 for the others; without a branch, whose time would tell the coin."""
    masked: IntArray = np.bitwise_or(members, told.view(np.int8) - np.int8(1), dtype=np.int64)
    return masked


def sensitive_size(domain: Domain) -> int:
    """Return what a block law must be over: v, or 1 where nothing is sensitive and no block is ever sent."""
    return max(checked_domain(domain).sensitive_count, 1)


def _moments(domain: Domain, law: BlockLaw, threshold: int, clear_blocks: bool = False) -> LinearDecoder:
    return LinearDecoder(
        domain.sensitive_count,
        domain.clear_count,
        threshold / WORD_RANGE,
        (WORD_RANGE - threshold) / WORD_RANGE,
        spread(law.inclusions, law.groups),
        spread(law.conditional_inclusions, law.groups),
        clear_blocks,
        PoolBias.of(law.conditional_inclusions[0], *law.conditional_variation),
    )


def _threshold(promises: tuple[float, ...], law: BlockLaw) -> int:
    return min(truth_threshold(epsilon, pi) for epsilon, pi in zip(promises, law.inclusions, strict=True))


def _spelled(mechanism: BlockMechanism) -> FloatArray:
    """Return the matrix: every block in the alphabet's order, then every value that may go in clear."""
    weights, contained = _alphabet(mechanism)
    domain, s = mechanism.domain, mechanism.moments.truth
    blocks = np.broadcast_to(mechanism.moments.noisy * weights, (domain.size, len(weights))).copy()
    told = np.where(contained.T, s * weights / np.reshape(mechanism.moments.inclusion, (-1, 1)), 0.0)
    blocks[domain.sensitive_codes] += told[: domain.sensitive_count]
    in_clear = np.zeros((domain.size, domain.clear_count))
    in_clear[domain.clear_codes, np.arange(domain.clear_count)] = s
    return np.hstack([blocks, in_clear])


def _alphabet(mechanism: BlockMechanism) -> tuple[FloatArray, BoolArray]:
    law, domain = mechanism.law, mechanism.domain
    if mechanism.clear_blocks:
        raise ParameterError("a mechanism with clear_bits has reports of two parts; spell out the one without.")
    if (law.alphabet_size + domain.clear_count) * domain.size > _MOST_ENTRIES:
        # The number itself may be too large even for a float.
        raise ParameterError(
            f"only matrices of up to {_MOST_ENTRIES:g} entries are spelled out; this mechanism's has more, "
            f"for {domain.size} values."
        )
    blocks, weights = law.alphabet()
    return weights.astype(np.float64), law.contains(blocks)
