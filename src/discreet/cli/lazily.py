"""What the verbs share before anything heavy is imported."""

from pathlib import Path
from typing import Any

import click

from discreet.errors import DiscreetError

input_file = click.Path(path_type=Path)
output_file = click.Path(path_type=Path, dir_okay=False)


class Refused(click.ClickException):
    """What discreet refuses: one sentence, exit code 2."""

    exit_code = 2


class Verbs(click.Group):
    """A group whose verbs report what discreet refuses as one sentence and exit with 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            raise Refused(str(error)) from None
