"""The information that a report contains about its sender, for each prior over users: bounds for every attack.

All bounds follow from a few numbers of one report among n users. For a block mechanism these come from its numbers and
the distribution of K. For a matrix they are computed. Information is in nats here.
"""

from dataclasses import dataclass, replace
from math import inf, log, tanh
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, read_only
from discreet.core.checks import checked_whole
from discreet.core.guarantee import Guarantee
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Channel
from discreet.mechanisms.block_law import HitDistribution
from discreet.mechanisms.personalized import AnyMechanism, common_of
from discreet.risk.bounds.capacity import (
    Inputs,
    Interval,
    Sizes,
    capacity,
    capacity_of_users,
    contraction,
    ldp_capacity,
    leakage,
    listed_success,
    matrix_leakage,
    matrix_success,
    order_capacity,
    success,
    uniform_success,
)
from discreet.risk.bounds.hits import hit_distribution, hits_of

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A prior over the users who may have sent a report.

    Attributes:
        users: n, the number of users.
        probabilities: ``(n,)`` of the users, in descending order; None if all are equally likely.
    """

    users: int
    probabilities: FloatArray | None = None

    @classmethod
    def of(cls, users: Any, probabilities: Any = None) -> "Prior":
        """Return a prior.

        Args:
            users: n, the number of users.
            probabilities: ``(n,)`` in any order; None if all users are equally likely.

        Raises:
            ParameterError: if n is not a positive integer, or there are not n probabilities.
        """
        users = checked_whole("users", users)
        if probabilities is None:
            return cls(users)
        try:
            numbers = np.array(probabilities, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("prior.wrong-dimension", argument="prior") from None
        if numbers.shape != (users,):
            raise ParameterError("prior.wrong-length", argument="prior", users=users, shape=numbers.shape)
        if not np.isfinite(numbers).all() or numbers.min() < 0 or abs(numbers.sum() - 1) > _TOLERANCE:
            raise ParameterError("prior.wrong-sum", argument="prior", float=float(numbers.sum()))
        falling = np.sort(numbers / numbers.sum())[::-1]
        # Equal to no prior, for which there are closed forms.
        return cls(users) if falling[0] == falling[-1] else cls(users, read_only(falling))

    @property
    def likeliest(self) -> float:
        """p_1, the probability of the likeliest user."""
        return 1 / self.users if self.probabilities is None else float(self.probabilities[0])

    def guessed(self, listed: int) -> float:
        """Return P_k, the probability that the right user is among the k likeliest."""
        if listed >= self.users:
            return 1.0
        if self.probabilities is None:
            return listed / self.users
        return min(float(self.probabilities[:listed].sum()), 1.0)

    @property
    def entropy(self) -> float:
        """H(U), in nats: the information that identifies the user."""
        if self.probabilities is None:
            return log(self.users)
        positive = self.probabilities[self.probabilities > 0]
        return max(-float(positive @ np.log(positive)), 0.0)


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
    """The leakage of one report among n users: information, contraction and success of guesses.

    Attributes:
        guarantee: the attribute risk.
        values: d, the number of values.
        information: alpha_n, in nats.
        eta_tv: the largest total variation between the reports of two values.
        eta_kl: the largest share of the information about a user that a report lets through.
        informative: 1 - delta, an upper bound on the probability that a report depends on the value; s for truth or
            noise.
        theta: s, the parameter of the MI-loss in Thms 11 and 13; None for a matrix.
        leakage: ML, the sum over reports of the largest probability from one of n values.
        success: V_k, if known for the prior and the list; None if there are only general bounds.
        orders: (a, I_a) in nats, the largest mutual information of order a, if known.
        ideal: alpha_n and V_k for an idealised law, and its name; None if there is no idealisation.
        in_clear: the probability that a value that is not sensitive is reported in clear; 0 without such values.
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
        """Epsilon, in nats, if the mechanism is epsilon-LDP; otherwise None."""
        promised = self.guarantee.notion == "LDP" and self.guarantee.realised < inf
        return self.guarantee.realised if promised else None


