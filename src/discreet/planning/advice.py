"""The recommendation: one sentence with the reason."""

from collections.abc import Sequence

from discreet.planning.prospects import Prospect
from discreet.planning.question import Question

SAME = 1 + 1e-9
"""Errors whose ratio is below this are the same but for rounding."""


def advise(question: Question, best: Prospect, prospects: Sequence[Prospect]) -> str:
    """Return which mechanism to use and why, in one sentence.

    Args:
        question: what was asked.
        best: the one that is best for its target, among those that fit.
        prospects: all of them.
    """
    worst = question.target == "worst-case"
    options = f" ({best.options})" if best.options else ""
    losses = best.worst if worst else best.assumed
    bound = "" if losses.excess is None else f" and {losses.excess:.2f} times the least possible"
    return (
        f"Use {best.name}{options}: {_people(question)} its mean squared error is {'at most ' if worst else ''}"
        f"{losses.mse:.3e}, the least of {_field(question, prospects)}{bound}; {_size(best)}{_needed(question, best)}."
    )


def _people(question: Question) -> str:
    people = question.people
    if question.target == "worst-case":
        return "whatever the distribution,"
    if question.target == "distribution":
        return f"for the given distribution ({people.mass:.1%} sensitive)"
    how = " (assumed)" if people.source == "assumed" else ""
    return f"if {people.mass:.1%} of the people have a sensitive value{how},"


def _field(question: Question, prospects: Sequence[Prospect]) -> str:
    """Say how many compete, and how far behind the next one is."""
    worst = question.target == "worst-case"
    fitting = sorted((one for one in prospects if one.fits), key=lambda one: one.error(worst=worst))
    limit = question.largest_report
    small = "" if limit is None else f" whose reports take at most {limit:g} byte{'' if limit == 1 else 's'}"
    least = fitting[0].error(worst=worst)
    behind = next((one for one in fitting if one.error(worst=worst) > least * SAME), None)
    count = f"the {len(fitting)} compared{small}"
    if behind is None or least == 0:
        return count
    ratio = behind.error(worst=worst) / least
    some = "less than 0.1%" if ratio < 1.001 else f"{ratio - 1:.1%}"
    more = f"{some} more" if ratio < 2 else f"{ratio:.1f} times as much"
    return f"{count} (next is {behind.name}, {more})"


def _size(best: Prospect) -> str:
    return f"a report takes at most {best.largest_bytes} byte{'' if best.largest_bytes == 1 else 's'}"


def _needed(question: Question, best: Prospect) -> str:
    if best.users_needed is None:
        return ""
    return f", and {best.users_needed:,} users give every value a standard error of at most {question.standard_error:g}"
