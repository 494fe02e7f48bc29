"""Contributions of reports to weighted sums of frequencies, and their first three moments.

The contribution W of a report is the amount that it adds to the linear estimate of a weighted sum w . p. The estimate
is the mean of the contributions of all reports. Errors and confidence limits of sums follow from E W^k under a
distribution of the people's values, and not from the variance of the reports that happened to come.

- If a law has few blocks, the decoder gives W of each block, and the channel gives the probabilities.
- Otherwise a noise block contains a given value with probability J_1, two given values with J_2, three with J_3. With
  S_k the sum of w^k over the values that blocks cover, the sum K of the weights of the values in a noise block has the
  moments

      J_1 S_1,  J_1 S_2 + J_2 (S_1^2 - S_2),  J_1 S_3 + 3 J_2 (S_1 S_2 - S_3) + J_3 (S_1^3 - 3 S_1 S_2 + 2 S_3).

  In a truthful block of x, K is w_x plus the sum over the other values, with J_(j+1)/J_1 for J_j. The contribution is
  W = b + d K.
- If estimates do not sum to 1, a control variate reduces the variance: W' = W - lambda (W_1 - 1), with W_1 the
  contribution to the sum over all values. W' is the contribution to the sum with weights w - lambda, plus lambda.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, Floats, IntArray
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, IndexedLaw, joint_inclusion
from discreet.mechanisms.evidence import Membership
from discreet.theory.always import independent_means, subset_means
from discreet.theory.limits import Moments
from discreet.theory.linear_decoder import BlockKind, DecoderCoefficients

# If estimates sum to 1 except for rounding, they always do.
_ROUNDING = 1e-6


class GroupWeights(NamedTuple):
    """The weights of m weighted sums of frequencies, with one weight for each group of values.

    Attributes:
        each: ``(m, g)`` the weight of a value of each group.
        constant: ``(m,)`` constants to add.
        sizes: ``(m, g)`` the number of values of each group.
        covered: ``(g,)`` booleans: true for groups of values that blocks cover.
    """

    each: FloatArray
    constant: FloatArray
    sizes: FloatArray
    covered: BoolArray


def units(codes: IntArray, size: int) -> FloatArray:
    """Return ``(m, size)`` weights; each row is 1 for one value and 0 for all others."""
    rows = np.zeros((len(codes), size))
    rows[np.arange(len(codes)), codes] = 1
    return rows


class Contributions(ABC):
    """The amounts that single reports add to weighted sums of shares, with the moments of these amounts.

    Attributes:
        in_groups: whether values with the same weight can be treated as one group.
    """

    in_groups: bool = False

    @property
    @abstractmethod
    def need_control(self) -> bool:
        """True if the estimates of all values need not sum to 1, so that sums have a control variate."""

    @property
    def single(self) -> "Contributions":
        """Contributions for the estimates of single values, which are computed faster but are wrong for sums."""
        return self

    @abstractmethod
    def between(self, p: FloatArray, rows: FloatArray) -> FloatArray:
        """Return n times the ``(m, m)`` covariances of sums with ``(m, |X|)`` weights, for a true p."""

    def covariances(self, p: FloatArray, codes: IntArray) -> FloatArray:
        """Return n times the ``(m, m)`` covariances of the estimates of m values, for a true p."""
        return self.between(p, units(codes, len(p)))

    def with_all(self, p: FloatArray) -> FloatArray:
        """Return n times the ``(|X|,)`` covariances of each estimate with the sum of all estimates, for a true p."""
        return np.zeros(len(p))

    @abstractmethod
    def powers(self, weights: GroupWeights, at: FloatArray) -> FloatArray:
        """Return the ``(3, d, m)`` moments E W, E W^2 and E W^3 of contributions to m sums, under d distributions.

        Args:
            weights: the weights of the sums.
            at: ``(d, m, g)`` shares of people, by groups of values.
        """

    def spread(self, weights: GroupWeights) -> tuple[FloatArray, FloatArray]:
        """Return ``(m, g)`` mean squared contributions by group, and ``(m,)`` upper bounds on absolute contributions.

        Raises:
            ParameterError: if the contributions do not belong to a tally.
        """
        raise ParameterError("limits.unknown-blocks", argument="limits")

    def exponentials(self, weights: GroupWeights, slopes: FloatArray) -> FloatArray:
        """Return ``(m, J, g)`` moment generating functions E e^(l W) by group and slope l; errors as for `spread`."""
        raise ParameterError("limits.unknown-blocks", argument="limits")


class OutcomeContributions(Contributions):
    """The contributions of reports that have few possible outcomes, with known probabilities."""

    @abstractmethod
    def of_outcomes(self, each: FloatArray) -> FloatArray:
        """Return the ``(m, outcomes)`` contributions of the outcomes to sums with ``(m, |X|)`` weights."""

    @abstractmethod
    def chances(self, at: FloatArray) -> FloatArray:
        """Return the ``(..., outcomes)`` probabilities of the outcomes under ``(..., |X|)`` distributions."""

    @abstractmethod
    def given(self, numbers: FloatArray) -> FloatArray:
        """Return ``(..., |X|)`` means of ``(..., outcomes)`` numbers, one per outcome, given the person's value."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of values of the domain."""

    def spread(self, weights: GroupWeights) -> tuple[FloatArray, FloatArray]:
        """Return E W^2 by group, and the largest abs(W), of contributions W; see `Contributions`."""
        added = self.of_outcomes(weights.each) + weights.constant[:, None]
        return self.given(added**2), np.abs(added).max(axis=1)

    def exponentials(self, weights: GroupWeights, slopes: FloatArray) -> FloatArray:
        """Return moment generating functions E e^(l W) of contributions W; see `Contributions.exponentials`."""
        added = self.of_outcomes(weights.each) + weights.constant[:, None]
        return self.given(np.exp(slopes[:, :, None] * added[:, None]))

    def powers(self, weights: GroupWeights, at: FloatArray) -> FloatArray:
        """Return the ``(3, d, m)`` moments of contributions to m sums under d distributions; see `Contributions`."""
        moments, power = [], self.chances(at)
        added = self.of_outcomes(weights.each) + weights.constant[:, None]
        for _ in range(3):
            power = power * added
            moments.append(power.sum(axis=-1))
        return np.array(moments)

    def between(self, p: FloatArray, rows: FloatArray) -> FloatArray:
        """Return n times the ``(m, m)`` covariances of sums with ``(m, |X|)`` weights; see `Contributions`."""
        added, mean = self.of_outcomes(rows), rows @ p
        return np.asarray((added * self.chances(p)) @ added.T - np.outer(mean, mean))


