"""The leakage of one report among n users: the numbers from which every bound follows.

For a block mechanism they follow from its numbers and the law of K, for a matrix they are computed; nothing else knows
the difference. Information is in nats here.
"""

from dataclasses import dataclass, replace
from math import inf, log, tanh

import numpy as np

from discreet.core.guarantee import Guarantee
from discreet.leakage.capacity import Inputs, capacity, order_capacity
from discreet.leakage.contraction import contraction
from discreet.leakage.entropies import ldp_capacity
from discreet.leakage.hits import HitDistribution
from discreet.leakage.matrices import Interval, capacity_of_users, matrix_leakage, matrix_success
from discreet.leakage.success import Sizes, leakage, listed_success, success, uniform_success
from discreet.mechanisms import BlockMechanism, Channel, Mechanism
from discreet.mechanisms.given import as_channel, as_personalized, block_mechanism
from discreet.mechanisms.personalized import Personalized
from discreet.risk.bounds.prior import Prior

_ORDERS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """An upper bound on a number, perhaps exact.

    Attributes:
        value: an upper bound.
        exact: whether some source attains it, except for rounding.
        low: a lower bound.
    """

    value: float
    exact: bool = False
    low: float = 0.0


@dataclass(frozen=True, slots=True)
class ReportLeakage:
    """The leakage of one report among n users.

    Attributes:
        guarantee: the attribute risk.
        values: d, the number of values.
        information: alpha_n, in nats.
        eta_tv: the largest total variation between the reports of two values.
        eta_kl: the largest share of the information about a user that a report lets through.
        informative: 1 - delta, an upper bound on the probability that a report depends on the value at all; s for
            truth or noise.
        theta: s, the parameter of the MI-loss of Thms 11 and 13; None for a matrix.
        leakage: ML, the sum over reports of the largest probability that one of n values gives them.
        success: V_k, where that is known for the prior and the list; None where only general bounds are.
        orders: (a, I_a) in nats, the largest mutual information of order a, where that is known.
        ideal: alpha_n and V_k under an idealisation, and which; None if there is none.
        in_clear: the probability with which a value that is not sensitive is reported in clear; 0 if there is none.
    """

    guarantee: Guarantee
    values: int
    information: UpperBound
    eta_tv: UpperBound
    eta_kl: UpperBound
    informative: float
    theta: float | None
    leakage: float
    success: UpperBound | None
    orders: tuple[tuple[float, float], ...] = ()
    ideal: tuple[float, float | None, str] | None = None
    in_clear: float = 0.0

    @property
    def local(self) -> float | None:
        """Return epsilon, in nats, if the mechanism is epsilon-LDP; None if it is not."""
        promised = self.guarantee.notion == "LDP" and self.guarantee.realised < inf
        return self.guarantee.realised if promised else None


def report_leakage(mechanism: Mechanism | Personalized, prior: Prior, listed: int) -> ReportLeakage:
    """Return the leakage of one report among n users.

    Args:
        mechanism: a block mechanism, a matrix, or a personalized mechanism, whose common one is meant: users' own
            replacements are a part of the source.
        prior: over the users who may have sent it.
        listed: k.
    """
    if (personalized := as_personalized(mechanism)) is not None:
        return replace(report_leakage(personalized.common, prior, listed), guarantee=personalized.guarantee)
    if (channel := as_channel(mechanism)) is not None:
        return _of_matrix(channel, prior, listed)
    return _of_blocks(block_mechanism(mechanism), prior, listed)


# Truth or noise


def _of_blocks(mechanism: BlockMechanism, prior: Prior, listed: int) -> ReportLeakage:
    inputs, law = _inputs(mechanism, prior), mechanism.law
    members = law.hit_distribution(inputs.sensitive) if inputs.sensitive else None
    hits = law.hits(np.array([float(inputs.sensitive)])) if inputs.sensitive else np.zeros(1)
    eta_tv, eta_kl = _contraction(mechanism)
    # No report of truth or noise is likelier than 1 - s for all values and s more for one of them.
    general = inputs.noisy + inputs.truth * (inputs.sensitive + inputs.clear)
    known = hits is not None
    return ReportLeakage(
        mechanism.guarantee,
        mechanism.domain.size,
        _information(mechanism, inputs, members, eta_kl.value),
        eta_tv,
        eta_kl,
        inputs.truth if mechanism.domain.size > 1 else 0.0,
        inputs.truth,
        general if hits is None else leakage(inputs, float(hits[0])),
        _success(mechanism, inputs, prior, listed) if known else None,
        tuple((order, order_capacity(inputs, members, order)) for order in _ORDERS) if known else (),
        _ideal(inputs, members, prior, listed),
        inputs.truth if mechanism.domain.clear_count else 0.0,
    )


