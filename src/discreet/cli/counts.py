"""Counts of people and reports on the command line, in each form of a large number: 100000, 100_000 or 1e5."""

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Base = click.ParamType[int]
else:
    # Older versions of click do not say what a type makes.
    _Base = click.ParamType

_FORM = re.compile(r"[+-]?\d+(_\d+)*(\.\d+)?(e\+?\d{1,2})?", re.ASCII | re.IGNORECASE)


class Count(_Base):
    """A whole number on the command line.

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
        number = Decimal(value.replace("_", "")) if _FORM.fullmatch(value) else Decimal("NaN")
        # 1.5e0 is no count of anything, nor is 1.0, which is how measured numbers are written.
        point = "." in value and "e" not in value.lower()
        if not number.is_finite() or point or number != number.to_integral_value():
            self.fail(f"{value!r} is no whole number; write it as 100000, 100_000 or 1e5.", param, ctx)
        if self.least is not None and number < self.least:
            self.fail(f"it must be at least {self.least}, got {value}.", param, ctx)
        return int(number)
