"""Values of options of a collector's verbs: lengths of time, times, public keys and signed collections."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from discreet.device.protocol.collection import Collection, open_envelope, rebuild
from discreet.device.protocol.envelope import KEY_BYTES, MOST_ENVELOPE_BYTES, CollectionError, signers
from discreet.errors import ParameterError

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LENGTH = re.compile(r"(\d{1,12})([smhdw]?)", re.ASCII)
_MOST_DIGITS = 20


def length(text: str) -> int:
    """Return the seconds of a length of time: 90, 90s, 15m, 12h, 1d or 2w."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise click.BadParameter(f"{text!r} is no length of time; write it as 90s, 15m, 12h, 1d or 2w.")
    return int(match[1]) * _UNITS[match[2]]


def timestamp(text: str) -> int:
    """Return the seconds since 1970 of a time: a number, 2027-01-31, or 2027-01-31T12:00; in UTC without a zone."""
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is no time; write it as 2027-01-31 or 2027-01-31T12:00.") from None


def key_of(text: str) -> bytes:
    """Return the 32 bytes of a public key as `discreet collection key` prints it."""
    try:
        key = b64decode(text, validate=True)
    except (Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise click.BadParameter("a public key must be 44 letters of base64, as `discreet collection key` prints it.")
    return key


def spelled_key(key: bytes) -> str:
    """Return a public key as it is printed."""
    return b64encode(key).decode()


KEY: dict[str, Any] = {"type": key_of, "metavar": "KEY"}
"""An option that takes a public key."""
TRUST = click.option("--trust", multiple=True, **KEY, help="Trusted public key of a signer. May be repeated.")


def opened_file(file: Path, trust: Sequence[bytes], *, is_known: bool = False) -> Collection:
    """Return the collection in a file, rebuilt; errors name the file; see `open_envelope`."""
    try:
        with file.open("rb") as source:
            envelope = source.read(MOST_ENVELOPE_BYTES + 1)
    except FileNotFoundError:
        raise ParameterError("file.missing", path=file) from None
    try:
        collection = open_envelope(envelope, list(trust) or signers(envelope), is_known=is_known)
        rebuild(collection)
    except CollectionError as error:
        raise error.at(file) from None
    return collection
