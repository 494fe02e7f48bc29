"""Defects of discreet: their places in the code, never their messages; the whole traceback on request.

The message of an exception that nobody foresaw may quote anything, a person's value too.
"""

import os
import traceback
from pathlib import Path

import click

from discreet import __version__

_DEBUG = "discreet.debug"
_LOOK = "look through it for people's values before you send it."


def debug_option() -> click.Option:
    """Return the option that names a file for the traceback of a defect."""
    return click.Option(
        ["--debug"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        expose_value=False,
        callback=_remember,
        help="Keep the traceback of a defect in this new file; it may hold people's values.",
    )


def _remember(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Refuse a file that cannot be written before anything is done."""
    if path is None:
        return
    try:
        os.close(_created(path))
        path.unlink()
    except FileExistsError:
        raise click.BadParameter(f"{path} exists already; choose another name.", ctx, parameter) from None
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written ({type(error).__name__}).", ctx, parameter) from None
    ctx.meta[_DEBUG] = path


def _created(path: Path) -> int:
    # For its owner alone.
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)


def keep_traceback(ctx: click.Context, error: Exception) -> str:
    """Write the traceback to the file of ``--debug``, if there is one, and return a sentence about it."""
    path = ctx.meta.get(_DEBUG)
    if path is None:
        return f"The same with --debug FILE keeps the whole traceback; {_LOOK}"
    try:
        with open(_created(path), "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(traceback.format_exception(error))
    except OSError as refused:
        return f"The traceback cannot be written to {path} ({type(refused).__name__})."
    return f"Its traceback is in {path}; {_LOOK}"


def place_of(error: Exception) -> str:
    """Return the type of an exception and the lines that raised it, in our code and in a library's."""
    raised = [(frame.f_globals.get("__name__", "?"), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    inside = [place for place in raised if place[0].startswith("discreet.")]
    told = dict.fromkeys([*raised[-1:], *inside[-1:]])
    where = " from ".join(f"{module}, line {line}" for module, line in told)
    return f"{type(error).__name__} at {where} (discreet {__version__})"
