"""The group of commands ``discreet survey``, and the modules of its commands."""

import click

from discreet.cli.commands import LazySubcommands, SubcommandGroup

_MODULES = {
    "planning": ("init", "plan"),
    "answering": ("obfuscate", "simulate"),
    "estimating": ("estimate", "compare", "regress"),
    "promises": ("verify", "risk"),
    "sealing": ("seal", "tally"),
}
_HOMES = {name: f"discreet.surveys.verbs.{module}" for module, names in _MODULES.items() for name in names}
# Lines after a backspace are left as they are.
_START = """\b
A start:
  discreet survey init people.csv --question age --question sex,diagnosis --all-sensitive \\
      --epsilon 1 -o survey.toml
  discreet survey obfuscate survey.toml people.csv -o reports
  discreet survey estimate survey.toml reports
A page on each question for privacy officers:
  discreet attest survey.toml -o pages"""


@click.group(cls=SubcommandGroup, commands=LazySubcommands(_HOMES), epilog=_START)
def survey() -> None:
    """Plan and analyse surveys of several questions.

    Each person answers some of the questions.

    SURVEY is a file with several attributes. It promises one epsilon for all answers of a person. REPORTS are files of
    reports, or folders with a file for each question.
    """
