"""Readings in Python and JavaScript: equal for every character that this Python knows, and for random texts."""

import json
import random
import unicodedata
from pathlib import Path
from typing import Any

from discreet.core.labels.text_forms import match_key, match_keys
from programs import JS, node

LINES = [json.loads(line) for line in (JS / "vectors" / "reading.jsonl").read_text().splitlines()]
TEXTS = 20_000
PLANES = 0x30000

SINCE = {0x019B: 16, 0x0264: 16, 0x10791: 16, 0xA7D3: 17, 0xA7D5: 17}
"""Letters that got a capital after Unicode 14, with the version that has it; U+10791 is U+0264 raised."""


def node_reads(lines: list[dict[str, str]], folder: Path) -> dict[str, Any]:
    path = folder / "reading.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="ascii")
    return dict(json.loads(node("tests/readings.js", path)))


def characters() -> list[str]:
    """Return the assigned characters of planes 0 to 2, but those for private use."""
    unknown = {"Cn", "Co", "Cs"}
    return [chr(code) for code in range(PLANES) if unicodedata.category(chr(code)) not in unknown]


def test_python_gives_the_readings_of_the_vectors() -> None:
    for line in LINES:
        assert match_key(line["text"]) == line["reading"] == match_key(line["reading"]), line


def test_node_reads_every_character_and_random_texts_as_python_does(tmp_path: Path) -> None:
    chance, known = random.Random(12), characters()
    assert len(known) > 138_000
    composed = ["".join(chance.choices(known, k=chance.randint(1, 6))) for _ in range(TEXTS)]
    texts = [*known, *composed]
    lines = [{"text": text, "reading": read} for text, read in zip(texts, match_keys(texts), strict=True)]
    told = node_reads(lines, tmp_path)
    assert told["count"] == len(lines)
    # Whatever differs has a letter whose capital only one of the two versions of Unicode has.
    versions = sorted(float(version) for version in (unicodedata.unidata_version[:4], told["unicode"]))
    may_differ = {chr(code) for code, since in SINCE.items() if versions[0] < since <= versions[1]}
    assert [text for text in told["wrong"] if not may_differ & set(text)] == []
    assert may_differ <= set(told["wrong"])


def test_another_reading_is_seen(tmp_path: Path) -> None:
    """The comparison can fail: without a step the readings of its characters are other ones."""
    wrong = [{"text": line["text"], "reading": line["text"].upper()} for line in LINES]
    found = node_reads(wrong, tmp_path)["wrong"]
    assert {"\u00bd", "18\u201339", "l\u2019eau", "ja\u200b", "Krank "} <= set(found)