def _inputs(mechanism: BlockMechanism, prior: Prior) -> Inputs:
    """Return the numbers of the mechanism, and of the values in use that tell n users apart best."""
    domain, moments = mechanism.domain, mechanism.numbers
    clear = min(prior.users, domain.clear_count)
    sensitive = min(prior.users - clear, domain.sensitive_count)
    inclusion = float(np.max(moments.inclusion))
    return Inputs(moments.truth, moments.noisy, inclusion, mechanism.guarantee.realised, sensitive, clear)


def _contraction(mechanism: BlockMechanism) -> tuple[UpperBound, UpperBound]:
    domain, law, s = mechanism.domain, mechanism.law, mechanism.numbers.truth
    if domain.size == 1:
        return UpperBound(0.0, True), UpperBound(0.0, True)
    if domain.clear_count:
        return UpperBound(s, True, s), UpperBound(s, True, s)
    shared = bool(mechanism.numbers.pool_bias)
    # Where rho is a mean over what was drawn once for all, two values may never be in one block.
    apart = s * float(1 - (0 if shared else min(law.conditional_inclusions)))
    through = apart * tanh(mechanism.guarantee.realised / 2)
    even = law.groups is None and not shared
    return UpperBound(apart, not shared, 0.0 if shared else apart), UpperBound(through, even, through if even else 0.0)


def _information(mechanism: BlockMechanism, inputs: Inputs, members: HitDistribution | None, eta: float) -> UpperBound:
    used = inputs.sensitive + inputs.clear
    general = eta * log(used)
    if mechanism.domain.clear_count == 0:
        general = min(general, ldp_capacity(inputs.epsilon, used))
    if inputs.sensitive and members is None:
        return UpperBound(general)
    attained = capacity(inputs, members)
    exact = members is None or members.exact
    return UpperBound(attained, True, attained) if exact else UpperBound(min(attained, general))


def _success(mechanism: BlockMechanism, inputs: Inputs, prior: Prior, listed: int) -> UpperBound | None:
    law, domain, a = mechanism.law, mechanism.domain, inputs.sensitive
    if listed == 1:
        places = np.array([float(a)]) if prior.probabilities is None else np.arange(a + 1.0)
        hits = law.hits(places) if a else np.zeros(1)
        if hits is None:
            return None
        exact = a == 0 or (one := law.hit_distribution(a)) is None or one.exact
        if prior.probabilities is not None:
            return UpperBound(success(inputs, hits, prior.probabilities), exact)
        return UpperBound(uniform_success(inputs, float(hits[0]), prior.users), exact)
    if prior.probabilities is not None:
        return None
    rest = prior.users - min(prior.users, domain.clear_count * listed)
    members = law.hit_distribution(min(rest, domain.sensitive_count)) if rest and domain.sensitive_count else None
    sizes = Sizes(prior.users, domain.sensitive_count, domain.clear_count)
    spread = rest <= domain.sensitive_count or rest % max(domain.sensitive_count, 1) == 0
    exact = spread and (members is None or members.exact)
    return UpperBound(listed_success(inputs, members, sizes, listed), exact)


def _ideal(
    inputs: Inputs, members: HitDistribution | None, prior: Prior, listed: int
) -> tuple[float, float | None, str] | None:
    if members is None or members.ideal is None:
        return None
    known = prior.probabilities is None and listed == 1
    probability = uniform_success(inputs, members.ideal.hit, prior.users) if known else None
    return capacity(inputs, members.ideal), probability, members.idealised


# A matrix


def _of_matrix(channel: Channel, prior: Prior, listed: int) -> ReportLeakage:
    matrix, n = channel.matrix, prior.users
    contracted = contraction(matrix)
    informative = 1 - contracted.common
    information = capacity_of_users(matrix, min(n, len(matrix)), contracted.information.high)
    most = matrix_leakage(matrix, min(n, len(matrix)))
    clear = ~channel.domain.sensitive
    alone = (channel.matrix > 0).sum(axis=0) == 1
    return ReportLeakage(
        channel.guarantee,
        channel.domain.size,
        _certain(information),
        UpperBound(contracted.total_variation, True, contracted.total_variation),
        _certain(contracted.information),
        max(informative, 0.0),
        None,
        most.high,
        _matrix_success(channel, prior, most, listed),
        in_clear=float(matrix[clear][:, alone].sum(axis=1).max()) if clear.any() else 0.0,
    )


def _certain(interval: Interval) -> UpperBound:
    return UpperBound(interval.high, interval.high - interval.low <= 1e-6 * interval.high, interval.low)


def _matrix_success(channel: Channel, prior: Prior, most: Interval, listed: int) -> UpperBound | None:
    n, d = prior.users, channel.domain.size
    if listed == 1 and prior.probabilities is not None:
        return _certain(matrix_success(channel.matrix, prior.probabilities))
    if prior.probabilities is None and (listed == 1 or n >= d * listed):
        # Lists of k users who share a value.
        return _certain(Interval(listed * most.low / n, min(listed * most.high / n, 1.0)))
    return None
