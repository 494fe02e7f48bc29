"""Types of parameters: counts of people and reports, times, lengths of time and public keys."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Whole = click.ParamType[int]
    _Bytes = click.ParamType[bytes]
else:
    # Older versions of click do not say what a type makes.
    _Whole = _Bytes = click.ParamType

_COUNT = re.compile(r"[+-]?\d+(_\d+)*(\.\d+)?(e\+?\d{1,2})?", re.ASCII | re.IGNORECASE)

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LENGTH = re.compile(r"(\d{1,12})([smhdw]?)", re.ASCII)
_KEY_BYTES = 32
_MOST_DIGITS = 20


class Count(_Whole):
    """A whole number in each form of a large one: 100000, 100_000 or 1e5.

    Args:
        least: the smallest that there may be; None if what takes it says so itself.
    """

    name = "count"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        if isinstance(value, int):
            return value
        number = Decimal(value.replace("_", "")) if _COUNT.fullmatch(value) else Decimal("NaN")
        # 1.5e0 is no count of anything, nor is 1.0, which is how measured numbers are written.
        point = "." in value and "e" not in value.lower()
        if not number.is_finite() or point or number != number.to_integral_value():
            self.fail(f"{value!r} is no whole number; write it as 100000, 100_000 or 1e5.", param, ctx)
        if self.least is not None and number < self.least:
            self.fail(f"it must be at least {self.least}, got {value}.", param, ctx)
        return int(number)


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


class Timestamp(_Whole):
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
