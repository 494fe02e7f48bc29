"""Covariances of the estimates of blocks, and likelihood ratios of drawn ones.

Covariances of linear estimates: from the numbers of the law where values are alike, else from the reports.

- Blocks of one value: a tally is multinomial with q_x = (1 - s) pi + s p_x, so n Cov = (diag(q) - q q')/s^2.
- Laws that state their `triple_covariance`: a diagonal and a few outer products, from the cross moments of one report
  (`discreet.theory.design`). All but p p' vanish where bits are independent.
- All others (Hadamard columns, translates of squares, hash functions, laws of other packages) and explicit channels:
  the sample covariance of what the reports are worth. A tally that counts each block is enough for it.

Each has the covariance as its mean, for every n of at least 2: what is affine in p is taken at the estimate, and the
product of the estimates is divided by n - 1 in the place of n. What all reports share is added (see
`discreet.theory.linear_decoder`).

Likelihood ratios of the reports of a mechanism: how much likelier each is for a value than on average.

At a distribution f a block A has the ratios u_x = (1 + c 1{x in A}) / q, q = 1 + c f(A), and
u_rest = 1/q for all values that may go in clear; a value in clear has 0 and 1/rest. An output y of an explicit channel
has u_x = Q(y|x) / q_y. Sums over all reports are exact where these are few; elsewhere blocks are drawn under f, from a
fixed seed. Ratios are handed out less one, d = u - 1: where the contrast is small they are all that is told, and single
precision keeps them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.reports import Blocks, block_count
from discreet.core.tally import Tally
from discreet.mechanisms.block_law import BlockLaw, Evidence, Membership
from discreet.theory.covariance import (
    Contributions,
    Covariance,
    LowRankCovariance,
    SampleCovariance,
)
from discreet.theory.design import Design
from discreet.theory.linear_decoder import LinearDecoder, PoolBias


def _of_blocks_to(membership: Membership, domain: Domain, numbers: LinearDecoder, weights: FloatArray) -> FloatArray:
    """Return the ``(rows,)`` contributions of blocks to a weighted sum."""
    inside, outside, _ = numbers.worth
    chosen = weights[domain.sensitive_codes]
    worth: FloatArray = membership.dot((inside - outside) * chosen) + outside * float(chosen.sum())
    return worth


def _of_clear_to(domain: Domain, numbers: LinearDecoder, weights: FloatArray) -> FloatArray:
    """Return the ``(N,)`` contributions of values in clear to a weighted sum."""
    silent, _, own_worth = numbers.clear_worth
    worth: FloatArray = own_worth * weights[domain.clear_codes]
    return worth + silent * float(weights[domain.sensitive_codes].sum())


def pool_covariance(bias: PoolBias, domain: Domain, p: FloatArray) -> LowRankCovariance:
    """Return the covariance that a pool leaves, as its bias, however many reports there are.

    Over pools the shares R_xy of functions under which two values collide have a variance, a covariance where two
    pairs have one value in common, and none where they have none. With t_xy = w_x p_y + w_y p_x the bias of w . p is
    the sum over pairs of t_xy (R_xy - rho)/(1 - rho), so that its variance is

        (u - c) sum over pairs of t_xy^2 + c sum over x of (sum over y != x of t_xy)^2,

    with u and c of `PoolBias`. With P the sum of p and e = P - 2 p, these sums have the matrices

        (p . p) I + p p' - 2 diag(p^2)  and  diag(e^2) + (e p) 1' + 1 (e p)' + (p . p) 1 1'.

    Args:
        bias: u and c.
        domain: the values.
        p: ``(v,)`` frequencies of the sensitive values: where they are estimated the positive ones, scaled to their
            mass. Their squares exceed the true ones on average, so that this states too much rather than too little.
    """
    square, away = float(p @ p), p.sum() - 2 * p
    apart, shared = bias.squares - bias.mass, bias.mass
    rows = np.zeros((3, domain.size))
    rows[:, domain.sensitive_codes] = p, np.ones(len(p)), away * p
    diagonal = np.zeros(domain.size)
    diagonal[domain.sensitive_codes] = apart * (square - 2 * p * p) + shared * away**2
    core = np.array([[apart, 0, 0], [0, shared * square, shared], [0, shared, 0]])
    return LowRankCovariance(np.zeros(domain.size), diagonal, rows, core)


def block_covariance(
    domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, evidence: Evidence, linear: FloatArray
) -> Covariance | None:
    """Return the covariance of the linear estimate of a block mechanism, of at least two reports.

    Args:
        domain: the values.
        law: of the blocks.
        numbers: of the decoder.
        evidence: the tally, and the blocks where they are at hand.
        linear: ``(|X|,)`` the estimates.

    Returns:
        None where it follows from the reports alone, and these are not at hand. Of hash functions inclusions are then
        taken as independent; their sums err on the safe side.
    """
    tally = evidence.tally
    each = 1 / max(tally.n - 1, 1)
    if evidence.noise is not None:
        shares = domain.arrange(tally.support / tally.n, tally.clear / tally.n)
        return _single_values(shares, numbers, linear).scaled(each)
    # Where reports are needed and not at hand, but inclusions are nearly independent, values are taken as alike.
    nearly = not (numbers.clear_blocks or numbers.pool_bias) and law.joint_inclusion(3) is not None
    if _is_alike(domain, law) or (evidence.blocks is None and nearly):
        return _alike_values(domain, law, numbers, linear).scaled(each)
    if numbers.clear_blocks or evidence.membership is None or not evidence.membership.is_here:
        return None
    # The numbers are none of a design, whose values are alike.
    return _of_blocks(domain, cast("LinearDecoder", numbers), evidence.membership, tally, linear)


def covariance_at(
    domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, p: FloatArray
) -> LowRankCovariance | None:
    """Return the covariance of the linear estimate of one report whose value has the distribution p.

    Returns:
        None where the numbers of the law do not determine it.
    """
    if law.counts.one_per_value and domain.sensitive_count:
        shares = numbers.truth * p
        shares[domain.sensitive] += numbers.noisy_inclusion
        return _single_values(shares, numbers, p)
    return _alike_values(domain, law, numbers, p) if _is_alike(domain, law) else None


def _is_alike(domain: Domain, law: BlockLaw) -> bool:
    return law.triple_covariance is not None or not domain.sensitive_count


def _single_values(shares: FloatArray, numbers: LinearDecoder | Design, linear: FloatArray) -> LowRankCovariance:
    """Return the covariance of one report that is each value with these probabilities."""
    square = 1 / numbers.truth**2
    return LowRankCovariance(linear, shares * square, shares[None], np.array([[-square]]))


def _alike_values(
    domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, linear: FloatArray
) -> LowRankCovariance:
    """Return the covariance of one report at frequencies that need be no distribution."""
    classes = linear[domain.sensitive_codes], linear[domain.clear_codes]
    mass = 1 - float(classes[1].sum()) if domain.sensitive_count else 0.0
    products = _products(law, numbers, mass)
    # What a value has beyond its part in the products, in each class: b' C b is C_00 + 2 C_01 p there.
    apart = [
        constant - products[at, at] + (slope - 2 * products[at, at + 1]) * p
        for at, p, (constant, slope) in zip((0, 2), classes, numbers.variances(mass), strict=True)
    ]
    both = np.array([0.0, 1.0, 0.0, 1.0])
    core = products - np.outer(both, both)
    used = [at for at in range(4) if core[at].any() and len(classes[at // 2])]
    # The vectors 1 and p on X_S, and 1 and p on the others.
    classes_of = [mask.astype(np.float64) for mask in (domain.sensitive, ~domain.sensitive)]
    vectors = [vector for mask in classes_of for vector in (mask, np.where(mask, linear, 0.0))]
    factors = np.array([vectors[at] for at in used])
    diagonal = domain.arrange(*apart) if domain.sensitive_count else apart[1]
    return LowRankCovariance(linear, diagonal, factors, core[np.ix_(used, used)])


def _products(law: BlockLaw, numbers: LinearDecoder | Design, mass: float) -> FloatArray:
    """Return the cross moments of one report."""
    independent = not law.triple_covariance and law.inclusion == law.conditional_inclusion
    if independent or not numbers.size:
        # A block says nothing of a value to whoever knows another one.
        return np.zeros((4, 4))
    return numbers.cross_moments(float(law.triple_covariance or 0), mass)


def _of_blocks(
    domain: Domain, numbers: LinearDecoder, membership: Membership, tally: Tally, linear: FloatArray
) -> Covariance:
    reports = [Contributions(membership.multiplicity, partial(_of_blocks_to, membership, domain, numbers))]
    if domain.clear_count:
        reports.append(Contributions(tally.clear.astype(np.float64), partial(_of_clear_to, domain, numbers)))
    sample = SampleCovariance(linear, tally.n, reports)
    if not numbers.pool_bias:
        return sample
    pool = pool_covariance(numbers.pool_bias, domain, plausible(domain, linear))
    return replace(pool, centre=linear, samples=((1.0, sample),))


def plausible(domain: Domain, linear: FloatArray) -> FloatArray:
    """Return the ``(v,)`` sensitive estimates cut off at 0 and scaled to the mass that is not in clear."""
    positive = np.maximum(linear[domain.sensitive_codes], 0)
    mass = float(np.clip(1 - linear[domain.clear_codes].sum(), 0, 1))
    return positive * (mass / max(float(positive.sum()), 1e-300))


_LEAST_DRAWN = 10_000
_DRAWN_PER_VALUE = 100
_SEED = 1
# Ratios that are held together.
_AT_ONCE = 1 << 19
# Squares of larger contrasts do not fit into single precision.
_SINGLE_CONTRAST = 1e15


class LikelihoodRatios(ABC):
    """The reports of a mechanism under a distribution, with their probabilities and likelihood ratios.

    Attributes:
        point: the ``(k,)`` distribution f: of the values that blocks cover, and of the rest if any of it was seen.
    """

    point: FloatArray

    @abstractmethod
    def stretches(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield stretches of reports: ``(m,)`` probabilities, and ``(m, k)`` ratios less one, d."""


