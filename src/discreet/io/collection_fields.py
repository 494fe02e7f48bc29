"""Fields of a collection's document: what each must be, one check each."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from discreet.io.collection_errors import FieldError

FORMAT = "discreet collection 1"
OPEN, WITHDRAWN = "open", "withdrawn"
ONCE, FRESH, PERMANENT = "once", "fresh", "permanent"
ANSWERS = (ONCE, FRESH, PERMANENT)
SHORTEST_EPOCH = 60
"""In seconds."""

_LARGEST = (1 << 53) - 1
_MOST_EPOCHS = (1 << 32) - 1
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_HOST = re.compile(r"[a-z0-9.-]+|[0-9a-f:.]+")
USUAL_PORTS = {"https": 443, "http": 80}
"""Ports that an origin does not name."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts of origins that are this machine."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """Epochs in which a collection takes answers.

    Attributes:
        start: of epoch 0, in seconds since 1970.
        seconds: length of an epoch.
        count: number of epochs.
    """

    start: int
    seconds: int
    count: int

    @property
    def end(self) -> int:
        """End of the last epoch, in seconds since 1970."""
        return self.start + self.seconds * self.count


def _refuse(name: str, wanted: str) -> FieldError:
    return FieldError(f"the field {name} of a collection must be {wanted}, and it is not.")


def _text(name: str, said: Any) -> str:
    if type(said) is not str or not said.strip():
        raise _refuse(name, "a text that is not empty")
    return said


def _fitting(pattern: re.Pattern[str]) -> Callable[[str, Any], str]:
    def check(name: str, said: Any) -> str:
        if type(said) is not str or not pattern.fullmatch(said):
            raise _refuse(name, f"a text of the form {pattern.pattern}")
        return said

    return check


def _either(*known: str) -> Callable[[str, Any], str]:
    def check(name: str, said: Any) -> str:
        if said not in known or type(said) is not str:
            raise _refuse(name, f"one of {', '.join(known)}")
        return said

    return check


def _whole(least: int, most: int = _LARGEST) -> Callable[[str, Any], int]:
    def check(name: str, said: Any) -> int:
        if type(said) is not int or not least <= said <= most:
            raise _refuse(name, f"an integer in {least}..{most}")
        return said

    return check


def _nats(name: str, said: Any) -> float:
    if type(said) not in {int, float} or not 0 < said <= _LARGEST:
        raise _refuse(name, "a finite number of nats above 0")
    return float(said)


def _flag(name: str, said: Any) -> bool:
    if type(said) is not bool:
        raise _refuse(name, "true or false")
    return said


def _mark(name: str, said: Any) -> bool:
    if said is not True:
        raise _refuse(name, "true, or left out")
    return True


def _table(name: str, said: Any) -> dict[str, Any]:
    if type(said) is not dict:
        raise _refuse(name, "an object")
    return said


def _epochs(name: str, said: Any) -> Epochs:
    if type(said) is not dict or set(said) != set(Epochs.__slots__):
        raise _refuse(name, "an object of start, seconds and count")
    start = _whole(0)("epochs.start", said["start"])
    seconds = _whole(SHORTEST_EPOCH)("epochs.seconds", said["seconds"])
    made = Epochs(start, seconds, _whole(1, _MOST_EPOCHS)("epochs.count", said["count"]))
    if made.end > _LARGEST:
        raise _refuse(name, "over before the year 285,000,000")
    return made


def _origins(name: str, said: Any) -> tuple[str, ...]:
    if type(said) is not list or not said or not all(type(one) is str and is_origin(one) for one in said):
        raise _refuse(name, "a list of origins such as https://collect.example.org (http only on this machine)")
    return tuple(said)


# Controls of direction, joiners where nothing joins, fillers, tags, and controls beside tab and line feed: whatever
# makes a text another one than people see. Joiners belong to scripts from Arabic on, and to pictures of several parts.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    "|(?<![\u0600-\u1fff\u2070-\U0010ffff])[\u200c\u200d]"
)


def refuse_invisible(said: Any) -> None:
    """Refuse a document in which any text has characters that nobody sees.

    Raises:
        FieldError: if so; it names the first ones.
    """
    found = sorted({one for text in _texts(said) for one in _INVISIBLE.findall(text)})
    if found:
        shown = ", ".join(f"U+{ord(one):04X}" for one in found[:3])
        raise FieldError(
            "what people read in a collection must be what it seems, without controls of direction and other invisible "
            f"characters, and this one has {shown}{' and more' if len(found) > 3 else ''}; leave them out."
        )


def _texts(said: Any) -> Iterator[str]:
    """Yield the texts in JSON, names of fields among them."""
    parts = [said]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            parts += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            parts += part


def is_origin(text: str) -> bool:
    """Return true if a text is an origin that devices may send to: https, or http on this machine."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or not _HOST.fullmatch(host) or port == USUAL_PORTS.get(parts.scheme):
        return False
    written = f"[{host}]" if ":" in host else host
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
    return safe and text == f"{parts.scheme}://{written}" + ("" if port is None else f":{port}")


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "name": _fitting(_NAME),
    "version": _whole(1),
    "state": _either(OPEN, WITHDRAWN),
    "title": _text,
    "purpose": _text,
    "contact": _text,
    "plan": _table,
    "simulated": _flag,
    "linkable": _flag,
    "fingerprint": _fitting(_FINGERPRINT),
    "sampler": _table,
    "answers": _either(*ANSWERS),
    "epsilon": _nats,
    "lifetime": _nats,
    "epochs": _epochs,
    "late": _whole(0),
    "spread": _whole(0),
    "least": _whole(1),
    "retention": _whole(1),
    "collectors": _origins,
}
FIELDS = ("format", *CHECKS)
"""The fields of every document, in the order in which they are checked."""
OPTIONAL: dict[str, Callable[[str, Any], Any]] = {"listed": _mark}
"""Fields that a document may have beside them, and is the same without; what is left out is false."""
