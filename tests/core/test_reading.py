"""Which texts read alike: the examples of the rule, and its claims over all of Unicode's planes 0 to 2."""

import random
import re
from collections import defaultdict
from unicodedata import category, normalize

import pytest

from discreet.core.reading import composed, reading, readings

CHARACTERS = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]

TABLE = [
    ("krank", "KRANK"),
    ("Krank ", "KRANK"),
    ("\u00a0KRANK", "KRANK"),
    ("Straße", "STRASSE"),
    ("STRASSE", "STRASSE"),
    ("ὀδός", "ὈΔΌΣ"),
    ("ὈΔΌΣ", "ὈΔΌΣ"),
    ("\u0130stanbul", "ISTANBUL"),
    ("istanbul", "ISTANBUL"),
    ("\u0131l\u0131k", "ILIK"),
    ("ILIK", "ILIK"),
    ("e\u0301", "\u00c9"),
    ("\u00e9", "\u00c9"),
    ("\u0643\u0640\u0640\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"),
    ("\ufb01t", "FIT"),
    ("m\u00b2", "M2"),
    ("m2", "M2"),
    ("\u00bd", "1/2"),
    ("1/2", "1/2"),
    ("\uff11\uff12", "12"),
    ("18\u201339", "18-39"),
    ("18-39", "18-39"),
    ("l\u2019eau", "L'EAU"),
    ("\u2764\ufe0f", "\u2764"),
    ("C++", "C++"),
    ("C", "C"),
    ("ja\u200b", "JA"),
    ("", ""),
    (" ", ""),
    ("\u200b", ""),
]

# Decided by hand, before anything was run.
ALIKE = [
    ("krank", "KRANK"),
    ("krank", "krank "),
    ("krank", "\tkrank"),
    ("no answer", "no  answer"),
    ("no answer", "no\u00a0answer"),
    ("no answer", "no\r\nanswer"),
    ("Straße", "STRASSE"),
    ("Maße", "Masse"),
    ("e\u0301", "\u00c9"),
    ("\u1ec7", "e\u0302\u0323"),
    ("\ufb01t", "FIT"),
    ("\ufb03", "ffi"),
    ("\u017fick", "SICK"),
    ("\u0130stanbul", "istanbul"),
    ("i\u0307stanbul", "Istanbul"),
    ("\u0131l\u0131k", "ILIK"),
    ("ILIK", "ilik"),
    ("\u01c4", "d\u017e"),
    ("\u013f", "l\u00b7"),
    ("\u212b", "\u00e5"),
    ("A\u030a", "\u212b"),
    ("l\u2019eau", "l'eau"),
    ("l\u00b4eau", "l`eau"),
    ("\u201eja\u201c", "\u201cja\u201d"),
    ("\u00aboui\u00bb", '"oui"'),
    ("5\u2032", "5'"),
    ("5\u2033", '5"'),
    ("18\u201339", "18-39"),
    ("18\u201439", "18\u221239"),
    ("AA", "aa"),
    ("mW", "MW"),
    ("m\u00b2", "m2"),
    ("H\u2082O", "h2o"),
    ("\u00bd", "1/2"),
    ("1\u20442", "1/2"),
    ("1\u00bd", "11/2"),
    ("\u2163", "iv"),
    ("\u2460", "1"),
    ("12", "\uff11\uff12"),
    ("\u2116 5", "no 5"),
    ("\u2122", "tm"),
    ("%", "\uff05"),
    ("\u2103", "\u00b0C"),
    ("\u00b5", "\u03bc"),
    ("\u2126", "\u03c9"),
    ("ὀδός", "ὈΔΌΣ"),
    ("\u03c2", "\u03c3"),
    ("\u1fb3", "\u0391\u0399"),
    ("больной", "БОЛЬНОЙ"),
    ("\u0439", "\u0438\u0306"),
    ("\u0643\u0640\u0640\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"),
    ("\ufedb", "\u0643"),
    ("\u0622", "\u0627\u0653"),
    ("\ufefb", "\u0644\u0627"),
    ("\ufb2a", "\u05e9\u05c1"),
    ("\ufb20", "\u05e2"),
    ("\ud55c", "\u1112\u1161\u11ab"),
    ("\u314e", "\u1112"),
    ("\u30ab", "\uff76"),
    ("\u30ac", "\uff76\uff9e"),
    ("\u334d", "\u30e1\u30fc\u30c8\u30eb"),
    ("\u0958", "\u0915\u093c"),
    ("\u0915", "\u0915\u200d"),
    ("\u0e01\u0e33", "\u0e01\u0e4d\u0e32"),
    ("\u2764\ufe0f", "\u2764"),
    ("\U0001f469\u200d\U0001f4bb", "\U0001f469\U0001f4bb"),
    ("\u2026", "..."),
    ("", "\u200b"),
    ("ja", "ja\ufeff"),
    ("ja", "j\u00ada"),
    ("\uff21\uff0d\uff22", "a-b"),
    ("non\u202f!", "non !"),
    ("\u1e9e", "ss"),
]
DIFFERENT = [
    ("no answer", "noanswer"),
    ("no answer", "no-answer"),
    ("Straße", "Strase"),
    ("é", "e"),
    ("naïve", "naive"),
    ("Œuvre", "oeuvre"),
    ("Æ", "ae"),
    ("Größe", "Groesse"),
    ("Ø", "O"),
    ("5\u2033", "5\u2032\u2032"),
    ("18-39", "18 - 39"),
    ("18-39", "18 to 39"),
    ("<18", "< 18"),
    ("\u226418", "<=18"),
    ("1", "01"),
    ("1.5", "1,5"),
    ("\u0663", "3"),
    ("\u0968", "2"),
    ("©", "(c)"),
    ("σοφός", "ΣΟΦΟΣ"),
    ("ё", "е"),
    ("\u0430", "a"),
    ("\u0643\u062a\u0627\u0628\u064c", "\u0643\u062a\u0627\u0628"),
    ("\u064a", "\u0649"),
    ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"),
    ("한국", "한 국"),
    ("\u304b", "\u30ab"),
    ("\u30fc", "-"),
    ("\u0939\u093e\u0901", "\u0939\u093e\u0902"),
    ("\u0e21\u0e35", "\u0e21\u0e34"),
    ("\U0001f44d\U0001f3fd", "\U0001f44d"),
    ("\U0001f600", "\U0001f603"),
    ("C++", "C"),
    ("C#", "C\u266f"),
    ("×", "x"),
    (" ", "-"),
    ("krank", "kranc"),
]


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


