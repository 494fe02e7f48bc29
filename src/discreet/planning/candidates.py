"""Requirements, and the mechanisms that meet them, with what each is expected to do.

Requirements of a plan: domain, epsilon, users, the assumed distribution of their values, the target of the error.

Candidates for a plan: losses in the worst case and for the assumed distribution, report sizes, users needed.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import (
    checked_choice,
    checked_epsilon,
    checked_finite,
    checked_mass,
    checked_n,
    checked_positive,
)
from discreet.core.domain import Domain, checked_domain
from discreet.core.reports import smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms import (
    BLOCK_MECHANISMS,
    BlockDesign,
    BlockMechanism,
    PooledHashing,
    TranslateResponse,
    UnaryEncoding,
)
from discreet.mechanisms.decoders import BlockDecoder
from discreet.planning.losses import exact_l1, normal_l1, reports_for_standard_error, worst_normal_l1, worst_variance
from discreet.privacy.composition import split_epsilon
from discreet.theory.optimum import lower_bound, optimal_design, optimal_theta

Target = Literal["worst-case", "sensitive-mass", "distribution"]
"""The target of the least error: the worst distribution, one that is uniform inside each class, or a known one."""

ASSUMED_SENSITIVE_MASS = 0.05

COUNTED = 100_000
"""Reports whose cost is reckoned where their number is not known."""

WITHIN = 0.05
"""The default of ``within``: the additional error, as a share of the least, that a smaller report may cost."""


class Wishes(TypedDict, total=False):
    """Wishes for a mechanism, beside domain, epsilon and users; `discreet.best` says what each is."""

    target: Target | None
    sensitive_mass: float | None
    p: Any
    largest_report: float | None
    most_seconds: float | None
    reports_per_user: int
    within: float


# So many that what lasts in an error counts in full; the others only scale.
_VERY_MANY = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """The assumed distribution of people's values.

    Attributes:
        p: ``(|X|,)`` the distribution of their values.
        mass: p(X_S), the share of them whose value is sensitive.
        source: ``"assumed"`` for the default mass, ``"mass"`` for the caller's; p is then uniform inside each class.
            ``"distribution"`` for the caller's p.

    Example:
        >>> domain = Domain(["clinic", "park", "mall"], sensitive=["clinic"])
        >>> people = People.of(domain, 0.2, None)
        >>> people.p.tolist(), people.source
        ([0.2, 0.4, 0.4], 'mass')
    """

    p: FloatArray
    mass: float
    source: Literal["assumed", "mass", "distribution"]

    @property
    def even(self) -> bool:
        """True if p is even inside each class because only its mass is known."""
        return self.source != "distribution"

    @classmethod
    def of(cls, domain: Domain, sensitive_mass: float | None, p: Any) -> "People":
        """Return the assumed distribution from what is known.

        Raises:
            ParameterError: if it is out of range, or both were given.
        """
        if checked_domain(domain).sensitive_count == 0:
            raise ParameterError("there is nothing to compare where no value is sensitive.")
        if p is not None:
            if sensitive_mass is not None:
                raise ParameterError("sensitive_mass follows from p; give one of the two.")
            p = domain.check_distribution(p)
            p = p / p.sum()
            mass = min(float(p[domain.sensitive].sum()), 1.0) if domain.clear_count else 1.0
            return cls(p, mass, "distribution")
        mass = (
            (1.0 if domain.clear_count == 0 else ASSUMED_SENSITIVE_MASS) if sensitive_mass is None else sensitive_mass
        )
        mass = checked_mass(mass, domain.clear_count)
        return cls(even(domain, mass), mass, "assumed" if sensitive_mass is None else "mass")


def even(domain: Domain, mass: float) -> FloatArray:
    """Return the ``(|X|,)`` distribution with this sensitive mass that is uniform inside each class.

    Example:
        >>> even(Domain(range(4), sensitive=[0]), mass=0.4).round(2).tolist()
        [0.4, 0.2, 0.2, 0.2]
    """
    return np.where(domain.sensitive, mass / domain.sensitive_count, (1 - mass) / max(domain.clear_count, 1))


@dataclass(frozen=True, eq=False)
class Requirements:
    """Requirements of a plan.

    With t reports per user each of them has epsilon/t, and errors are those of n t reports on n t values that are
    independent, over people and over time: an estimate of the average distribution over the t occasions. If a person's
    value stays the same, the noise still averages out over their reports, but the error of having asked only n people
    does not.

    Attributes:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise to each user, all reports together, in nats.
        users: n; None for any number, so many that only what lasts in an error counts beside what all of them have.
        people: what is assumed of them.
        target: what the error should be least for.
        reports_per_user: t.
        largest_report: most bytes that a report may take; None for any.
        most_seconds: that counting all reports and decoding their tally may take on one core; None for any.
        standard_error: wanted for every value; None if none is.
        within: how much more error than the least, as a share of it, is little enough for a smaller report.

    Example:
        >>> domain = Domain(range(4), sensitive=[0])
        >>> requirements = Requirements(domain, 1.0, 500, People.of(domain, None, None), reports_per_user=4)
        >>> requirements.epsilon_each, requirements.reports
        (0.25, 2000)
    """

    domain: Domain
    epsilon: float
    users: int | None
    people: People
    target: Target = "worst-case"
    reports_per_user: int = 1
    largest_report: float | None = None
    standard_error: float | None = None
    within: float = 0.0
    most_seconds: float | None = None

    @classmethod
    def of(
        cls,
        domain: Domain,
        epsilon: float,
        users: int | None,
        *,
        target: Target | None = None,
        sensitive_mass: float | None = None,
        p: Any = None,
        **limits: Any,
    ) -> "Requirements":
        """Return requirements; without a target the error should be least for what is known of the people.

        Args:
            domain: as in the attributes.
            epsilon: in nats.
            users: or None.
            target: or None: for their distribution or mass if that is known, else the worst case.
            sensitive_mass: p(X_S) of the people, if that is known.
            p: their distribution, if that is known.
            limits: the other attributes.
        """
        people, limits = People.of(domain, sensitive_mass, p), {"within": WITHIN, **limits}
        known: dict[str, Target] = {"assumed": "worst-case", "mass": "sensitive-mass", "distribution": "distribution"}
        return cls(domain, epsilon, users, people, known[people.source] if target is None else target, **limits)

    def __post_init__(self) -> None:
        """Refuse requirements that nothing can meet.

        Raises:
            ParameterError: if a number is out of range, or the target is not one or lacks what it is about.
        """
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        checked_choice("target", self.target, get_args(Target))
        if self.target == "distribution" and self.people.even:
            raise ParameterError("target 'distribution' needs the distribution p; give it or choose another target.")
        if self.target == "sensitive-mass" and not self.people.even:
            raise ParameterError("target 'sensitive-mass' takes a mass alone; with p choose target 'distribution'.")
        for name in ("largest_report", "standard_error", "most_seconds"):
            number = getattr(self, name)
            if number is not None:
                checked_positive(name, number)
        checked_finite("within", self.within)
        _ = self.epsilon_each, self.reports

    @cached_property
    def epsilon_each(self) -> float:
        """epsilon/t, the promise of one report; never more."""
        return split_epsilon(self.epsilon, self.reports_per_user)

    @cached_property
    def reports(self) -> int:
        """The number of reports, n t."""
        return checked_n(checked_n(_VERY_MANY if self.users is None else self.users) * self.reports_per_user)

    @property
    def counted(self) -> int:
        """The number of reports whose cost is reckoned: all of them, or `COUNTED` of any number."""
        return COUNTED if self.users is None else self.reports

    @property
    def crowd(self) -> str:
        """The number of users in words."""
        return "any number of users" if self.users is None else f"{self.users:,} users"

    @property
    def target_p(self) -> FloatArray | None:
        """The distribution whose error should be least; None for the worst one."""
        return None if self.target == "worst-case" else self.people.p


PLANES: dict[int, tuple[int, ...]] = {
    13: (0, 1, 3, 9),
    21: (0, 1, 4, 14, 16),
    31: (1, 5, 11, 24, 25, 27),
    57: (0, 1, 3, 13, 32, 36, 43, 52),
    73: (0, 1, 3, 7, 15, 31, 36, 54, 63),
    91: (0, 1, 3, 9, 27, 49, 56, 61, 77, 81),
    133: (0, 1, 3, 12, 20, 34, 38, 81, 88, 94, 104, 109),
    183: (0, 1, 3, 16, 23, 28, 42, 76, 82, 86, 119, 137, 154, 175),
}
"""Projective planes with as many points as a byte has room for [Singer 1938]: every difference modulo their number is
that of exactly one pair of the line."""

# Of fewer values Paley's smallest set is a plane too.
_FEWEST_POINTS = 8
# Nanoseconds of an addition to one of few counts, and what a million of them add to it: they leave the caches.
_ADDITION, _PER_MILLION = 1.0, 1.0
# What the pool adds to an error, at most, where there are enough functions.
_LITTLE = 0.01
_FORMATS = {"theta": ".4f", "sensitive_mass": ".4g"}


@dataclass(frozen=True, slots=True)
class Losses:
    """Expected losses of the linear estimate, in the worst case or for one distribution.

    Attributes:
        mse: mean squared error E ||p_hat - p||^2 (the squared l2 loss), exactly, for this number of reports.
        l1: E ||p_hat - p||_1 in the limit of many reports: sqrt(2/pi) times the summed standard deviations.
        exact_l1: the same exactly, for this number of reports, where that is known (see `losses.exact_l1`); in the
            worst case at the distribution that is worst in the limit. None elsewhere.
        standard_error: the largest one of any value.
        excess: ``mse`` divided by the least one of any mechanism with this promise; None where that is not known, or 0:
            nothing is left to estimate where all have the one sensitive value.
        pool_bias: the part of ``mse`` that more reports do not lessen, because all of them share a pool of functions.
    """

    mse: float
    l1: float
    exact_l1: float | None
    standard_error: float
    excess: float | None
    pool_bias: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """The candidate of one mechanism: its losses, report sizes and users needed.

    Attributes:
        name: its plan name, with the option that was chosen.
        mechanism: itself; its epsilon is that of one report.
        worst: largest losses over all distributions.
        assumed: losses for the people as they are assumed.
        sensitive_error: standard error of a rare sensitive value at the assumed mass.
        clear_error: of a value that may go in clear, at its even share; None if there is none.
        bytes: expected size of a report at that mass.
        largest_bytes: size of the largest report.
        seconds: of one core, roughly, that counting all reports and decoding the tally once take the collector.
        fits: whether the largest report, and these seconds, are allowed.
        uniform_mse: mean squared error where all values are equally frequent.
        users_needed: least number of users for the wanted standard error under the target; None if none is wanted, or
            no number of them is enough.
    """

    name: str
    mechanism: BlockMechanism
    worst: Losses
    assumed: Losses
    sensitive_error: float
    clear_error: float | None
    bytes: float
    largest_bytes: int
    uniform_mse: float
    seconds: float = 0.0
    fits: bool = True
    users_needed: int | None = None

    @property
    def worst_mse(self) -> float:
        """Return the largest mean squared error of the linear estimate over all distributions."""
        return self.worst.mse

    @property
    def assumed_mse(self) -> float:
        """Return the mean squared error for the people as they are assumed."""
        return self.assumed.mse

    @property
    def options(self) -> str:
        """Return the parameter that was chosen, as text; empty if there is none."""
        settings = self.mechanism.settings.items()
        return ", ".join(f"{name}={number:{_FORMATS.get(name, '')}}" for name, number in settings)

    @property
    def title(self) -> str:
        """The name, with the parameter that was chosen."""
        return f"{self.name} ({self.options})" if self.options else self.name

    def error(self, *, worst: bool) -> float:
        """Return the mean squared error that counts."""
        return self.worst.mse if worst else self.assumed.mse


@dataclass(frozen=True, slots=True)
class LeastErrors:
    """The least mean squared errors that any unbiased estimate of any common mechanism with this promise has.

    Attributes:
        worst: M*/n, the least worst case; None for a domain of one value.
        assumed: the least one at the assumed mass, even inside each class; None for a given distribution.
    """

    worst: float | None
    assumed: float | None


def bounds(requirements: Requirements) -> LeastErrors:
    """Return the lower bounds for the reports that are required."""
    domain, n = requirements.domain, requirements.reports
    if domain.size == 1:
        return LeastErrors(None, None)
    instance = domain.sensitive_count, domain.size, requirements.epsilon_each
    assumed = None
    if requirements.people.even:
        assumed = optimal_design(*instance, sensitive_mass=requirements.people.mass).value / n
    return LeastErrors(lower_bound(*instance, n), assumed)


def eligible_mechanisms(requirements: Requirements) -> Iterator[tuple[str, BlockMechanism]]:
    """Yield every mechanism that a domain and an epsilon are enough for, with a name; tuned for the target."""
    domain, epsilon = requirements.domain, requirements.epsilon_each
    # What parameters are tuned for; None for the worst case.
    mass = None if requirements.target == "worst-case" else requirements.people.mass
    for name, cls in BLOCK_MECHANISMS.items():
        if not (cls.needs_options() or cls.of_neighbours):
            # Those of other packages need not be there for every domain.
            with suppress(ParameterError) if name not in BLOCK_MECHANISMS.built_in else nullcontext():
                mechanism = cls(domain, epsilon, **cls.proposed)
                yield name, _few_functions(requirements, mechanism) if mechanism.numbers.pool_bias else mechanism
    v, w = domain.sensitive_count, domain.size
    thetas = {"theta=1/2": 0.5}
    if w > 1:
        thetas["best theta"] = optimal_theta(v, w, epsilon, sensitive_mass=mass).theta
    for name, theta in thetas.items():
        # At a very large epsilon its bits would be too rare to be drawn.
        with suppress(ParameterError):
            yield f"unary, {name}", UnaryEncoding(domain, epsilon, theta=theta, **UnaryEncoding.proposed)
    if planes := [plane for plane in PLANES.items() if plane[0] >= v >= _FEWEST_POINTS]:
        made_planes = (TranslateResponse(domain, epsilon, modulus=points, base=line) for points, line in planes)
        n, p = requirements.reports, requirements.target_p
        yield "translates, best plane", min(made_planes, key=lambda plane: expected_mse(plane, n, p))
    if mass is not None and domain.clear_count and v:
        yield "design, known mass", BlockDesign(domain, epsilon, sensitive_mass=mass)


def with_defaults(mechanism: BlockMechanism) -> Iterator[tuple[BlockMechanism, str]]:
    """Yield a mechanism with the defaults of what is proposed, and their names; nothing if it is the same."""
    defaults: dict[str, Any] = {
        part.name: part.default for part in mechanism.options() if part.name in mechanism.proposed
    }
    usual = replace(mechanism, **defaults)
    if usual != mechanism:
        yield usual, " and ".join(defaults)


def _few_functions(requirements: Requirements, most: BlockMechanism) -> BlockMechanism:
    """Return a pool that adds at most a hundredth to the error for a given distribution, or else the default one.

    Nothing smaller is chosen where only a mass is known: if it is spread evenly, what functions cost is least.
    """
    n, p = requirements.reports, requirements.target_p
    if p is None or requirements.people.even:
        return most
    pool_bias = pool_bias_mse(most, n, p)
    rest = expected_mse(most, n, p) - pool_bias
    if pool_bias >= _LITTLE * rest:
        return most
    buckets, functions = int(most.settings["g"]), int(most.settings["m"])
    needed = max(ceil(functions * pool_bias / (_LITTLE * rest)), 1)
    few = min(1 << (needed - 1).bit_length(), functions)
    return PooledHashing(requirements.domain, requirements.epsilon_each, g=buckets, functions=few)


def pool_bias_mse(mechanism: BlockMechanism, n: int, p: FloatArray | None) -> float:
    """Return the part of `expected_mse` that more reports do not lessen."""
    moments = mechanism.numbers
    return moments.worst_pool_bias(n) if p is None else moments.pool_bias_error(n, p[mechanism.domain.sensitive])


def expected_mse(mechanism: BlockMechanism, n: int, p: FloatArray | None) -> float:
    """Return the mean squared error for a distribution, or the worst one if that is None."""
    # Rounding may take what vanishes (everybody has the one sensitive value) below 0.
    return mechanism.decoder.worst_case_mse(n) if p is None else max(mechanism.decoder.mse(n, p), 0.0)


def largest_bytes(mechanism: BlockMechanism) -> int:
    """Return the size of the largest report of a mechanism."""
    block = sum(column.bytes for column in mechanism.block_columns)
    in_clear = smallest_unsigned(mechanism.domain.size).itemsize if mechanism.domain.clear_count else 0
    return block + in_clear if mechanism.clear_blocks else max(block, in_clear)


def collector_seconds(requirements: Requirements, mechanism: BlockMechanism) -> float:
    """Return roughly the seconds of one core that counting all reports and decoding their tally take."""
    law = mechanism.law
    block, tally = getattr(law, "additions", (law.size * float(law.inclusion), law.size))
    each = _ADDITION + _PER_MILLION * mechanism.domain.size / 1e6
    return (requirements.counted * block + tally) * each / 1e9


def fits(requirements: Requirements, mechanism: BlockMechanism) -> bool:
    """Return true if reports are as small, and counted as quickly, as is required."""
    size, seconds = requirements.largest_report, requirements.most_seconds
    small = size is None or largest_bytes(mechanism) <= size
    return small and (seconds is None or collector_seconds(requirements, mechanism) <= seconds)


def in_seconds(seconds: float) -> str:
    """Return seconds with two digits, for a table."""
    return "<0.01" if seconds < 0.01 else f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"


def none_fits(requirements: Requirements, candidates: Sequence[Candidate]) -> str:
    """Return the sentence of a refusal where no candidate fits."""
    size, seconds = requirements.largest_report, requirements.most_seconds
    limits = [] if size is None else [f"reports of at most {size:g} bytes"]
    limits += [] if seconds is None else [f"at most {seconds:g} s of the collector's"]
    smallest = min(row.largest_bytes for row in candidates)
    small = [row for row in candidates if size is None or row.largest_bytes <= size]
    quickest = (
        f", and the quickest of those small enough {in_seconds(min(row.seconds for row in small))} s" if small else ""
    )
    return f"no mechanism has {' and '.join(limits)}; the smallest takes {smallest}{quickest}."


def candidate(requirements: Requirements, name: str, mechanism: BlockMechanism, least: LeastErrors) -> Candidate:
    """Return the candidate of a mechanism under some requirements."""
    domain, people, n = requirements.domain, requirements.people, requirements.reports
    clear_error = None
    if domain.clear_count:
        share, code = (1 - people.mass) / domain.clear_count, domain.clear_codes[0]
        constant, slope = (float(part[code]) for part in BlockDecoder.checked(mechanism).variance_of(people.mass))
        clear_error = sqrt((constant + slope * share - share**2) / n)
    needed = None
    if requirements.standard_error is not None:
        needed = _users_needed(requirements, mechanism, requirements.standard_error)
    return Candidate(
        name,
        mechanism,
        _worst_losses(mechanism, n, least.worst),
        _losses(mechanism, n, people.p, least.assumed),
        _rare_error(requirements, mechanism),
        clear_error,
        mechanism.bytes_per_report(people.mass),
        largest_bytes(mechanism),
        expected_mse(mechanism, n, np.full(domain.size, 1 / domain.size)),
        collector_seconds(requirements, mechanism),
        fits(requirements, mechanism),
        needed,
    )


def _rare_error(requirements: Requirements, mechanism: BlockMechanism) -> float:
    """Return the standard error of a sensitive value that nobody has; its share is the others'."""
    domain, people, n = requirements.domain, requirements.people, requirements.reports
    constant = float(BlockDecoder.checked(mechanism).variance_of(people.mass)[0][domain.sensitive_codes[0]])
    others = people.p[domain.sensitive]
    others[0] = 0.0
    others *= people.mass / max(float(others.sum()), 1e-300)
    return sqrt(max(constant, 0.0) / n + (1 - 1 / n) * float(mechanism.numbers.pool_bias.each(others)[0]))


