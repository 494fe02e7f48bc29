"""Commands, groups of commands, rules for options, error messages and exit codes.

A command that ends early (Ctrl-C, a signal, a closed pipe) raises an exception, so that incomplete files are removed.
For a defect of discreet only the lines of code are shown. The exception's message may quote a person's value, so it is
not shown; ``--debug`` writes the whole traceback. This module imports no large library.
"""

import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from discreet import __version__
from discreet.errors import DiscreetError, ParameterError, SurveyDocumentError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Shells report a program that a signal ended with the exit code 128 plus the signal's number.
_SIGNALLED = 128
INTERRUPTED = _SIGNALLED + signal.SIGINT
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_PIPE = 13


class Terminated(BaseException):
    """Raised when a signal ends the program. It is a BaseException, so code that catches errors does not catch it.

    Attributes:
        number: the number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals that end the program raise `Terminated` in the body. Then exit with the exit code of the signal."""
    before = _listening(os.getpid())
    try:
        yield
    except Terminated as ending:
        click.echo(f"Ended by {signal.Signals(ending.number).name}.", err=True)
        raise click.exceptions.Exit(_SIGNALLED + ending.number) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listening(process: int) -> dict[int, Any]:
    """Install handlers for the signals that end a program, and return the former handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}

    def end(number: int, _: FrameType | None) -> None:
        if os.getpid() != process:
            # A forked child process ends as it would without this handler.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        for ending in before:
            signal.signal(ending, signal.SIG_IGN)
        raise Terminated(number)

    before = {number: signal.SIG_DFL for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL}
    for number in before:
        signal.signal(number, end)
    return dict(before)


def show_every_letter() -> None:
    """Make standard output escape characters that its encoding does not have, as the error stream does."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def flushed(code: int) -> int:
    """Flush standard output, and return the exit code: `code`, or another code if the flush fails.

    Return `code`, or the exit code for a closed pipe if `code` is 0 and the pipe is closed.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        closed = pipe_closed()
        return code or closed
    return code


def pipe_closed() -> int:
    """Discard all further output, and return the exit code for a closed pipe."""
    # A stream without a file descriptor has no pipe that could be closed.
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return _SIGNALLED + _PIPE


_DEBUG = "discreet.debug"
_LOOK = "Look through it for people's values before you send it."


def debug_option() -> click.Option:
    """Return the option ``--debug``, which names a file for the traceback of an internal error."""
    return click.Option(
        ["--debug"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        expose_value=False,
        callback=_remember,
        help="Write the traceback of an internal error to this new file. It may contain people's values.",
    )


def _remember(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Raise an error if the file of ``--debug`` exists or cannot be written. Otherwise store its path."""
    try:
        if path is not None:
            path.open("x").close()
            path.unlink()
    except OSError as error:
        why = f"{path} exists already or cannot be written ({type(error).__name__}); choose another name."
        raise click.BadParameter(why, ctx, parameter) from None
    ctx.meta[_DEBUG] = path


