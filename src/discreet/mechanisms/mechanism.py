"""Mechanisms and their decoders, one abstract class for each, and the counts of reports by group.

Reports and tallies are checked before anything is estimated from them. Reports from files are checked row by row as
they are read (`formats/records.py`); those that a caller puts together carry the fingerprint of the plan, but need not
be possible under its mechanism.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.columns import integers
from discreet.core.domain import Domain
from discreet.core.guarantee import Guarantee
from discreet.core.random import RandomSource, checked_source
from discreet.core.reports import Blocks, Column, Reports, check_same_plan, is_plain, report_columns
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.kernels import counting
from discreet.mechanisms.block_law import Counting
from discreet.mechanisms.count_laws import CodedLaw, SumLaw
from discreet.mechanisms.evidence import Data, Evidence, StoredBlocks
from discreet.mechanisms.likelihood_ratios import LikelihoodRatios
from discreet.theory.covariance import Covariance

_BATCH_BYTES = 1 << 26
_MOST_PER_BATCH = 1 << 20
# Numbers that are worked out together, of which only those of the chosen values are kept.
_REPORTS_AT_ONCE = 1 << 22


class Decoder(ABC):
    """The linear decoder of a mechanism's tallies; arrays are in the domain's order.

    Attributes:
        maker: the mechanism, by which tallies and reports are checked.
    """

    maker: "Mechanism"

    @property
    def domain(self) -> Domain:
        """The values."""
        return self.maker.domain

    def estimate(self, tally: Tally) -> FloatArray:
        """Return the unbiased ``(|X|,)`` estimate of the frequencies; may be negative, need not sum to 1.

        Raises:
            DataError: if the tally is of no report, or none that the mechanism can have made.
            MismatchError: if it belongs to another plan.
        """
        return self.decode(self.maker.checked_tally(tally))

    @abstractmethod
    def decode(self, tally: Tally) -> FloatArray:
        """Return `estimate` of a tally that was checked before."""

    @abstractmethod
    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` A and B such that n Var(p_hat_x) = A + B p_x - p_x^2, as far as the tally tells."""

    @abstractmethod
    def mean_squares(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` mean squared contributions of reports to the estimates, unbiased, from their tally."""

    def pool_bias_variance(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` variances of a pool bias, which more reports do not lessen; 0 where nothing is pooled."""
        del tally, linear
        return np.zeros(self.domain.size)

    def noise_moment(self, power: int) -> FloatArray:
        """Return ``(|X|,)`` E w^k of the worth of noise, which does not depend on the value.

        Raises:
            ParameterError: if no report is noise, as of an explicit channel.
        """
        raise ParameterError("noise.differs-by-value", kind=type(self.maker).__name__)

    @property
    def is_one_number(self) -> bool:
        """True if there are two values, and the count of one always follows from that of the other."""
        return False

    @property
    def stacks(self) -> bool:
        """True if `decode`, `second_moments` and `count_laws` take a `TallyStack` too: a row for each group."""
        return False

    @property
    def truth(self) -> float:
        """s, the probability that a report tells a value that is not sensitive in clear; 0 where none tells any."""
        return 0.0

    @abstractmethod
    def count_laws(self, tally: Tally, linear: FloatArray) -> list[CodedLaw]:
        """Return the counts of all values with what is known of their laws, from which intervals follow."""

    def sum_law(self, tally: Tally, linear: FloatArray) -> SumLaw | None:
        """Return the law of the counts behind sums of frequencies; None where no more than covariances are known."""
        del tally, linear
        return None

    @abstractmethod
    def likelihood_ratios(self, evidence: Evidence, covered: FloatArray, rest: float) -> LikelihoodRatios:
        """Return the likelihood ratios of reports under a distribution.

        Args:
            evidence: of reports of the mechanism.
            covered: ``(v,)`` frequencies of the values that blocks cover.
            rest: the frequency of all others together; 0 if none was seen.
        """

    @abstractmethod
    def covariance_with_sum(self, tally: Tally, frequencies: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of estimates of these variances with their sum."""

    @abstractmethod
    def covariance(self, evidence: Evidence, linear: FloatArray) -> Covariance | None:
        """Return the covariance of the linear estimate, unbiased; None where it needs reports that are not at hand."""

    @abstractmethod
    def covariances_at(self, p: FloatArray) -> FloatArray | None:
        """Return n times the ``(|X|, |X|)`` covariances of the estimate of n reports, for a true distribution p.

        A pool bias is not in it: see `pool_covariances`. Where no formula is known, it is that of the worths of
        simulated reports, 100 for each value; None for more than 500 values then.
        """

    def pool_covariances(self, p: FloatArray) -> FloatArray | None:
        """Return the ``(|X|, |X|)`` covariances of a pool bias for a true p; None where nothing is pooled."""
        del p
        return None

    @abstractmethod
    def variances(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimate of n reports, exactly, for a true distribution p."""

    def standard_errors(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` standard deviations of the estimate of n reports for a true distribution p."""
        return np.sqrt(self.variances(n, p))

    @abstractmethod
    def mse(self, n: int, p: Any) -> float:
        """Return E ||p_hat - p||^2 of the estimate of n reports, exactly, for a true distribution p."""

    @abstractmethod
    def worst_case_mse(self, n: int) -> float:
        """Return the largest `mse` over all distributions."""

    @abstractmethod
    def worth(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` contributions of reports to the estimates; their mean is the estimate.

        Raises:
            DataError: if there is no report, or none that the mechanism can have made.
            MismatchError: if they belong to another plan.
        """

    @property
    @abstractmethod
    def worth_range(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(|X|,)`` least and largest contribution of any one report to each estimate.

        Whoever sends a share f of all reports raises an estimate that is p without them by at most f (largest - p),
        and lowers it by at most f (p - least).
        """


class Mechanism(ABC):
    """A mechanism: it makes reports on devices and counts them, and has a decoder and the evidence of reports.

    Attributes:
        name: the name in plans.
        domain: the values.
        clear_blocks: whether reports in clear carry a block of noise too.
        is_explicit: whether it is a matrix, from which all follows that elsewhere follows from a block law.
        of_neighbours: whether it tells neighbours together, so that plans do not compare it by errors of single values.
    """

    name: ClassVar[str]
    is_explicit: ClassVar[bool] = False
    of_neighbours: ClassVar[bool] = False
    domain: Domain
    clear_blocks: bool = False

    @classmethod
    def checked(cls, mechanism: object) -> Self:
        """Return a mechanism of this class, or refuse another object.

        Raises:
            ParameterError: if it is none.
        """
        if not isinstance(mechanism, cls):
            raise ParameterError("mechanism.not-block-mechanism", argument="mechanism", kind=type(mechanism).__name__)
        return mechanism

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and type(self) is type(other) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def follows_from_matrix(self) -> bool:
        """True if what it tells of people follows from its matrix alone, not from pi and rho of a block law."""
        return self.is_explicit

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Digest of everything that the meaning of a report depends on."""

    @property
    @abstractmethod
    def block_columns(self) -> tuple[Column, ...]:
        """The columns of a block."""

    @abstractmethod
    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block that no device can have sent."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The guarantee: the promised epsilon, and the realised one, from the integers of the sampler."""

    @property
    @abstractmethod
    def counts(self) -> Counting:
        """The counting of blocks, as a tally holds it."""

    @property
    @abstractmethod
    def decoder(self) -> Decoder:
        """The linear decoder of tallies, with exact errors."""

    @abstractmethod
    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return true if nonnegative counts could be those of n reports."""

    @abstractmethod
    def evidence(self, data: Data) -> Evidence:
        """Return the evidence of reports, or of a tally of them.

        Raises:
            DataError: if there is no report, or none that this mechanism makes.
            MismatchError: if they belong to another plan.
        """

    @abstractmethod
    def likelihoods(self, reports: Reports) -> FloatArray:
        """Return ``(n, |X|)`` probabilities of reports given values, each row up to a factor.

        Raises:
            DataError, MismatchError: as for `tally`.
        """

    @abstractmethod
    def channel(self) -> Any:
        """Return the mechanism spelled out as a matrix, a `discreet.Channel`.

        Raises:
            ParameterError: if its alphabet is too large for that.
        """

    # The device

    def obfuscate(self, values: Any, *, random: RandomSource | None = None, float32: bool = False) -> Reports:
        """Obfuscate one value per device.

        Args:
            values: ``(n,)`` values of the domain; see `Domain.encode`.
            random: the source of random words; None for fresh ones under a key of the operating system.
            float32: whether numbers are read as float32; see `Domain.encode`.

        Returns:
            n reports, in order.

        Raises:
            DataError: if a value is missing or not in the domain.
        """
        return self.obfuscate_codes(self.domain.encode(values, float32=float32), random=random)

    @abstractmethod
    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Obfuscate values that are given by their codes, ``(n,)`` integers in 0..|X| - 1."""

    def obfuscate_batches(
        self, codes: Any, *, size: int | None = None, random: RandomSource | None = None
    ) -> Iterator[Reports]:
        """Obfuscate many codes batch by batch, so that memory stays small.

        Args:
            codes: ``(n,)`` integers in 0..|X| - 1.
            size: reports per batch; None for about 64 MB of them, a million at most.
            random: as for `obfuscate`.

        Raises:
            ParameterError: if size is neither None nor an integer of at least 1.
            DataError: if codes are no column of integers, or one of them is not in the domain; the latter only when
                its batch is reached.
        """
        if size is None:
            size = min(max(_BATCH_BYTES // sum(column.bytes for column in self.columns), 1), _MOST_PER_BATCH)
        # Checked here and now, not when the first batch is asked for.
        source, step = checked_source(random), checked_whole("size", size)
        column = codes if is_plain(codes) else integers(codes, "codes")
        return (self.obfuscate_codes(column[at : at + step], random=source) for at in range(0, len(column), step))

    # The collector

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a report: of the code of a value in clear, where there are such values, and of a block."""
        return report_columns(self.domain.size, self.tally_sizes[1] > 0, self.block_columns)

    def block_count(self, n: int, in_clear: int) -> int:
        """Return the number of blocks of n reports of which some are in clear."""
        return n if self.clear_blocks else n - in_clear

    @property
    def tally_sizes(self) -> tuple[int, int]:
        """The numbers of counts of blocks and of values in clear in a tally."""
        domain = self.domain
        return self.counts.size if domain.sensitive_count else 0, domain.clear_count

    def empty_tally(self) -> Tally:
        """Return the tally of no reports."""
        blocks, clear = (np.zeros(size, np.int64) for size in self.tally_sizes)
        return Tally(self.fingerprint, 0, blocks, clear)

    def tally(self, reports: Reports) -> Tally:
        """Return the tally of reports; engines tally tables and files (`discreet.engines.engine`).

        Raises:
            DataError: if they are no reports that this mechanism can make.
            MismatchError: if the reports belong to another plan.
        """
        reports = self.checked_reports(reports)
        support, clear = (np.zeros(size, dtype=np.int64) for size in self.tally_sizes)
        self.add_tally(reports, support, clear)
        return Tally(self.fingerprint, reports.n, support, clear, reports.simulated, reports.batches)

    def add_tally(self, reports: Reports, support: IntArray, clear: IntArray) -> None:
        """Add reports to the counts of blocks and the ``(|X_N|,)`` counts of values in clear, in place.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        check_same_plan({self.fingerprint, reports.fingerprint})
        clear += self.counted_in_clear(reports.clear)
        if len(support):
            self.counts.add(reports.blocks, support)

    def counted_in_clear(self, codes: AnyArray) -> IntArray:
        """Return the ``(|X_N|,)`` counts F of values in clear.

        Args:
            codes: ``(m,)`` codes of values in clear.

        Raises:
            DataError: if one of them is of a sensitive value, or of none.
        """
        domain, slots, clear_count = self.domain, self.domain.slots, self.tally_sizes[1]
        if not len(codes):
            return np.zeros(clear_count, dtype=np.int64)
        within = codes.max() < domain.size and (codes.dtype.kind == "u" or codes.min() >= 0)
        if slots is not None and clear_count and within:
            # A sensitive value's rank is not below 0, and no number below 0 can be counted.
            with suppress(ValueError):
                return np.bincount(~slots[codes], minlength=clear_count).astype(np.int64, copy=False)
        wrong = (codes >= domain.size) | (codes < 0) | (clear_count == 0)
        wrong = wrong | domain.sensitive[np.where(wrong, 0, codes)]
        raise DataError("reports.impossible-clear-codes", count_nonzero=np.count_nonzero(wrong), codes_count=len(codes))

    def worth(self, reports: Reports, values: Any = None) -> FloatArray:
        """Return pseudo-values: ``(n, m)`` contributions of reports to the estimates of m values.

        A report's contribution to x has the mean 1 if its person's value is x, and else 0; so whatever is linear in
        such indicators can be worked out from contributions.

        Args:
            reports: n reports; they are gone through some at a time.
            values: m values of the domain; None for all.

        Raises:
            DataError: if there is no report, or none that the mechanism can have made, or a value is not in the domain.
            MismatchError: if the reports belong to another plan.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["yes"] * 70 + ["no"] * 30, random=dc.SeededRandom(1))
            >>> worth = mechanism.worth(reports, ["yes"])
            >>> bool(abs(worth.mean() - dc.estimate(mechanism, reports)["yes"].frequency) < 1e-12)
            True
        """
        codes = np.arange(self.domain.size) if values is None else self.domain.encode(values)
        rows = max(_REPORTS_AT_ONCE // self.domain.size, 1)
        if reports.n <= rows:
            return self.decoder.worth(reports)[:, codes]
        parts = (reports.part(start, start + rows) for start in range(0, reports.n, rows))
        return np.concatenate([self.decoder.worth(part)[:, codes] for part in parts])

    # Checks

    def checked_reports(self, reports: object) -> Reports:
        """Return reports with the columns of this mechanism, or refuse them; `refuse_flaws` checks the blocks.

        Raises:
            DataError: if they are no reports, or none that this mechanism makes.
            MismatchError: if they belong to another plan.
        """
        if not isinstance(reports, Reports):
            raise DataError("reports.wrong-type", argument="reports", kind=type(reports).__name__)
        check_same_plan({self.fingerprint, reports.fingerprint})
        wanted = {column.name: column for column in self.block_columns}
        if set(reports.blocks) != set(wanted):
            raise DataError("reports.wrong-columns", argument="reports", names=", ".join(wanted))
        for name, column in wanted.items():
            if reports.blocks[name].dtype != column.dtype or reports.blocks[name].shape != column.shape(
                reports.block_count
            ):
                width = "" if column.width is None else f" in rows of {column.width}"
                kind = np.dtype(column.dtype)
                raise DataError("reports.wrong-column-type", argument="reports", name=name, kind=kind, width=width)
        if reports.block_count != self.block_count(reports.n, len(reports.clear)):
            raise DataError("reports.neither-block-nor-clear", argument="reports")
        return reports

    def refuse_flaws(self, reports: Reports) -> None:
        """Refuse reports with a block that no device can have sent.

        Raises:
            DataError: if there is one; it says how many.
        """
        flawed = np.zeros(reports.block_count, dtype=np.bool_)
        for column in self.block_columns:
            wrong = column.out_of_bounds(reports.blocks[column.name])
            flawed = flawed if wrong is None else flawed | wrong
        if not flawed.any():
            flawed = self.flaws(reports.blocks)
        if flawed.any():
            raise DataError(
                "reports.impossible-blocks", count_nonzero=np.count_nonzero(flawed), flawed_count=len(flawed)
            )

    def tally_of(self, data: object) -> Tally:
        """Return the tally of data that this mechanism can have made, checked; errors as for `evidence`.

        Raises:
            DataError: if they are neither reports nor a tally.
        """
        if isinstance(data, Reports):
            self.refuse_flaws(data := self.checked_reports(data))
            data = self.tally(data)
        return self.checked_tally(data.tally if isinstance(data, StoredBlocks) else data)

    def checked_tally(self, tally: object) -> Tally:
        """Return a tally of at least one report that this mechanism can have made.

        Raises:
            DataError: if it is no tally, of no report, or its counts cannot be those of reports of this mechanism.
            MismatchError: if it belongs to another plan.
        """
        if not isinstance(tally, Tally):
            raise DataError("tally.wrong-type", argument="tally", kind=type(tally).__name__)
        check_same_plan({self.fingerprint, tally.fingerprint})
        if tally.n == 0:
            raise DataError("tally.empty", argument="tally")
        sizes = self.tally_sizes
        if (len(tally.support), len(tally.clear)) != sizes:
            raise DataError(
                "tally.wrong-size",
                argument="tally",
                blocks=sizes[0],
                values=sizes[1],
                a=len(tally.support),
                b=len(tally.clear),
            )
        if not self.is_consistent(tally.n, tally.support, tally.clear):
            raise DataError("tally.impossible-counts", argument="tally", n=tally.n)
        return tally


@dataclass(slots=True, eq=False)
class GroupedCounts:
    """The counts of each group so far.

    Attributes:
        mechanism: what made the reports.
        people: ``(groups,)`` numbers of reports.
        support: ``(groups, blocks)`` counts of blocks, as in a tally.
        clear: ``(groups, |X_N|)`` counts of values in clear.
        simulated: whether any report was simulated.
    """

    mechanism: Mechanism
    people: IntArray
    support: IntArray
    clear: IntArray
    simulated: bool = False

    @classmethod
    def of_nobody(cls, mechanism: Mechanism, groups: int = 0) -> "GroupedCounts":
        """Return the counts of no reports."""
        empty = mechanism.empty_tally()
        people, blocks, clear = (
            np.zeros((groups, size), np.int64) for size in (1, len(empty.support), len(empty.clear))
        )
        return cls(mechanism, people[:, 0], blocks, clear)

    @property
    def groups(self) -> int:
        """Number of rows."""
        return len(self.people)

    @property
    def row_bytes(self) -> int:
        """Size of the counts of a group."""
        return 8 * (1 + int(self.support.shape[1] + self.clear.shape[1]))

    def grow(self, groups: int) -> None:
        """Have so many rows at least; twice as many as are needed, so that few copies are made."""
        if groups > self.groups:
            more = GroupedCounts.of_nobody(self.mechanism, 2 * groups)
            for name in ("people", "support", "clear"):
                array = getattr(self, name)
                getattr(more, name)[: len(array)] = array
                setattr(self, name, getattr(more, name))

    def add(self, reports: Reports, groups: AnyArray) -> None:
        """Add reports, in place.

        Args:
            reports: of the mechanism.
            groups: ``(n,)`` the group of each, a row of 32 bits.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        self.simulated |= reports.simulated
        counting.add_symbols(groups, self.people)
        slots, of_blocks = self.mechanism.domain.slots, groups
        if reports.in_clear is not None and slots is not None:
            counting.add_grouped_symbols(~slots[reports.clear], groups.compress(reports.in_clear), self.clear)
            of_blocks = groups if reports.block_count == reports.n else groups.compress(~reports.in_clear)
        if self.support.shape[1]:
            self.mechanism.counts.add_by_group(reports.blocks, of_blocks, self.support)

    def add_rows(self, rows: Any, other: "GroupedCounts") -> None:
        """Add the first rows of other counts to rows of these, in place."""
        for name in ("people", "support", "clear"):
            getattr(self, name)[rows] += getattr(other, name)[: len(rows)]
        self.simulated |= other.simulated

    def row(self, place: int) -> IntArray:
        """Return a row as integers that add up: whether any report was simulated, then the counts."""
        marks = [int(self.simulated), int(self.people[place])]
        return np.concatenate([marks, self.support[place], self.clear[place]])

    def add_row(self, place: int, row: IntArray) -> None:
        """Add to a row, in place, what `row` returned."""
        blocks = self.support.shape[1]
        self.simulated |= bool(row[0])
        self.people[place] += row[1]
        self.support[place] += row[2 : 2 + blocks]
        self.clear[place] += row[2 + blocks :]

    def tally(self, row: int) -> Tally:
        """Return the tally of a group."""
        counts = self.support[row], self.clear[row]
        return Tally(self.mechanism.fingerprint, int(self.people[row]), *counts, simulated=self.simulated)


def tallies_by_group(mechanism: Mechanism, reports: Reports, codes: IntArray, groups: int) -> list[Tally]:
    """Return the tally of each group of reports.

    Args:
        mechanism: what made them.
        reports: n of them.
        codes: ``(n,)`` the group of each.
        groups: how many there are.

    Raises:
        DataError: if they are no reports that this mechanism can make.
        MismatchError: if they belong to another plan.
    """
    mechanism.refuse_flaws(mechanism.checked_reports(reports))
    mechanism.counted_in_clear(reports.clear)
    counts = GroupedCounts.of_nobody(mechanism, groups)
    counts.add(reports, codes.astype(np.int32))
    return [counts.tally(row) for row in range(groups)]
