"""The command line. Each command has a module, which is imported when the command is used.

Exit codes: 0 done; 1 a guarantee does not hold; 2 the input or the request cannot be used; 70 a defect of discreet; 130
interrupted; 141 nobody reads the output any more; 143 ended by SIGTERM (129 by SIGHUP).
"""

import click

from discreet import __version__
from discreet.cli.commands import LazySubcommands, MainGroup

VERBS = {
    "attest": "Write a page on a plan or collection for privacy officers.",
    "collection": "Sign a plan with its terms; show, renew or withdraw it.",
    "collector": "Operate a collector: collections, tokens, seals, backups.",
    "compare": "Compare two groups of people, or one with known shares.",
    "estimate": "Estimate the distribution behind REPORTS made under PLAN.",
    "examples": "Copy the examples of the documentation into FOLDER.",
    "init": "Propose a plan for columns of TABLE.",
    "obfuscate": "Obfuscate a table of values under PLAN: one report per row.",
    "plan": "Compare all mechanisms on DOMAIN and recommend one.",
    "regress": "Explain answers by public columns, by a regression.",
    "risk": "Assess how surely people can be identified.",
    "seal": "Write REPORTS into one file, sorted by their content.",
    "serve": "Run a collector: take reports in, and seal them.",
    "simulate": "Obfuscate known values, estimate, and compare with the truth.",
    "sql": "Print the query that counts reports in a warehouse.",
    "survey": "Plan and analyse surveys of several questions.",
    "tally": "Add SEALED batches to a tally, each exactly once.",
    "verify": "Recompute the epsilon of PLAN, and check its promise.",
}
"""The first sentence of the help of each command, by the command's name."""

GROUPS = {
    "Plan": "init plan verify attest examples",
    "Collect": "obfuscate seal tally collection",
    "Analyse": "estimate compare regress sql simulate",
    "Surveys": "survey",
    "Risk": "risk",
    "Operate": "serve collector",
}
"""The names of the commands by the group in which the help lists them."""

_BESIDE = {"examples": "simulate", "tally": "seal"}
"""Commands of the core that are in the module of another command."""

_WINGS = {
    "attest": "discreet.collector.verbs.attest",
    "collection": "discreet.collector.verbs.collection",
    "collector": "discreet.collector.verbs.collector",
    "risk": "discreet.risk.verbs.risk",
    "serve": "discreet.collector.verbs.collector",
    "sql": "discreet.sql.verbs.sql",
    "survey": "discreet.surveys.verbs.survey",
}
"""The modules of commands of other wings. They are names only, because the core imports no wing."""

_HOMES = {name: f"discreet.cli.verbs.{_BESIDE.get(name, name)}" for name in VERBS} | _WINGS


main = MainGroup(
    "main",
    commands=LazySubcommands(_HOMES, VERBS),
    groups=GROUPS,
    help="Local privacy: obfuscate values, estimate their distribution, and know how well each person is protected.",
)
click.version_option(__version__, prog_name="discreet")(main)

__all__ = ["VERBS", "main"]
