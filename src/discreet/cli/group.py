"""Groups of verbs: loading, refusals, defects and exit codes; nothing heavy is imported here."""

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource

from discreet.cli.exits import INTERRUPTED, ended_by_signals, flushed, pipe_closed, show_every_letter
from discreet.errors import DiscreetError
from discreet.kernels.announcing import listening

_DEFECT = 70
_LONGEST_SENTENCE = 500

HELP = ["-h", "--help"]
"""The options of every verb that ask for help, whoever calls it."""


def given_options() -> dict[str, str]:
    """Return the options that the running verb was given, as they are written, by the names of their values.

    Whether one was given cannot be seen from its value: it may be the default, or 0.
    """
    ctx = click.get_current_context()
    given = {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name is not None
        and ctx.get_parameter_source(parameter.name) in given
        and isinstance(parameter, click.Option)
    }


class RefusedVerb(click.ClickException):
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
        from discreet.cli.defects import debug_option

        super().__init__(*given, **named)
        self.context_settings.setdefault("help_option_names", HELP)
        self.params.append(debug_option())

    def invoke(self, ctx: click.Context) -> Any:
        """Check the outputs, then run the verb: warnings are notes, a missing column names the option that says it."""
        from discreet.cli.notes import notes_on_errors
        from discreet.cli.output_files import check_outputs

        check_outputs(self.params, ctx.params)
        try:
            with notes_on_errors():
                return super().invoke(ctx)
        except DiscreetError as error:
            said, options = str(error), [one for one in self.params if isinstance(one, click.Option)]
            named = [max(one.opts, key=len) for one in options if f"no column {ctx.params.get(one.name)!r}" in said]
            if not named:
                raise
            raise type(error)(f"{said.removesuffix('.')}; {named[0]} names another.") from None


class VerbGroup(click.Group):
    """A group of verbs; a group in it is one too."""

    command_class = Verb
    group_class: Any = type

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.context_settings.setdefault("help_option_names", HELP)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the verb of a name, or refuse the name and list the verbs."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(name, self.commands, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else "."
            ctx.fail(f"No such verb {name!r}{meant} There are {', '.join(sorted(self.commands))}.")
        return super().resolve_command(ctx, args)


class LazyVerbs(MutableMapping[str, click.Command]):
    """Verbs by name; the module of a verb is imported when the verb is asked for.

    Args:
        package: with a module for each verb, which holds a command of the same name.
        sentences: the first sentence of each verb's help, by the verb's name.
    """

    def __init__(self, package: str, sentences: Mapping[str, str]) -> None:
        self.package, self.sentences = package, dict(sentences)
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        """Return the verb, imported."""
        if name not in self._loaded:
            if name not in self.sentences:
                raise KeyError(name)
            verb: click.Command = getattr(import_module(f"{self.package}.{name}"), name)
            self._loaded[name] = verb
        return self._loaded[name]

    def __setitem__(self, name: str, verb: click.Command) -> None:
        """Add a verb that is there already."""
        self._loaded[name] = verb
        self.sentences[name] = verb.get_short_help_str(limit=_LONGEST_SENTENCE)

    def __delitem__(self, name: str) -> None:
        """Remove a verb."""
        del self.sentences[name]
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, importing nothing."""
        return iter(self.sentences)

    def __len__(self) -> int:
        """Return the number of verbs."""
        return len(self.sentences)


class Verbs(VerbGroup):
    """The group of all verbs: a refusal is one sentence and exit code 2, a defect exit code 70."""

    group_class = VerbGroup

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs with their first sentences; none of them is imported for that."""
        if not isinstance(self.commands, LazyVerbs):
            super().format_commands(ctx, formatter)
            return
        room = formatter.width - 6 - max(len(name) for name in self.commands)
        sentences = sorted(self.commands.sentences.items())
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, click.Command(name, help=text).get_short_help_str(room)) for name, text in sentences]
            )

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
            raise RefusedVerb(str(error)) from None
        except click.ClickException:
            raise
        except BrokenPipeError:
            raise click.exceptions.Exit(pipe_closed()) from None
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except OSError as error:
            where = "" if error.filename is None else f" ({error.filename})"
            raise RefusedVerb(
                f"the system refused to read or write: {error.strerror or type(error).__name__}{where}."
            ) from None
        except Exception as error:
            from discreet.cli.defects import keep_traceback, place_of

            # Not 1, which says that a promise is broken. And not its message, which can hold a person's value.
            kept = keep_traceback(ctx, error)
            click.echo(
                f"This is a defect of discreet, not of your input: {place_of(error)}; please report it.", err=True
            )
            click.echo(kept, err=True)
            raise click.exceptions.Exit(_DEFECT) from None
