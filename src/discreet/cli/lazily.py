"""Verbs as commands of click: refusals, defects and exit codes; nothing heavy is imported here."""

import sys
from difflib import get_close_matches
from typing import Any

import click
from click.core import ParameterSource

from discreet.cli.defects import debug_option, keep_traceback, place_of
from discreet.cli.endings import INTERRUPTED, ended_by_signals, flushed, pipe_closed, show_every_letter
from discreet.cli.outputs import check_outputs
from discreet.errors import DiscreetError
from discreet.kernels.announcing import listening

_DEFECT = 70


def given_options() -> dict[str, str]:
    """Return the options that the running verb was given, as they are written, by the names of their values.

    Whether one was given cannot be seen from its value: it may be the default, or 0.
    """
    ctx = click.get_current_context()
    given = {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}
    return {
        one.name: max(one.opts, key=len)
        for one in ctx.command.params
        if one.name is not None and ctx.get_parameter_source(one.name) in given and isinstance(one, click.Option)
    }


class Refused(click.ClickException):
    """A refusal: one sentence, exit code 2."""

    exit_code = 2


class _Compiling:
    """A note on the error stream, once and only on a terminal, that kernels are being compiled."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self) -> None:
        """Print the note, if the error stream is a terminal and this is the first time."""
        if not self._said and sys.stderr is not None and sys.stderr.isatty():
            self._said = True
            click.echo("Note: compiling for this machine, about 10 s; only once where that can be kept.", err=True)


class Verb(click.Command):
    """A verb, with the options that every verb has."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.params.append(debug_option())

    def invoke(self, ctx: click.Context) -> Any:
        """Check the outputs, then run the verb."""
        check_outputs(self.params, ctx.params)
        return super().invoke(ctx)


class VerbGroup(click.Group):
    """A group of verbs; a group in it is one too."""

    command_class = Verb
    group_class: Any = type

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the verb of a name, or refuse the name and list the verbs."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            close = get_close_matches(name, self.commands, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else "."
            ctx.fail(f"No such verb {name!r}{meant} There are {', '.join(sorted(self.commands))}.")
        return super().resolve_command(ctx, args)


class Verbs(VerbGroup):
    """The group of all verbs: a refusal is one sentence and exit code 2, a defect exit code 70."""

    group_class = VerbGroup

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb, and exit with its code."""
        show_every_letter()
        try:
            with ended_by_signals(), listening(_Compiling()):
                super().invoke(ctx)
            raise click.exceptions.Exit(0)
        except click.exceptions.Exit as ended:
            raise click.exceptions.Exit(flushed(ended.exit_code)) from None
        except DiscreetError as error:
            raise Refused(str(error)) from None
        except click.ClickException:
            raise
        except BrokenPipeError:
            raise click.exceptions.Exit(pipe_closed()) from None
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except OSError as error:
            where = "" if error.filename is None else f" ({error.filename})"
            raise Refused(
                f"the system refused to read or write: {error.strerror or type(error).__name__}{where}."
            ) from None
        except Exception as error:
            # Not 1, which says that a promise is broken. And not its message, which can hold a person's value.
            kept = keep_traceback(ctx, error)
            click.echo(
                f"This is a defect of discreet, not of your input: {place_of(error)}; please report it.", err=True
            )
            click.echo(kept, err=True)
            raise click.exceptions.Exit(_DEFECT) from None
