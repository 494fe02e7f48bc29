"""Planning for what is published: the largest local epsilon of each mechanism whose shuffled batch keeps a central one.

Whoever sees a tally, an estimate or a batch without names and order learns less of each person than the local epsilon
says (`discreet.privacy.shuffling`). So for the same central promise each report may say more, and the error is less.
The collector sees reports before they are shuffled: to her the local epsilon is all there is, so that it needs a limit.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import exp, sqrt

import numpy as np

from discreet.core.arithmetic import bisected
from discreet.core.checks import checked_between, checked_positive, checked_whole
from discreet.core.domain import Domain
from discreet.core.guarantee import held_after
from discreet.core.result_table import NOWHERE, Cells, ResultColumn, ResultTable, rows_of, text_column
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, UnaryEncoding
from discreet.planning.candidates import Candidate, LeastErrors, Requirements, candidate, none_fits
from discreet.planning.compare import compare_mechanisms, cost, recommended
from discreet.privacy.shuffling import ShuffledGuarantee, shuffled
from discreet.risk.planning import builders

# Of the largest local epsilon: to 5 digits of it.
_HALVINGS = 15
# From below: a batch whose noise hides nobody takes long to judge.
_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class CentralTarget:
    """A central promise: for whoever sees a shuffled batch, or what is computed from it.

    Attributes:
        epsilon: the central epsilon among sensitive values, in nats.
        delta: of the central epsilons; the chance to learn more than they say is another one, which is larger.
        towards: the central epsilon towards values in clear, in nats; None for ``epsilon``.

    Raises:
        ParameterError: if a number is out of range.

    Example:
        >>> CentralTarget(1.0, delta=1e-8, towards=0.5).least
        0.5
    """

    epsilon: float
    delta: float = 1e-6
    towards: float | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that promise nothing."""
        object.__setattr__(self, "epsilon", checked_positive("central epsilon", self.epsilon))
        object.__setattr__(self, "delta", checked_between("delta", self.delta))
        if self.towards is not None:
            object.__setattr__(self, "towards", checked_positive("towards", self.towards))

    @property
    def most_towards(self) -> float:
        """The central epsilon towards values in clear, in nats."""
        return self.epsilon if self.towards is None else self.towards

    @property
    def least(self) -> float:
        """The local epsilon that keeps both promises without shuffling, in nats, whatever the domain."""
        return min(self.epsilon, self.most_towards)

    def unshuffled(self, domain: Domain) -> float:
        """Return the largest local epsilon that keeps the promises without shuffling, on a domain."""
        among = [self.epsilon] if domain.sensitive_count > 1 else []
        towards = [self.most_towards] if domain.clear_count else []
        return min([*among, *towards], default=self.least)

    def broken_by(self, mechanism: BlockMechanism, users: int) -> str:
        """Return the promise that a shuffled batch does not keep, ``"towards"`` or ``"among"``; empty if it keeps both.

        Delta counts with its certified upper end.
        """
        guarantee, domain = shuffled(mechanism, users, self.delta), mechanism.domain
        if guarantee.local <= self.unshuffled(domain):
            return ""
        if domain.clear_count and guarantee.curve_towards.delta(self.most_towards)[1] > self.delta:
            return "towards"
        among = domain.sensitive_count > 1 and guarantee.curve_among.delta(self.epsilon)[1] > self.delta
        return "among" if among else ""


