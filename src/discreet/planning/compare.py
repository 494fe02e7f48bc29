"""Every mechanism side by side: exact errors, bytes, and which is best."""

from dataclasses import dataclass

import numpy as np

from discreet.core.domain import Domain
from discreet.core.exact import checked_n
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, UnaryEncoding

ASSUMED_SENSITIVE_MASS = 0.05


@dataclass(frozen=True, slots=True)
class Prospect:
    """What one mechanism offers.

    Attributes:
        name: its plan name, with the option that was chosen.
        mechanism: itself.
        worst_mse: largest mean squared error of the linear estimate over all distributions.
        assumed_mse: the same error where the given sensitive mass is spread evenly, and the rest too.
        sensitive_error: standard error of a rare sensitive value at that mass.
        clear_error: of a value that may go in clear, at its even share; None if there is none.
        bytes: expected size of a report at that mass.
    """

    name: str
    mechanism: BlockMechanism
    worst_mse: float
    assumed_mse: float
    sensitive_error: float
    clear_error: float | None
    bytes: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All prospects, and the two recommendations.

    Attributes:
        prospects: one per mechanism.
        sensitive_mass: the share of people with a sensitive value that was given or assumed.
        assumed: whether nobody gave it.
        best_worst: the one with the least worst-case error.
        best_assumed: the one with the least error at the sensitive mass.
    """

    prospects: tuple[Prospect, ...]
    sensitive_mass: float
    assumed: bool
    best_worst: Prospect
    best_assumed: Prospect


def compare(domain: Domain, epsilon: float, users: int, *, sensitive_mass: float | None = None) -> Comparison:
    """Compare every mechanism on a domain.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        users: number of reports.
        sensitive_mass: p(X_S), the share of people whose value is sensitive; None to assume 5% (1 if every value is
            sensitive).

    Raises:
        ParameterError: if a number is out of range.
    """
    n = checked_n(users)
    assumed = sensitive_mass is None
    if sensitive_mass is None:
        sensitive_mass = 1.0 if domain.clear_count == 0 else ASSUMED_SENSITIVE_MASS
    _check_mass(domain, sensitive_mass)
    prospects = tuple(_prospect(name, made, n, sensitive_mass) for name, made in _candidates(domain, epsilon))
    return Comparison(
        prospects,
        sensitive_mass,
        assumed,
        min(prospects, key=lambda prospect: prospect.worst_mse),
        min(prospects, key=lambda prospect: prospect.assumed_mse),
    )


def _check_mass(domain: Domain, mass: float) -> None:
    if not 0 <= mass <= 1:
        raise ParameterError(f"sensitive_mass must be between 0 and 1, got sensitive_mass={mass!r}.")
    if domain.clear_count == 0 and mass != 1:
        raise ParameterError("sensitive_mass must be 1 where every value is sensitive; leave it out.")
    if domain.sensitive_count == 0:
        raise ParameterError("there is nothing to compare where no value is sensitive.")


def _candidates(domain: Domain, epsilon: float) -> list[tuple[str, BlockMechanism]]:
    made = [(name, cls(domain, epsilon)) for name, cls in BLOCK_MECHANISMS.items()]  # type: ignore[call-arg]
    return [*made, ("unary, theta=1/2", UnaryEncoding(domain, epsilon, theta=0.5))]


def _prospect(name: str, mechanism: BlockMechanism, n: int, mass: float) -> Prospect:
    domain, moments = mechanism.domain, mechanism.moments
    share = (1 - mass) / domain.clear_count if domain.clear_count else 0.0
    squares = mass**2 / domain.sensitive_count + (share**2 * domain.clear_count)
    rare, _ = moments.sensitive_variance(mass)
    return Prospect(
        name,
        mechanism,
        mechanism.worst_case_mse(n),
        moments.mean_squared_error(n, mass, squares),
        float(np.sqrt(rare / n)),
        float(np.sqrt((share / moments.truth - share**2) / n)) if domain.clear_count else None,
        mechanism.bytes_per_report(mass),
    )


def best(domain: Domain, epsilon: float, *, sensitive_mass: float | None = None) -> BlockMechanism:
    """Return the mechanism with the least error on a domain.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        sensitive_mass: p(X_S), the share of people whose value is sensitive, if it is roughly known; None for the least
            worst-case error.
    """
    found = compare(domain, epsilon, 1, sensitive_mass=sensitive_mass)
    return (found.best_worst if sensitive_mass is None else found.best_assumed).mechanism