@dataclass(frozen=True, eq=False)
class BlockRatios(LikelihoodRatios):
    """The likelihood ratios of blocks, and of values in clear as one.

    Attributes:
        law: the block law.
        truth: s, the probability of telling the truth.
        contrast: c.
        members: ``(v,)`` frequencies of the sensitive values.
        rest: the frequency of all others; 0 if none was seen.
    """

    law: BlockLaw
    truth: float
    contrast: float
    members: FloatArray
    rest: float

    @property
    def noisy(self) -> float:
        """1 - s, from the odds of the truth, pi c: where s is nearly 1, 1 - s would have lost its digits."""
        return 1 / (1 + float(self.law.inclusion) * self.contrast)

    @cached_property
    def point(self) -> FloatArray:  # type: ignore[override]
        """The ``(k,)`` distribution."""
        return np.append(self.members, self.rest) if self.rest else self.members

    def stretches(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield stretches of reports; see `LikelihoodRatios`."""
        blocks, weights = self._blocks
        # What is drawn is not known to more digits than single precision has.
        single = isinstance(weights, float) and self.contrast < _SINGLE_CONTRAST
        precision: Any = np.float32 if single else np.float64
        contrast, members = precision(self.contrast), self.members.astype(precision)
        step = max(_AT_ONCE // self.law.size, 1)
        for start in range(0, block_count(blocks), step):
            part = {name: column[start : start + step] for name, column in blocks.items()}
            gains: AnyArray = self.law.contains(part) * contrast
            mean: FloatArray = gains @ members
            if self.rest:
                gains = np.append(gains, np.zeros((len(gains), 1), precision), axis=1)
            gains -= mean[:, None]
            gains /= 1 + mean[:, None]
            if isinstance(weights, float):
                yield np.full(len(gains), weights), gains
            else:
                yield weights[start : start + step] * (1 + mean), gains
        if self.rest:
            ratios = np.append(np.zeros(len(self.members)), 1 / self.rest)
            yield np.array([self.truth * self.rest]), ratios[None] - 1

    @cached_property
    def _blocks(self) -> tuple[Blocks, FloatArray | float]:
        """All blocks, with (1 - s) Lambda(A); or blocks drawn under f, and the probability of each."""
        drawn = max(_DRAWN_PER_VALUE * self.law.size, _LEAST_DRAWN)
        if self.law.alphabet_size <= drawn:
            blocks, probabilities = self.law.alphabet()
            return blocks, self.noisy * np.array([float(each) for each in probabilities])
        # As many for each value as it is expected to send, to one.
        ends = np.cumsum(np.append(self.noisy, self.truth * self.members))
        members = np.searchsorted(ends, (np.arange(drawn) + 0.5) * (ends[-1] / drawn)).astype(np.int64) - 1
        blocks = {each.name: np.empty(each.shape(drawn), dtype=each.dtype) for each in self.law.columns}
        self.law.draw(members, SeededRandom(_SEED), blocks)
        return blocks, float(ends[-1]) / drawn


@dataclass(frozen=True, eq=False)
class OutputRatios(LikelihoodRatios):
    """The likelihood ratios of the outputs of an explicit channel.

    Attributes:
        matrix: ``(|X|, |Y|)`` Q(y|x).
        point: ``(|X|,)`` the distribution.
    """

    matrix: FloatArray
    point: FloatArray

    def stretches(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield all outputs that are possible; see `LikelihoodRatios`."""
        q = self.point @ self.matrix
        possible = q > 0
        yield q[possible], (self.matrix[:, possible] / q[possible]).T - 1
