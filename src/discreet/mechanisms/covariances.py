"""Covariances of linear estimates: from the numbers of the law where values are alike, else from the reports.

- Blocks of one value: a tally is multinomial with q_x = (1 - s) pi + s p_x, so n Cov = (diag(q) - q q')/s^2.
- Laws that state their `triple_covariance`: a diagonal and a few outer products, from the cross moments of one report
  (`discreet.theory.linear_decoder`). All but p p' vanish where bits are independent.
- All others (Hadamard columns, translates of squares, hash functions, laws of other packages) and explicit channels:
  the sample covariance of the contributions of the reports. A tally that counts each block is enough for it.

Each has the covariance as its mean, for every n of at least 2: terms that are affine in p are taken at the estimate,
and the product of the estimates is divided by n - 1 instead of n. A bias that all reports share is added (see
`discreet.theory.linear_decoder`).
"""

from dataclasses import replace
from functools import partial

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.core.tally import Tally
from discreet.mechanisms.block_law import BlockLaw, joint_inclusion, triple_covariance
from discreet.mechanisms.evidence import Evidence, Membership
from discreet.theory.covariance import (
    Contributions,
    Covariance,
    LowRankCovariance,
    SampleCovariance,
)
from discreet.theory.linear_decoder import BlockNumbers, PoolBias


def _of_blocks_to(membership: Membership, domain: Domain, numbers: BlockNumbers, weights: FloatArray) -> FloatArray:
    """Return the ``(rows,)`` contributions of blocks to a weighted sum."""
    inside, outside, _ = numbers.kinds[0].worth
    chosen = weights[domain.sensitive_codes]
    worth: FloatArray = membership.dot((inside - outside) * chosen) + outside * float(chosen.sum())
    return worth


def _of_clear_to(domain: Domain, numbers: BlockNumbers, weights: FloatArray) -> FloatArray:
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
    domain: Domain, law: BlockLaw, numbers: BlockNumbers, evidence: Evidence, linear: FloatArray
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
    nearly = not (numbers.clear_blocks or numbers.pool_bias) and joint_inclusion(law, 3) is not None
    if _is_alike(domain, law) or (evidence.blocks is None and nearly):
        return alike_covariance(domain, law, numbers, linear).scaled(each)
    if numbers.clear_blocks or evidence.membership is None or not evidence.membership.is_here:
        return None
    return _of_blocks(domain, numbers, evidence.membership, tally, linear)


def covariance_at(domain: Domain, law: BlockLaw, numbers: BlockNumbers, p: FloatArray) -> LowRankCovariance | None:
    """Return the covariance of the linear estimate of one report whose value has the distribution p.

    Returns:
        None where the numbers of the law do not determine it.
    """
    if law.counts.one_per_value and domain.sensitive_count:
        shares = numbers.truth * p
        shares[domain.sensitive] += numbers.noisy_inclusion
        return _single_values(shares, numbers, p)
    return alike_covariance(domain, law, numbers, p) if _is_alike(domain, law) else None


def _is_alike(domain: Domain, law: BlockLaw) -> bool:
    return triple_covariance(law) is not None or not domain.sensitive_count


def _single_values(shares: FloatArray, numbers: BlockNumbers, linear: FloatArray) -> LowRankCovariance:
    """Return the covariance of one report that is each value with these probabilities."""
    square = 1 / numbers.truth**2
    return LowRankCovariance(linear, shares * square, shares[None], np.array([[-square]]))


def alike_covariance(domain: Domain, law: BlockLaw, numbers: BlockNumbers, linear: FloatArray) -> LowRankCovariance:
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


def _products(law: BlockLaw, numbers: BlockNumbers, mass: float) -> FloatArray:
    """Return the cross moments of one report."""
    independent = not triple_covariance(law) and law.inclusion == law.conditional_inclusion
    if independent or not numbers.size:
        # A block says nothing of a value to whoever knows another one.
        return np.zeros((4, 4))
    return numbers.cross_moments(float(triple_covariance(law) or 0), mass)


def _of_blocks(
    domain: Domain, numbers: BlockNumbers, membership: Membership, tally: Tally, linear: FloatArray
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
