"""Verbs and options that earlier versions had, and what to use instead."""

from discreet.errors import ParameterError

REMOVED = {
    "risk people": "use ARX, sdcMicro or pycanon for tables of people; discreet risk reports PLAN TABLE --by A,B "
    "bounds the risk of reports beside public columns",
    "risk traces --strata": "use --per-user FILE, and group the rows of FILE by the column",
}
"""What to use instead, by the verb ("risk people") or by the verb and its option ("risk traces --strata")."""


def refuse_removed(verb: str, option: str = "") -> None:
    """Refuse a verb, or an option of a verb, that was removed.

    Args:
        verb: the words of the verb, without the program's name.
        option: as it is written; empty for the verb itself.

    Raises:
        ParameterError: if it was removed.
    """
    name = f"{verb} {option}".rstrip()
    if name in REMOVED:
        raise ParameterError(f"discreet {name} was removed; {REMOVED[name]}.")
