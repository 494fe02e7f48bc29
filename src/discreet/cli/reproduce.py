"""The verb ``reproduce``, which another package registers: an entry point of the group ``discreet.commands``."""

from importlib.metadata import entry_points
from typing import Any

import click

from discreet.errors import MissingExtraError

GROUP = "discreet.commands"


class RegisteredVerb(click.Command):
    """A verb by name, whose command another package registers.

    Args:
        name: of the verb, and of its entry point.
        short_help: the line of it in ``discreet --help``.
        lacking: the refusal where no package registers it.
    """

    def __init__(self, name: str, *, short_help: str, lacking: str) -> None:
        super().__init__(name, short_help=short_help)
        self._lacking = lacking

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the registered command, which then runs instead of this one.

        Raises:
            MissingExtraError: if no package registers it.
        """
        return self.registered().make_context(info_name, args, parent, **extra)

    def registered(self) -> click.Command:
        """Return the registered command.

        Raises:
            MissingExtraError: if no package registers it.
        """
        for entry in entry_points(group=GROUP, name=str(self.name)):
            command: click.Command = entry.load()
            return command
        raise MissingExtraError(self._lacking)


reproduce = RegisteredVerb(
    "reproduce",
    short_help="Make figures and tables of the papers again, and check the papers' findings.",
    lacking=(
        "the papers' figures and tables are no part of the package; they lie in the folder papers of discreet's "
        "sources, from which 'pip install ./papers' installs them."
    ),
)
