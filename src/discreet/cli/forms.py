"""The three forms of the verb ``risk`` and the options of each; options that a form would ignore are refused."""

from collections.abc import Collection, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from discreet.errors import ParameterError

TRACES, SCORES, COMPARE = "a table of events", "a table of scores (--score)", "compare"
_SHORT = "compare"
_FORMS = (TRACES, SCORES, COMPARE)

OPTIONS: dict[str, tuple[str, ...]] = {
    "user": (TRACES,),
    "event": (TRACES,),
    "time": (TRACES,),
    "missing": (TRACES,),
    "split": (TRACES,),
    "least": (TRACES,),
    "attack": (TRACES,),
    "plan": (TRACES,),
    "epsilon": (TRACES,),
    "mechanism": (TRACES,),
    "reports": (TRACES, COMPARE),
    "largest_list": (TRACES,),
    "score": (SCORES,),
    "probe": (SCORES,),
    "template": (SCORES,),
    "distance": (SCORES,),
    "failed": (SCORES,),
    "users": (COMPARE,),
    "fail_above": _FORMS,
    "output": (TRACES,),
    "seed": (TRACES, SCORES),
    "allow_outside": (TRACES, COMPARE),
    "as_json": _FORMS,
    "debug": _FORMS,
}
"""The forms that use each option."""


def form_of(context: click.Context, tables: Sequence[Path], options: dict[str, Any]) -> str:
    """Return the form of the verb that is meant, if it uses every option that was given.

    Raises:
        ParameterError: if it would ignore one, or two of them do not go together.
    """
    given = {name for name in OPTIONS if context.get_parameter_source(name) not in (ParameterSource.DEFAULT, None)}
    form = SCORES if "score" in given else TRACES
    if str(tables[0]) == _SHORT and (len(tables) > 1 or not tables[0].exists()):
        form = COMPARE
    names = {one.name: max(one.opts, key=len) for one in context.command.params}
    for name, forms in OPTIONS.items():
        if name in given and form not in forms:
            there = " or ".join(forms)
            raise ParameterError(f"{names[name]} goes with {there}, not with {form}; leave it out.")
    _check_together(form, given, options)
    _check_tables(form, tables)
    return form


def _check_together(form: str, given: Collection[str], options: dict[str, Any]) -> None:
    obfuscated = bool({"plan", "epsilon"} & set(given))
    if {"plan", "epsilon"} <= set(given):
        raise ParameterError("--epsilon follows from --plan; give one of the two.")
    if "mechanism" in given and "epsilon" not in given:
        raise ParameterError("--mechanism goes with --epsilon; without it events are published as they are.")
    if form == TRACES and "reports" in given and not obfuscated:
        raise ParameterError("--reports goes with --plan or --epsilon; without them events are published as they are.")
    if form == TRACES and "allow_outside" in given and "plan" not in given:
        raise ParameterError("--allow-outside goes with --plan; leave it out.")
    if "attack" in given and obfuscated:
        raise ParameterError("--attack is for events as they are; reports are attacked by their likelihood.")
    limit = options["fail_above"]
    if limit is not None and not (isfinite(limit) and 0 <= limit < 1):
        raise ParameterError(f"--fail-above must be a probability from 0 to below 1, got {limit:g}.")


def _check_tables(form: str, tables: Sequence[Path]) -> None:
    if form == SCORES and len(tables) > 1:
        raise ParameterError("One TABLE of scores at a time.")
    if form == COMPARE and len(tables) == 1:
        raise ParameterError(
            "compare needs the plans that are to be compared, as in discreet risk compare a.toml b.toml --users 1000."
        )
