"""Vectors of readings: a ``text`` and its ``match_key``; texts with one reading are alike.

Python and JavaScript give these readings under every version of Unicode that they know.
"""

from typing import Any

from discreet.core.labels.text_forms import match_key

TEXTS = (
    *("krank", "Krank ", "\u00a0KRANK", "m\u00b2", "m2", "Stra\u00dfe", "STRASSE", "\u00bd", "1/2"),
    *("\u1f40\u03b4\u03cc\u03c2", "\u1f48\u0394\u038c\u03a3", "\uff11\uff12", "12", "\u0130stanbul", "istanbul"),
    *("18\u201339", "18-39", "\u0131l\u0131k", "ILIK", "l\u2019eau", "l'eau", "e\u0301", "\u00e9"),
    *("\u2764\ufe0f", "\u2764", "\u0643\u0640\u0640\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628", "C++", "C"),
    *("\ufb01t", "fit", "ja\u200b", "ja", "", " ", "\u200b"),
)
"""The texts that a specification of readings names."""
MORE = (
    *("<18", "< 18", "a", "\u0430", "\u212b", "\u00c5", "A\u030a", "\u1e9e", "\ud55c", "\u1112\u1161\u11ab"),
    *("\u03a3", "\u03c3", "\u03c2", "\u0345", "\u03b9", "\u0149", "\u01c6", "\u00b5", "\u03bc", "I\u0307", "\u2044"),
    *("\x1ca\x1fb\x85c\u2028d", "\ta\n b\r\n", "a\u3000 \u2003b", "\ufeffa\ufeff", "a\u00adb", "a\u034fb", "a\u2060b"),
    *(
        "\u00ab\u201ca\u201d\u00bb",
        "\u2033",
        "`a\u00b4",
        "\u2212\uff0d\ufe58",
        "\U0001f469\u200d\U0001f33e",
        "\U000e0041",
    ),
    *("\U0001d400", "\u2167", "\u33a8", "\ufdfa", "\u0e33", "\ufe0f", "\u180b", "\u3164", "\uffa0", "\U00010428"),
)
"""Other texts at which an implementation may err."""


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the file, by its name."""
    return {"reading.jsonl": [{"text": text, "reading": match_key(text)} for text in (*TEXTS, *MORE)]}
