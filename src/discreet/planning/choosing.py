"""The choice of a mechanism: the smallest report whose error is close to the least."""

from collections.abc import Sequence

from discreet.planning.candidates import Candidate

SAME = 1 + 1e-9
"""Errors whose ratio is below this are the same but for rounding."""

WITHIN = 0.05
"""The default of ``within``: the additional error, as a share of the least, that a smaller report may cost."""

_BETTER = 0.9


def least(candidates: Sequence[Candidate], *, worst: bool) -> Candidate:
    """Return the candidate with the least error; of equal ones the smallest reports, then the first."""
    limit = min(one.error(worst=worst) for one in candidates) * SAME
    return min((one for one in candidates if one.error(worst=worst) <= limit), key=lambda one: one.largest_bytes)


def recommended(candidates: Sequence[Candidate], within: float, *, worst: bool) -> Candidate:
    """Return the candidate with the smallest report whose error is close to the least.

    Of equally small ones the least error; where that is the same too, the one that has less error elsewhere, for other
    distributions than the target is about; then the smallest expected report.

    Args:
        candidates: those whose reports are small enough.
        within: how much more error than the least is little, as a share of it.
        worst: whether the worst case counts, or the people as they are assumed.
    """
    limit = least(candidates, worst=worst).error(worst=worst) * (1 + within) * SAME
    near = [one for one in candidates if one.error(worst=worst) <= limit]
    smallest = min(one.largest_bytes for one in near)
    small = [one for one in near if one.largest_bytes == smallest]
    limit = least(small, worst=worst).error(worst=worst) * SAME
    equal = [one for one in small if one.error(worst=worst) <= limit]
    limit = min(_elsewhere(one, worst=worst) for one in equal) * SAME
    return min((one for one in equal if _elsewhere(one, worst=worst) <= limit), key=lambda one: one.bytes)


def _elsewhere(one: Candidate, *, worst: bool) -> float:
    # Whoever has no more error at each of these has no larger product.
    return one.error(worst=not worst) * one.uniform_mse


def alternative(candidates: Sequence[Candidate], chosen: Candidate, within: float, *, given: bool) -> Candidate | None:
    """Return a candidate nearly best in the worst case, and at least 10% better for the likely distribution.

    Args:
        candidates: those whose reports are small enough.
        chosen: the one that is recommended for the worst case.
        within: how much more error than the least is little; 5% at least.
        given: whether something is known of the people, or the likely distribution is the uniform one.

    Returns:
        the best one there; None if none is that much better.
    """
    limit = least(candidates, worst=True).worst_mse * (1 + max(within, WITHIN)) * SAME
    near = [one for one in candidates if one.worst_mse <= limit]
    found = min(near, key=lambda one: likely_mse(one, given=given))
    return found if likely_mse(found, given=given) < _BETTER * likely_mse(chosen, given=given) else None


def likely_mse(one: Candidate, *, given: bool) -> float:
    """Return the error for the assumed distribution, or for the uniform one where none is known."""
    return one.assumed_mse if given else one.uniform_mse