@dataclass(frozen=True, slots=True)
class CentralOption:
    """A mechanism at the largest local epsilon that keeps a central promise.

    Attributes:
        candidate: the mechanism with its errors and report sizes.
        central: its guarantees, shuffled.
        limit: which promise is the limit: ``"local"``, ``"among"`` or ``"towards"``.
        error: root mean squared error of the linear estimate, for the people asked for.
        gain: the least error of local promises alone, divided by ``error``.
    """

    candidate: Candidate
    central: ShuffledGuarantee
    limit: str
    error: float
    gain: float

    @property
    def local(self) -> float:
        """The local epsilon as realised, in nats."""
        return self.central.local


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CentralPlan(ResultTable):
    """The options for a central promise.

    Attributes:
        requirements: the collection; its epsilon is the limit of the local one.
        wanted: the promises.
        options: one per mechanism, those with the least error first.
        best: the recommended one: the smallest report whose error is close to the least.
        local_only: the least root mean squared error of a mechanism that keeps the promises without shuffling.

    Example:
        >>> import discreet as dc
        >>> from discreet.planning.candidates import People
        >>> domain = dc.Domain(range(100))
        >>> asked = Requirements(domain, 4.0, 10_000, People.of(domain, None, None))
        >>> plan = plan_central(asked, CentralTarget(1.0))
        >>> plan.best.candidate.name, plan.best.limit, round(plan.best.gain, 1)
        ('subset', 'local', 6.9)
    """

    requirements: Requirements
    wanted: CentralTarget
    options: tuple[CentralOption, ...]
    best: CentralOption
    local_only: float

    @property
    def heading(self) -> str:
        """The promises and the number of users, in a line."""
        asked, wanted = self.requirements, self.wanted
        towards = f", towards {wanted.most_towards:g}" if asked.domain.clear_count else ""
        return (
            f"CentralPlan({asked.domain!r}, {asked.crowd}, central {wanted.epsilon:g}{towards}, "
            f"delta {wanted.delta:g}, local at most {asked.epsilon:g})"
        )

    def stated(self) -> list[ResultColumn]:
        """Return a row per mechanism; epsilons in nats, sizes in bytes."""
        rows = self.options
        towards = [row.central.towards for row in rows]
        numbers = {
            "among": [row.central.among.upper for row in rows],
            "towards": [np.nan if each is None else each.upper for each in towards],
            "error": [row.error for row in rows],
            "gain": [row.gain for row in rows],
        }
        return [
            text_column("mechanism", [row.candidate.name for row in rows]),
            text_column("options", [row.candidate.options for row in rows], shown=NOWHERE),
            ResultColumn("local", np.array([row.local for row in rows]), format=".4g"),
            text_column("limit", [row.limit for row in rows]),
            *(ResultColumn(name, np.array(column), format=".4g") for name, column in numbers.items()),
            ResultColumn(
                "largest_bytes",
                np.array([row.candidate.largest_bytes for row in rows]),
                "largest_bytes",
                format="",
            ),
        ]

    def _shown(self) -> tuple[Cells, str]:
        return rows_of(self.stated()), f"{self.recommendation}\n{self.collector}"

    @property
    def recommendation(self) -> str:
        """The recommended mechanism and the reason, in one sentence."""
        best, wanted = self.best, self.wanted
        name, asked = best.candidate.title, self.requirements
        long = cost(best.candidate.seconds, asked.counted)
        least = wanted.unshuffled(asked.domain)
        if asked.epsilon <= least:
            return f"The local epsilon {asked.epsilon:g} keeps the promise without shuffling: use {name}{long}."
        reason = {
            "local": "the limit of the local epsilon decides",
            "among": "the promise among sensitive values decides",
            "towards": "the promise towards values in clear decides, whose floor no number of users lowers",
        }[best.limit]
        return (
            f"Use {name} at local epsilon {best.local:.4g}: root mean squared error {best.error:.3g}, {best.gain:.1f} "
            f"times less than {self.local_only:.3g}, the least without shuffling at epsilon {least:g}; {reason}{long}."
        )

    @property
    def collector(self) -> str:
        """A sentence on what the collector could learn, who sees reports before they are shuffled."""
        return collector_sentence(self.best.local)


def collector_sentence(local: float) -> str:
    """Return a sentence on the odds of whoever sees reports before they are shuffled, at a local epsilon."""
    ratio = exp(min(local, 700.0))
    return (
        f"Whoever sees reports with names or order, as the collector does, has the local epsilon {local:.4g}: the odds "
        f"of a protected value may grow by a factor of {ratio:,.3g}, so that what was held at 1% before may be held at "
        f"{held_after(ratio)} after."
    )


