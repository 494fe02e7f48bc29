"""Plans for a wanted identification risk: the largest epsilon of each mechanism, both risks, and the error.

The two risks are shown together and never traded: a mechanism that hides users in the crowd may report their values
without noise. [PIE, Thm 17] prefers more buckets at the same theta. At the same *exact* identification risk, hashing to
few buckets without noise has the smallest error of all, but no attribute privacy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from discreet.core.checks import checked_epsilon, checked_n
from discreet.core.domain import Domain, checked_domain
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, LocalHashing, UnaryEncoding
from discreet.planning.losses import worst_variance
from discreet.privacy.composition import split_epsilon
from discreet.risk.bounds import Bounds
from discreet.risk.bounds.calibration import LARGEST_EPSILON, Allowed, RiskTarget, largest_epsilon

_MOST_BUCKETS = (1 << 32) - 5
_BUCKET_CHOICES = 32

SIDE_BY_SIDE = (
    "epsilon is the attribute risk: the information in a report about the value. The identification risk is about the "
    "user. A small value of one risk does not make the other risk small."
)
"""The sentence for both risks wherever they are shown together."""


@dataclass(frozen=True, slots=True)
class Option:
    """A mechanism with the largest epsilon for a wanted identification risk.

    Attributes:
        name: its name in plans, with the chosen option.
        mechanism: the mechanism with the largest epsilon of one report.
        bounds: both risks.
        limited: whether identification limits epsilon; otherwise only the given limit on epsilon does, if any.
        worst_mse: largest E ||p_hat - p||^2 of the linear estimate over all distributions.
        standard_error: the largest standard error of any value under any distribution.

    Example:
        >>> import discreet as dc
        >>> from discreet.risk.bounds import identification_bounds
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(4)), epsilon=1.0)
        >>> bounds = identification_bounds(mechanism, users=20)
        >>> option = Option("rr", mechanism, bounds, limited=False, worst_mse=0.42, standard_error=0.31)
        >>> option.mechanism.epsilon, round(option.bounds.error, 3)
        (1.0, 0.905)
    """

    name: str
    mechanism: BlockMechanism
    bounds: Bounds
    limited: bool
    worst_mse: float
    standard_error: float


@dataclass(frozen=True, slots=True, eq=False)
class IdentificationPlan:
    """The options for a wanted identification risk, with a recommendation.

    Attributes:
        domain: the values.
        wanted: the identification risk.
        epsilon: the limit on the attribute risk of all reports of a user, in nats; None for no limit.
        options: one per mechanism, by ascending worst-case error.
        refused: names of the mechanisms that cannot achieve the risk.

    Example:
        >>> import discreet as dc
        >>> plan = IdentificationPlan(dc.Domain(range(4)), RiskTarget(users=20, error=0.8), None, (), ())
        >>> plan.recommendation.split(",")[0]
        'There is no recommendation without a limit on the attribute risk'
    """

    domain: Domain
    wanted: RiskTarget
    epsilon: float | None
    options: tuple[Option, ...]
    refused: tuple[str, ...]

    @property
    def recommendation(self) -> str:
        """The recommendation in one sentence; empty without a limit on epsilon."""
        if self.epsilon is None:
            return (
                "There is no recommendation without a limit on the attribute risk, because reports in clear would have "
                "the smallest error. Give an epsilon too."
            )
        if not self.options:
            return "No mechanism is within both limits."
        best = self.options[0]
        return (
            f"Use {best.name} at epsilon = {best.mechanism.epsilon:.6g} per report. A guess of the user is wrong with "
            f"probability {best.bounds.error:.6g} or more. The mean squared error is at most {best.worst_mse:.3e}, "
            f"the smallest of the {len(self.options)} mechanisms within both limits."
        )

    @property
    def without_noise(self) -> str | None:
        """A sentence on hashing without noise and why it is not an option; None where it is not comparable."""
        wanted, d = self.wanted, self.domain.size
        if wanted.error is None or wanted.prior is not None or wanted.largest_list > 1 or self.domain.clear_count:
            return None
        buckets = int((1 - wanted.error) * wanted.users)
        if not 2 <= buckets <= d:
            return None
        later = min(buckets**2 / wanted.users, 1.0)
        return (
            f"Hashing to {buckets:,} buckets without noise has the same identification risk for one report and a much "
            "smaller error. But it does not protect the value, and a second report with another hash function "
            f"identifies the user with probability up to {later:.4g}."
        )


def plan_identification(domain: Domain, wanted: RiskTarget, *, epsilon: float | None = None) -> IdentificationPlan:
    """Return, for every mechanism, the largest epsilon with a wanted identification risk, and the error.

    Args:
        domain: the values and which of them are sensitive.
        wanted: the identification risk; ``reports`` of each user have epsilon/t each, and count as independent.
        epsilon: the largest epsilon of all reports of a user together, in nats; None for no limit.

    Raises:
        ParameterError: if a number is out of range, no value is sensitive, or no mechanism achieves the risk.

    Example:
        >>> import discreet as dc
        >>> plan = plan_identification(dc.Domain(range(4)), RiskTarget(users=20, error=0.8), epsilon=1.0)
        >>> option = plan.options[0]
        >>> option.name, option.mechanism.epsilon, option.bounds.error >= 0.8
        ('rr', 1.0, True)
    """
    if checked_domain(domain).sensitive_count == 0:
        raise ParameterError("plan.nothing-sensitive")
    limit = LARGEST_EPSILON if epsilon is None else split_epsilon(checked_epsilon(epsilon), wanted.reports)
    reports = checked_n(wanted.users * wanted.reports)
    largest = {name: largest_epsilon(build, wanted, limit=limit) for name, build in builders(domain).items()}
    if epsilon is not None:
        largest["hashing, best g"] = _best_buckets(domain, wanted, limit)
    options, refused = [], tuple(name for name, allowed in largest.items() if allowed is None)
    for name, allowed in largest.items():
        if allowed is not None:
            mechanism: BlockMechanism = allowed.mechanism
            error = sqrt(max(worst_variance(mechanism), 0.0) / reports)
            worst = mechanism.decoder.worst_case_mse(reports)
            options.append(Option(name, mechanism, allowed.bounds, allowed.limited, worst, error))
    if not options:
        raise ParameterError("plan.impossible-risk")
    options.sort(key=lambda option: option.worst_mse)
    return IdentificationPlan(domain, wanted, epsilon, tuple(options), refused)


def builders(domain: Domain) -> dict[str, Callable[[float], BlockMechanism]]:
    """Return constructors of mechanisms by name, for every class that needs only a domain and an epsilon.

    Example:
        >>> import discreet as dc
        >>> make = builders(dc.Domain(range(10)))["rr"]
        >>> make(1.0).epsilon
        1.0
    """
    plain = {
        name: partial(cls, domain)
        for name, cls in BLOCK_MECHANISMS.items()
        if not (cls.needs_options() or cls.of_neighbours)
    }
    return {**plain, "unary, theta=1/2": partial(UnaryEncoding, domain, theta=0.5)}


def _best_buckets(domain: Domain, wanted: RiskTarget, limit: float) -> Allowed | None:
    """Return hashing with the number of buckets that minimises the worst-case error under both limits."""
    choices = {int(g) for g in np.geomspace(2, _MOST_BUCKETS, _BUCKET_CHOICES)}
    if wanted.error is not None:
        choices.add(min(max(int((1 - wanted.error) * wanted.users), 2), _MOST_BUCKETS))
    tried = [largest_epsilon(partial(LocalHashing, domain, g=g), wanted, limit=limit) for g in sorted(choices)]
    possible = [option for option in tried if option is not None]
    return min(possible, key=lambda option: option.mechanism.decoder.worst_case_mse(1)) if possible else None
