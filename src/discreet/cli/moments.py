"""Times, lengths of time and public keys on the command line."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Whole = click.ParamType[int]
    _Bytes = click.ParamType[bytes]
else:
    # Older versions of click do not say what a type makes.
    _Whole = _Bytes = click.ParamType

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LENGTH = re.compile(r"(\d{1,12})([smhdw]?)", re.ASCII)
_KEY_BYTES = 32
_MOST_DIGITS = 20


class Length(_Whole):
    """A length of time in seconds: 90, 90s, 15m, 12h, 1d or 2w."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return seconds."""
        if isinstance(value, int):
            return value
        found = _LENGTH.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is no length of time; write it as 90s, 15m, 12h, 1d or 2w.", param, ctx)
        return int(found[1]) * _UNITS[found[2]]


class Moment(_Whole):
    """A time in seconds since 1970: such a number, or 2027-01-31, or 2027-01-31T12:00; in UTC where no zone is said."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return seconds."""
        if isinstance(value, int) or (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS):
            return int(value)
        try:
            moment = datetime.fromisoformat(value)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; write it as 2027-01-31 or 2027-01-31T12:00.", param, ctx)


class PublicKey(_Bytes):
    """A public key as `discreet collection key` prints it."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return 32 bytes."""
        if isinstance(value, bytes):
            return value
        try:
            key = b64decode(value, validate=True)
        except (Error, ValueError):
            key = b""
        if len(key) != _KEY_BYTES:
            self.fail("a public key must be 44 letters of base64, as `discreet collection key` prints it.", param, ctx)
        return key


def spelled_key(key: bytes) -> str:
    """Return a public key as it is printed."""
    return b64encode(key).decode()
