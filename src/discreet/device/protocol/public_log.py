"""The public log of collections: a Merkle tree of their ids, whose head a collector signs.

A collector could make a special survey for one person. The person can notice this only if other people can see every
survey. So collections are added to a public log and never removed. A device that pins the key of a log accepts only
collections in the log, and only a log that still has all its earlier entries. Ids are hashes, so the log does not
reveal the names of unlisted surveys.

Leaves, nodes and both proofs follow RFC 9162, section 2.1, over ids of 32 bytes. The head is a document in an envelope
(`discreet.device.protocol.envelope`). It contains no time: a device remembers the largest head that it has seen.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.device.protocol.envelope import CollectionError, UnloggedError, opened, parsed, signed

FORMAT = "discreet log 1"
_BYTES = 32
_MOST_BYTES = 1 << 16
# A path in a tree of 2^31 ids is shorter.
_MOST_STEPS = 64


@dataclass(frozen=True, slots=True)
class LogHead:
    """The head of a log: its size and the root of its tree.

    Attributes:
        size: the number of ids.
        root: the root of the tree over the ids, 32 bytes.

    Example:
        >>> ids = [bytes([place]) * 32 for place in range(5)]
        >>> three, five = LogHead.of(ids[:3]), LogHead.of(ids)
        >>> five.includes(ids[2], 2, inclusion(ids, 2)), five.continues(three, consistency(ids, 3))
        (True, True)
    """

    size: int
    root: bytes

    @classmethod
    def of(cls, ids: Sequence[bytes]) -> "LogHead":
        """Return the head of the log that contains these ids."""
        return cls(len(ids), _root(ids))

    def includes(self, id_: bytes, index: int, path: Sequence[bytes]) -> bool:
        """Return true if `path` proves that the log has an id at position `index`."""
        place, last, node = index, self.size - 1, _leaf(id_)
        for step in path:
            if not last:
                return False
            if place & 1 or place == last:
                node = _node(step, node)
                place, last = _up(place, last)
            else:
                node = _node(node, step)
            place, last = place >> 1, last >> 1
        return index < self.size and not last and node == self.root

    def continues(self, before: "LogHead", path: Sequence[bytes]) -> bool:
        """Return true if `path` proves that this log is an earlier log with zero or more ids added."""
        if not before.size or before.size == self.size:
            return not path and (not before.size or before == self)
        # An earlier log that is a complete subtree of this one is the path's first step itself.
        steps = [before.root, *path] if before.size & (before.size - 1) == 0 else path
        if before.size > self.size or not steps:
            return False
        place, last = before.size - 1, self.size - 1
        while place & 1:
            place, last = place >> 1, last >> 1
        old = new = steps[0]
        for step in steps[1:]:
            if not last:
                return False
            if place & 1 or place == last:
                old, new = _node(step, old), _node(step, new)
                place, last = _up(place, last)
            else:
                new = _node(new, step)
            place, last = place >> 1, last >> 1
        return not last and old == before.root and new == self.root


def inclusion(ids: Sequence[bytes], index: int) -> list[bytes]:
    """Return the path to the tree's root, which proves that a log has an id at `index`."""
    if len(ids) == 1:
        return []
    cut = _cut(len(ids))
    if index < cut:
        return [*inclusion(ids[:cut], index), _root(ids[cut:])]
    return [*inclusion(ids[cut:], index - cut), _root(ids[:cut])]


def consistency(ids: Sequence[bytes], size: int, *, whole: bool = True) -> list[bytes]:
    """Return the path which proves that a log starts with all ids of an earlier log.

    Args:
        ids: all ids of this log.
        size: size of the earlier log.
        whole: whether the reader knows the root of the earlier log.
    """
    if size in {0, len(ids)}:
        return [] if whole else [_root(ids)]
    cut = _cut(len(ids))
    if size <= cut:
        return [*consistency(ids[:cut], size, whole=whole), _root(ids[cut:])]
    return [*consistency(ids[cut:], size - cut, whole=False), _root(ids[:cut])]


def log_answer(ids: Sequence[bytes], key: Ed25519PrivateKey, id_: bytes | None = None, since: int = 0) -> bytes:
    """Return the signed head of a log as JSON, with the proofs for an id.

    Args:
        ids: all ids, oldest first.
        key: private key of the log.
        id_: the id to prove; None for the head only.
        since: size of the log that the reader has seen.

    Raises:
        ValueError: if the id is not in the log, or the log is smaller.
    """
    if not 0 <= since <= len(ids):
        raise ValueError("the log is smaller")
    head = LogHead.of(ids)
    document = json.dumps({"format": FORMAT, "size": head.size, "root": head.root.hex()}).encode()
    answer: dict[str, Any] = {"head": signed(document, [key]).decode()}
    if id_ is not None:
        index = ids.index(id_)
        paths = {"inclusion": inclusion(ids, index), "consistency": consistency(ids, since)}
        answer |= {"index": index, **{name: [step.hex() for step in path] for name, path in paths.items()}}
    return json.dumps(answer).encode()


def checked_log(answer: bytes, key: bytes, id_: bytes, before: LogHead) -> LogHead:
    """Check that a log has an id and continues an earlier log, and return the log's head.

    Args:
        answer: the collector's answer, as received.
        key: the public key of the log, 32 bytes, pinned by the application.
        id_: id of a collection.
        before: the head seen before; a head of size 0 if none was seen.

    Raises:
        UnloggedError: if a check fails.
    """
    try:
        if len(answer) > _MOST_BYTES:
            raise ValueError("too large")
        content = parsed(answer)
        document = parsed(opened(content["head"].encode(), [key]))
        head = LogHead(_whole(document["size"]), _hash(document["root"]))
        index, included, continued = (
            _whole(content["index"]),
            _path(content["inclusion"]),
            _path(content["consistency"]),
        )
        known = document["format"] == FORMAT and set(document) == {"format", "size", "root"} and len(content) == 4
    except (CollectionError, ValueError, TypeError, KeyError, AttributeError):
        known = False
    if not known:
        raise UnloggedError("log.wrong-proof")
    if not head.includes(id_, index, included):
        raise UnloggedError("log.not-included")
    if not head.continues(before, continued):
        raise UnloggedError("log.not-continued")
    return head


def _whole(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 1 << 31:
        raise ValueError("no whole number")
    return number


def _hash(digits: Any) -> bytes:
    read = bytes.fromhex(digits)
    if len(read) != _BYTES or read.hex() != digits:
        raise ValueError("no hash")
    return read


def _path(steps: Any) -> list[bytes]:
    if type(steps) is not list or len(steps) > _MOST_STEPS:
        raise ValueError("no path")
    return list(map(_hash, steps))


def _digest(parts: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _leaf(id_: bytes) -> bytes:
    return _digest([b"\0", id_])


def _node(left: bytes, right: bytes) -> bytes:
    return _digest([b"\1", left, right])


def _root(ids: Sequence[bytes]) -> bytes:
    if len(ids) < 2:
        return _leaf(ids[0]) if ids else _digest([])
    cut = _cut(len(ids))
    return _node(_root(ids[:cut]), _root(ids[cut:]))


def _cut(size: int) -> int:
    """Return the largest power of two that is less than `size`, which is at least 2."""
    return 1 << (size - 1).bit_length() - 1


def _up(place: int, last: int) -> tuple[int, int]:
    """Move a position and the last position up the tree until the position is a right child, or 0."""
    while place and not place & 1:
        place, last = place >> 1, last >> 1
    return place, last