@dataclass(frozen=True, eq=False)
class MatrixContributions(OutcomeContributions):
    """The contributions of the outputs of an explicit channel.

    The decoder is a least-squares estimate. The sum of all estimates is 1, or its covariances with the estimates are
    nearly 0. Then their ratios, from which a control variate is made, would be noise.

    Attributes:
        matrix: ``(|X|, |Y|)`` Q(y|x).
        inverse: ``(|Y|, |X|)`` the decoder.
    """

    matrix: FloatArray
    inverse: FloatArray

    need_control = False

    @property
    def size(self) -> int:
        """The number of values of the domain."""
        return len(self.matrix)

    def of_outcomes(self, each: FloatArray) -> FloatArray:
        """Return the ``(m, |Y|)`` contributions of the outputs to sums with ``(m, |X|)`` weights."""
        return each @ self.inverse.T

    def chances(self, at: FloatArray) -> FloatArray:
        """Return the ``(..., |Y|)`` probabilities of the outputs under ``(..., |X|)`` distributions."""
        return at @ self.matrix

    def given(self, numbers: FloatArray) -> FloatArray:
        """Return the means of numbers, one per output, given the person's value; see `OutcomeContributions`."""
        return numbers @ self.matrix.T


@dataclass(frozen=True, eq=False)
class BlockContributions(OutcomeContributions):
    """The contributions of blocks and of values in clear, computed from products with the membership matrix.

    Attributes:
        domain: the values.
        coefficients: coefficients of the decoder.
        membership: the matrix of all blocks.
        noise: ``(blocks,)`` probabilities of the blocks as noise.
    """

    domain: Domain
    coefficients: DecoderCoefficients
    membership: Membership
    noise: FloatArray

    @property
    def size(self) -> int:
        """The number of values of the domain."""
        return self.domain.size

    @property
    def single(self) -> Contributions:
        """Contributions from the inclusion probabilities of one and of two values; see `Contributions`."""
        pi, rho = self.coefficients.kinds[0].inclusion, self.coefficients.kinds[0].conditional_inclusion
        return SymmetricContributions(self.domain, self.coefficients, ((pi, pi * rho, pi * rho**2, pi * rho**3),))

    def _dot(self, each: FloatArray) -> FloatArray:
        rows = each.reshape(-1, each.shape[-1])
        return np.array([self.membership.dot(row) for row in rows]).reshape(*each.shape[:-1], len(self.noise))

    def of_outcomes(self, each: FloatArray) -> FloatArray:
        """Return the contributions of blocks, and of values in clear, to sums with ``(m, |X|)`` weights."""
        (inside, outside, _), chosen = self.coefficients.kinds[0].contributions, each[:, self.domain.sensitive_codes]
        whole = chosen.sum(axis=1, keepdims=True)
        blocks: FloatArray = (inside - outside) * self._dot(chosen) + outside * whole
        if not self.domain.clear_count:
            return blocks
        silent, _, reported = self.coefficients.clear_contributions
        return np.hstack([blocks, reported * each[:, self.domain.clear_codes] + silent * whole])

    def chances(self, at: FloatArray) -> FloatArray:
        """Return the probabilities of blocks, and of values in clear, under ``(..., |X|)`` distributions."""
        numbers, chosen = self.coefficients, at[..., self.domain.sensitive_codes]
        # A truthful block of x has the probability of noise, divided by the probability of noise that contains x.
        blocks = self.noise * (numbers.noisy + numbers.truth / numbers.kinds[0].inclusion * self._dot(chosen))
        return np.concatenate([blocks, numbers.truth * at[..., self.domain.clear_codes]], axis=-1)

    @cached_property
    def need_control(self) -> bool:
        """True if the estimates of all values need not sum to 1; see `Contributions`."""
        return bool(np.abs(self.of_outcomes(np.ones((1, self.size))) - 1).max() >= _ROUNDING)

    def with_all(self, p: FloatArray) -> FloatArray:
        """Return n times the covariances of each estimate with the sum of all estimates; see `Contributions`."""
        numbers = self.chances(p) * self.of_outcomes(np.ones((1, self.size)))[0]
        (inside, outside, _), count = self.coefficients.kinds[0].contributions, len(self.noise)
        blocks, clear = numbers[:count], numbers[count:]
        silent, _, reported = self.coefficients.clear_contributions
        common = outside * blocks.sum() + silent * clear.sum()
        sensitive = (inside - outside) * self.membership.transpose_dot(blocks) + common
        return self.domain.arrange(sensitive, reported * clear) - p

    def given(self, numbers: FloatArray) -> FloatArray:
        """Return the means of numbers, one per outcome, given the person's value; see `OutcomeContributions`."""
        rows = numbers.reshape(-1, numbers.shape[-1])
        blocks, truth = self.noise * rows[:, : len(self.noise)], self.coefficients.truth
        means = np.repeat(self.coefficients.noisy * blocks.sum(axis=1, keepdims=True), self.size, axis=1)
        inside = np.array([self.membership.transpose_dot(row) for row in blocks])
        means[:, self.domain.sensitive_codes] += truth / self.coefficients.kinds[0].inclusion * inside
        means[:, self.domain.clear_codes] += truth * rows[:, len(self.noise) :]
        return means.reshape(*numbers.shape[:-1], self.size)


