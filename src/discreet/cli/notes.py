"""Warnings as notes: on the error stream, or collected for the result."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from discreet.errors import SourceWarning


@contextmanager
def notes_on_errors() -> Iterator[None]:
    """Print the warnings of the body on the error stream, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        click.echo(f"Note: {warning.message}", err=True)


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
