"""Tables on narrow terminals: text is folded, a number never is."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from discreet.cli.output import Table, say
from running import Files, done

BORDERS = "┃│┡┩┏┓└┘━─╇╈┳┴┼├┤╭╮"
OTHER = """
epsilon = 2.0
[domain]
labels = ["never", "sometimes", "every day of the week", "rarely"]
sensitive = ["never", "sometimes", "rarely"]
[mechanism]
name = "rr"
"""
EVENTS = "user,event\n" + "".join(f"u{user},{event}\n" for user in range(12) for event in (user, user // 2, user, 3))


def numbers(text: str) -> set[str]:
    return {word for word in re.split(rf"[\s{BORDERS}]+", text) if re.search(r"\d", word)}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def verbs(files: Files) -> dict[str, list[object]]:
    files.obfuscated()
    (files.folder / "other.toml").write_text(OTHER)
    (files.folder / "events.csv").write_text(EVENTS)
    return {
        "plan": ["plan", files.plan, "--epsilon", 1, "--users", "1e7", "--standard-error", 1e-4, "--all"],
        "plan for identification": ["risk", "plan", files.plan, "--identification-error", 0.9, "--users", "1e5"],
        "verify": ["verify", files.plan],
        "estimate": ["estimate", files.plan, files.reports],
        "audit": ["audit", files.plan, "--draws", 3000, "--seed", 1],
        "risk": ["risk", files.folder / "events.csv", "--seed", 1],
        "risk reports": ["risk", "reports", files.plan, files.folder / "events.csv", "--by", "user,event"],
        "risk compare": ["risk", "compare", files.plan, files.folder / "other.toml", "--users", "1e6"],
    }


NAMES = [
    "plan",
    "plan for identification",
    "verify",
    "estimate",
    "audit",
    "risk",
    "risk reports",
    "risk compare",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_a_verb_is_broken(
    verbs: dict[str, list[object]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    wide = done(*verbs[name])
    assert sorted(verbs) == sorted(NAMES)
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        narrow = done(*verbs[name])
        lost = {word for word in numbers(wide) - numbers(narrow) if len(word) < width // 2 and "/" not in word}
        assert not lost
        for line in narrow.splitlines():
            if set(line) & set(BORDERS):
                assert cell_len(line) <= width, line


CELLS = st.text("ab ç漢-", max_size=30)
FIGURES = st.integers(0, 10**30).map(lambda number: f"{number:,}")


@settings(max_examples=150)
@given(st.data(), st.integers(20, 120), st.integers(0, 3), st.integers(0, 6))
def test_any_table(data: st.DataObject, width: int, left: int, right: int) -> None:
    rows = data.draw(st.integers(0, 4))
    cells = [[data.draw(CELLS) for _ in range(left)] + [data.draw(FIGURES) for _ in range(right)] for _ in range(rows)]
    headings = [f"head {place}" for place in range(left + right)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("COLUMNS", str(width))
        shown: list[str] = []
        patched.setattr("sys.stdout.write", shown.append, raising=False)
        say([Table("title", headings, cells, left)])
    text = "".join(shown)
    assert {cell for row in cells for cell in row[left:]} <= numbers(text) | {""}
    assert not rows or all(heading.split()[1] in text for heading in headings[left:])
    for line in text.splitlines():
        if set(line) & set(BORDERS):
            assert cell_len(line) <= width