def keep_traceback(ctx: click.Context, error: Exception) -> str:
    """Write the traceback to the file of ``--debug``, if one was given.

    Return a sentence that says where the traceback is.
    """
    path = ctx.meta.get(_DEBUG)
    if path is None:
        return f"To keep the whole traceback in a file, run the command again with --debug FILE. {_LOOK}"
    try:
        # Only the owner can read the file.
        created = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(created, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(traceback.format_exception(error))
    except OSError as refused:
        return f"The traceback cannot be written to {path} ({type(refused).__name__})."
    return f"Its traceback is in {path}. {_LOOK}"


def place_of(error: Exception) -> str:
    """Return the type of an exception, and the lines of code that raised it, without any values."""
    raised = [(frame.f_globals.get("__name__", "?"), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    inside = [place for place in raised if place[0].startswith("discreet.")]
    places = dict.fromkeys([*raised[-1:], *inside[-1:]])
    where = " from ".join(f"{module}, line {line}" for module, line in places)
    return f"{type(error).__name__} at {where} (discreet {__version__})"


_DEFECT = 70

HELP = ["-h", "--help"]
"""The options of every command that show its help."""

WIDTH = 100
"""The most columns of a help text."""


class CommandError(click.ClickException):
    """A wrong input or a wrong option, shown as one sentence. The exit code is 2."""

    exit_code = 2


# numpy.f2py imports a Fortran compiler, which takes a seventh of a second; the others import test frameworks.
_IDLE_PARTS = ("numpy.testing", "numpy.polynomial", "numpy.ctypeslib", "numpy.ma", "numpy.f2py")


class ConditionalOption(click.Option):
    """An option with rules: the options that it needs, and the options that it cannot be combined with.

    A condition is a list of other options, or of ``name=value``, separated by spaces. It holds if one of these is
    given. The text of a rule is a reason, or a whole sentence with a full stop; ``{}`` is replaced by the option.

    Args:
        needs: conditions that must all hold, and the reason why.
        bars: conditions that must not hold, and the reason why.
    """

    def __init__(
        self, *given: Any, needs: Mapping[str, str] | None = None, bars: Mapping[str, str] | None = None, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self.needs, self.bars = needs or {}, bars or {}

    def check(self, passed: Mapping[str, str], values: Mapping[str, Any]) -> None:
        """Raise an error if a rule of this option is broken. It is called only for options that were given.

        Raises:
            ParameterError: if a rule is broken.
        """
        broken = [why for condition, why in self.bars.items() if _holds(condition, passed, values)]
        broken += [why for condition, why in self.needs.items() if not _holds(condition, passed, values)]
        for why in broken:
            raise idle(passed[str(self.name)], why)


def _holds(condition: str, passed: Mapping[str, str], values: Mapping[str, Any]) -> bool:
    parts = [part.partition("=") for part in condition.split()]
    return any(str(values.get(name)) == value if equals else name in passed for name, equals, value in parts)


def idle(option: str, why: str) -> ParameterError:
    """Return the error for an option that has no effect. `why` is a reason, or a whole sentence with a full stop."""
    if why.endswith("."):
        return ParameterError("option.not-here", sentence=why.format(option))
    return ParameterError("option.idle", option=option, reason=why)


_LAST = re.compile(r"\[(?!default|required)([^\[\]]*)\]$")
"""The brackets at the end of an option's help, which hold its default."""


class Subcommand(click.Command):
    """A command of discreet, with the options that every command has.

    Args:
        has_result: whether the command prints a result, and so has the option ``--json``.
    """

    def __init__(self, *given: Any, has_result: bool = True, **named: Any) -> None:
        super().__init__(*given, **named)
        self.context_settings.setdefault("help_option_names", HELP)
        self.context_settings.setdefault("max_content_width", WIDTH)
        words = "Print JSON instead of sentences and tables."
        json = click.Option(["--json", "as_json"], is_flag=True, expose_value=False, help=words)
        self.params += [json, debug_option()] if has_result else [debug_option()]
        described: list[Any] = [parameter for parameter in self.params if getattr(parameter, "help", None)]
        for parameter in described:
            parameter.help = _LAST.sub(r"[default: \1]", parameter.help)
            default = "" if parameter.is_flag else parameter.default
            if isinstance(default, str | float | int) and default != "" and "[default:" not in parameter.help:
                parameter.help += f" [default: {default:g}]" if isinstance(default, float) else f" [default: {default}]"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raise an error for options of another command of the same group."""
        *groups, name = ctx.command_path.split()[1:] or [str(self.name)]
        here = " ".join([*groups, name])
        try:
            with self.options_in_messages(ctx):
                return super().parse_args(ctx, args)
        except click.UsageError as error:
            option = error.option_name if isinstance(error, click.NoSuchOption) else ""
            whose = [" ".join(["discreet", *groups, verb]) for verb in _commands_with(option, ctx)] if option else []
            if not whose:
                raise
            raise ParameterError("option.other-verb", option=option, names=" or ".join(whose), here=here) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Check options and output files, then run the command. Warnings are printed as notes on the error stream."""
        from discreet.cli.output import check_outputs, given_options, notes_on_errors

        passed = given_options()
        with self.options_in_messages(ctx), notes_on_errors():
            for rule in self.params:
                if isinstance(rule, ConditionalOption) and rule.name in passed:
                    rule.check(passed, ctx.params)
            check_outputs(self.params, ctx.params)
            _delay_imports()
            return self.run(ctx)

    @contextmanager
    def options_in_messages(self, ctx: click.Context) -> Iterator[None]:
        """Replace errors of the body by messages that name options instead of Python's arguments."""
        try:
            yield
        except SurveyDocumentError as error:
            raise _survey_refused(ctx, error) from None
        except DiscreetError as error:
            sentence = error.sentence(self.name_of).replace(ctx.meta.get("discreet.piped", "\0"), "standard input")
            raise CommandError(sentence + (f" [{error.code}]" if error.code else "")) from None

    def name_of(self, argument: str, value: str | None = None) -> str:
        """Return the option that sets a Python argument, with its value.

        Without such an option, return the argument's name.
        """
        options = {option.name: option for option in self.params if isinstance(option, click.Option)}
        flag = options.get(value or "")
        if flag is not None and flag.is_flag:
            return flag.opts[-1]
        if (option := options.get(argument, options.get(f"as_{argument}"))) is not None:
            word = max(option.opts, key=len)
            return word if value is None or option.is_flag else f"{word} {value}"
        return argument if value is None else f"{argument}={value}"

    def run(self, ctx: click.Context) -> Any:
        """Run the command."""
        return super().invoke(ctx)


def _survey_refused(ctx: click.Context, error: SurveyDocumentError) -> ParameterError:
    """Return the error for a survey file that was given instead of a plan.

    It names the survey command, if there is one.
    """
    verb, root = ctx.command_path.split()[1], ctx.find_root()
    main: Any = root.command
    surveys: Any = main.get_command(root, "survey") if "survey" in main.commands else None
    if surveys is None or verb not in surveys.commands:
        return ParameterError("survey.not-a-plan", path=error.path)
    of_one = f" --question {error.question}" if error.question else ""
    return ParameterError("survey.other-verb", path=error.path, verb=f"{verb}{of_one}")


def _delay_imports() -> None:
    """Delay the import of parts of NumPy that discreet does not use. `scipy.special` would import all of them."""
    for name in _IDLE_PARTS if "numpy" in sys.modules else ():
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
            part = sys.modules[name] = module_from_spec(spec)
            setattr(sys.modules["numpy"], name.removeprefix("numpy."), part)
            spec.loader.exec_module(part)


def _commands_with(option: str, ctx: click.Context) -> list[str]:
    """Return the names of the commands in the same group that have an option; empty for the main group."""
    group = None if ctx.parent is None else ctx.parent.command
    if not isinstance(group, click.Group) or isinstance(group, MainGroup):
        return []
    return [name for name, verb in group.commands.items() if any(option in parameter.opts for parameter in verb.params)]


class SubcommandGroup(click.Group):
    """A group of commands. Groups inside it are of this class too."""

    command_class = Subcommand
    group_class: Any = type

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.context_settings.setdefault("help_option_names", HELP)
        self.context_settings.setdefault("max_content_width", WIDTH)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command with a name. For an unknown name, raise an error that lists the commands."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(name, self.commands, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else "."
            ctx.fail(f"There is no command {name!r}{meant} The commands are {', '.join(sorted(self.commands))}.")
        return super().resolve_command(ctx, args)


def other_commands() -> "dict[str, EntryPoint]":
    """Return the commands of other installed packages, by name, from their entry points ``discreet.commands``."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="discreet.commands")}


class LazySubcommands(Mapping[str, click.Command]):
    """A mapping from names to commands. The module of a command is imported when the command is looked up.

    Args:
        homes: the module of each command, by the command's name.
        sentences: the first sentence of each command's help, by the command's name, for a list of commands.
    """

    def __init__(self, homes: Mapping[str, str], sentences: Mapping[str, str] | None = None) -> None:
        self.homes, self.sentences = homes, sentences or {}

    def __getitem__(self, name: str) -> click.Command:
        """Import the module of a command, and return the command."""
        verb: click.Command = getattr(import_module(self.homes[name]), name.replace("-", "_"))
        return verb

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the commands without importing them."""
        return iter(sorted(self.homes))

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(self.homes)


class MainGroup(SubcommandGroup):
    """The group of all commands. Wrong input is one sentence and exit code 2. An internal error has exit code 70.

    Args:
        groups: titles in the list of commands, each with the names of its commands, separated by spaces.
    """

    group_class = SubcommandGroup

    def __init__(self, *given: Any, groups: Mapping[str, str], **named: Any) -> None:
        super().__init__(*given, **named)
        self.groups = groups

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of discreet or of another package; None if the name is unknown."""
        if (verb := super().get_command(ctx, cmd_name)) is not None:
            return verb
        entry = other_commands().get(cmd_name)
        return None if entry is None else entry.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by group, each with the first sentence of its help. No command is imported."""
        verbs: Any = self.commands
        summaries = {name: entry.dist.metadata["Summary"] for name, entry in other_commands().items() if entry.dist}
        sentences, others = summaries | verbs.sentences, " ".join(sorted(summaries.keys() - verbs.keys()))
        groups = dict(self.groups) | ({"Other packages": others} if others else {})
        for title, names in groups.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(max(map(len, sentences))), sentences[name]) for name in names.split()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and exit with the command's exit code."""
        show_every_letter()
        try:
            with ended_by_signals():
                super().invoke(ctx)
            raise click.exceptions.Exit(0)
        except click.exceptions.Exit as ended:
            raise click.exceptions.Exit(flushed(ended.exit_code)) from None
        except DiscreetError as error:
            raise CommandError(str(error)) from None
        except click.ClickException:
            raise
        except BrokenPipeError:
            raise click.exceptions.Exit(pipe_closed()) from None
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except OSError as error:
            where = "" if error.filename is None else f" ({error.filename})"
            reason = error.strerror or type(error).__name__
            raise CommandError(str(DiscreetError("system.refused", reason=reason, where=where))) from None
        except Exception as error:
            # The exit code is not 1, which means a broken promise. The message is hidden: it can hold a person's value.
            path = keep_traceback(ctx, error)
            click.echo(
                f"This is a defect of discreet, not of your input: {place_of(error)}; please report it.", err=True
            )
            click.echo(path, err=True)
            raise click.exceptions.Exit(_DEFECT) from None
