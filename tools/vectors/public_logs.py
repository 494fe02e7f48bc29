"""Vectors of public logs: a collector's answers, and whether a device takes a collection by each.

Lines of ``logs.jsonl``: the ``answer`` (or an ``edit``: other fields of the first line's), the public ``key`` of the
log, the ``id`` of a collection and the head seen ``before`` (``size`` and ``root``, hexadecimal digits), and the
``size`` of the log that is remembered, or null where the collection is refused.
"""

import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.device.protocol.envelope import UnloggedError, public_key
from discreet.device.protocol.public_log import LogHead, checked_log, log_answer

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
_OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
_IDS = [bytes([place]) * 32 for place in range(13)]
# Size, place and size seen before: whole trees and others, first and last places, nothing seen and everything.
_TAKEN = (
    (1, 0, 0), (1, 0, 1), (2, 1, 1), (5, 4, 3), (6, 3, 6), (8, 0, 5), (11, 10, 8), (13, 7, 12),
)  # fmt: skip
_FIRST = log_answer(_IDS[:6], _KEY, _IDS[4], 3)


def _line(answer: bytes, id_: bytes, before: LogHead, edit: dict[str, Any] | None = None) -> dict[str, Any]:
    try:
        size: int | None = checked_log(answer, public_key(_KEY), id_, before).size
    except UnloggedError:
        size = None
    seen = {"size": before.size, "root": before.root.hex()}
    written = {"answer": answer.decode()} if edit is None else {"edit": edit}
    return {**written, "key": public_key(_KEY).hex(), "id": id_.hex(), "before": seen, "size": size}


def _refused() -> list[dict[str, Any]]:
    """Return lines that no device takes."""
    before, id_ = LogHead.of(_IDS[:3]), _IDS[4]
    answer = json.loads(_FIRST)
    changed: list[dict[str, Any]] = [
        {"index": 3},
        {"index": 4.5},
        {"index": -1},
        {"more": 1},
        {"inclusion": answer["inclusion"][:-1]},
        {"inclusion": [*answer["inclusion"], "00" * 32]},
        {"inclusion": [one.upper() for one in answer["inclusion"]]},
        {"consistency": answer["consistency"][1:]},
        {"consistency": ["00" * 32, *answer["consistency"][1:]]},
        {"consistency": ["00" * 32] * 65},
        {"head": "{}"},
        {"head": 1},
    ]
    lines = [_line(json.dumps({**answer, **one}).encode(), id_, before, one) for one in changed]
    lines += [
        _line(log_answer(_IDS[:6], _OTHER, id_, 3), id_, before),
        _line(log_answer([*_IDS[1:3], _IDS[0], *_IDS[3:6]], _KEY, id_, 3), id_, before),
        _line(log_answer([*_IDS[:2], id_], _KEY, id_, 0), id_, before),
        _line(log_answer([id_], _KEY, id_), id_, before),
        _line(_FIRST, _IDS[5], before, {}),
    ]
    if any(line["size"] is not None for line in lines):
        raise AssertionError("a line that no device takes is taken")
    return lines


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the file, by its name."""
    taken = [
        _line(log_answer(_IDS[:size], _KEY, _IDS[place], seen), _IDS[place], LogHead.of(_IDS[:seen]))
        for size, place, seen in _TAKEN
    ]
    taken.insert(0, _line(_FIRST, _IDS[4], LogHead.of(_IDS[:3])))
    if any(line["size"] is None for line in taken):
        raise AssertionError("a line that every device takes is refused")
    return {"logs.jsonl": [*taken, *_refused()]}
