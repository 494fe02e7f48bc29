"""Mechanisms of [ULDP] by name: the paper's four, and those beyond it."""

from collections.abc import Callable

from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms import BlockDesign, BlockMechanism, LocalHashing, RandomizedResponse, UnaryEncoding

PLAIN, OPTIMIZED = ("RR", "RAPPOR"), ("uRR", "uRAP")
PAPER = ("RR", "RAPPOR", "uRR", "uRAP")
DROP_BITS, BEST_THETA, HASHING = "uRAP drop-bits", "uRAP best theta", "hashing"
DESIGN, DESIGN_AT = "BlockDesign", "BlockDesign at p(X_S)"
BEYOND = (*OPTIMIZED, DROP_BITS, BEST_THETA, HASHING, DESIGN, DESIGN_AT)

NO_PRIVACY, EMPIRICAL = "no privacy", "empirical"
BOUND, UNBIASED = "lower bound", "unbiased"
"""References, and the estimators that stand for them: the users' own frequencies; the best unbiased estimate."""

_Maker = Callable[[Domain, float, float], BlockMechanism]

_MAKERS: dict[str, _Maker] = {
    "RR": lambda domain, epsilon, _: RandomizedResponse(domain, epsilon),
    "RAPPOR": lambda domain, epsilon, _: UnaryEncoding(domain, epsilon),
    "uRR": lambda domain, epsilon, _: RandomizedResponse(domain, epsilon),
    # The paper's to the letter: reports in clear carry noise bits too.
    "uRAP": lambda domain, epsilon, _: UnaryEncoding(domain, epsilon, clear_bits=domain.clear_count > 0),
    DROP_BITS: lambda domain, epsilon, _: UnaryEncoding(domain, epsilon),
    BEST_THETA: lambda domain, epsilon, _: UnaryEncoding(domain, epsilon, theta="optimal"),
    HASHING: lambda domain, epsilon, _: LocalHashing(domain, epsilon),
    DESIGN: lambda domain, epsilon, _: BlockDesign(domain, epsilon),
    DESIGN_AT: lambda domain, epsilon, mass: BlockDesign(
        domain, epsilon, sensitive_mass=min(mass, 1.0) if domain.clear_count else None
    ),
}

NAMES = tuple(_MAKERS)


def make_mechanism(name: str, domain: Domain, epsilon: float, mass: float = 0.0) -> BlockMechanism:
    """Return a mechanism by its name in the figures; RR and RAPPOR protect every value, all others the sensitive ones.

    Args:
        name: one of `NAMES`.
        domain: the values, with what is sensitive.
        epsilon: in nats.
        mass: p(X_S), for the one that is told it.

    Raises:
        ParameterError: if there is no such mechanism.
    """
    if name not in _MAKERS:
        raise ParameterError(f"mechanisms are {', '.join(NAMES)}, got {name!r}.")
    return _MAKERS[name](Domain(range(domain.size)) if name in PLAIN else domain, epsilon, mass)