def largest_local(
    build: Callable[[float], BlockMechanism], local: float, users: int, wanted: CentralTarget
) -> tuple[BlockMechanism, str]:
    """Return a mechanism with the largest local epsilon whose shuffled batch keeps a central promise, and its limit.

    Args:
        build: makes the mechanism of a local epsilon.
        local: the limit of the local epsilon, in nats.
        users: reports in the batch, one of each person.
        wanted: the central promise.

    Returns:
        the mechanism, and the promise that is the limit; see `CentralOption`.

    Raises:
        ParameterError: if there are fewer than two users.

    Example:
        >>> import discreet as dc
        >>> build = lambda epsilon: dc.RandomizedResponse(dc.Domain(range(100)), epsilon)
        >>> mechanism, limit = largest_local(build, 20.0, 10_000, CentralTarget(1.0, delta=1e-8))
        >>> round(mechanism.epsilon, 2), limit
        (5.51, 'among')
    """
    users, limit = checked_whole("users", users, 2), "local"

    def holds(epsilon: float) -> bool:
        nonlocal limit
        # At a very large epsilon some mechanisms cannot be made.
        with suppress(ParameterError):
            broken = wanted.broken_by(build(epsilon), users)
            limit = broken or limit
            return not broken
        return False

    high = min(wanted.least, local)
    low = high
    while holds(high):
        if high == local:
            return build(high), "local"
        low, high = high, min(high * _GROWTH, local)
    return build(bisected(holds, low, high, _HALVINGS)[0]), limit


def plan_central(requirements: Requirements, wanted: CentralTarget) -> CentralPlan:
    """Return, for every mechanism, the largest local epsilon that keeps a central promise, with its error and gain.

    Args:
        requirements: the collection, one report of each user; what its error should be least for.
        wanted: the promises.

    Raises:
        ParameterError: if users send several reports, there are fewer than two, no report is small enough, or a promise
            towards values in clear is named where there are none.

    Example:
        >>> from discreet.planning.candidates import People
        >>> domain = Domain(range(10), sensitive=range(4))
        >>> asked = Requirements(domain, 4.0, 10_000, People.of(domain, 0.3, None), "sensitive-mass")
        >>> plan_central(asked, CentralTarget(1.0)).best.limit in ("local", "towards")
        True
    """
    domain, users, worst = requirements.domain, requirements.users, requirements.target == "worst-case"
    if users is None:
        raise ParameterError("users must be the reports in a batch where there is a central promise, got None.")
    if requirements.reports_per_user > 1:
        raise ParameterError(
            "a central promise needs one report of each user in a batch; leave reports_per_user out, or shuffle rounds."
        )
    if wanted.towards is not None and requirements.domain.clear_count == 0:
        raise ParameterError("towards does nothing where every value is sensitive; leave it out.")
    known = (
        {"p": requirements.people.p} if not requirements.people.even else {"sensitive_mass": requirements.people.mass}
    )
    without = min(wanted.unshuffled(domain), requirements.epsilon)
    alone = compare_mechanisms(domain, without, users, target=requirements.target, **known)
    local_only = sqrt(alone.least.error(worst=worst))
    options, others = [], []
    makers = builders(domain)
    if domain.size > 1:
        makers["unary, best theta"] = partial(UnaryEncoding, domain, theta="optimal")
    for name, build in makers.items():
        mechanism, limit = largest_local(build, requirements.epsilon, users, wanted)
        plain = candidate(requirements, name, mechanism, LeastErrors(None, None))
        if plain.fits:
            error = sqrt(plain.error(worst=worst))
            central = shuffled(mechanism, users, wanted.delta)
            options.append(CentralOption(plain, central, limit, error, local_only / error if error else 1.0))
        else:
            others.append(plain)
    if not options:
        raise ParameterError(none_fits(requirements, others))
    options.sort(key=lambda option: option.error)
    chosen = recommended([option.candidate for option in options], requirements.within, worst=worst)
    best = next(option for option in options if option.candidate is chosen)
    return CentralPlan(requirements, wanted, tuple(options), best, local_only)
