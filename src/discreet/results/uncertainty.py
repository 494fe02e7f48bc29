"""The uncertainty of estimates: confidence limits and standard errors of shares and of linear functions of shares.

Limits depend on the reports, not on a method. The interval of a single value has the shares under which its count is
not surprising (`discreet.theory.binomial`). Limits of sums and means follow from their sampling distribution
(`discreet.results.sums`). Limits of differences and ratios of two sums are made by MOVER (`discreet.theory.limits`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import inf, nan, sqrt
from typing import Any, Self

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, read_only
from discreet.core.grouping import ValueCells
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.contributions import LowRank, MatrixContributions, ReportLaw, units
from discreet.mechanisms.mechanism import Decoder
from discreet.results.sums import Means, PlainSums, Sums, lifted
from discreet.theory.binomial import LEAST_REPORTS, CodedLaw, CountLaw, Ends, miss_probability
from discreet.theory.limits import ROOM, Estimated, correlation, crossing, difference_limits, share_ends

_CLOSE = 1e-9


class Uncertainty(ABC):
    """The limits and standard errors of m shares, and of linear functions of these shares, at any level.

    Attributes:
        law: the sampling distribution of the estimates; None if it is not known.
        chain: partitions whose last cells have the shares: the first partition is of values, each other of the cells
            before; empty if the shares are shares of values.
        no_sums: the reason why sums of the estimates have no error, if the sampling distribution is not known.
    """

    law: ReportLaw | None
    chain: tuple[ValueCells, ...]
    no_sums: str

    @property
    def remark(self) -> str:
        """A sentence on limits that do not come from the method; otherwise empty."""
        return ""

    @property
    def always(self) -> bool:
        """True if the confidence limits hold at all looks at once."""
        return False

    @property
    @abstractmethod
    def centre(self) -> FloatArray:
        """The ``(m,)`` nearly unbiased estimates around which the limits lie; they may be negative."""

    @abstractmethod
    def ends(self, alpha: float) -> Ends:
        """Return lower and upper confidence limits, each ``(m,)`` and not clipped to [0, 1]."""

    @cached_property
    def _known_ends(self) -> dict[float, Ends]:
        """The limits that were requested last, by the probability with which each may miss."""
        return {}

    def _once(self, alpha: float, limits: Callable[[float], Ends]) -> Ends:
        """Return limits, computed once: a table, its notes and a picture need the same limits, and so do quantiles."""
        if alpha not in self._known_ends:
            self._known_ends.clear()
            low, high = limits(alpha)
            self._known_ends[alpha] = read_only(low), read_only(high)
        return self._known_ends[alpha]

    def tails(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> float:
        """Return the probability with which each confidence interval may miss; see `miss_probability`."""
        if self.always:
            # Bonferroni's bound. It also holds for selections of limits of martingales, however these depend.
            size = int(self.centre.shape[-1])
            return (1 - level) * min((1 if simultaneous else shown or size) / size, 1)
        return miss_probability(level, self.centre.shape[-1], simultaneous=simultaneous, shown=shown)

    def limits(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> Ends:
        """Return lower and upper confidence limits at a level, not clipped to [0, 1].

        Args:
            level: confidence, in (0, 1).
            simultaneous: whether all m intervals hold at once.
            shown: number of values that are chosen by their estimates; see `miss_probability`.
        """
        return self.ends(self.tails(level, simultaneous=simultaneous, shown=shown))

    @property
    def known_law(self) -> ReportLaw:
        """The sampling distribution of the estimates; an error is raised if it is not known.

        Raises:
            ParameterError: if it is not known.
        """
        if self.law is None:
            raise ParameterError(self.no_sums)
        return self.law

    def over(self, cells: ValueCells) -> "SumUncertainty":
        """Return the uncertainty of the shares of cells, each the sum of the shares of its values."""
        return SumUncertainty(self.known_law, (*self.chain, cells), cells.size)

    def given(self, cells: ValueCells) -> "SumUncertainty":
        """Return the uncertainty of the shares of cells among all people who are in one of the cells."""
        return ShareUncertainty(self.known_law, (*self.chain, cells), cells.size)

    def sums(self, members: FloatArray) -> Sums:
        """Return the sums over sets; ``members`` is ``(k, m)``, 1 for members and 0 for others."""
        return Sums.of(self.known_law, np.array([lifted(self.chain, row) for row in members]))

    def total(self, mask: BoolArray) -> "Bounded":
        """Return the sum of the shares over one set, with its standard error and limits."""
        return Bounded.of(self.sums(mask[None].astype(np.float64)))

    def weighted(self, weights: FloatArray) -> "Bounded":
        """Return a weighted sum of the shares, with its standard error and limits.

        With two different weights it follows from the share of a set.
        """
        least, most = float(weights.min()), float(weights.max())
        inside = weights == most
        if least == most or (inside | (weights == least)).all():
            total = self.total(inside)
            return total.scaled(least, most - least)
        return Bounded.of(Means(self.known_law, lifted(self.chain, weights)[None]))

    def difference(self, first: BoolArray, second: BoolArray) -> "Bounded":
        """Return the difference of the sums over two disjoint sets, with its standard error and limits."""
        if self.always:
            return Bounded.of(Means(self.known_law, lifted(self.chain, first.astype(float) - second)[None]))
        sums = self.sums(np.array([first, second], np.float64))
        few = sums.law.n < LEAST_REPORTS and not sums.binomial.all()
        return _difference(sums.centre, sums.limits, sums.stated, few=few)

    def ratio(self, first: BoolArray, second: BoolArray) -> "Bounded":
        """Return the ratio of the sums over two sets; the estimate is nan if the second sum is 0 or below.

        If the sets are disjoint or one contains the other, it follows from the share of one set in the union.
        """
        if not (first ^ second).any():
            return Bounded(1.0, 0.0, lambda alpha: (1.0, 1.0))
        parts = self.sums(np.array([first & ~second, second & ~first, first & second], np.float64))
        only, others, both = (bool(mask.any()) for mask in (first & ~second, second & ~first, first & second))
        numerator, divisor = (float(parts.centre @ row) for row in ((1, 0, 1), (0, 1, 1)))
        estimate = numerator / divisor if divisor > 0 else nan
        lift = np.array([1, -estimate, 1 - estimate])
        error = sqrt(max(float(lift @ parts.stated @ lift), 0.0)) / divisor if divisor > 0 else nan

        def bounds(alpha: float) -> tuple[float, float]:
            if self.always:
                return _quotient(*(self.total(mask).bounds(alpha / 2) for mask in (first, second)))
            if both and only and others:
                return _ratio_limits(*_overlapping(parts, alpha))
            pair = [
                Sums(self.known_law, parts.rows[[at]]) for at in ((0, 1) if not both else (0, 2) if only else (2, 1))
            ]
            low, high = _limits_at(0, _share_ends(pair[0], pair[1], alpha))
            if both and others:
                return low, high
            odds = _ratio_limits(low, high)
            return (1 + odds[0], 1 + odds[1]) if both else odds

        return Bounded(estimate, error, bounds)

    def covariance(self, codes: IntArray) -> FloatArray:
        """Return the ``(k, k)`` covariances of the estimates of k values, at a plausible distribution."""
        return self.sums(units(codes, len(self.centre))).matrix


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A number that is estimated from reports, with its standard error and limits.

    Attributes:
        estimate: the nearly unbiased estimate.
        error: the standard error.
        bounds: a function that returns the limits, not clipped, for the probability with which the interval may miss.
    """

    estimate: float
    error: float
    bounds: Callable[[float], tuple[float, float]]

    @classmethod
    def of(cls, sums: Sums | Means) -> "Bounded":
        """Return the first of several sums as a number with its standard error and limits."""
        return cls(float(sums.centre[0]), float(sums.errors[0]), lambda alpha: _limits_at(0, sums.limits(alpha)))

    def scaled(self, start: float, times: float) -> "Bounded":
        """Return ``start`` plus ``times`` the number; ``times`` is at least 0."""

        def bounds(alpha: float) -> tuple[float, float]:
            low, high = self.bounds(alpha)
            return start + times * low, start + times * high

        return Bounded(start + times * self.estimate, times * self.error, bounds)


