"""Verbs and options that earlier versions had, and what to use instead."""

from collections.abc import Iterable
from itertools import pairwise

from discreet.errors import ParameterError

REMOVED = {
    "audit": "use discreet verify PLAN --draws N, with the same options",
    "estimate --method consistent": "use discreet survey estimate, with the same options",
    "estimate --method joint": "use discreet survey estimate, with the same options",
    "estimate --margins": "use --shares with the share of each combination of the columns of --by",
    "estimate --method shrunk": "use --method linear, and merge groups of few people",
    "init --question": "use discreet survey init, with the same options",
    "obfuscate --round": "use discreet survey obfuscate, with the same options",
    "plan --all": "use --json, which has all mechanisms",
    "plan --rounds": "use discreet survey plan SURVEY --rounds N, on a survey of one attribute or several",
    "plan --target order": 'use [mechanism] name = "windows" and --method smooth for categories in order',
    "plan-central": "use discreet plan, and discreet verify PLAN --statement N for what shuffled reports reveal",
    "manifest": "keep a list with sha256sum -- FILES > LIST, and compare it with sha256sum --check LIST",
    "plan-identification": "use discreet risk plan, with the same options",
    "reproduce": "install it from discreet's sources with pip install ./papers",
    "risk people": "use ARX, sdcMicro or pycanon, or discreet risk reports for reports beside public columns",
    "risk survey": "use discreet survey risk, with the same options",
    "risk traces --strata": "use --per-user FILE, and group the rows of FILE by the column",
    "stamp": "read files that do not say their plan with --trust-plan, or write its fingerprint into a column 'plan'",
    "simulate --as-read": "use discreet survey simulate SURVEY PEOPLE --as-read",
    "simulate --people": "use discreet survey simulate SURVEY PEOPLE",
    "survey audit": "use discreet attest SURVEY -o PAGES, which audits each question, or discreet survey verify",
    "tally --not-trusted": "discreet estimate PLAN TALLY --statement --not-trusted N states what publishing it reveals",
    "verify --shuffled": "use discreet verify PLAN --statement N",
}
"""What to use instead, by the verb, by the verb and an option, or by the verb, an option and its value."""


def refuse_removed(verb: str, arguments: Iterable[str] = ()) -> None:
    """Refuse a verb that was removed, or arguments with an option, or the value of an option, that was removed.

    Args:
        verb: the words of the verb, without the program's name.
        arguments: what follows the verb.

    Raises:
        ParameterError: if it was removed.
    """
    words = [word for argument in arguments for word in argument.split("=", maxsplit=1)]
    for name in (verb, *(f"{verb} {word}" for word in words), *(f"{verb} {a} {b}" for a, b in pairwise(words))):
        if name in REMOVED:
            raise ParameterError(f"discreet {name} was removed; {REMOVED[name]}.")
