"""Sentences that people read, in every language: one catalogue, a file for each language, for Python and JavaScript.

The files lie beside the scripts of the device (``js/languages``), which read them on the survey page. There numbers and
dates are spelled by the browser; here by the catalogue, and dates in UTC.
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
"""Languages of the catalogue."""
SHARES = frozenset({"share", "rare"})
"""Parts of sentences that are percentages."""

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
# No digits are spelled beyond it.
_LARGEST = 0.9999
_PART = re.compile(r"\{(\w+)\}")
# Languages in which one thing, or none, has a form of its own, if not 1 alone.
_NONE_OR_ONE, _NEVER_ONE = {"fr", "pt", "hi"}, {"zh", "ja", "ko"}


@dataclass(frozen=True)
class Wording:
    """The sentences of a language, and how it spells numbers, times and counted things.

    Attributes:
        language: one of `LANGUAGES`.
        catalogue: its file.
    """

    language: str
    catalogue: Mapping[str, Any]

    def say(self, key: str, **parts: Any) -> str:
        """Return a sentence with its parts: texts as they are, numbers spelled, shares in percent.

        Args:
            key: of the sentence.
            parts: by the names that the sentence has in braces.
        """
        return _PART.sub(lambda part: self._spelled(part[1], parts[part[1]]), self.catalogue["sentences"][key])

    def _spelled(self, name: str, part: Any) -> str:
        spelled = part if isinstance(part, str) else self.percent(part) if name in SHARES else self.number(part)
        # From right to left, a part keeps the direction of its own letters.
        return f"\u2068{spelled}\u2069" if self.catalogue["dir"] == "rtl" else spelled

    def number(self, number: float) -> str:
        """Return a number: an integer as it is, any other with four digits, rounded up as promises are."""
        plain = str(int(number)) if number == int(number) else rounded_up(number)
        whole, point, rest = plain.partition(".")
        group, decimal = self.catalogue["separators"]
        grouped = f"{int(whole):,}".replace(",", group) if whole.isdecimal() else whole
        return grouped + (decimal if point else "") + rest

    def percent(self, share: float) -> str:
        """Return a share in percent, rounded up; near 0 and 1 with more digits, so that 100% is certainty."""
        more = 2 if share > 0.999 else 0 if 0.01 <= share <= 0.99 else 1
        # From the shortest decimal number that the float stands for, as in `discreet.core.guarantee`.
        percents = ceil(Decimal(repr(float(min(share, _LARGEST)))).scaleb(2 + more)) / 10**more
        spelled = self.number(percents) + ("…" if share > _LARGEST else "")
        return str(self.catalogue["percent"]).replace("{n}", spelled)

    def counted(self, unit: str, count: int) -> str:
        """Return so many things, in the form that the language has for this number."""
        forms = self.catalogue["units"][unit]
        form: str = forms.get(plural(self.language, count), forms["other"])
        return form.replace("{n}", self.number(count))

    def length(self, seconds: int) -> str:
        """Return a length of time, in its largest unit."""
        size, unit = next(unit for unit in _UNITS if seconds % unit[0] == 0)
        return self.counted(unit, seconds // size)

    def date(self, seconds: int) -> str:
        """Return a time, in UTC; of what no calendar has, the seconds since 1970."""
        try:
            return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
        except (ValueError, OverflowError, OSError):
            return f"{seconds} s"


def plural(language: str, count: int) -> str:
    """Return the category of an integer's plural, as Unicode's rules have it for the languages of the catalogue."""
    if language == "ar":
        few = "few" if 3 <= count % 100 <= 10 else "many" if count % 100 > 10 else "other"
        return {0: "zero", 1: "one", 2: "two"}.get(count, few)
    if language == "pl" and count != 1:
        return "few" if count % 10 in {2, 3, 4} and count % 100 not in {12, 13, 14} else "many"
    is_one = language not in _NEVER_ONE and (count == 1 or (count == 0 and language in _NONE_OR_ONE))
    return "one" if is_one else "other"


@cache
def wording(language: str = "en") -> Wording:
    """Return the sentences of a language.

    Raises:
        ParameterError: if the catalogue has no such language.

    Example:
        >>> wording("de").say("page.agree"), wording("de").counted("day", 30)
        ('Ich mache mit', '30 Tage')
    """
    checked_choice("language", language, LANGUAGES)
    place = resources.files("discreet") / "js" / "languages" / f"{language}.json"
    return Wording(language, json.loads(place.read_text(encoding="utf-8")))
