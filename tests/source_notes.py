"""Warnings about sources of reports, gathered for whoever looks at what they say."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import SourceWarning


@contextmanager
def notes() -> Iterator[list[str]]:
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    assert all(each.category is SourceWarning for each in caught)
    said += [str(each.message) for each in caught]