@dataclass(frozen=True, eq=False)
class SymmetricContributions(Contributions):
    """The contributions of blocks that contain any j given values with the same probability J_j.

    Attributes:
        domain: the values.
        coefficients: coefficients of the decoder.
        joint: J_1 to J_4 of each kind of block.
    """

    domain: Domain
    coefficients: DecoderCoefficients
    joint: tuple[tuple[float, ...], ...]

    in_groups = True

    @cached_property
    def need_control(self) -> bool:
        """True unless all blocks of one kind have one size, and every report has a block or a value in clear."""
        if not self.domain.sensitive_count:
            return self.coefficients.truth < 1
        v = self.domain.sensitive_count
        spreads = [
            1 + (v - 1) * each[1] / each[0] - v * kind.inclusion
            for kind, each in zip(self.coefficients.kinds, self.joint, strict=True)
        ]
        return self.coefficients.clear_blocks or max(map(abs, spreads)) >= _ROUNDING

    def covariances(self, p: FloatArray, codes: IntArray) -> FloatArray:
        """Return n times the covariances of m values' estimates, from cross moments; see `Contributions`."""
        totals, q, mass = self._totals(p)[codes], p[codes], float(p[self.domain.sensitive].sum())
        same = codes[:, None] == codes
        return np.asarray(np.where(same, self._squares(p)[codes], self.products(totals, mass)) - np.outer(q, q))

    def _totals(self, p: FloatArray) -> FloatArray:
        """Return the ``(|X|, 4)`` totals that `products` needs, for sums over single values."""
        chosen = self.domain.sensitive
        return np.array([chosen, ~chosen, chosen * p, ~chosen * p], np.float64).T

    def _squares(self, p: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` mean squared contributions of a report to the estimates of single values."""
        chosen = self.domain.sensitive
        (constant, slope), (clear_constant, clear_slope) = self.coefficients.variances(float(p[chosen].sum()))
        return np.where(chosen, constant + slope * p, clear_constant + clear_slope * p)

    def with_all(self, p: FloatArray) -> FloatArray:
        """Return n times the covariances of each estimate with the sum of all estimates; see `Contributions`."""
        totals, mass = self._totals(p), float(p[self.domain.sensitive].sum())
        crossed = (totals @ self._cross_moments(mass)) * (totals.sum(axis=0) - totals)
        return np.asarray(self._squares(p) + crossed.sum(axis=1) - p)

    def between(self, p: FloatArray, rows: FloatArray) -> FloatArray:
        """Return n times the ``(m, m)`` covariances of sums with ``(m, |X|)`` weights; see `Contributions`."""
        used = np.flatnonzero(rows.any(axis=0))
        return rows[:, used] @ self.covariances(p, used) @ rows[:, used].T

    def products(self, totals: FloatArray, mass: float) -> FloatArray:
        """Return the ``(m, m)`` products E W_A W_B for disjoint sets of values; the diagonal has no meaning.

        Args:
            totals: ``(m, 4)`` for each set: numbers of covered and other values, and shares of people with these.
            mass: the share of people whose value is covered by blocks.
        """
        return totals @ self._cross_moments(mass) @ totals.T

    def _cross_moments(self, mass: float) -> FloatArray:
        single, pair, triple, _ = self.joint[0]
        moments, order = self.coefficients.cross_moments(triple / single - (pair / single) ** 2, mass), [0, 2, 1, 3]
        return moments[np.ix_(order, order)]

    def powers(self, weights: GroupWeights, at: FloatArray) -> FloatArray:
        """Return the ``(3, d, m)`` moments of contributions to m sums under d distributions; see `Contributions`."""
        return np.asarray(np.einsum("kmg,dmg->kdm", self._moments(weights), at))

    def _moments(self, weights: GroupWeights) -> FloatArray:
        kinds = zip(self.coefficients.kinds, self.joint, strict=True)
        return np.asarray(sum(kind.share * self._of_kind(kind, joint, weights) for kind, joint in kinds))

    def spread(self, weights: GroupWeights) -> tuple[FloatArray, FloatArray]:
        """Return E W^2 by group, and the largest abs(W), of contributions W; see `Contributions`."""
        each, constant, sizes, covered = weights
        most, least = np.maximum(each, 0), np.minimum(each, 0)
        in_clear = np.where(~covered & (sizes > 0), self._in_clear(weights), 0.0)
        largest = np.abs(in_clear).max(axis=1)
        for kind, joint in zip(self.coefficients.kinds, self.joint, strict=True):
            count = self._fixed_size(joint)
            ends = np.array([((sizes * covered) * side).sum(axis=1) for side in (least, most)])
            if count:
                inside = np.where(covered, each, 0.0)
                low, high = count * inside.min(axis=1), count * inside.max(axis=1)
                ends = np.array([np.maximum(ends[0], low), np.minimum(ends[1], high)])
            step, base = kind.contributions[0] - kind.contributions[1], constant + self._base(kind, weights)
            largest = np.maximum(largest, np.abs(base + step * ends).max(axis=0))
        return self._moments(weights)[1], largest

    def _base(self, kind: BlockKind, weights: GroupWeights) -> FloatArray:
        """Return the ``(m,)`` contributions of a block without members, without the constants in `weights`."""
        each, _, sizes, covered = weights
        _, outside, beside = kind.contributions
        return np.asarray((sizes * each * np.where(covered, outside, beside)).sum(axis=1))

    def _fixed_size(self, joint: Sequence[float]) -> int:
        """Return the size of blocks that are uniform subsets; 0 if inclusions are independent given one member.

        Raises:
            ParameterError: if a block is neither.
        """
        single, pair, triple, _ = joint
        v, exact = self.domain.sensitive_count, _ROUNDING * single
        count = 1 + (v - 1) * pair / single
        if abs(count - v * single) < exact * v and abs(triple * (v - 2) - pair * (count - 2)) <= exact * v:
            return round(count)
        if abs(triple * single - pair**2) <= exact:
            return 0
        raise ParameterError("limits.unknown-blocks", argument="limits")

    def _in_clear(self, weights: GroupWeights) -> FloatArray:
        """Return the ``(m, g)`` contributions of reports in clear that have no block."""
        each, constant, sizes, covered = weights
        silent, other, reported = self.coefficients.clear_contributions
        beside = constant + (sizes * each * np.where(covered, silent, other)).sum(axis=1)
        return np.asarray(beside[:, None] + (reported - other) * each)

    def exponentials(self, weights: GroupWeights, slopes: FloatArray) -> FloatArray:
        """Return moment generating functions E e^(l W) of contributions W; see `Contributions.exponentials`."""
        kinds = zip(self.coefficients.kinds, self.joint, strict=True)
        return np.asarray(sum(kind.share * self._exponentials(kind, joint, weights, slopes) for kind, joint in kinds))

    def _exponentials(
        self, kind: BlockKind, joint: Sequence[float], weights: GroupWeights, slopes: FloatArray
    ) -> FloatArray:
        each, constant, sizes, covered = weights
        step, base = kind.contributions[0] - kind.contributions[1], constant + self._base(kind, weights)
        tilts = np.where(covered, step * each, 0.0)[:, None] * slopes[:, :, None]
        count = self._fixed_size(joint)
        inside = np.broadcast_to((sizes * covered)[:, None], tilts.shape)
        noise, truthful = independent_means(tilts, inside, joint)
        if 1 < count < self.domain.sensitive_count:
            noise, truthful = subset_means(tilts, inside, count)
        at_base = np.exp(slopes * base[:, None])[:, :, None]
        noise, truthful = noise[:, :, None] * at_base, truthful * at_base
        if not covered.all():
            if self.coefficients.clear_blocks:
                clear = noise * np.exp(slopes[..., None] * (self.coefficients.clear_contributions[2] * each)[:, None])
            else:
                clear = np.exp(slopes[..., None] * self._in_clear(weights)[:, None])
            truthful = np.where(covered, truthful, clear)
        return kind.noisy * noise + kind.truth * truthful

    def _of_kind(self, kind: BlockKind, joint: Sequence[float], weights: GroupWeights) -> FloatArray:
        """Return the ``(3, m, g)`` moments E W^k for people of each group whose block is of one kind."""
        each, constant, sizes, covered = weights
        step = kind.contributions[0] - kind.contributions[1]
        powers = np.array([each, each * each, each * each * each])
        sums = (sizes * covered * powers).sum(axis=2, keepdims=True)
        base = (constant + self._base(kind, weights))[:, None]
        noise = _powers(base, step, sums, joint)
        others = sums - powers
        truthful = _powers(base + step * each, step, others, [later / joint[0] for later in joint[1:]])
        if not covered.all():
            if self.coefficients.clear_blocks:
                in_clear = _powers(base + self.coefficients.clear_contributions[2] * each, step, sums, joint)
            else:
                added = self._in_clear(weights)
                in_clear = np.array([added, added**2, added**3])
            truthful = np.where(covered, truthful, in_clear)
        return kind.noisy * noise + kind.truth * truthful


def _powers(base: FloatArray, step: float, sums: FloatArray, joint: Sequence[float]) -> FloatArray:
    """Return E (b + d K)^k for k = 1, 2, 3, from S_k and J_1 to J_3 as the module's docstring defines them."""
    first, second, third = sums
    single, pair, triple = joint[:3]
    mean = step * single * first
    squared = first * first - second
    square = step**2 * (single * second + pair * squared)
    pairs = first * second - third
    cube = step**3 * (single * third + 3 * pair * pairs + triple * (first * squared - 2 * pairs))
    # Products, because powers of arrays take several times as long.
    once = base + mean
    twice = base * (once + mean) + square
    return np.array([once, twice, base * (twice + base * mean + 2 * square) + cube])


def block_contributions(domain: Domain, law: BlockLaw, numbers: DecoderCoefficients) -> Contributions:
    """Return the contributions of a block mechanism's reports to weighted sums, with their moments.

    Inclusions of values in a block are assumed to be independent given one included value, if the law neither lists its
    blocks nor states joint probabilities.
    """
    plain = not (numbers.clear_blocks or numbers.by_size)
    if domain.sensitive_count and isinstance(law, IndexedLaw) and plain:
        size = law.alphabet_size
        return BlockContributions(domain, numbers, law.membership_of(np.zeros(size, np.int64)), np.full(size, 1 / size))
    return SymmetricContributions(domain, numbers, tuple(_joint(law, kind) for kind in numbers.kinds))


def _joint(law: BlockLaw, kind: BlockKind) -> tuple[float, ...]:
    """Return J_1 to J_4: the probabilities that a noise block of one kind contains 1 to 4 given values."""
    pi, rho = kind.inclusion, kind.conditional_inclusion
    known = [(kind.joint or (lambda count: joint_inclusion(law, count)))(count) for count in (1, 2, 3, 4)]
    return tuple(pi * rho**j if each is None else float(each) for j, each in enumerate(known))


class LowRank(NamedTuple):
    """Covariances F' M F that are the sum of a few outer products.

    Attributes:
        factors: ``(r, |X|)`` F.
        core: ``(r, r)`` M, symmetric.
    """

    factors: FloatArray
    core: FloatArray

    def between(self, rows: FloatArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of sums with ``(m, |X|)`` weights."""
        outer = rows @ self.factors.T
        return outer @ self.core @ outer.T

    def variances(self, weights: FloatArray) -> FloatArray:
        """Return the ``(m,)`` variances of weighted sums with ``(m, |X|)`` weights."""
        outer = weights @ self.factors.T
        return np.asarray(((outer @ self.core) * outer).sum(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class ReportLaw:
    """The sampling distribution of the estimates from a batch of reports.

    Attributes:
        contributions: contributions of reports to weighted sums, with their moments.
        p: ``(|X|,)`` a plausible distribution.
        n: number of reports; with weights, the number of equally weighted reports with the same information.
        linear: ``(|X|,)`` the estimates.
        sensitive: ``(|X|,)`` booleans: true for values that blocks cover.
        counts: ``(|X|,)`` number of reports that state the value in clear, or have it in their block; None if such
            counts do not determine the estimates.
        binomial: b and d: a report counts for a covered value with probability b + d p, and for any other value with
            d p; None if counts of covered values are not binomial.
        truth: s, the probability that a value that is not sensitive is reported in clear.
        single: whether every report is one value, so that every set has a binomial count.
        lasting: covariances that more reports do not reduce; None if there are none.
        always: whether limits hold at all looks at once.
    """

    contributions: Contributions
    p: FloatArray
    n: float
    linear: FloatArray
    sensitive: BoolArray
    counts: FloatArray | None = None
    binomial: tuple[float, float] | None = None
    truth: float = 0.0
    single: bool = False
    lasting: LowRank | None = None
    always: bool = False

    @property
    def in_groups(self) -> bool:
        """True if the moments of sums over sets of values follow from a few totals over each set."""
        return self.contributions.in_groups and self.lasting is None

    @cached_property
    def totals(self) -> FloatArray:
        """``(7, |X|)`` numbers, whose sums over a set of values determine the law of the set's estimate.

        They are: 1 if covered, 1 if not covered, the share if covered, the share if not, the count, the estimate, and
        `with_all` if covered.
        """
        covered, p = self.sensitive.astype(np.float64), self.p
        counts = np.zeros(len(p)) if self.counts is None else self.counts
        with_all = covered * self.with_all
        return np.array([covered, 1 - covered, covered * p, (1 - covered) * p, counts, self.linear, with_all])

    @cached_property
    def with_all(self) -> FloatArray:
        """``(|X|,)`` covariances of each estimate with the sum of all estimates; 0 if this sum is always 1.

        They are computed at the plausible distribution; for limits at all looks at the uniform distribution, which does
        not depend on the reports.
        """
        if not self.contributions.need_control:
            return np.zeros(len(self.p))
        return self.contributions.with_all(np.full(len(self.p), 1 / len(self.p)) if self.always else self.p) / self.n

    @cached_property
    def whole(self) -> FloatArray:
        """The sums of the rows of `totals` if `in_groups`, and otherwise a weight of 1 for each value."""
        return self.totals.sum(axis=1) if self.in_groups else np.ones(len(self.p))

    def variances(self, weights: GroupWeights, mass: FloatArray) -> FloatArray:
        """Return the ``(m,)`` variances of weighted sums, computed at the plausible distribution."""
        first, second, _ = self.contributions.powers(weights, mass[None])[:, 0]
        return np.asarray(np.maximum(np.maximum(second - first**2, 0) / self.n + self._lasting(weights), 0))

    def moments(self, weights: GroupWeights, at: FloatArray) -> Moments:
        """Return the moments of weighted sums under several distributions, for confidence limits."""
        first, second, third = self.contributions.powers(weights, at)
        return Moments(first, second, third, self.n, self._lasting(weights))

    def _lasting(self, weights: GroupWeights) -> Floats:
        return 0.0 if self.lasting is None else self.lasting.variances(weights.each)

    def between(self, rows: FloatArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of sums with ``(m, |X|)`` weights, at the plausible distribution."""
        matrix = self.contributions.between(self.p, rows) / self.n
        return matrix if self.lasting is None else matrix + self.lasting.between(rows)

    def covariances(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of the estimates of m values, at the plausible distribution."""
        matrix, rows = self.contributions.covariances(self.p, codes) / self.n, units(codes, len(self.p))
        return matrix if self.lasting is None else matrix + self.lasting.between(rows)


def plausible(domain: Domain, linear: FloatArray, in_clear: FloatArray | None = None) -> FloatArray:
    """Return a plausible distribution: shares in clear unchanged, others at least 0 and scaled to the remaining share.

    Shares in clear with a sum above 1 are scaled down to 1. If all other estimates are 0 or below, the remaining share
    is divided evenly.

    Args:
        domain: the values.
        linear: ``(|X|,)`` estimates.
        in_clear: ``(N,)`` shares of the values in clear from their counts; None to use the estimates.
    """
    clear = np.maximum(linear[domain.clear_codes] if in_clear is None else in_clear, 0)
    clear = clear / max(float(clear.sum()), 1.0)
    positive = np.maximum(linear[domain.sensitive_codes], 0)
    total = float(positive.sum())
    shares = positive / total if total > 0 else np.full(len(positive), 1 / max(len(positive), 1))
    p = domain.arrange(shares * max(1 - float(clear.sum()), 0.0), clear)
    whole = float(p.sum())
    # Without sensitive values, the shares in clear may sum to less than 1.
    return p / whole if whole > 0 else np.full(domain.size, 1 / domain.size)