@pytest.mark.parametrize(("text", "read"), TABLE)
def test_the_examples_of_the_rule(text: str, read: str) -> None:
    assert reading(text) == read


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_texts_that_read_alike(one: str, other: str) -> None:
    assert reading(one) == reading(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_do_not_read_alike(one: str, other: str) -> None:
    assert reading(one) != reading(other)


def test_many_at_once_read_as_each_alone_and_as_the_rule_says() -> None:
    drawn = random.Random(7)
    common = [*"iIsS \n\t-'\"", "\u0130", "\u0131", "\u0307", "\u0323", "\u03a3", "\u03c2", "\u200b", "\ud800"]
    pool = assigned()
    texts = [
        "".join(drawn.choice(drawn.choice((pool, common))) for _ in range(drawn.randint(0, 6))) for _ in range(5000)
    ]
    expected = [spelled_out(text) for text in texts]
    assert readings(texts) == expected
    assert [reading(text) for text in texts] == expected
    plain = ["".join(chr(drawn.randrange(128)) for _ in range(drawn.randint(0, 6))) for _ in range(5000)]
    assert readings(plain) == [spelled_out(text) for text in plain]
    assert readings([]) == []


def test_every_character_of_three_planes_is_read_as_the_rule_says_and_once_is_enough() -> None:
    read = readings(CHARACTERS)
    assert read == [spelled_out(character) for character in CHARACTERS]
    assert readings(read) == read


def test_case_is_joined_exactly_as_case_folding_joins_it_but_for_the_dotless_i() -> None:
    joined, folded = defaultdict(set), defaultdict(set)
    for character in CHARACTERS:
        joined[character.lower().upper()].add(character)
        folded[character.casefold()].add(character)
    ours, theirs = set(map(frozenset, joined.values())), set(map(frozenset, folded.values()))
    assert ours - theirs == {frozenset("iI\u0131")}
    assert theirs - ours == {frozenset("iI"), frozenset("\u0131")}
    # And no step before or after parts what case folding joins.
    assert readings([character.casefold() for character in CHARACTERS]) == readings(CHARACTERS)


def test_composed_is_normal_form_c() -> None:
    assert composed("e\u0301 \u212b \ufb01") == "\u00e9 \u00c5 \ufb01"
    assert composed("\ud800") == "\ud800"
