"""Which texts read alike: the examples of the rule, and its claims over all of Unicode's planes 0 to 2."""

import json
import random
import re
from collections import defaultdict
from pathlib import Path
from unicodedata import category, normalize

from discreet.core.labels.text_forms import composed, match_key, match_keys
from packing import each

# Decided by hand, before anything was run.
PAIRS = json.loads((Path(__file__).parents[1] / "data" / "alike_pairs.json").read_text(encoding="utf-8"))
CHARACTERS = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]


def spelled_out(text: str) -> str:
    """Return the reading, step by step as the rule says it."""
    gone = [(0, 8), (0xE, 0x1B), (0x7F, 0x84), (0x86, 0x9F), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E)]
    gone += [(0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFFF9, 0xFFFB), (0xE0000, 0xE0FFF)]
    single = {0xAD, 0x34F, 0x61C, 0x640, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0}

    def marks(characters: str) -> str:
        kept = [c for c in characters if ord(c) not in single and not any(a <= ord(c) <= z for a, z in gone)]
        for plain, others in {
            "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d",
            "'": "\u2018\u2019\u201a\u201b\u2032\u00b4`\u02bc",
            '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033",
        }.items():
            kept = [plain if c in others else c for c in kept]
        return "".join(kept)

    text = normalize("NFKC", marks(text)).lower().upper().replace("I\u0307", "I").replace("\u2044", "/")
    space = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    space += "".join(map(chr, range(0x2000, 0x200B)))
    assert len(space) == 29
    return re.sub(f"[{space}]+", " ", normalize("NFKC", marks(text))).strip(" ")


def assigned() -> list[str]:
    """Return the characters that this Python knows, without private ones."""
    return [character for character in CHARACTERS if category(character) not in ("Cn", "Co")]


@each("name, one, other", [(name, *pair) for name, pairs in PAIRS.items() for pair in pairs])
def test_pairs_of_texts_read_alike_or_do_not(name: str, one: str, other: str) -> None:
    assert (match_key(one) == match_key(other)) == (name == "alike")


def test_many_at_once_read_as_each_alone_and_as_the_rule_says() -> None:
    drawn = random.Random(7)
    common = [*"iIsS \n\t-'\"", "\u0130", "\u0131", "\u0307", "\u0323", "\u03a3", "\u03c2", "\u200b", "\ud800"]
    pool = assigned()
    texts = [
        "".join(drawn.choice(drawn.choice((pool, common))) for _ in range(drawn.randint(0, 6))) for _ in range(5000)
    ]
    expected = [spelled_out(text) for text in texts]
    assert match_keys(texts) == expected
    assert [match_key(text) for text in texts] == expected
    plain = ["".join(chr(drawn.randrange(128)) for _ in range(drawn.randint(0, 6))) for _ in range(5000)]
    assert match_keys(plain) == [spelled_out(text) for text in plain]
    assert match_keys([]) == []


def test_every_character_of_three_planes_is_read_as_the_rule_says_and_once_is_enough() -> None:
    read = match_keys(CHARACTERS)
    assert read == [spelled_out(character) for character in CHARACTERS]
    assert match_keys(read) == read


def test_case_is_joined_exactly_as_case_folding_joins_it_but_for_the_dotless_i() -> None:
    joined, folded = defaultdict(set), defaultdict(set)
    for character in CHARACTERS:
        joined[character.lower().upper()].add(character)
        folded[character.casefold()].add(character)
    ours, theirs = set(map(frozenset, joined.values())), set(map(frozenset, folded.values()))
    assert ours - theirs == {frozenset("iI\u0131")}
    assert theirs - ours == {frozenset("iI"), frozenset("\u0131")}
    # And no step before or after parts what case folding joins.
    assert match_keys([character.casefold() for character in CHARACTERS]) == match_keys(CHARACTERS)


def test_composed_is_normal_form_c() -> None:
    assert composed("e\u0301 \u212b \ufb01") == "\u00e9 \u00c5 \ufb01"
    assert composed("\ud800") == "\ud800"
