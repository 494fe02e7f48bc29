"""Early ends of a verb: Ctrl-C, a signal, or a closed pipe.

A signal that ends programs is raised as an exception, so that what was half written is removed on the way out.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType
from typing import Any

import click

# What shells say of a program that a signal ended: 128 and its number.
_SIGNALLED = 128
INTERRUPTED = _SIGNALLED + signal.SIGINT
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_PIPE = 13


class Terminated(BaseException):
    """The exception of a signal that ends the program; not an error, which other code might catch.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn signals that end programs into an orderly exit, with the exit code of the signal."""
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
    """Handle the signals that nobody else handles or ignores; return their former handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}

    def end(number: int, _: FrameType | None) -> None:
        if os.getpid() != process:
            # A child of ours that was forked ends as it would have.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise Terminated(number)

    before = {number: signal.SIG_DFL for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL}
    for number in before:
        signal.signal(number, end)
    return dict(before)


def show_every_letter() -> None:
    """Let standard output escape the letters that its encoding has not, as the error stream does."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def flushed(code: int) -> int:
    """Flush standard output, and return the exit code: the one given, or that of a closed pipe."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        closed = pipe_closed()
        return code or closed
    return code


def pipe_closed() -> int:
    """Discard further output, and return the exit code of a program with a closed pipe."""
    # What has no file behind it has no reader that can go either.
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return _SIGNALLED + _PIPE
