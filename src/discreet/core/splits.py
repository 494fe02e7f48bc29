"""Splits of traces by the words for them: half, all, first:N and rest:N."""

from discreet.core.traces import Split, Traces, by_count, by_half, leave_out, maximum_knowledge
from discreet.errors import ParameterError

_MOST_DIGITS = 18


def split_of(traces: Traces, kind: str = "half", *, least: int = 2) -> tuple[Split, str]:
    """Return the split of traces into what the attacker knows and what is attributed.

    Args:
        traces: events of each user.
        kind: ``"half"`` (the first half of each user's events is known), ``"all"`` (the events themselves),
            ``"first:N"`` (the first N) or ``"rest:N"`` (all but the first N).
        least: users with fewer events are left out, and those with too few for N.

    Returns:
        the split, and the attacker's knowledge in words.

    Raises:
        ParameterError: if there is no such kind, or fewer than two users are left.

    Example:
        >>> traces = Traces.of(["u1"] * 5 + ["u2"] * 3 + ["u3"], list("aabab") + list("ccb") + ["a"])
        >>> split, knowledge = split_of(traces, "first:2")
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([2, 2], [3, 1])
        >>> knowledge
        'the first 2 events of each user; the others are attributed'
    """
    how, _, number = kind.partition(":")
    # Not isdigit, which also takes letters that int does not, such as a superscript.
    count = int(number) if number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS else 0
    needed = max(least, count + 1)
    kept = traces.with_least(needed)
    if kept.users < 2:
        # With a row per person there is nothing to be split.
        advice = "choose a smaller N" if count else "pass --split all --least 1"
        advice = "lower --least" if how == "all" or least > max(count + 1, 2) else advice
        raise ParameterError(
            f"at least 2 users must have {needed} events, got {kept.users}; {advice}, or use other data."
        )
    if how == "half" and not number:
        return by_half(kept), "the first half of each user's events; the second half is attributed"
    if how == "all" and not number:
        return maximum_knowledge(kept), "each user's events themselves; only the names are unknown"
    if how == "first" and count:
        return by_count(kept, count), f"the first {count} events of each user; the others are attributed"
    if how == "rest" and count:
        return leave_out(kept, count), f"all but the first {count} events of each user, which are attributed"
    raise ParameterError(f"--split must be half, all, first:N or rest:N with N >= 1, got {kind!r}.")