def _limits_at(place: int, ends: Ends) -> tuple[float, float]:
    """Return the lower and the upper limit at one index of arrays of limits."""
    return float(ends[0][place]), float(ends[1][place])


def _ratio_limits(low: float, high: float) -> tuple[float, float]:
    """Return the limits of A / B from the limits of the share A / (A + B)."""
    return low / (1 - low) if low < 1 else inf, high / (1 - high) if high < 1 else inf


def _share_ends(parts: Sums, rest: Sums, alpha: float) -> Ends:
    """Return the limits of the shares A / (A + B) of disjoint sums: A in ``parts`` and B in ``rest``."""
    if parts.law.always:
        (low, high), (least, most) = parts.limits(alpha / 2), rest.limits(alpha / 2)
        return _part(low, most), _part(high, least)
    counted = parts.shares_in_clear(rest, alpha)
    if counted is None and parts.law.n < LEAST_REPORTS:
        return np.zeros(parts.size), np.ones(parts.size)
    return counted or share_ends(parts.estimated(alpha), rest.estimated(alpha), parts.correlations(rest))


def _part(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return first / (first + second), with negative numbers replaced by 0; 1/2 where both are 0."""
    first, second = np.maximum(first, 0), np.maximum(second, 0)
    return np.asarray(np.divide(first, first + second, out=np.full(len(first), 0.5), where=first + second > 0))


def _quotient(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the limits of a quotient of two positive numbers, from simultaneous limits of both numbers."""
    low, high = (max(end, 0.0) for end in second)
    return max(first[0], 0.0) / high if high > 0 else 0.0, max(first[1], 0.0) / low if low > 0 else inf


def _overlapping(parts: Sums, alpha: float) -> tuple[float, float]:
    """Return the confidence limits of A / (A + B), where A and B are sums over overlapping sets.

    The sums in ``parts`` are over A without B, over B without A, and over both.

    Values in both sets count twice in A + B, so that a ratio r = A / B gives the share r / (1 + r).
    """
    chosen = np.array([[1.0, 0, 1], [0, 1, 1]])
    matrix = chosen @ parts.matrix @ chosen.T
    r = correlation(matrix[0, 1:], np.sqrt(matrix[:1, 0] * matrix[1:, 1]))
    first, second = (Sums(parts.law, row[None] @ parts.rows).estimated(alpha) for row in chosen)
    return _limits_at(0, share_ends(first, second, r))


def _difference(centre: FloatArray, limits: Callable[[float], Ends], matrix: FloatArray, *, few: bool) -> Bounded:
    """Return the difference of two estimated shares, with limits by the method MOVER.

    If reports are ``few``, the limits contain -1 and 1.
    """
    variances = np.diag(matrix)
    r = correlation(matrix[0, 1:2], np.sqrt(variances[:1] * variances[1:2]))

    def bounds(alpha: float) -> tuple[float, float]:
        low, high = limits(alpha)
        first, second = (Estimated(centre[[at]], low[[at]], high[[at]]) for at in (0, 1))
        least, most = _limits_at(0, difference_limits(first, second, r))
        return (min(least, -1.0), max(most, 1.0)) if few else (least, most)

    error = np.sqrt(max(float(variances[0] + variances[1] - 2 * matrix[0, 1]), 0.0))
    return Bounded(float(centre[0] - centre[1]), float(error), bounds)


@dataclass(frozen=True, eq=False, repr=False)
class ValueUncertainty(Uncertainty):
    """The uncertainty of single values, from the sampling distributions of their counts; computed on first use.

    Attributes:
        estimates: ``(|X|,)`` estimates; ``(g, |X|)`` of a `TallyStack`, which gives limits of each group.
        laws: the sampling distributions of the counts; empty if the decoder gives them.
        decoder: the decoder of the tally, or None.
        tally: the tally, or None.
        make_law: a function that returns the sampling distribution of sums; None if it is not known.
        no_sums: as for `Uncertainty`.
        chain: as for `Uncertainty`.
        about: a sentence on the source of the limits.
    """

    estimates: FloatArray
    laws: Sequence[CodedLaw] = ()
    decoder: Decoder | None = None
    tally: Tally | None = None
    make_law: Callable[[], ReportLaw | None] | None = None
    no_sums: str = CountLaw.no_sums
    chain: tuple[ValueCells, ...] = ()
    about: str = ""

    @classmethod
    def of(
        cls, law: CountLaw, estimates: FloatArray, make_law: Callable[[], ReportLaw | None] | None = None
    ) -> "ValueUncertainty":
        """Return the uncertainty of estimates whose counts have one joint sampling distribution."""
        return cls(estimates, ((np.arange(len(estimates)), law),), make_law=make_law, no_sums=law.no_sums)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle, without any reports.

        The sampling distribution is computed first, so that the pickle contains no reports.
        """
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return state | {"make_law": None, "law": self.law}

    @property
    def remark(self) -> str:
        """A sentence on limits that do not come from the method; otherwise empty."""
        return " ".join(filter(None, [self.about, *(law.remark for _, law in self.laws)]))

    @property
    def centre(self) -> FloatArray:
        """The nearly unbiased estimates around which the confidence limits lie."""
        return self.estimates

    @cached_property
    def law(self) -> ReportLaw | None:  # type: ignore[override]
        """The sampling distribution of sums of the estimates; None if it is not known."""
        return None if self.make_law is None else self.make_law()

    @cached_property
    def counts(self) -> Sequence[CodedLaw]:
        """The sampling distributions of the counts, or of means of contributions, for all values."""
        if self.decoder is None or self.tally is None:
            return self.laws
        return self.decoder.count_laws(self.tally, self.estimates)

    def tails(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> float:
        """Return the probability with which each confidence interval may miss; see `Uncertainty.tails`."""
        if self.decoder is not None and self.decoder.is_binary and (simultaneous or shown):
            low, high = self.ends(1 - level)
            # The intervals of p and 1 - p mirror each other, so both miss together.
            if np.allclose(low, 1 - high[..., ::-1], rtol=0, atol=_CLOSE):
                return 1 - level
        return super().tails(level, simultaneous=simultaneous, shown=shown)

    def ends(self, alpha: float) -> Ends:
        """Return the confidence limits of the frequencies of single values; see `Uncertainty.ends`."""
        return self._once(alpha, self._limits)

    def _limits(self, alpha: float) -> Ends:
        low, high = np.empty((2, *self.estimates.shape))
        for codes, law in self.counts:
            low[..., codes], high[..., codes] = law.limits(alpha)
        nobody, everybody = (ROOM * np.sqrt(self.variances(at)) for at in (0.0, 1.0))
        return np.minimum(low, 1 - everybody), np.maximum(high, nobody)

    def variances(self, at: float) -> FloatArray:
        """Return the variances of the estimates if all true frequencies are ``at``, which is 0 or 1."""
        of_values = np.empty(self.estimates.shape)
        for codes, law in self.counts:
            of_values[..., codes] = law.variances(at)
        return of_values

    def total(self, mask: BoolArray) -> Bounded:
        """Return the sum over one set; a set of one value has the value's limits if sums need no control variate."""
        total, row, law = super().total(mask), int(np.argmax(mask)), self.known_law
        alone = np.count_nonzero(mask) == 1 < len(mask) and law.linear[row] == self.estimates[row]
        if alone and not law.contributions.need_control:
            return Bounded(total.estimate, total.error, lambda alpha: _limits_at(row, self.ends(alpha)))
        return total

    def covariance(self, codes: IntArray) -> FloatArray:
        """Return the ``(k, k)`` covariances of the estimates of k values, without a control variate."""
        return self.known_law.covariances(codes)


class AlwaysUncertainty(ValueUncertainty):
    """The uncertainty of single values, with limits that hold at all looks at once, however often somebody looks."""

    @property
    def remark(self) -> str:
        """A sentence that says that the limits hold at all looks at once."""
        return " ".join(["Intervals hold together for all looks at growing reports.", *filter(None, [self.about])])

    @property
    def always(self) -> bool:
        """True, because these confidence limits hold at all looks at once."""
        return True

    @cached_property
    def law(self) -> ReportLaw:  # type: ignore[override]
        """The sampling distribution of the estimates, marked for limits at all looks."""
        law = super().law
        assert law is not None
        return replace(law, always=True)

    def checked(self) -> Self:
        """Return this uncertainty if the sampling distribution is known; errors are as for `law`."""
        assert self.law.always
        return self

    def _limits(self, alpha: float) -> Ends:
        single = replace(self.law, contributions=self.law.contributions.single)
        rows = single.totals.T if single.in_groups else np.eye(len(self.estimates))
        return PlainSums(single, rows).limits(alpha)


@dataclass(frozen=True, eq=False, repr=False)
class SumUncertainty(Uncertainty):
    """The uncertainty of the shares of disjoint cells, each the sum of the shares of its values.

    Attributes:
        law: the sampling distribution of the estimates.
        chain: as for `Uncertainty`.
        size: m, the number of the last cells.
    """

    law: ReportLaw
    chain: tuple[ValueCells, ...]
    size: int

    @classmethod
    def known(cls, centre: FloatArray, matrix: FloatArray) -> "SumUncertainty":
        """Return the uncertainty of normally distributed estimates with a known covariance matrix."""
        size, unit = len(centre), np.eye(len(centre))
        lasting, covered = LowRank(unit, matrix), np.ones(size, np.bool_)
        law = ReportLaw(MatrixContributions(unit, unit), np.maximum(centre, 0), inf, centre, covered, lasting=lasting)
        return cls(law, (), size)

    @property
    def always(self) -> bool:
        """True if the confidence limits of the cells' shares hold at all looks at once."""
        return self.law.always

    @cached_property
    def cells(self) -> Sums:
        """The sums of shares over the cells, with standard errors and limits."""
        return Sums.over(self.law, self.chain, self.size)

    @property
    def centre(self) -> FloatArray:
        """The ``(m,)`` estimates of the shares of the cells, with the control variate."""
        return self.cells.centre

    @property
    def errors(self) -> FloatArray:
        """The ``(m,)`` standard errors of the shares of the cells."""
        return self.cells.errors

    def ends(self, alpha: float) -> Ends:
        """Return the confidence limits of the shares of the cells, not clipped; see `Uncertainty.ends`."""
        return self.cells.limits(alpha)

    def prefix_limits(self, alpha: float) -> Ends:
        """Return the ``(m,)`` limits of cumulative shares: of the people in the cells up to each cell."""
        return self._once(alpha, self._limits_of_prefixes)

    def _limits_of_prefixes(self, alpha: float) -> Ends:
        return self._prefixes.limits(alpha)

    @property
    def _prefixes(self) -> Sums:
        return Sums(self.law, np.cumsum(self.cells.rows, axis=0))

    def places(self, share: float, alpha: float) -> tuple[float, float] | None:
        """Return the limits of a quantile as places from 0 to m; None if unknown.

        People are assumed to be evenly spread in a cell.
        """
        del share, alpha
        return None


@dataclass(frozen=True, eq=False, repr=False)
class ShareUncertainty(SumUncertainty):
    """The uncertainty of conditional shares: shares of cells among all people who are in one of the cells."""

    def _shares(self, parts: Sums) -> tuple[FloatArray, FloatArray, Callable[[float], Ends]]:
        """Return sums as shares of all people in a cell, with first-order standard errors, and with limits."""
        rest = Sums(self.law, self.cells.rows.sum(axis=0) - parts.rows)
        whole, r = parts.centre + rest.centre, parts.correlations(rest)
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(whole > 0, parts.centre / whole, np.nan)
            spread = (1 - q) ** 2 * parts.errors**2 + q**2 * rest.errors**2
            spread -= 2 * q * (1 - q) * r * parts.errors * rest.errors
            errors = np.sqrt(np.maximum(spread, 0)) / whole

        def ends(alpha: float) -> Ends:
            return _share_ends(parts, rest, alpha)

        return q, errors, ends

    @cached_property
    def _of_cells(self) -> tuple[FloatArray, FloatArray, Callable[[float], Ends]]:
        return self._shares(self.cells)

    @property
    def centre(self) -> FloatArray:
        """The ``(m,)`` conditional shares of the cells; nan if nobody is estimated to be in a cell."""
        return self._of_cells[0]

    @property
    def errors(self) -> FloatArray:
        """The ``(m,)`` first-order standard errors of the conditional shares."""
        return self._of_cells[1]

    def ends(self, alpha: float) -> Ends:
        """Return the confidence limits of the conditional shares, within [0, 1]; see `Uncertainty.ends`."""
        return self._of_cells[2](alpha)

    def _limits_of_prefixes(self, alpha: float) -> Ends:
        return self._shares(self._prefixes)[2](alpha)

    def over(self, cells: ValueCells) -> SumUncertainty:
        """Return the uncertainty of sums of conditional shares over cells; every value must be in a cell."""
        return self.given(cells)

    def total(self, mask: BoolArray) -> Bounded:
        """Return the conditional share of one set, with its standard error and limits."""
        q, errors, ends = self._shares(self.sums(mask[None].astype(np.float64)))
        return Bounded(float(q[0]), 0.0 if mask.all() else float(errors[0]), lambda alpha: _limits_at(0, ends(alpha)))

    def difference(self, first: BoolArray, second: BoolArray) -> Bounded:
        """Return the difference of two shares; their correlation is a first-order approximation."""
        pair = self.sums(np.array([first, second], np.float64))
        third = Sums(self.law, self.cells.rows.sum(axis=0, keepdims=True) - pair.rows.sum(axis=0))
        q, _, ends = self._shares(pair)
        if self.always:

            def bounds(alpha: float) -> tuple[float, float]:
                low, high = ends(alpha / 2)
                return float(low[0] - high[1]), float(high[0] - low[1])

            return Bounded(float(q[0] - q[1]), nan, bounds)
        rows = Sums(self.law, np.vstack([pair.rows, third.rows]))
        whole = float(rows.centre.sum())
        lift = (np.eye(3)[:2] - q[:, None]) / whole if whole > 0 else np.zeros((2, 3))
        return _difference(q, ends, lift @ rows.stated @ lift.T, few=self.law.n < LEAST_REPORTS)

    def weighted(self, weights: FloatArray) -> Bounded:
        """Return the weighted mean over the people in the cells, with its standard error and limits.

        A mean m is plausible if the limits of (w - m) . p contain 0.
        """
        least, most = float(weights.min()), float(weights.max())
        if ((weights == least) | (weights == most)).all():
            return super().weighted(weights)
        scores, inside = (lifted(self.chain, each) for each in (weights, np.ones(self.size)))

        def at(means: FloatArray) -> Means:
            return Means(self.law, scores - means[:, None] * inside)

        whole, total = at(np.zeros(1)), Means(self.law, inside[None])
        count = float(total.centre[0])
        estimate = float(whole.centre[0]) / count if count > 0 else np.nan
        error = float(at(np.array([estimate])).errors[0]) / count if count > 0 else np.nan

        def tails(means: FloatArray) -> FloatArray:
            parts = at(means.ravel())
            return parts.moments.tail(parts.centre, np.zeros(parts.size)).reshape(means.shape)

        def bounds(alpha: float) -> tuple[float, float]:
            if self.always:
                above = Bounded.of(Means(self.law, (scores - least * inside)[None])).bounds(alpha / 2)
                low, high = _quotient(above, Bounded.of(total).bounds(alpha / 2))
                return least + low, least + high
            if self.law.n < LEAST_REPORTS:
                return least, most
            ends = np.array([[least], [most]])
            lower = crossing(tails, ends[0], ends[1], alpha / 2)
            upper = -crossing(lambda x: 1 - tails(-x), -ends[1], -ends[0], alpha / 2)
            return float(np.nan_to_num(lower, nan=least)[0]), float(np.nan_to_num(upper, nan=most)[0])

        return Bounded(estimate, error, bounds)
