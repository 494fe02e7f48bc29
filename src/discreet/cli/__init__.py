"""The command line: parse, call one function below, print. A verb is a module, which is loaded when it is used.

Exit codes: 0 done; 1 a guarantee does not hold; 2 the input or the request cannot be used; 70 a defect of discreet; 130
interrupted; 141 nobody reads the output any more; 143 ended by SIGTERM (129 by SIGHUP).
"""

import click

from discreet import __version__
from discreet.cli.commands import LazyVerbs, Verbs

VERBS = {
    "attest": "Write a page on PLAN, or a signed collection, for privacy officers; exit with 1 if its promise does not "
    "hold.",
    "audit": "Draw reports under PLAN and bound epsilon from below by what they show; exit with 1 if the promise is "
    "broken.",
    "collection": "Ask people: sign a plan with its terms, show it, renew and withdraw it.",
    "collector": "Operate a collector: add collections, seal epochs, make tokens, back up, check. It may run "
    "meanwhile.",
    "compare": "Compare two collections of reports made under PLAN, two groups of one, or one with known shares.",
    "device": "Answer: join a collection, answer, send, and see what was sent; nothing leaves without consent.",
    "estimate": "Estimate the distribution behind REPORTS made under PLAN.",
    "examples": "Copy the examples of the documentation into FOLDER: plans, a study of real people, and small tables.",
    "init": "Propose a plan for columns of TABLE: labels, the ones that you call sensitive, and the most precise "
    "mechanism.",
    "obfuscate": "Obfuscate a table of values under PLAN: one report per row, in order.",
    "plan": "Compare all mechanisms on DOMAIN (a file with a [domain] table; a plan will do) and recommend one.",
    "regress": "Regress what people reported under PLAN on public columns beside REPORTS.",
    "risk": "Assess the identification risk of traces, reports, plans, or scores of a matcher.",
    "seal": "Write REPORTS made under PLAN into one file, sorted by what they say: nothing of ids, order or times is "
    "left.",
    "serve": "Take reports in, keep them safe, and seal them: a collector.",
    "simulate": "Obfuscate people whose values are known, estimate, and compare with the truth.",
    "survey": "Ask several questions, of which each person answers some: plan, obfuscate, estimate, verify.",
    "tally": "Add to a tally the SEALED batches made under PLAN that it has not counted yet, each exactly once.",
    "verify": "Recompute the realised epsilon of PLAN from the sampler's integers; exit with 1 if the promise is "
    "broken.",
}
"""The first sentence of each verb's help, by its name."""

_BESIDE = {
    "audit": "verify",
    "examples": "simulate",
    "tally": "seal",
}
"""Verbs of the core that are in the module of another verb."""

_WINGS = {
    "attest": "discreet.collector.verbs.attest",
    "collection": "discreet.collector.verbs.collection",
    "collector": "discreet.collector.verbs.collector",
    "device": "discreet.collector.verbs.device",
    "risk": "discreet.risk.verbs.risk",
    "serve": "discreet.collector.verbs.collector",
    "survey": "discreet.surveys.verbs.survey",
}
"""Modules of the wings' verbs: names only, since the core imports no wing."""

_HOMES = {name: f"discreet.cli.verbs.{_BESIDE.get(name, name)}" for name in VERBS} | _WINGS


@click.group(cls=Verbs, commands=LazyVerbs(VERBS, _HOMES))
@click.version_option(__version__, prog_name="discreet")
def main() -> None:
    """Local privacy: obfuscate values, estimate their distribution, and know how well each person is protected."""


__all__ = ["VERBS", "main"]
