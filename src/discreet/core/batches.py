"""Batches: a name and a number of reports, by which the same reports are recognised and never count twice.

The name of a sealed batch is its collection and epochs. Any other name comes from the writer of the reports, or is 128
random bits that are drawn when the reports are made or written. A name reveals nothing about the reports. It can be
forged.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from discreet.core.checks import is_whole, quoted
from discreet.errors import MismatchError, ParameterError

COLLECTION, EPOCH, EPOCHS = "collection", "epoch", "epochs"
"""Names of the facts on the collection and the epochs of a sealed batch."""

NAME, NUMBER, SEALED = "name", "n", "sealed"
"""Names of the facts of any other batch: its name, its number of reports, and whether its file is sealed."""

_NAME_BYTES = 16
_NAME = re.compile(r"[!-~]([ -~]{0,98}[!-~])?")
_COLLECTION = re.compile(r"[0-9a-f]{64}")
_MOST_EPOCHS, _LETTERS_SHOWN = 1 << 32, 12


@dataclass(frozen=True, slots=True, order=True)
class NamedBatch:
    """The name of a batch of reports, and the number of its reports that are present.

    Attributes:
        name: the name of the batch.
        n: number of its reports that are here.
        size: number of reports of the whole batch.

    Example:
        >>> whole, part = NamedBatch("monday", n=5, size=5), NamedBatch("monday", n=2, size=5)
        >>> whole.is_whole, part.is_whole, whole.entry, part.entry
        (True, False, ['monday', 5], ['monday', 2, 5])
    """

    name: str
    n: int
    size: int

    @property
    def is_whole(self) -> bool:
        """True if all reports of a batch are present."""
        return self.n == self.size

    @property
    def entry(self) -> list[Any]:
        """The batch as a list, the form in which the file of a tally stores it."""
        return [self.name, self.n] if self.is_whole else [self.name, self.n, self.size]

    @classmethod
    def of_entry(cls, entry: Any) -> "NamedBatch":
        """Return the batch that an entry of a tally's file stores. A digest in entries of earlier versions is ignored.

        Raises:
            ValueError: if the entry lists no batch.
        """
        name, *others = entry if isinstance(entry, list) and entry else [None]
        numbers: list[Any] = [number for number in others if not isinstance(number, str)]
        known = len(numbers) in {1, 2} and all(type(number) is int for number in numbers)
        if not is_name(name) or not known or not 1 <= numbers[0] <= numbers[-1]:
            raise ValueError("the entry lists no batch")
        return cls(str(name), numbers[0], numbers[-1])

    def __str__(self) -> str:
        collection, _, epochs = self.name.partition("/")
        if epochs and _COLLECTION.fullmatch(collection):
            return f"{epochs} of collection {collection[:_LETTERS_SHOWN]}"
        return self.name


def new_name() -> str:
    """Return a new, unique name for a batch: 128 random bits in hexadecimal."""
    # A name protects nothing and is part of no report, so it needs no words from the random source.
    return os.urandom(_NAME_BYTES).hex()


def new_batches(n: int) -> tuple[NamedBatch, ...]:
    """Return the batch of n new reports under a new name, as a tuple; an empty tuple if n is 0 or 1."""
    return (NamedBatch(new_name(), n, n),) if n > 1 else ()


def is_name(name: object) -> TypeGuard[str]:
    """Return true if an object is a valid name of a batch."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def checked_name(name: object) -> str:
    """Return a valid name of a batch unchanged, and a new name for None.

    Raises:
        ParameterError: if the name has other characters than ASCII's, or too many.

    Example:
        >>> checked_name("monday"), len(checked_name(None))
        ('monday', 32)
    """
    if name is None:
        return new_name()
    if not is_name(name):
        raise ParameterError("name.not-usable", argument="name", value=quoted(name))
    return name


def batch_facts(name: str, n: int) -> dict[str, Any]:
    """Return the metadata entries that identify a batch in a file: its name and its number of reports."""
    return {NAME: name, NUMBER: n}


def batch_name(facts: Mapping[str, Any]) -> str:
    """Return the name of the batch in a file's metadata; empty if the metadata identify no batch.

    Example:
        >>> names = [batch_name({"collection": "8f" * 32, **epochs}) for epochs in ({"epoch": 3}, {"epochs": [3, 5]})]
        >>> [name.removeprefix("8f" * 32) for name in names], batch_name({"name": "monday"}), batch_name({})
        (['/3', '/3-5'], 'monday', '')
    """
    if NAME in facts:
        return facts[NAME] if is_name(facts[NAME]) else ""
    if {*facts} & {COLLECTION, EPOCH, EPOCHS} not in ({COLLECTION, EPOCH}, {COLLECTION, EPOCHS}):
        return ""
    collection, epochs = facts[COLLECTION], facts[EPOCHS] if EPOCHS in facts else [facts[EPOCH]]
    known = (
        isinstance(collection, str)
        and _COLLECTION.fullmatch(collection) is not None
        and isinstance(epochs, list)
        and len(epochs) == 1 + (EPOCHS in facts)
        and all(type(epoch) is int and 0 <= epoch < _MOST_EPOCHS for epoch in epochs)
        and sorted(set(epochs)) == epochs
    )
    return f"{collection}/{'-'.join(map(str, epochs))}" if known else ""


def batch_in(facts: Mapping[str, Any], n: int) -> NamedBatch | None:
    """Return the batch that a file's metadata name, with the file's n reports; None if the metadata name no batch.

    A file whose metadata do not give the size of the batch is assumed to hold the whole batch.

    Example:
        >>> batch_in({"name": "monday", "n": 5}, 2), batch_in({"name": "monday"}, 2), batch_in({"n": 5}, 2)
        (NamedBatch(name='monday', n=2, size=5), NamedBatch(name='monday', n=2, size=2), None)
    """
    name, size = batch_name(facts), facts.get(NUMBER)
    return NamedBatch(name, n, int(size) if is_whole(size) else n) if name and n else None


def merged(batches: Iterable[NamedBatch]) -> tuple[NamedBatch, ...]:
    """Return batches sorted by name, with the parts of one batch added up.

    Raises:
        MismatchError: if there are more reports of a batch than it has.

    Example:
        >>> merged([NamedBatch("b", 1, 1), NamedBatch("a", 2, 5), NamedBatch("a", 3, 5)])
        (NamedBatch(name='a', n=5, size=5), NamedBatch(name='b', n=1, size=1))
    """
    by_name: dict[str, NamedBatch] = {}
    for batch in batches:
        other = by_name.get(batch.name)
        by_name[batch.name] = batch if other is None else _added_up(batch, other)
    wrong = [batch for batch in by_name.values() if batch.n > batch.size]
    if wrong:
        raise MismatchError(
            "batch.too-many-reports", batch=wrong[0], size=wrong[0].size, n=wrong[0].n, count=len(wrong)
        )
    return tuple(sorted(by_name.values()))


def _added_up(batch: NamedBatch, other: NamedBatch) -> NamedBatch:
    return NamedBatch(batch.name, batch.n + other.n, max(batch.size, other.size))
