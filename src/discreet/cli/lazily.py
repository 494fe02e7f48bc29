"""What the verbs share before anything heavy is imported."""

import traceback
from pathlib import Path
from typing import Any

import click

from discreet.errors import DiscreetError

_DEFECT = 70
# What shells say of a program that Ctrl-C ended.
_INTERRUPTED = 130

input_file = click.Path(path_type=Path)
output_file = click.Path(path_type=Path, dir_okay=False)


class Refused(click.ClickException):
    """What discreet refuses: one sentence, exit code 2."""

    exit_code = 2


class Verbs(click.Group):
    """A group whose verbs report what discreet refuses as one sentence and exit with 2, and a defect with 70."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            raise Refused(str(error)) from None
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(_INTERRUPTED) from None
        except OSError as error:
            where = "" if error.filename is None else f" ({error.filename})"
            raise Refused(
                f"the system refused to read or write: {error.strerror or type(error).__name__}{where}."
            ) from None
        except Exception:
            # Not 1, which says that a promise is broken.
            traceback.print_exc()
            click.echo("This is a defect of discreet, not of your input; please report it.", err=True)
            raise click.exceptions.Exit(_DEFECT) from None
