"""Statements of a central guarantee: sentences, facts for JSON, points of its curves."""

from math import ceil
from typing import TYPE_CHECKING, Any

from discreet.privacy.rounding import rounded_down, rounded_up

if TYPE_CHECKING:
    from discreet.privacy.shuffling import CentralEpsilon, ShuffledGuarantee

_EXACT, _WITHIN, _NOTHING = 1.01, 1.25, 1e-6
_POINTS = 41
_BEYOND = 1.4
_LEAST_DELTA = 1e-14


def status(lower: float, upper: float) -> str:
    """Return the status of an epsilon, by both ends as they are printed.

    Example:
        >>> status(0.1, 0.1005), status(0.1, 0.1101), status(0.1, 0.2)
        ('exact', 'within 11%', 'at most; an attacker reaches 0.1')
    """
    least, most = float(rounded_down(lower)), float(rounded_up(upper))
    if most < _NOTHING or most <= _EXACT * least:
        return "exact"
    if most <= _WITHIN * least:
        return f"within {ceil(100 * (most / least - 1))}%"
    return f"at most; an attacker reaches {rounded_down(lower)}" if lower > 0 else "at most"


def sentences(central: "ShuffledGuarantee", *, status: bool = True) -> list[str]:
    """Return both central epsilons in a sentence each; `discreet.privacy.publication` says what they rest on.

    Args:
        central: the guarantee.
        status: whether to say how close they are to what an attacker can reach, which takes longer.
    """
    whole = [among_sentence(central, status=status)]
    if central.mechanism.domain.clear_count:
        known = central.towards.status if status and central.towards is not None else ""
        whole.append(towards_sentence(central, known))
    return whole


def among_sentence(central: "ShuffledGuarantee", *, status: bool) -> str:
    """Return the sentence on sensitive values; without its status it costs less where that takes attacks."""
    domain, others = central.mechanism.domain, central.hiding - 1
    if domain.sensitive_count < 2:
        one = "kind of secret values" if central.bots else "value"
        return f"One {one} alone is sensitive: nothing is to be told apart among sensitive values."
    batches, it = (
        ("the shuffled batch", "it") if central.rounds == 1 else (f"{central.rounds} shuffled batches", "them")
    )
    known = f" ({central.among.status})" if status else ""
    promise = f"({rounded_up(central.most_among)}, {rounded_up(central.delta)})-DP"
    return (
        f"Among {values_meant(central)}: {promise} for whoever sees {batches}, or "
        f"anything computed from {it}, however much she knows of the other {others:,}{known}."
    )


def values_meant(central: "ShuffledGuarantee") -> str:
    """Return the words for the values among which a person's is hidden; bots of personalized plans are no values."""
    domain = central.mechanism.domain
    if central.bots:
        for_all, size = domain.sensitive_count - central.bots, domain.size - central.bots
        own = "each person's own secret values"
        return f"{own}, of {size}" if for_all == 0 else f"{own} and {for_all} sensitive for all, of {size}"
    return f"all {domain.size} values" if domain.clear_count == 0 else f"{domain.sensitive_count} sensitive values"


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
        "bots": central.bots,
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
