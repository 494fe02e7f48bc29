"""Covariances of linear estimates: from the numbers of the law where values are alike, else from the reports.

- Blocks of one value: a tally is multinomial with q_x = (1 - s) pi_x + s p_x, so n Cov = (diag(q) - q q')/s^2.
- Laws that state their `triple_covariance`: a diagonal and a few outer products, from the cross moments of one report
  (`discreet.accuracy.cross_moments`). All but p p' vanish where bits are independent.
- All others (Hadamard columns, translates of squares, hash functions, laws of other packages) and explicit channels:
  the sample covariance of what the reports are worth. A tally that counts each block is enough for it.

Each has the covariance as its mean, for every n of at least 2: what is affine in p is taken at the estimate, and the
product of the estimates is divided by n - 1 in the place of n. What all reports share is added (see
`discreet.accuracy.pool_bias`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from discreet.accuracy.cross_moments import cross_moments, design_cross_moments
from discreet.accuracy.design import Design
from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.accuracy.pool_bias import PoolBias
from discreet.arrays import FloatArray
from discreet.core.covariance import Covariance, DeferredCovariance, LowRankCovariance
from discreet.core.domain import Domain
from discreet.core.sample_covariance import Contributions, SampleCovariance
from discreet.core.tally import Tally
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.evidence import Evidence
from discreet.mechanisms.membership import Membership


@dataclass(frozen=True, eq=False, repr=False)
class BlockContributions(Contributions):
    """The contributions of blocks.

    Attributes:
        counts: ``(rows,)`` the number of reports of each block; None if each came once.
        membership: the matrix of the blocks.
        domain: the values.
        numbers: of the decoder.
    """

    counts: FloatArray | None
    membership: Membership
    domain: Domain
    numbers: LinearDecoder

    def to(self, weights: FloatArray) -> FloatArray:
        """Return ``(rows,)`` contributions."""
        inside, outside, _ = self.numbers.worth
        chosen = weights[self.domain.sensitive_codes]
        worth: FloatArray = self.membership.dot((inside - outside) * chosen) + float(np.sum(outside * chosen))
        return worth


@dataclass(frozen=True, eq=False, repr=False)
class ClearContributions(Contributions):
    """The contributions of values in clear.

    Attributes:
        counts: ``(N,)`` the number of reports of each value.
        domain: the values.
        numbers: of the decoder.
    """

    counts: FloatArray
    domain: Domain
    numbers: LinearDecoder

    def to(self, weights: FloatArray) -> FloatArray:
        """Return ``(N,)`` contributions."""
        silent, _, own = self.numbers.clear_worth
        worth: FloatArray = own * weights[self.domain.clear_codes]
        return worth + float(np.sum(silent * weights[self.domain.sensitive_codes]))


@dataclass(frozen=True, eq=False, repr=False)
class OutputContributions(Contributions):
    """The contributions of the outputs of an explicit channel.

    Attributes:
        counts: ``(|Y|,)`` the number of reports of each output.
        inverse: ``(|Y|, |X|)`` the decoder.
    """

    counts: FloatArray
    inverse: FloatArray

    def to(self, weights: FloatArray) -> FloatArray:
        """Return ``(|Y|,)`` contributions."""
        worth: FloatArray = self.inverse @ weights
        return worth


@dataclass(frozen=True, eq=False, repr=False)
class PoolCovariance:
    """The covariance of weighted sums that a pool leaves, as its bias, however many reports there are.

    Over pools the shares R_xy of functions under which two values collide have a variance, a covariance where two
    pairs have one value in common, and none where they have none. With t_xy = w_x p_y + w_y p_x the bias of w . p is
    the sum over pairs of t_xy (R_xy - rho)/(1 - rho), so that its variance is

        (u - c) sum over pairs of t_xy^2 + c sum over x of (sum over y != x of t_xy)^2,

    with u and c of `PoolBias`. The frequencies are the positive ones of the estimate, scaled to their mass: their
    squares exceed the true ones on average, so that this states too much rather than too little.

    Attributes:
        bias: u and c.
        domain: the values.
        frequencies: ``(v,)`` of the sensitive values.
    """

    bias: PoolBias
    domain: Domain
    frequencies: FloatArray

    def __call__(self, first: FloatArray, second: FloatArray) -> float:
        """Return the covariance of two weighted sums."""
        w, u = (weights[self.domain.sensitive_codes] for weights in (first, second))
        return (self._variance(w + u) - self._variance(w - u)) / 4

    @property
    def matrix(self) -> FloatArray:
        """The ``(|X|, |X|)`` covariances of the estimates."""
        p, codes = self.frequencies, self.domain.sensitive_codes
        pairs = (p @ p) * np.eye(len(p)) + np.outer(p, p) - 2 * np.diag(p * p)
        summed = (p.sum() - 2 * p) * np.eye(len(p)) + p[:, None]
        whole = np.zeros((self.domain.size,) * 2)
        whole[np.ix_(codes, codes)] = (self.bias.squares - self.bias.mass) * pairs + self.bias.mass * summed.T @ summed
        return whole

    def _variance(self, w: FloatArray) -> float:
        p = self.frequencies
        pairs = float((w @ w) * (p @ p) + (w @ p) ** 2 - 2 * ((w * p) @ (w * p)))
        summed = w * p.sum() + p * w.sum() - 2 * w * p
        return (self.bias.squares - self.bias.mass) * pairs + self.bias.mass * float(summed @ summed)


def block_covariance(
    domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, evidence: Evidence, linear: FloatArray
) -> Covariance | None:
    """Return the covariance of the linear estimate of a block mechanism.

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
    make: Callable[[], Covariance]
    if evidence.noise is not None and isinstance(numbers, LinearDecoder):
        make = partial(_of_single_values, domain, numbers, evidence.tally, linear)
    elif isinstance(numbers, Design) or _is_alike(domain, law, numbers) or _taken_as_alike(law, numbers, evidence):
        make = partial(_of_alike_values, domain, law, numbers, evidence.tally, linear)
    elif evidence.blocks is None or numbers.clear_blocks or not isinstance(evidence.membership, Membership):
        return None
    else:
        make = partial(_of_blocks, domain, numbers, evidence.membership, evidence.tally, linear)
    return DeferredCovariance(linear, evidence.tally.n, make)


