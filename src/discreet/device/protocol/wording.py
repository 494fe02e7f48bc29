"""The sentences that people read, in every language. Python and JavaScript share one catalogue.

The files are in ``js/languages``, where the survey page reads them too, one file for each language. On the page the
browser formats numbers and dates; here the catalogue formats them, with dates in UTC.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib import resources
from math import ceil
from typing import Any

from discreet.core.checks import checked_choice
from discreet.core.guarantee import rounded_up

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "ar", "hi", "zh", "ja", "ko")
"""Codes of the languages in the catalogue."""
SHARES = frozenset({"share", "rare", "total"})
"""Names of the sentences' parts that are percentages."""

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
# Larger shares are shown as this one with an ellipsis.
_LARGEST = 0.9999
_PART = re.compile(r"\{(\w+)\}")
# Languages with the singular for 0 and 1, and languages without a singular. All others have it for 1 only.
_NONE_OR_ONE, _NEVER_ONE = {"fr", "pt", "hi"}, {"zh", "ja", "ko"}


@dataclass(frozen=True)
class Wording:
    """The sentences of one language, and its formats for numbers, times and counts.

    Attributes:
        language: one of `LANGUAGES`.
        catalogue: the content of the language's file.
    """

    language: str
    catalogue: Mapping[str, Any]

    def say(self, key: str, **parts: Any) -> str:
        """Return a sentence of the catalogue, with the given numbers and texts filled in.

        Args:
            key: the key of the sentence.
            parts: texts, numbers or shares, by the names that the sentence has in braces.
        """
        return _PART.sub(lambda part: self._formatted(part[1], parts[part[1]]), self.catalogue["sentences"][key])

    def _formatted(self, name: str, part: Any) -> str:
        text = part if isinstance(part, str) else self.percent(part) if name in SHARES else self.number(part)
        # In a right-to-left language each part keeps its own direction.
        return f"\u2068{text}\u2069" if self.catalogue["dir"] == "rtl" else text

    def number(self, number: float) -> str:
        """Return a number as text. Integers are exact, other numbers are rounded up to four digits."""
        plain = str(int(number)) if number == int(number) else rounded_up(number)
        whole, point, rest = plain.partition(".")
        group, decimal = self.catalogue["separators"]
        grouped = f"{int(whole):,}".replace(",", group) if whole.isdecimal() else whole
        return grouped + (decimal if point else "") + rest

    def percent(self, share: float) -> str:
        """Return a share in percent, rounded up, with more digits near 0 and 1. A share below 1 never gives 100%."""
        more = 2 if share > 0.999 else 0 if 0.01 <= share <= 0.99 else 1
        # The float's shortest decimal form, as in `discreet.core.guarantee`.
        percents = ceil(Decimal(repr(float(min(share, _LARGEST)))).scaleb(2 + more)) / 10**more
        text = self.number(percents) + ("…" if share > _LARGEST else "")
        return str(self.catalogue["percent"]).replace("{n}", text)

    def counted(self, unit: str, count: int) -> str:
        """Return a number with its unit, in the plural form that the language has for the number."""
        forms = self.catalogue["units"][unit]
        form: str = forms.get(plural(self.language, count), forms["other"])
        return form.replace("{n}", self.number(count))

    def length(self, seconds: int) -> str:
        """Return a length of time as text, in the largest unit that divides it."""
        size, unit = next(unit for unit in _UNITS if seconds % unit[0] == 0)
        return self.counted(unit, seconds // size)

    def date(self, seconds: int) -> str:
        """Return a date and time in UTC, or the seconds since 1970 if the calendar ends before the date."""
        try:
            return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
        except (ValueError, OverflowError, OSError):
            return f"{seconds} s"


def plural(language: str, count: int) -> str:
    """Return the plural category of an integer, by Unicode's rules for the catalogue's languages."""
    if language == "ar":
        few = "few" if 3 <= count % 100 <= 10 else "many" if count % 100 > 10 else "other"
        return {0: "zero", 1: "one", 2: "two"}.get(count, few)
    if language == "pl" and count != 1:
        return "few" if count % 10 in {2, 3, 4} and count % 100 not in {12, 13, 14} else "many"
    is_one = language not in _NEVER_ONE and (count == 1 or (count == 0 and language in _NONE_OR_ONE))
    return "one" if is_one else "other"


@cache
def wording(language: str = "en") -> Wording:
    """Return the sentences and formats of a language.

    Raises:
        ParameterError: if the catalogue has no such language.

    Example:
        >>> wording("de").say("page.agree"), wording("de").counted("day", 30)
        ('Ich mache mit', '30 Tage')
    """
    checked_choice("language", language, LANGUAGES)
    place = resources.files("discreet") / "js" / "languages" / f"{language}.json"
    return Wording(language, json.loads(place.read_text(encoding="utf-8")))