def report_leakage(mechanism: AnyMechanism, prior: Prior, listed: int) -> ReportLeakage:
    """Return the leakage of one report among n users.

    Args:
        mechanism: a block mechanism, a matrix, or a personalized mechanism; then its common mechanism is used, and
            users' replacements are a part of the source.
        prior: the prior over the users who may have sent the report.
        listed: k, the number of guesses.
    """
    maker = common_of(mechanism)
    if maker.is_explicit:
        return _of_matrix(maker.channel(), prior, listed)
    if maker.follows_from_matrix:
        return replace(_of_matrix(maker.channel(), prior, listed), guarantee=mechanism.guarantee)
    return replace(_of_blocks(BlockMechanism.checked(maker), prior, listed), guarantee=mechanism.guarantee)


# Truth or noise


def _of_blocks(mechanism: BlockMechanism, prior: Prior, listed: int) -> ReportLeakage:
    inputs, law = _inputs(mechanism, prior), mechanism.law
    members = hit_distribution(law, inputs.sensitive) if inputs.sensitive else None
    hits = hits_of(law, np.array([float(inputs.sensitive)])) if inputs.sensitive else np.zeros(1)
    eta_tv, eta_kl = _contraction(mechanism)
    return ReportLeakage(
        mechanism.guarantee,
        mechanism.domain.size,
        _information(mechanism, inputs, members, eta_kl.value),
        eta_tv,
        eta_kl,
        inputs.truth if mechanism.domain.size > 1 else 0.0,
        inputs.truth,
        leakage(inputs, float(hits[0])),
        _success(mechanism, inputs, prior, listed),
        tuple((order, order_capacity(inputs, members, order)) for order in _ORDERS),
        _ideal(inputs, members, prior, listed),
        inputs.truth if mechanism.domain.clear_count else 0.0,
    )


def _inputs(mechanism: BlockMechanism, prior: Prior) -> Inputs:
    """Return the numbers of the mechanism, and the values in use that distinguish n users best."""
    domain, moments = mechanism.domain, mechanism.coefficients
    clear = min(prior.users, domain.clear_count)
    sensitive = min(prior.users - clear, domain.sensitive_count)
    realised = mechanism.guarantee.realised
    return Inputs(moments.truth, moments.noisy, moments.inclusion, realised, sensitive, clear)


def _contraction(mechanism: BlockMechanism) -> tuple[UpperBound, UpperBound]:
    domain, law, s = mechanism.domain, mechanism.law, mechanism.coefficients.truth
    if domain.size == 1:
        return UpperBound(0.0, True), UpperBound(0.0, True)
    if domain.clear_count:
        return UpperBound(s, True, s), UpperBound(s, True, s)
    apart = s * float(1 - (law.conditional_inclusion or 0))
    through = apart * tanh(mechanism.guarantee.realised / 2)
    return UpperBound(apart, True, apart), UpperBound(through, True, through)


def _information(mechanism: BlockMechanism, inputs: Inputs, members: HitDistribution | None, eta: float) -> UpperBound:
    used = inputs.sensitive + inputs.clear
    general = eta * log(used)
    if mechanism.domain.clear_count == 0:
        general = min(general, ldp_capacity(inputs.epsilon, used))
    attained = capacity(inputs, members)
    exact = members is None or members.exact
    return UpperBound(attained, True, attained) if exact else UpperBound(min(attained, general))


def _success(mechanism: BlockMechanism, inputs: Inputs, prior: Prior, listed: int) -> UpperBound | None:
    law, domain, a = mechanism.law, mechanism.domain, inputs.sensitive
    if listed == 1:
        places = np.array([float(a)]) if prior.probabilities is None else np.arange(a + 1.0)
        hits = hits_of(law, places) if a else np.zeros(1)
        exact = a == 0 or hit_distribution(law, a).exact
        if prior.probabilities is not None:
            return UpperBound(success(inputs, hits, prior.probabilities), exact)
        return UpperBound(uniform_success(inputs, float(hits[0]), prior.users), exact)
    if prior.probabilities is not None:
        return None
    rest = prior.users - min(prior.users, domain.clear_count * listed)
    members = hit_distribution(law, min(rest, domain.sensitive_count)) if rest and domain.sensitive_count else None
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


# Explicit matrices


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
        # Lists of k users with a common value.
        return _certain(Interval(listed * most.low / n, min(listed * most.high / n, 1.0)))
    return None
