"""Candidates for a plan: each mechanism with its errors, report sizes, collector's time and number of users needed."""

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from math import sqrt

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.core.reports import smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms import (
    BLOCK_MECHANISMS,
    BlockDesign,
    BlockMechanism,
    ProjectiveResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.mechanisms.laws.projective import best_space, spaces_for
from discreet.planning.losses import reports_for_standard_error, worst_variance
from discreet.planning.requirements import Requirements
from discreet.theory.optimum import lower_bound, optimal_design, optimal_theta

# Nanoseconds per addition to one of few counts, and the increase per million counts, which exceed the caches.
_ADDITION, _PER_MILLION = 1.0, 1.0
# Projective blocks are tuned for the target; with q = 2 they always have a smaller error than Hadamard response.
_ELSEWHERE = ("projective", "hadamard")
# Bytes of short reports.
_SIZES = (4, 2, 1)
_FORMATS = {"theta": ".4f", "sensitive_mass": ".4g"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism with the exact errors of its linear estimate under given requirements.

    Mean squared errors are E ||p_hat - p||^2, summed over the values, for the required number of reports.

    Attributes:
        name: its name in plans, with the chosen option.
        mechanism: the mechanism; its epsilon is for one report.
        worst_mse: largest mean squared error over all distributions.
        assumed_mse: mean squared error for the people's distribution, known or assumed.
        sensitive_error: largest standard error of a sensitive value for the people's distribution.
        clear_error: largest standard error of another value; None if every value is sensitive.
        standard_error: largest standard error of any value for the target.
        excess: mean squared error for the target, divided by the smallest possible one; None if unknown.
        bytes: expected size of a report for the people's sensitive mass.
        largest_bytes: size of the largest report.
        seconds: rough time of one core, for counting all reports and decoding the tally.
        fits: whether the largest report and the seconds are within the required limits.
        users_needed: smallest number of users for the wanted standard error under the target; None if no error is
            wanted.
    """

    name: str
    mechanism: BlockMechanism
    worst_mse: float
    assumed_mse: float
    sensitive_error: float
    clear_error: float | None
    standard_error: float
    excess: float | None
    bytes: float
    largest_bytes: int
    seconds: float
    fits: bool
    users_needed: int | None = None

    @property
    def options(self) -> str:
        """The options of a candidate's mechanism as text; empty if it has no options."""
        settings = self.mechanism.settings.items()
        return ", ".join(f"{name}={number:{_FORMATS.get(name, '')}}" for name, number in settings)

    @property
    def title(self) -> str:
        """The name of a candidate's mechanism, with its options in parentheses."""
        return f"{self.name} ({self.options})" if self.options else self.name


def least_error(requirements: Requirements) -> float | None:
    """Return the smallest mean squared error of any unbiased estimate for the target; None if it is not known.

    It holds for every mechanism with this epsilon that all users share. It is not known for a given distribution.
    """
    domain, n = requirements.domain, requirements.reports
    if domain.size == 1 or requirements.target == "distribution":
        return None
    instance = domain.sensitive_count, domain.size, requirements.epsilon_each
    if requirements.target == "worst-case":
        return lower_bound(*instance, n)
    return optimal_design(*instance, sensitive_mass=requirements.mass).value / n


def eligible_mechanisms(requirements: Requirements) -> Iterator[tuple[str, BlockMechanism]]:
    """Yield all mechanisms that need only a domain and an epsilon, tuned for the target, with their names."""
    domain, epsilon = requirements.domain, requirements.epsilon_each
    # Parameters are tuned for this mass; None for the worst case.
    mass = None if requirements.target == "worst-case" else requirements.mass
    for name, cls in BLOCK_MECHANISMS.items():
        if not (cls.needs_options() or cls.of_neighbours or name in _ELSEWHERE):
            # A mechanism from another package may not support every domain.
            with suppress(ParameterError) if name not in BLOCK_MECHANISMS.built_in else nullcontext():
                yield name, cls(domain, epsilon, **cls.proposed)
    thetas = {"theta=1/2": 0.5}
    if domain.size > 1:
        thetas["best theta"] = optimal_theta(domain.sensitive_count, domain.size, epsilon, sensitive_mass=mass).theta
    for name, theta in thetas.items():
        # At a very large epsilon its noise bits would be too rare for the sampler.
        with suppress(ParameterError):
            yield f"unary, {name}", UnaryEncoding(domain, epsilon, theta=theta, **UnaryEncoding.proposed)
    yield from _short(domain, epsilon, mass)
    if mass is not None and domain.clear_count:
        yield "design, known mass", BlockDesign(domain, epsilon, sensitive_mass=mass)


def _short(domain: Domain, epsilon: float, mass: float | None) -> Iterator[tuple[str, BlockMechanism]]:
    """Yield mechanisms with short reports: the best subsets of four bytes, and the best projective blocks of each size.

    The subsets are left out if the best subsets of all have reports as short.
    """
    subset = SubsetSelection(domain, epsilon)
    (members,) = subset.law.columns
    k = _SIZES[0] * subset.law.count // members.bytes
    # Much smaller subsets than the best have far larger errors.
    if 1 < k < subset.law.count <= 2 * k:
        yield f"subset, {_SIZES[0]}-byte", SubsetSelection(domain, epsilon, k=k)
    spaces, sizes = spaces_for(domain.sensitive_count), dict[tuple[int, int] | None, int]()
    for size in _SIZES:
        small = spaces[:, spaces[2] <= 1 << 8 * size]
        sizes.setdefault(best_space(small, domain.sensitive_count, domain.clear_count, epsilon, mass), size)
    for space, size in sizes.items():
        if space is not None:
            name = "projective" if size == _SIZES[0] else f"projective, {size}-byte"
            yield name, ProjectiveResponse(domain, epsilon, q=space[0], t=space[1])


def expected_mse(mechanism: BlockMechanism, n: int, p: FloatArray | None) -> float:
    """Return the mean squared error of n reports for a distribution p, or for the worst distribution."""
    # Rounding may make an error of 0 negative (if everybody has the only sensitive value).
    return mechanism.decoder.worst_case_mse(n) if p is None else max(mechanism.decoder.mse(n, p), 0.0)


def largest_bytes(mechanism: BlockMechanism) -> int:
    """Return the size of the largest report of a mechanism."""
    block = sum(column.bytes for column in mechanism.block_columns)
    in_clear = smallest_unsigned(mechanism.domain.size).itemsize if mechanism.domain.clear_count else 0
    return block + in_clear if mechanism.clear_blocks else max(block, in_clear)


def collector_seconds(requirements: Requirements, mechanism: BlockMechanism) -> float:
    """Return the rough time of one core, in seconds, for counting all reports and decoding their tally."""
    law = mechanism.law
    block, tally = getattr(law, "additions", (law.size * float(law.inclusion), law.size))
    each = _ADDITION + _PER_MILLION * mechanism.domain.size / 1e6
    return (requirements.counted * block + tally) * each / 1e9


def fits(requirements: Requirements, mechanism: BlockMechanism) -> bool:
    """Return true if a mechanism's reports are small enough, and can be counted quickly enough."""
    size, seconds = requirements.largest_report, requirements.most_seconds
    small = size is None or largest_bytes(mechanism) <= size
    return small and (seconds is None or collector_seconds(requirements, mechanism) <= seconds)


def candidate(requirements: Requirements, name: str, mechanism: BlockMechanism, least: float | None) -> Candidate:
    """Return the candidate for a mechanism under given requirements; ``least`` is `least_error`."""
    domain, n, p = requirements.domain, requirements.reports, requirements.distribution
    errors = mechanism.decoder.standard_errors(n, p)
    return Candidate(
        name,
        mechanism,
        expected_mse(mechanism, n, None),
        expected_mse(mechanism, n, p),
        float(errors[domain.sensitive].max()),
        float(errors[~domain.sensitive].max()) if domain.clear_count else None,
        sqrt(worst_variance(mechanism) / n) if requirements.target_p is None else float(errors.max()),
        expected_mse(mechanism, n, requirements.target_p) / least if least else None,
        mechanism.bytes_per_report(requirements.mass),
        largest_bytes(mechanism),
        collector_seconds(requirements, mechanism),
        fits(requirements, mechanism),
        _users_needed(requirements, mechanism),
    )


def _users_needed(requirements: Requirements, mechanism: BlockMechanism) -> int | None:
    if (wanted := requirements.standard_error) is None:
        return None
    reports = reports_for_standard_error(mechanism, wanted, p=requirements.target_p)
    return -(-reports // requirements.reports_per_user)
