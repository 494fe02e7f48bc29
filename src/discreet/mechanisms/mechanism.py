"""The abstract classes `Mechanism`, which makes and counts reports, and `Decoder`, which estimates from counts.

Reports and tallies are checked before they are used for estimates. Reports from files are checked row by row on reading
(`formats/records.py`). Reports that a caller builds carry the plan's fingerprint, but its mechanism may not be able to
make them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.columns import integers
from discreet.core.domain import Domain
from discreet.core.guarantee import Guarantee
from discreet.core.other_names import OtherNames
from discreet.core.random import RandomSource, checked_source
from discreet.core.reports import Blocks, Column, Reports, check_same_plan, is_plain, report_columns
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.kernels import counting
from discreet.mechanisms.block_law import Counting
from discreet.mechanisms.contributions import Contributions, ReportLaw
from discreet.mechanisms.evidence import Data, Evidence, StoredBlocks
from discreet.mechanisms.likelihood_ratios import LikelihoodRatios
from discreet.theory.binomial import CodedLaw

_BATCH_BYTES = 1 << 26
_MOST_PER_BATCH = 1 << 20
# Contributions computed at a time; only the columns of the chosen values are stored.
_REPORTS_AT_ONCE = 1 << 22


class Decoder(ABC):
    """A linear decoder: unbiased estimates from a tally. Arrays are in the domain's order.

    Attributes:
        maker: the mechanism; it checks tallies and reports.
    """

    maker: "Mechanism"

    @property
    def domain(self) -> Domain:
        """The domain of values whose frequencies the decoder estimates."""
        return self.maker.domain

    def estimate(self, tally: Tally) -> FloatArray:
        """Return unbiased ``(|X|,)`` estimates of the frequencies; they may be negative, and need not sum to 1.

        Raises:
            DataError: if the tally counts no report, or the mechanism cannot have made its reports.
            MismatchError: if the tally belongs to another plan.
        """
        return self.decode(self.maker.checked_tally(tally))

    @abstractmethod
    def decode(self, tally: Tally) -> FloatArray:
        """Return the unbiased ``(|X|,)`` estimate of the frequencies from a checked tally."""

    @abstractmethod
    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` A and B such that n Var(p_hat_x) is A_x + B_x p_x - p_x^2, exactly or approximately."""

    @property
    def is_binary(self) -> bool:
        """True if the domain has two values, so that one count determines the other."""
        return False

    @property
    def stacks(self) -> bool:
        """True if `decode`, `second_moments` and `count_laws` also accept a `TallyStack`, with one row per group."""
        return False

    @property
    def truth(self) -> float:
        """s, the probability that a value that is not sensitive is reported in clear; 0 if no report is in clear."""
        return 0.0

    @abstractmethod
    def count_laws(self, tally: Tally, linear: FloatArray) -> list[CodedLaw]:
        """Return the sampling distributions of the counts or estimates of all values, for confidence intervals."""

    @property
    @abstractmethod
    def sum_contributions(self) -> Contributions:
        """The contributions of reports to weighted sums of frequencies, with their moments."""

    @abstractmethod
    def report_law(self, tally: Tally, linear: FloatArray) -> ReportLaw:
        """Return the sampling distribution of sums of the estimates from a tally, for standard errors and limits."""

    @abstractmethod
    def likelihood_ratios(self, evidence: Evidence, covered: FloatArray, rest: float) -> LikelihoodRatios:
        """Return the likelihood ratios of possible reports under a distribution.

        Args:
            evidence: the evidence in the mechanism's reports.
            covered: ``(v,)`` frequencies of the values that blocks cover.
            rest: the frequency of all other values together; 0 if none was reported.
        """

    def listed_outputs(self, tally: Tally) -> tuple[FloatArray, IntArray] | None:
        """Return ``(|Y|, |X|)`` probabilities of all outputs, and their counts; None without a list of outputs."""
        return None

    def value_ratios(self, evidence: Evidence, f: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield chunks of possible reports under a distribution f: ``(m,)`` probabilities, ``(m, |X|)`` ratios minus 1.

        Here d is a likelihood ratio minus 1, as in `discreet.mechanisms.likelihood_ratios`, of each value by itself.
        """
        covered = evidence.covered
        clear = np.flatnonzero(~covered)
        if covered.any():
            places = np.where(covered, np.cumsum(covered) - 1, np.count_nonzero(covered))
            chunks = self.likelihood_ratios(evidence, f[covered], float(f[clear].sum())).chunks()
            # The last chunk is all values in clear taken as one value; here each value has its own ratios.
            for (weights, d), _ in pairwise(chain(chunks, [] if len(clear) else [(f, f)])):
                yield np.asarray(weights, np.float64), np.asarray(d, np.float64)[:, places]
        if len(clear):
            alone = np.full((len(clear), len(f)), -1.0)
            alone[np.arange(len(clear)), clear] += 1 / f[clear]
            yield evidence.truth * f[clear], alone

    def covariances_at(self, p: FloatArray) -> FloatArray:
        """Return n times the ``(|X|, |X|)`` covariances of the estimates from n reports, for a true distribution p.

        For a device's own hash functions, inclusions of values in
        a block are assumed to be independent, so that a test with these covariances is conservative.
        """
        return self.sum_contributions.covariances(p, np.arange(len(p)))

    @abstractmethod
    def variances(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimates from n reports, exactly, for a true distribution p."""

    def standard_errors(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` standard deviations of the estimates from n reports, for a true distribution p."""
        return np.sqrt(self.variances(n, p))

    @abstractmethod
    def mse(self, n: int, p: Any) -> float:
        """Return the mean squared error E ||p_hat - p||^2 of n reports, exactly, for a true distribution p."""

    @abstractmethod
    def worst_case_mse(self, n: int) -> float:
        """Return the largest mean squared error of the estimates over all distributions."""

    @abstractmethod
    def contributions(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` contributions of reports to the estimates; their mean is the estimate.

        Raises:
            DataError: if there is no report, or if the mechanism cannot have made one of them.
            MismatchError: if the reports belong to another plan.
        """

    @property
    @abstractmethod
    def contribution_range(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(|X|,)`` smallest and largest contribution of any report to each estimate.

        Someone who sends a share f of all reports raises an estimate, p without these reports, by at most f (largest -
        p). The same person lowers it by at most f (p - smallest).
        """


class Mechanism(OtherNames, ABC):
    """A mechanism turns true values into private reports, counts the reports, and has a decoder for estimates.

    Attributes:
        name: the name in plans.
        domain: the values.
        clear_blocks: whether reports in clear carry a block of noise too.
        is_explicit: whether a matrix of probabilities defines the mechanism, and not a block law.
        of_neighbours: whether its blocks are neighbouring values; the planner does not compare such mechanisms by the
            errors of single values.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=2.0)
        >>> isinstance(mechanism, dc.Mechanism), mechanism.name
        (True, 'rr')
    """

    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(["fit_transform", "perturb", "privatize", "randomize", "transform"], "obfuscate"),
        **dict.fromkeys(["save", "to_toml"], "discreet.Plan.of(mechanism).save(file)"),
    }
    name: ClassVar[str]
    is_explicit: ClassVar[bool] = False
    of_neighbours: ClassVar[bool] = False
    domain: Domain
    clear_blocks: bool = False

    @classmethod
    def checked(cls, mechanism: object) -> Self:
        """Return the argument if it is a mechanism of this class; raise an error otherwise.

        Raises:
            ParameterError: if it is not.
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
        """True if the risk of reports is computed from the whole matrix, because there is no common pi and rho."""
        return self.is_explicit

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of everything on which the meaning of a report depends."""

    @property
    @abstractmethod
    def block_columns(self) -> tuple[Column, ...]:
        """The formats of the columns that store a report's block."""

    @abstractmethod
    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block that no device can have sent."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The mechanism's guarantee, with the promised epsilon and the realised epsilon of the sampler's integers."""

    @property
    @abstractmethod
    def counts(self) -> Counting:
        """The counts of blocks that a tally of the mechanism stores."""

    @property
    @abstractmethod
    def decoder(self) -> Decoder:
        """The linear decoder, which estimates frequencies from tallies, with exact errors."""

    @abstractmethod
    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return true if n reports of the mechanism can have these nonnegative counts."""

    @abstractmethod
    def evidence(self, data: Data) -> Evidence:
        """Return the evidence in reports or in a tally, which a likelihood needs.

        Raises:
            DataError: if there is no report, or if this mechanism cannot have made one of them.
            MismatchError: if the data belong to another plan.
        """

    @abstractmethod
    def likelihoods(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` probabilities of the reports given each value, each row up to a constant factor.

        Raises:
            DataError, MismatchError: as for `tally`.
        """

    @abstractmethod
    def channel(self) -> Any:
        """Return the mechanism as a matrix of probabilities, a `discreet.Channel`.

        Raises:
            ParameterError: if the matrix would be too large.
        """

    def obfuscate(
        self, values: Any, *, random: RandomSource | None = None, float32: bool = False, as_read: bool = False
    ) -> Reports:
        """Return one private report for each of the given values.

        Args:
            values: ``(n,)`` values of the domain; see `Domain.encode`.
            random: the source of random words; None for fresh ones under a key of the operating system.
            float32: whether numbers are read as float32; see `Domain.encode`.
            as_read: whether a text that is no label counts as the label that reads alike; see `Domain.encode`.

        Returns:
            n reports, in order.

        Raises:
            DataError: if a value is missing or not in the domain.
        """
        return self.obfuscate_codes(self.domain.encode(values, float32=float32, as_read=as_read), random=random)

    @abstractmethod
    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Return one report for each value; the codes of the values are ``(n,)`` integers in 0..|X| - 1."""

    def obfuscate_batches(
        self, codes: Any, *, size: int | None = None, random: RandomSource | None = None
    ) -> Iterator[Reports]:
        """Yield the reports on many values, batch by batch, so that little memory is needed.

        Args:
            codes: ``(n,)`` integers in 0..|X| - 1.
            size: reports per batch; by default about 64 MB of reports, a million at most.
            random: as for `obfuscate`.

        Raises:
            ParameterError: if size is neither None nor an integer of at least 1.
            DataError: if codes are not a column of integers, or one of them is not in the domain. The second error
                comes only with the code's batch.
        """
        if size is None:
            size = min(max(_BATCH_BYTES // sum(column.bytes for column in self.columns), 1), _MOST_PER_BATCH)
        # Checked now, not when the first batch is requested.
        source, step = checked_source(random), checked_whole("size", size)
        column = codes if is_plain(codes) else integers(codes, "codes")
        return (self.obfuscate_codes(column[at : at + step], random=source) for at in range(0, len(column), step))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a report: the code of a value in clear, if there are such values, and the block."""
        return report_columns(self.domain.size, self.tally_sizes[1] > 0, self.block_columns)

    def block_count(self, n: int, in_clear: int) -> int:
        """Return the number of blocks in n reports, given the number of reports in clear."""
        return n if self.clear_blocks else n - in_clear

    @property
    def tally_sizes(self) -> tuple[int, int]:
        """The numbers of counts in a tally: of blocks, and of values in clear."""
        domain = self.domain
        return self.counts.size if domain.sensitive_count else 0, domain.clear_count

    def empty_tally(self) -> Tally:
        """Return a tally that counts no reports."""
        blocks, clear = (np.zeros(size, np.int64) for size in self.tally_sizes)
        return Tally(self.fingerprint, 0, blocks, clear)

    def tally(self, reports: Reports) -> Tally:
        """Return the tally of reports; for tables and files see `discreet.engines.engine`.

        Raises:
            DataError: if they are not reports that this mechanism can make.
            MismatchError: if the reports belong to another plan.
        """
        reports = self.checked_reports(reports)
        support, clear = (np.zeros(size, dtype=np.int64) for size in self.tally_sizes)
        self.add_tally(reports, support, clear)
        return Tally(self.fingerprint, reports.n, support, clear, reports.simulated, reports.batches)

    def add_tally(self, reports: Reports, support: IntArray, clear: IntArray) -> None:
        """Add reports to the counts of blocks and to the ``(|X_N|,)`` counts of values in clear, in place.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        check_same_plan({self.fingerprint, reports.fingerprint})
        clear += self.counted_in_clear(reports.clear)
        if len(support):
            self.counts.add(reports.blocks, support)

    def counted_in_clear(self, codes: AnyArray) -> IntArray:
        """Return ``(|X_N|,)`` counts F: how often each value was reported in clear.

        Args:
            codes: ``(m,)`` codes of values in clear.

        Raises:
            DataError: if a code is not in the domain, or belongs to a sensitive value.
        """
        domain, slots, clear_count = self.domain, self.domain.signed_ranks, self.tally_sizes[1]
        if not len(codes):
            return np.zeros(clear_count, dtype=np.int64)
        within = codes.max() < domain.size and (codes.dtype.kind == "u" or codes.min() >= 0)
        if slots is not None and clear_count and within:
            # Ranks of sensitive values become negative, and negative numbers cannot be counted.
            with suppress(ValueError):
                return np.bincount(~slots[codes], minlength=clear_count).astype(np.int64, copy=False)
        wrong = (codes >= domain.size) | (codes < 0) | (clear_count == 0)
        wrong = wrong | domain.sensitive[np.where(wrong, 0, codes)]
        raise DataError("reports.impossible-clear-codes", count_nonzero=np.count_nonzero(wrong), codes_count=len(codes))

    def contributions(self, reports: Reports, values: Any = None) -> FloatArray:
        """Return pseudo-values: ``(n, m)`` contributions of reports to the estimates of m values.

        A report's contribution to x has mean 1 if the person's value is x, and mean 0 otherwise. So contributions can
        replace these indicators in any linear statistic.

        Args:
            reports: n reports; they are processed in pieces.
            values: m values of the domain; None for all.

        Raises:
            DataError: if there is no report, the mechanism cannot have made one, or a value is not in the domain.
            MismatchError: if the reports belong to another plan.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["yes"] * 70 + ["no"] * 30, random=dc.SeededRandom(1))
            >>> added = mechanism.contributions(reports, ["yes"])
            >>> bool(abs(added.mean() - dc.estimate(mechanism, reports)["yes"].frequency) < 1e-12)
            True
        """
        codes = np.arange(self.domain.size) if values is None else self.domain.encode(values)
        rows = max(_REPORTS_AT_ONCE // self.domain.size, 1)
        if reports.n <= rows:
            return self.decoder.contributions(reports)[:, codes]
        parts = (reports.part(start, start + rows) for start in range(0, reports.n, rows))
        return np.concatenate([self.decoder.contributions(part)[:, codes] for part in parts])

    def checked_reports(self, reports: object) -> Reports:
        """Return reports after a check of their columns and plan; `refuse_flaws` checks the blocks.

        Raises:
            DataError: if they are not reports that this mechanism can make.
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
        """Raise an error if reports have a block that no device can have sent.

        Raises:
            DataError: if there are flawed blocks; the error gives their number.
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
        """Return the tally of reports after a check, or a given tally after a check; errors as for `evidence`.

        Raises:
            DataError: if they are neither reports nor a tally.
        """
        if isinstance(data, Reports):
            self.refuse_flaws(data := self.checked_reports(data))
            data = self.tally(data)
        return self.checked_tally(data.tally if isinstance(data, StoredBlocks) else data)

    def checked_tally(self, tally: object) -> Tally:
        """Return a tally after a check that it counts reports, and that this mechanism can have made these reports.

        Raises:
            DataError: if it is not a tally, counts no report, or has counts that reports of this mechanism cannot have.
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
    """The counts of reports for each group of people, to which reports can be added.

    Attributes:
        mechanism: the mechanism of the reports.
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
        """Return counts of groups without any reports."""
        empty = mechanism.empty_tally()
        people, blocks, clear = (
            np.zeros((groups, size), np.int64) for size in (1, len(empty.support), len(empty.clear))
        )
        return cls(mechanism, people[:, 0], blocks, clear)

    @property
    def groups(self) -> int:
        """The number of groups that have counts, one row per group."""
        return len(self.people)

    @property
    def row_bytes(self) -> int:
        """The size of the counts of one group, in bytes."""
        return 8 * (1 + int(self.support.shape[1] + self.clear.shape[1]))

    def grow(self, groups: int) -> None:
        """Allocate at least this number of rows, and twice as many if rows are missing, so that few copies are made."""
        if groups > self.groups:
            more = GroupedCounts.of_nobody(self.mechanism, 2 * groups)
            for name in ("people", "support", "clear"):
                array = getattr(self, name)
                getattr(more, name)[: len(array)] = array
                setattr(self, name, getattr(more, name))

    def add(self, reports: Reports, groups: AnyArray) -> None:
        """Add reports to the counts of their groups, in place.

        Args:
            reports: n reports of the mechanism.
            groups: ``(n,)`` rows of the reports' groups, of 32 bits.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        self.simulated |= reports.simulated
        counting.add_symbols(groups, self.people)
        slots, of_blocks = self.mechanism.domain.signed_ranks, groups
        if reports.in_clear is not None and slots is not None:
            counting.add_grouped_symbols(~slots[reports.clear], groups.compress(reports.in_clear), self.clear)
            of_blocks = groups if reports.block_count == reports.n else groups.compress(~reports.in_clear)
        if self.support.shape[1]:
            self.mechanism.counts.add_by_group(reports.blocks, of_blocks, self.support)

    def add_rows(self, rows: Any, other: "GroupedCounts", times: int = 1) -> None:
        """Add the first rows of other counts to the given rows of these counts, in place, several times."""
        for name in ("people", "support", "clear"):
            getattr(self, name)[rows] += times * getattr(other, name)[: len(rows)]
        self.simulated |= other.simulated

    def row(self, place: int) -> IntArray:
        """Return the counts of a group as a row of integers; rows can be added.

        It has the mark of simulation, the number of people, and the counts.
        """
        marks = [int(self.simulated), int(self.people[place])]
        return np.concatenate([marks, self.support[place], self.clear[place]])

    def add_row(self, place: int, row: IntArray) -> None:
        """Add a row of integers, as `row` returns it, to a group's counts."""
        blocks = self.support.shape[1]
        self.simulated |= bool(row[0])
        self.people[place] += row[1]
        self.support[place] += row[2 : 2 + blocks]
        self.clear[place] += row[2 + blocks :]

    def tally(self, row: int) -> Tally:
        """Return the tally of the group with the given row of counts."""
        counts = self.support[row], self.clear[row]
        return Tally(self.mechanism.fingerprint, int(self.people[row]), *counts, simulated=self.simulated)


def tallies_by_group(mechanism: Mechanism, reports: Reports, codes: IntArray, groups: int) -> list[Tally]:
    """Return a tally for each group of reports, in the order of the groups' codes.

    Args:
        mechanism: the mechanism of the reports.
        reports: n reports.
        codes: ``(n,)`` the group of each report.
        groups: the number of groups.

    Raises:
        DataError: if they are not reports that this mechanism can make.
        MismatchError: if they belong to another plan.
    """
    mechanism.refuse_flaws(mechanism.checked_reports(reports))
    mechanism.counted_in_clear(reports.clear)
    counts = GroupedCounts.of_nobody(mechanism, groups)
    counts.add(reports, codes.astype(np.int32))
    return [counts.tally(row) for row in range(groups)]
