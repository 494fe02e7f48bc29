"""Weighted sums of frequencies, with standard errors and limits from their sampling distribution.

If informative reports are rare, a sample may have no such report, and its estimate seems exact. So standard errors and
limits of sums follow from the moments of contributions (`discreet.mechanisms.contributions`) at a plausible
distribution, unless the count of a sum is binomial. If estimates do not sum to 1, a sum is *controlled*: a multiple of
(sum of all estimates - 1), whose mean is 0, is subtracted as a control variate, because this reduces the variance.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import ClassVar, Self

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.grouping import ValueCells
from discreet.mechanisms.contributions import GroupWeights, ReportLaw, SymmetricContributions
from discreet.theory.always import AlwaysLimits, slopes
from discreet.theory.binomial import LEAST_REPORTS, BinomialCounts, Ends, share_limits
from discreet.theory.limits import ROOM, Estimated, Moments, correlation

# Number of sums whose exponentials are computed at a time.
_AT_ONCE = 64
_COVERED, _CLEAR, _LIKELY, _LIKELY_CLEAR, _COUNT, _LINEAR, _WITH_ALL = range(7)


def lifted(chain: Sequence[ValueCells], weights: FloatArray) -> FloatArray:
    """Return the weights of single values, given the weights of the cells at the end of a chain of partitions."""
    return reduce(lambda each, cells: cells.lifted(each), reversed(chain), weights)


class Functionals(ABC):
    """m weighted sums of frequencies, with their estimates, standard errors and limits.

    Attributes:
        law: the sampling distribution of the estimates.
        together: whether all sums have weights of 0 and 1.
    """

    law: ReportLaw
    together: ClassVar[bool] = False

    @property
    @abstractmethod
    def size(self) -> int:
        """The number m of weighted sums."""

    @abstractmethod
    def total(self, which: int) -> FloatArray:
        """Return ``(m,)`` weighted sums over the values of one row of `ReportLaw.totals`."""

    @property
    def plain(self) -> FloatArray:
        """The ``(m,)`` weighted sums of the estimates, without the control variate."""
        return self.total(_LINEAR)

    @abstractmethod
    def groups(self) -> tuple[GroupWeights, FloatArray]:
        """Return the weights of the sums by groups of values, and the plausible shares of these groups."""

    @abstractmethod
    def distributions(self, mass: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return plausible distributions for several values of each sum, from the least possible sum to the largest."""

    @cached_property
    def control(self) -> FloatArray:
        """``(m,)`` lambda, the multiple of (total - 1) that the control variate subtracts; 0 if estimates sum to 1.

        Values in clear have binomial counts and need no control. So lambda is the covariance of the part of a sum that
        blocks cover with the total, divided by the covariance of all covered values with the total. It is linear in the
        weights, so that the values of a table sum to 1.
        """
        whole = float(self.law.totals[_WITH_ALL].sum())
        return self.total(_WITH_ALL) / whole if whole > 0 else np.zeros(self.size)

    @property
    def _controlled(self) -> tuple[GroupWeights, FloatArray]:
        weights, mass = self.groups()
        return weights._replace(each=weights.each - self.control[:, None], constant=self.control), mass

    @cached_property
    def centre(self) -> FloatArray:
        """The ``(m,)`` unbiased estimates of the sums, with the control variate."""
        return self.plain - self.control * (float(self.law.linear.sum()) - 1)

    @cached_property
    def moments(self) -> Moments:
        """The moments of a report's contributions to the weighted sums."""
        weights, mass = self._controlled
        return self.law.moments(weights, self.distributions(mass, weights.sizes))

    @cached_property
    def plausible(self) -> FloatArray:
        """The ``(m,)`` variances of the weighted sums at the plausible distribution."""
        return self.law.variances(*self._controlled)

    @property
    def borders(self) -> Ends:
        """The ``(m,)`` least and largest possible values of the weighted sums."""
        return self.moments.at[0], self.moments.at[-1]

    @cached_property
    def errors(self) -> FloatArray:
        """The ``(m,)`` standard errors, computed as if the estimates, clipped to possible sums, were the truth."""
        return np.sqrt(self.moments.shape(np.clip(self.centre, *self.borders))[0])

    def limits(self, alpha: float) -> Ends:
        """Return the confidence limits of the weighted sums, not clipped to possible values.

        Intervals at the least or largest possible sum have a least length. For few reports they contain all
        possible sums.
        """
        low, high = self._always(alpha) if self.law.always else self.moments.ends(self.centre, alpha)
        above, below = self.moments.room()
        least, most = self.borders
        low, high = np.minimum(low, most - below), np.maximum(high, least + above)
        if self.law.always:
            return low, high
        return (np.minimum(low, least), np.maximum(high, most)) if self.law.n < LEAST_REPORTS else (low, high)

    def _always(self, alpha: float) -> Ends:
        """Return the confidence limits of weighted sums that hold at all looks at once."""
        (weights, _), plain, law = self._controlled, self.groups()[0].each, self.law
        first, places = np.arange(self.size), np.arange(self.size)
        if law.in_groups and self.together:
            # Sums over sets with the same number of values have the same law.
            _, first, places = np.unique(weights.sizes, axis=0, return_index=True, return_inverse=True)
        ends = np.empty((2, self.size))
        for start in range(0, len(first), _AT_ONCE if self.together else 1):
            part = first[start : start + (_AT_ONCE if self.together else 1)]
            sizes = weights.sizes if len(weights.sizes) == 1 else weights.sizes[part]
            some = GroupWeights(weights.each[part], weights.constant[part], sizes, weights.covered)
            squares, largest = law.contributions.spread(some)
            steps, shares = slopes(np.where(sizes > 0, squares, 0).max(axis=1), largest)
            both = np.array([law.contributions.exponentials(some, sign * steps) for sign in (1, -1)])
            limits = AlwaysLimits.of(plain[part], np.where(sizes[:, None] > 0, both, 0), steps, shares, law.n)
            rows = np.flatnonzero((places >= start) & (places < start + len(part)))
            ends[:, rows] = limits.at(places[rows] - start).limits(self.centre[rows], alpha)
        return ends[0], ends[1]

    def estimated(self, alpha: float) -> Estimated:
        """Return the estimated weighted sums with their confidence limits."""
        return Estimated(self.centre, *self.limits(alpha))


