"""Warnings as notes: on the error stream, or collected for the result."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from discreet.errors import SourceWarning


@contextmanager
def notes_on_errors() -> Iterator[None]:
    """Print the warnings of the body for its user on the error stream, a line each, each of them once."""
    said = set[str]()

    def note(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
        if not issubclass(category, UserWarning):
            others(message, category, *place, **named)
        elif str(message) not in said:
            said.add(str(message))
            click.echo(f"Note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        others, warnings.showwarning = warnings.showwarning, note
        yield


@contextmanager
def file_notes() -> Iterator[list[str]]:
    """Collect the warnings of files that are read; other warnings are issued again.

    Yields:
        a list, which holds the sentences afterwards.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SourceWarning)
        yield notes
    for warning in caught:
        if issubclass(warning.category, SourceWarning):
            notes.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