def output_covariance(inverse: Callable[[], FloatArray], tally: Tally, linear: FloatArray) -> Covariance:
    """Return the covariance of the linear estimate of an explicit channel, given its decoder."""

    def make() -> Covariance:
        return SampleCovariance(linear, tally.n, [OutputContributions(tally.support.astype(np.float64), inverse())])

    return DeferredCovariance(linear, tally.n, make)


def covariance_at(
    domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, p: FloatArray
) -> LowRankCovariance | None:
    """Return the covariance of the linear estimate of one report whose value has the distribution p.

    Returns:
        None where the numbers of the law do not determine it.
    """
    if law.counts.one_per_value and domain.sensitive_count and isinstance(numbers, LinearDecoder):
        noise = np.broadcast_to(numbers.noisy * numbers.inclusion, domain.sensitive_count)
        truth = numbers.truth * p
        return _single_values(domain.arrange(noise + truth[domain.sensitive], truth[~domain.sensitive]), numbers, p)
    return _alike_values(domain, law, numbers, p) if _is_alike(domain, law, numbers) else None


def _is_alike(domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design) -> bool:
    return law.triple_covariance is not None or isinstance(numbers, Design) or not domain.sensitive_count


def _taken_as_alike(law: BlockLaw, numbers: LinearDecoder, evidence: Evidence) -> bool:
    """Return true if reports are needed and not at hand, but inclusions are nearly independent."""
    nearly = not (numbers.clear_blocks or numbers.pool_bias) and law.joint_inclusion(3) is not None
    return evidence.blocks is None and nearly


def _single_values(shares: FloatArray, numbers: LinearDecoder, linear: FloatArray) -> LowRankCovariance:
    """Return the covariance of one report that is each value with these probabilities."""
    square = 1 / numbers.truth**2
    return LowRankCovariance(linear, shares * square, shares[None], np.array([[-square]]), 1.0)


def _of_single_values(domain: Domain, numbers: LinearDecoder, tally: Tally, linear: FloatArray) -> LowRankCovariance:
    shares = domain.arrange(tally.support / tally.n, tally.clear / tally.n)
    return replace(_single_values(shares, numbers, linear), scale=1 / (tally.n - 1))


def _of_alike_values(
    domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, tally: Tally, linear: FloatArray
) -> LowRankCovariance:
    return replace(_alike_values(domain, law, numbers, linear), scale=1 / (tally.n - 1))


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
    factors = np.array([_factor(domain, linear, at) for at in used])
    diagonal = domain.arrange(*apart) if domain.sensitive_count else apart[1]
    return LowRankCovariance(linear, diagonal, factors, core[np.ix_(used, used)], 1.0)


def _factor(domain: Domain, linear: FloatArray, at: int) -> FloatArray:
    """Return one of the ``(|X|,)`` vectors 1 and p on X_S, and 1 and p on the others."""
    chosen = domain.sensitive if at < 2 else ~domain.sensitive
    return np.where(chosen, linear, 0.0) if at % 2 else chosen.astype(np.float64)


def _products(law: BlockLaw, numbers: LinearDecoder | Design, mass: float) -> FloatArray:
    """Return the cross moments of one report."""
    if isinstance(numbers, Design):
        return design_cross_moments(numbers, mass)
    independent = not law.triple_covariance and law.inclusions == law.conditional_inclusions
    if independent or not numbers.size:
        # A block says nothing of a value to whoever knows another one.
        return np.zeros((4, 4))
    return cross_moments(numbers, float(law.triple_covariance or 0), mass)


def _of_blocks(
    domain: Domain, numbers: LinearDecoder, membership: Membership, tally: Tally, linear: FloatArray
) -> SampleCovariance:
    reports: list[Contributions] = [BlockContributions(membership.multiplicity, membership, domain, numbers)]
    if domain.clear_count:
        reports.append(ClearContributions(tally.clear.astype(np.float64), domain, numbers))
    lasting = PoolCovariance(numbers.pool_bias, domain, plausible(domain, linear)) if numbers.pool_bias else None
    return SampleCovariance(linear, tally.n, reports, lasting)


def plausible(domain: Domain, linear: FloatArray) -> FloatArray:
    """Return the ``(v,)`` sensitive estimates cut off at 0 and scaled to the mass that is not in clear."""
    positive = np.maximum(linear[domain.sensitive_codes], 0)
    mass = float(np.clip(1 - linear[domain.clear_codes].sum(), 0, 1))
    return positive * (mass / max(float(positive.sum()), 1e-300))