@dataclass(frozen=True, eq=False, repr=False)
class Sums(Functionals):
    """The sums of the frequencies over m sets of values.

    Attributes:
        law: the sampling distribution of the estimates.
        rows: ``(m, 7)`` totals over the sets (see `ReportLaw.totals`), or ``(m, |X|)`` ones for members.
    """

    law: ReportLaw
    rows: FloatArray
    together = True

    @classmethod
    def over(cls, law: ReportLaw, chain: Sequence[ValueCells], size: int) -> Self:
        """Return the sums over the ``size`` cells at the end of a chain of partitions."""
        if not law.in_groups:
            return cls(law, np.array([lifted(chain, row) for row in np.eye(size)]))
        totals = [reduce(lambda each, cells: cells.total(each), chain, row) for row in law.totals]
        return cls(law, np.array(totals).T)

    @classmethod
    def of(cls, law: ReportLaw, members: FloatArray) -> Self:
        """Return the sums over sets of values; ``members`` is ``(m, |X|)``, 1 for members and 0 for others."""
        return cls(law, members @ law.totals.T if law.in_groups else members)

    @property
    def size(self) -> int:
        """The number m of sets of values that are summed over."""
        return len(self.rows)

    def total(self, which: int) -> FloatArray:
        """Return ``(m,)`` sums over sets of values of one row of `ReportLaw.totals`."""
        return self.rows[:, which] if self.law.in_groups else self.rows @ self.law.totals[which]

    def groups(self) -> tuple[GroupWeights, FloatArray]:
        """Return the weights of sums over sets, by groups of values, and the groups' plausible shares.

        With totals, there are four groups: covered or not, in the set or not.
        """
        law, rows, none = self.law, self.rows, np.zeros(self.size)
        if not law.in_groups:
            return GroupWeights(rows, none, np.ones((1, rows.shape[1])), law.sensitive), np.broadcast_to(
                law.p, rows.shape
            )
        sizes, mass = (
            np.array([rows[:, a], law.whole[a] - rows[:, a], rows[:, b], law.whole[b] - rows[:, b]]).T
            for a, b in ((_COVERED, _CLEAR), (_LIKELY, _LIKELY_CLEAR))
        )
        each = np.ones((self.size, 1)) * [1.0, 0, 1, 0]
        return GroupWeights(each, none, sizes, np.array([True, True, False, False])), np.maximum(mass, 0)

    def distributions(self, mass: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return two distributions for each set: all people outside the set, and all inside.

        Within a set and outside, people have plausible proportions.
        """
        inside = np.array([[1.0, 0, 1, 0]]) if self.law.in_groups else self.rows
        part = np.stack([1 - inside, inside])
        own_mass, even = mass * part, sizes * part
        total, count = (each.sum(axis=2, keepdims=True) for each in (own_mass, even))
        return np.where(total > 0, own_mass / np.where(total > 0, total, 1), even / np.maximum(count, 1))

    @cached_property
    def moments(self) -> Moments:
        """The moments of a report's contributions to sums over sets of values; see `Functionals`."""
        return replace(super().moments, at=np.array([[0.0], [1.0]]) + np.zeros(self.size))

    @cached_property
    def known(self) -> BoolArray:
        """``(m,)`` booleans: true for the set of all values and for the empty set, whose sums are known."""
        return np.isin(self.total(_COVERED) + self.total(_CLEAR), (0, len(self.law.p)))

    @property
    def _known_sums(self) -> FloatArray:
        return np.where(self.total(_COVERED) + self.total(_CLEAR) > 0, 1.0, 0.0)

    @cached_property
    def _in_clear(self) -> BoolArray:
        return np.asarray(self.total(_COVERED) == 0)

    @cached_property
    def _by_complement(self) -> BoolArray:
        """True for sets with all values that blocks can contain, whose sums follow from the complement.

        The sum is 1 minus the sum over the values outside, which are in clear.
        """
        covered = int(self.law.sensitive.sum())
        return np.asarray((self.total(_COVERED) == covered) & (0 < covered < len(self.law.p)))

    @cached_property
    def binomial(self) -> BoolArray:
        """``(m,)`` booleans: true for sets of values whose number of reports is binomial."""
        law = self.law
        if law.counts is None:
            return np.zeros(self.size, np.bool_)
        binomial = self._in_clear | self._by_complement
        if law.binomial is not None:
            alone = (self.total(_COVERED) == 1) & (self.total(_CLEAR) == 0)
            every = alone & (not law.contributions.need_control) & bool(law.sensitive.all())
            binomial = binomial | every | law.single
        return binomial & ~self.known

    @cached_property
    def counted(self) -> BinomialCounts:
        """The binomial counts of all sets; they are valid only where `binomial` is true."""
        law, covered = self.law, self.total(_COVERED)
        base, slope = law.binomial or (0.0, law.truth)
        assert law.counts is not None
        rest = self._by_complement & (not law.single)
        in_clear = float(law.counts @ ~law.sensitive) - self._clear_counts
        counts = np.where(rest, law.n - in_clear, self.total(_COUNT))
        bases = np.where(rest, 1 - law.truth, covered * base)
        slopes = np.where(self._in_clear | rest, law.truth, slope)
        return BinomialCounts(np.rint(counts).astype(np.int64), int(law.n), bases, slopes)

    @property
    def _clear_counts(self) -> FloatArray:
        """The number of reports in clear for each set; valid for sets that contain all covered values."""
        counts = self.law.counts
        return self.total(_COUNT) - (0.0 if counts is None else float(counts @ self.law.sensitive))

    @cached_property
    def centre(self) -> FloatArray:
        """The ``(m,)`` unbiased estimates of sums over sets, with the control variate.

        They are 1 for the set of all values, and 0 for the empty set.
        """
        centre = super().centre
        if self.binomial.any():
            counted = self.counted
            direct = (counted.counts / counted.n - counted.base) / counted.slope
            centre = np.where(self.binomial, direct, centre)
        return np.where(self.known, self._known_sums, centre)

    @cached_property
    def errors(self) -> FloatArray:
        """The ``(m,)`` standard errors of sums over sets of values.

        For a binomial count t of n trials they are computed at the share (t + 1/2) / (n + 1), so that no error is 0.
        """
        errors = super().errors
        if self.binomial.any():
            trials = self.law.n * self.counted.slope
            shrunk = (np.clip(self.centre, 0, 1) * trials + 0.5) / (trials + 1)
            errors = np.where(self.binomial, np.sqrt(self.counted.variances(shrunk)), errors)
        return np.where(self.known, 0.0, errors)

    def limits(self, alpha: float) -> Ends:
        """Return the confidence limits of sums over sets of values, not clipped to [0, 1].

        For binomial counts they are binomial limits, for others as in `Functionals`.
        """
        pair = np.array([self._known_sums, self._known_sums])
        binomial = self.binomial & (not self.law.always)
        others = ~binomial & ~self.known
        if others.all():
            return super().limits(alpha)
        if others.any():
            pair[:, others] = np.array(Functionals.limits(type(self)(self.law, self.rows[others]), alpha))
        if binomial.any():
            counted = Sums(self.law, self.rows[binomial]).counted
            low, high = counted.limits(alpha)
            nobody, everybody = (ROOM * np.sqrt(counted.variances(at)) for at in (0.0, 1.0))
            pair[:, binomial] = np.minimum(low, 1 - everybody), np.maximum(high, nobody)
        return pair[0], pair[1]

    def covariances(self, others: Self) -> FloatArray:
        """Return the ``(m,)`` covariances with other sums, which share no value, at the plausible distribution."""
        (weights, mass), control = Sums(self.law, self.rows + others.rows).groups(), self.control + others.control
        together = self.law.variances(weights._replace(each=weights.each - control[:, None], constant=control), mass)
        return (together - self.plausible - others.plausible) / 2

    def correlations(self, others: Self) -> FloatArray:
        """Return the ``(m,)`` correlations with other sums, which share no value."""
        return correlation(self.covariances(others), np.sqrt(self.plausible * others.plausible))

    @cached_property
    def matrix(self) -> FloatArray:
        """``(m, m)`` covariances of disjoint sums at the plausible distribution."""
        law, whole = self.law, Sums(self.law, np.vstack([self.rows, self.law.whole - self.rows.sum(axis=0)]))
        if isinstance(law.contributions, SymmetricContributions) and law.in_groups:
            totals = whole.rows[:, : _LIKELY_CLEAR + 1]
            plain = law.contributions.products(totals, float(law.whole[_LIKELY])) / law.n
            plain -= np.outer(whole._likely, whole._likely) / law.n
            np.fill_diagonal(plain, law.variances(*whole.groups()))
        else:
            plain = law.between(whole.rows)
        # Each sum minus lambda times the sum over all values.
        lift = np.eye(len(plain))[:-1] - self.control[:, None]
        return lift @ plain @ lift.T

    @property
    def _likely(self) -> FloatArray:
        return self.total(_LIKELY) + self.total(_LIKELY_CLEAR)

    @property
    def stated(self) -> FloatArray:
        """``(m, m)`` covariances of a few disjoint sums, scaled so that variances are squared standard errors."""
        deviations = np.sqrt(np.diag(self.matrix))
        covariances = correlation(self.matrix, np.outer(deviations, deviations)) * np.outer(self.errors, self.errors)
        np.fill_diagonal(covariances, self.errors**2)
        return covariances

    def shares_in_clear(self, rest: Self, alpha: float) -> Ends | None:
        """Return limits of the shares A / (A + B), where B is ``rest``; None unless all values are in clear."""
        if self.law.always or self.law.counts is None or not (self._in_clear.all() and rest._in_clear.all()):
            return None
        counts, others = (np.rint(each.total(_COUNT)).astype(np.int64) for each in (self, rest))
        return share_limits(counts, counts + others, alpha)


@dataclass(frozen=True, eq=False, repr=False)
class PlainSums(Sums):
    """Sums without a control variate, such as the estimates of single values."""

    @cached_property
    def control(self) -> FloatArray:
        """``(m,)`` zeros, because these sums have no control variate."""
        return np.zeros(self.size)


@dataclass(frozen=True, eq=False, repr=False)
class Means(Functionals):
    """m weighted sums of frequencies with arbitrary weights, such as means of scores.

    Attributes:
        law: the sampling distribution of the estimates.
        weights: ``(m, |X|)``.
    """

    law: ReportLaw
    weights: FloatArray

    @property
    def size(self) -> int:
        """The number m of weighted sums."""
        return len(self.weights)

    def total(self, which: int) -> FloatArray:
        """Return ``(m,)`` weighted sums over the values of one row of `ReportLaw.totals`."""
        return np.asarray(self.weights @ self.law.totals[which])

    def groups(self) -> tuple[GroupWeights, FloatArray]:
        """Return the weights of the sums, with a group for each value, and the plausible shares."""
        shape = self.weights.shape
        weights = GroupWeights(self.weights, np.zeros(self.size), np.ones((1, shape[1])), self.law.sensitive)
        return weights, np.broadcast_to(self.law.p, shape)

    def distributions(self, mass: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return three distributions: all people at the least weight, the plausible one, all at the largest weight."""
        ends = np.zeros((2, *self.weights.shape))
        for row, places in zip(ends, (self.weights.argmin(axis=1), self.weights.argmax(axis=1)), strict=True):
            row[np.arange(self.size), places] = 1
        return np.array([ends[0], mass * sizes, ends[1]])
