"""Commands and options that were removed, and their replacements."""

from collections.abc import Iterable
from itertools import pairwise

from discreet.errors import ParameterError

REMOVED = {
    "audit": "Use discreet verify PLAN --draws N, with the same options",
    "device join --log": "Compare the collection's number with other people, as discreet collection show prints it",
    "estimate --method consistent": "Use discreet survey estimate, with the same options",
    "estimate --method joint": "Use discreet survey estimate, with the same options",
    "estimate --margins": "Use --shares with the share of each combination of the columns of --by",
    "estimate --method shrunk": "Use --method linear, and merge groups of few people",
    "init --question": "Use discreet survey init, with the same options",
    "obfuscate --round": "Use discreet survey obfuscate, with the same options",
    "plan --all": "Use --json, which has all mechanisms",
    "plan --rounds": "Use discreet survey plan SURVEY --rounds N, on a survey of one attribute or several",
    "plan --target order": 'Use [mechanism] name = "windows" and --method smooth for categories in order',
    "plan-central": "Use discreet plan, and discreet verify PLAN --statement N for what shuffled reports reveal",
    "manifest": "Keep a list with sha256sum -- FILES > LIST, and compare it with sha256sum --check LIST",
    "plan-identification": "Use discreet risk plan, with the same options",
    "reproduce": "Install it from discreet's sources with pip install ./papers",
    "risk people": "Use ARX, sdcMicro or pycanon, or discreet risk reports for reports beside public columns",
    "risk survey": "Use discreet survey risk, with the same options",
    "risk traces --strata": "Use --per-user FILE, and group the rows of FILE by the column",
    "stamp": "Read files that do not say their plan with --trust-plan, or write its fingerprint into a column 'plan'",
    "serve --gateway": "Run a proxy that hides addresses in front of the collector, at another party",
    "simulate --as-read": "Use discreet survey simulate SURVEY PEOPLE --as-read",
    "simulate --people": "Use discreet survey simulate SURVEY PEOPLE",
    "survey audit": "Use discreet attest SURVEY -o PAGES, which audits each question, or discreet survey verify",
    "tally --not-trusted": "Use discreet estimate PLAN TALLY --statement --not-trusted N",
    "verify --shuffled": "Use discreet verify PLAN --statement N",
}
"""What to use instead, by the verb, by the verb and an option, or by the verb, an option and its value."""


def refuse_removed(verb: str, arguments: Iterable[str] = ()) -> None:
    """Raise an error for a removed command, a removed option or a removed value of an option.

    Args:
        verb: the words of the command, without the program's name.
        arguments: the words after the command.

    Raises:
        ParameterError: if the command, an option or a value was removed.
    """
    words = [word for argument in arguments for word in argument.split("=", maxsplit=1)]
    for name in (verb, *(f"{verb} {word}" for word in words), *(f"{verb} {a} {b}" for a, b in pairwise(words))):
        if name in REMOVED:
            raise ParameterError("option.removed", name=name, instead=REMOVED[name])
