"""Statements of a central guarantee: sentences, facts for JSON, points of its curves."""

from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.privacy.shuffling import CentralEpsilon, ShuffledGuarantee

_DIGITS = 4
_POINTS = 41
_BEYOND = 1.4
_LEAST_DELTA = 1e-14

CONDITIONS = (
    "This holds if the batch has one report of each person, n counts people whose devices follow the plan, randomness "
    "is secure, and nobody who sees names or order works with whoever is to be kept out."
)
"""The conditions of every central guarantee, in a sentence."""

FRESH_NOISE = (
    "Rounds have fresh noise each; a permanent answer that is sent again links a person's reports, and adds nothing to "
    "her protection."
)


def rounded_up(number: float) -> str:
    """Return a number of at least 0 in four digits, rounded up: a promise is never stated too small."""
    return _rounded(number, ceil)


def rounded_down(number: float) -> str:
    """Return a number of at least 0 in four digits, rounded down."""
    return _rounded(number, floor)


def _rounded(number: float, way: Any) -> str:
    if number <= 0:
        return "0"
    unit = _DIGITS - 1 - floor(log10(number))
    scaled = number * 10.0**unit
    # What is whole but for the last digits of a float stays.
    whole = round(scaled) if abs(scaled - round(scaled)) < 1e-9 * scaled else way(scaled)
    return f"{whole / 10.0**unit:.{_DIGITS}g}"


def sentences(central: "ShuffledGuarantee") -> list[str]:
    """Return the guarantee in sentences: both central epsilons, the local one, and the conditions."""
    whole = [among_sentence(central, status=True)]
    if central.towards is not None and central.floor is not None:
        whole.append(towards_sentence(central, central.towards.status))
    whole.append(
        f"For whoever sees reports with names or order: epsilon {rounded_up(central.local)} for each, as before."
    )
    whole.append(CONDITIONS)
    if central.rounds > 1:
        whole.append(FRESH_NOISE)
    if central.delta * central.n >= 1:
        whole.append(
            f"Choose a smaller delta: at {central.delta:g} with {central.n:,} reports, one of them may be told openly."
        )
    return whole


def among_sentence(central: "ShuffledGuarantee", *, status: bool) -> str:
    """Return the sentence on sensitive values; without its status it costs less where that takes attacks."""
    domain, others = central.mechanism.domain, central.hiding - 1
    if domain.sensitive_count < 2:
        return "One value alone is sensitive: nothing is to be told apart among sensitive values."
    values = f"all {domain.size} values" if domain.clear_count == 0 else f"{domain.sensitive_count} sensitive values"
    batches = "the shuffled batch" if central.rounds == 1 else f"{central.rounds} shuffled batches"
    known = f" ({central.among.status})" if status else ""
    return (
        f"Among {values}: ({rounded_up(central.most_among)}, {central.delta:g})-DP for whoever sees {batches}, or "
        f"anything computed from it, however much she knows of the other {others:,}{known}."
    )


def towards_sentence(central: "ShuffledGuarantee", status: str = "") -> str:
    """Return the sentence on values in clear, with the floor."""
    known = f" ({status})" if status else ""
    return (
        f"Towards values told in clear: {rounded_up(central.most_towards)}, one-sided{known}; more users cannot make "
        f"it less than {rounded_down(central.floor or 0.0)}."
    )


def facts(central: "ShuffledGuarantee") -> dict[str, Any]:
    """Return the guarantee as built-ins, ready for JSON; epsilons in nats."""
    return {
        "n": central.n,
        "not_trusted": central.not_trusted,
        "delta": central.delta,
        "rounds": central.rounds,
        "local_epsilon": central.local,
        "among": _facts(central.among),
        "towards": None if central.towards is None else _facts(central.towards),
        "floor": central.floor,
    }


def _facts(epsilon: "CentralEpsilon") -> dict[str, Any]:
    return {"epsilon": epsilon.upper, "epsilon_at_least": epsilon.lower, "status": epsilon.status}


def curve_points(central: "ShuffledGuarantee") -> dict[str, list[tuple[float, float]]]:
    """Return points (epsilon, delta) of both curves, from 0 to somewhat above their central epsilons."""
    domain = central.mechanism.domain
    directions = []
    if domain.sensitive_count > 1:
        directions.append(("among sensitive values", central.curve_among, central.most_among))
    if domain.clear_count:
        directions.append(("towards values in clear", central.curve_towards, central.most_towards))
    least = min(_LEAST_DELTA, central.delta / 10)
    found = {}
    for name, curve, most in directions:
        # It falls steeply beyond what no number of users lowers.
        start = min(curve.floor(), most)
        places = [start * k / _POINTS for k in range(_POINTS)] if start else []
        places += [start + _BEYOND * (most - start) * k / (_POINTS - 1) for k in range(_POINTS)]
        found[name] = [(place, high) for place in places if (high := curve.delta(place, least)[1]) >= least]
    return found
