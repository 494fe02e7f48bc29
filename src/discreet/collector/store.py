"""The store of a collector: what it keeps, as rows, and what every store can do."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from discreet.errors import DataError, DiscreetError

NO_EPOCH = -1
"""In place of an epoch that the collection does not have: whoever sends one could name any number."""


class FailedStoreError(DiscreetError, RuntimeError):
    """The store could not keep or find something: a full disk, a damaged file, no rights."""


class DamagedStoreError(DataError):
    """The store holds what it must not."""


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection that was added.

    Attributes:
        key: its number in this store.
        id: SHA-256 of its document.
        name: of the collection.
        version: of this name.
        state: ``open`` or ``withdrawn``, as the document says.
        envelope: as it was added.
        trust: the public keys under which it was added.
        added: when, in Unix seconds.
    """

    key: int
    id: bytes
    name: str
    version: int
    state: str
    envelope: bytes
    trust: tuple[bytes, ...]
    added: int


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A frame to be kept: neither when it came nor from where.

    Attributes:
        digest: the first 16 bytes of its SHA-256.
        collection: key of the collection.
        epoch: of the reports.
        n: how many reports.
        reports: ids and records, without the frame's head.
    """

    digest: bytes
    collection: int
    epoch: int
    n: int
    reports: bytes


@dataclass(frozen=True, slots=True)
class SealRow:
    """A sealed epoch.

    Attributes:
        collection: key of the collection.
        epoch: which.
        file: beneath the folder of sealed files.
        sha256: of the file, hexadecimal.
        n: reports in it.
        duplicates: reports that came more than once.
        conflicts: reports under an id that another one had before.
        at: when, in Unix seconds.
    """

    collection: int
    epoch: int
    file: str
    sha256: str
    n: int
    duplicates: int
    conflicts: int
    at: int


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token of a program or a person; the token itself is kept nowhere.

    Attributes:
        name: of the holder.
        role: ``analyst`` or ``operator``.
        digest: SHA-256 of the token.
        made: when, in Unix seconds.
        ends: when it ends; None if it does not.
    """

    name: str
    role: str
    digest: bytes
    made: int
    ends: int | None

    def is_good(self, now: float) -> bool:
        """Return true if the token is in use at a time."""
        return self.ends is None or self.ends > now


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A line of the audit: who did what, when."""

    seq: int
    at: int
    actor: str
    action: str
    detail: str


class Store(Protocol):
    """A store, used by one thread at a time; other stores may hold the same data."""

    def close(self) -> None:
        """Give back what is open."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Return a transaction for writing: all or nothing; on disk when it ends."""
        ...

    def changed(self) -> bool:
        """Return true if somebody else has written since this was last asked."""
        ...

    def insert(self, frames: Iterable[FrameRow]) -> int:
        """Keep frames, within a transaction; those whose digest is there already are passed over.

        Returns:
            How many are new.
        """
        ...

    def count_refusals(self, refusals: Mapping[tuple[int | None, int, str], int]) -> None:
        """Add to the counts of refusals by collection, epoch and reason, within a transaction."""
        ...

    def refusals(self) -> dict[tuple[int | None, int, str], int]:
        """Return the counts of refusals."""
        ...

    def collections(self) -> list[CollectionRow]:
        """Return all collections, in the order in which they were added."""
        ...

    def add_collection(self, row: CollectionRow) -> None:
        """Keep a collection, within a transaction; its key is chosen here."""
        ...

    def close_epoch(self, collection: int, epoch: int) -> None:
        """Take no more reports of an epoch, within a transaction."""
        ...

    def closed(self) -> set[tuple[int, int]]:
        """Return the closed epochs, by key of the collection and number."""
        ...

    def pending(self) -> list[tuple[int, int]]:
        """Return the epochs of which frames are here, by key of the collection and number."""
        ...

    def waiting(self) -> dict[tuple[int, int], int]:
        """Return the number of reports that wait to be sealed, by key of the collection and epoch."""
        ...

    def frames(self, collection: int, epoch: int, *, after: int, most: int) -> tuple[int, bytes]:
        """Return reports behind a place, frame by frame, joined in order, and the place of the last frame.

        Args:
            collection: its key.
            epoch: which.
            after: a place; -1 for the beginning.
            most: reports at most; a single frame may have more.
        """
        ...

    def drop_frames(self, collection: int, epoch: int) -> None:
        """Delete the frames of an epoch, within a transaction."""
        ...

    def record_seal(self, row: SealRow) -> None:
        """Keep the seal of an epoch, within a transaction."""
        ...

    def seals(self) -> list[SealRow]:
        """Return all seals, by collection and epoch."""
        ...

    def remove_collection(self, key: int) -> None:
        """Delete a collection with all of its rows, within a transaction."""
        ...

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, ended ones among them."""
        ...

    def add_token(self, row: TokenRow) -> None:
        """Keep a token, within a transaction."""
        ...

    def end_token(self, name: str, at: int) -> bool:
        """End a token, within a transaction, and return whether there was one."""
        ...

    def note(self, at: int, actor: str, action: str, detail: str) -> None:
        """Write a line of the audit, within a transaction."""
        ...

    def audit(self, *, most: int = 1000) -> Sequence[AuditRow]:
        """Return the last lines of the audit, in order."""
        ...

    def checkpoint(self) -> None:
        """Move what was written last to where it belongs."""
        ...

    def backup(self, target: Path) -> None:
        """Copy everything into a new file, whatever is written meanwhile."""
        ...

    def flaws(self) -> list[str]:
        """Return a sentence for each invariant that does not hold."""
        ...
