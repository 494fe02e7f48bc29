"""The recommendation in one sentence, with its reason."""

from collections.abc import Sequence

from discreet.planning.candidates import Candidate
from discreet.planning.choosing import SAME, least, likely_mse
from discreet.planning.requirements import Requirements

LONG = 10.0
"""Seconds of the collector from which on a recommendation names them."""

_TIMES = ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "hours"), (2 * 60, 60, "minutes"), (0, 1, "seconds"))


def recommendation_sentence(
    requirements: Requirements, best: Candidate, candidates: Sequence[Candidate], other: Candidate | None = None
) -> str:
    """Return the recommended mechanism and the reason, in one sentence.

    Args:
        requirements: what was asked.
        best: the one that is recommended for its target.
        candidates: all of them.
        other: one that is worth naming beside it.
    """
    worst = requirements.target == "worst-case"
    losses = best.worst if worst else best.assumed
    bound = "" if losses.excess is None else f" and {losses.excess:.2f} times the least possible"
    beside = cost(best.seconds, requirements.counted) + ("" if other is None else _beside(requirements, best, other))
    return (
        f"Use {_named(best)}: {_people(requirements)} its mean squared error is {'at most ' if worst else ''}"
        f"{losses.mse:.3e}, {_field(requirements, best, candidates)}{bound}; "
        f"{_size(requirements, best)}{_needed(requirements, best)}{beside}."
    )


def _named(one: Candidate) -> str:
    return f"{one.name} ({one.options})" if one.options else one.name


def _people(requirements: Requirements) -> str:
    people = requirements.people
    if requirements.target == "worst-case":
        return "whatever the distribution,"
    if requirements.target == "distribution":
        return f"for the given distribution ({people.mass:.1%} sensitive)"
    how = " (assumed)" if people.source == "assumed" else ""
    return f"if {people.mass:.1%} of the people have a sensitive value{how},"


def _field(requirements: Requirements, best: Candidate, candidates: Sequence[Candidate]) -> str:
    """Return the field of mechanisms compared, and the distance of the chosen one from the least error."""
    worst = requirements.target == "worst-case"
    fitting = sorted((one for one in candidates if one.fits), key=lambda one: one.error(worst=worst))
    limit = requirements.largest_report
    small = "" if limit is None else f" whose reports take at most {_bytes(limit)}"
    count = f"the least of all compared{small}"
    lowest = least(fitting, worst=worst)
    if best.error(worst=worst) > lowest.error(worst=worst) * SAME:
        above = _more(best.error(worst=worst) / lowest.error(worst=worst))
        return f"{above} than {count} ({_named(lowest)}, up to {_bytes(lowest.largest_bytes)} a report)"
    behind = next((one for one in fitting if one.error(worst=worst) > lowest.error(worst=worst) * SAME), None)
    if behind is None or lowest.error(worst=worst) == 0:
        return count
    return f"{count} (next is {behind.name}, {_more(behind.error(worst=worst) / lowest.error(worst=worst))})"


def _more(ratio: float) -> str:
    some = "less than 0.1%" if ratio < 1.001 else f"{ratio - 1:.1%}"
    return f"{some} more" if ratio < 2 else f"{ratio:.1f} times as much"


def _bytes(size: float) -> str:
    text = f"{size:,}" if isinstance(size, int) else f"{size:g}"
    return f"{text} byte{'' if size == 1 else 's'}"


def _size(requirements: Requirements, best: Candidate) -> str:
    kept = f", the smallest within {requirements.within * 100:g}% of the least error" if requirements.within else ""
    return f"a report takes at most {_bytes(best.largest_bytes)}{kept}"


def _beside(requirements: Requirements, best: Candidate, other: Candidate) -> str:
    """Return a clause on an alternative: nearly as good in the worst case, better for the likely distribution."""
    given = requirements.people.source != "assumed"
    where = "where all values are equally frequent"
    if given:
        where = "at the given distribution" if not requirements.people.even else "at the given sensitive share"
    less = 1 - likely_mse(other, given=given) / likely_mse(best, given=given)
    ratio = other.worst_mse / best.worst_mse
    worse = "no more error" if ratio <= SAME else f"{_more(ratio)} error"
    size = _bytes(other.largest_bytes)
    return f"; {_named(other)} has {worse} in the worst case and {less:.1%} less {where}, with up to {size} a report"


def cost(seconds: float, reports: int) -> str:
    """Return a clause on the collector's time, where it is long."""
    if seconds <= LONG:
        return ""
    unit, name = next((unit, name) for least, unit, name in _TIMES if seconds >= least)
    return (
        f"; counting {reports:,} reports and decoding their tally takes about {seconds / unit:,.0f} {name} of one core"
    )


def _needed(requirements: Requirements, best: Candidate) -> str:
    if best.users_needed is None:
        return ""
    error = requirements.standard_error
    return f", and {best.users_needed:,} users give every value a standard error of at most {error:g}"
