"""Sealed batches, as they are recognised: by a name that was signed for, and the order-free digest of their reports."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

COLLECTION, EPOCH, EPOCHS = "collection", "epoch", "epochs"
"""Names of the facts that say of which collection and epochs a sealed batch is."""

SEALED, NUMBER, DIGEST = "sealed", "n", "digest"
"""Names of what a sealed file says of itself besides: that it is one, how many reports it holds, and their digest."""

_COLLECTION = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"([0-9a-f]{64}/[0-9]{1,10}(-[0-9]{1,10})?)?")
_DIGEST = re.compile(r"[0-9a-f]{32}")
_MOST_EPOCHS = 1 << 32


@dataclass(frozen=True, slots=True, order=True)
class SealedBatch:
    """A sealed batch, as it is recognised.

    Attributes:
        name: what was signed for: a collection and its epochs; empty for a batch of no collection.
        digest: order-free digest of its reports (`discreet.core.digests`).
        n: number of reports.

    Example:
        >>> monday, tuesday = SealedBatch("c0ffee/1", 17, n=2), SealedBatch("c0ffee/2", 17, n=2)
        >>> monday.is_same(tuesday), monday.is_same(SealedBatch("", 17, n=2))
        (False, True)
    """

    name: str
    digest: int
    n: int

    @property
    def entry(self) -> list[Any]:
        """The batch as it is listed in the file of a tally."""
        return [self.name, spelled(self.digest), self.n]

    @classmethod
    def of_entry(cls, entry: Any) -> "SealedBatch":
        """Return a batch as it is listed.

        Raises:
            ValueError: if this is none.
        """
        name, digest, n = entry if isinstance(entry, list) and len(entry) == len(cls.__slots__) else ("/", "", 0)
        if not isinstance(name, str) or _NAME.fullmatch(name) is None or type(n) is not int or n < 1:
            raise ValueError("this is no batch")
        return cls(name, read_digest(digest), n)

    def is_same(self, other: "SealedBatch") -> bool:
        """Return true if the reports are the same: by their digest, unless names say that they are different batches.

        Small honest epochs are alike by chance.
        """
        alike = (self.digest, self.n) == (other.digest, other.n)
        return alike and (self.name == other.name or not (self.name and other.name))


def spelled(digest: int) -> str:
    """Return a digest as it is written, 32 hexadecimal digits."""
    return f"{digest:032x}"


def read_digest(text: Any) -> int:
    """Return a digest that was `spelled`.

    Raises:
        ValueError: if this is none.
    """
    if not isinstance(text, str) or _DIGEST.fullmatch(text) is None:
        raise ValueError("this is no digest")
    return int(text, 16)


def in_both(batches: Iterable[SealedBatch], others: Iterable[SealedBatch]) -> list[SealedBatch]:
    """Return those batches that are among others, too."""
    found: dict[int, list[SealedBatch]] = {}
    for other in others:
        found.setdefault(other.digest, []).append(other)
    return [batch for batch in batches if any(batch.is_same(other) for other in found.get(batch.digest, ()))]


def batch_name(facts: Mapping[str, Any]) -> str:
    """Return the name of a batch by the facts of its file: collection and epochs; empty without facts of this form.

    Example:
        >>> names = [batch_name({"collection": "8f" * 32, **epochs}) for epochs in ({"epoch": 3}, {"epochs": [3, 5]})]
        >>> [name.removeprefix("8f" * 32) for name in names], batch_name({"collection": "alice 10:31", "epoch": 3})
        (['/3', '/3-5'], '')
    """
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