def _users_needed(requirements: Requirements, mechanism: BlockMechanism, wanted: float) -> int | None:
    # Where an error lasts, no number of users may be enough; elsewhere to want too little is a mistake.
    with suppress(ParameterError) if mechanism.numbers.pool_bias else nullcontext():
        reports = reports_for_standard_error(mechanism, wanted, p=requirements.target_p)
        return -(-reports // requirements.reports_per_user)
    return None


def _losses(mechanism: BlockMechanism, n: int, p: FloatArray, least: float | None) -> Losses:
    mse, errors = expected_mse(mechanism, n, p), mechanism.decoder.standard_errors(n, p)
    l1, exact = normal_l1(mechanism, n, p), _exact_l1(mechanism, n, p)
    return Losses(mse, l1, exact, float(np.max(errors)), mse / least if least else None, pool_bias_mse(mechanism, n, p))


def _worst_losses(mechanism: BlockMechanism, n: int, least: float | None) -> Losses:
    mse, l1 = mechanism.decoder.worst_case_mse(n), worst_normal_l1(mechanism, n)
    exact = _exact_l1(mechanism, n, even(mechanism.domain, l1.sensitive_mass))
    error = sqrt(worst_variance(mechanism, n) / n)
    return Losses(mse, l1.value, exact, error, mse / least if least else None, pool_bias_mse(mechanism, n, None))


def _exact_l1(mechanism: BlockMechanism, n: int, p: FloatArray) -> float | None:
    try:
        return exact_l1(mechanism, n, p)
    except ParameterError:
        return None
