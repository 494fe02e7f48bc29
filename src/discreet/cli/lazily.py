"""What the verbs share before anything heavy is imported."""

from pathlib import Path
from typing import Any

import click

from discreet.errors import DiscreetError

input_file = click.Path(path_type=Path)
output_file = click.Path(path_type=Path, dir_okay=False)


class Verbs(click.Group):
    """A group whose verbs report what discreet refuses as one sentence and exit with 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            failure = click.ClickException(str(error))
            failure.exit_code = 2
            raise failure from None
