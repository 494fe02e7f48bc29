"""Tables on narrow terminals: text is folded, a number never is."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from discreet.cli.output import say
from discreet.core.result_table import ResultTable

BORDERS = "┃│┡┩┏┓└┘━─╇╈┳┴┼├┤╭╮"


def numbers(text: str) -> set[str]:
    return {word for word in re.split(rf"[\s{BORDERS}]+", text) if re.search(r"\d", word)}


CELLS = st.text("ab ç漢-", max_size=30)
FIGURES = st.integers(0, 10**30).map(lambda number: f"{number:,}")


@settings(max_examples=150)
@given(st.data(), st.integers(20, 120), st.integers(0, 3), st.integers(0, 6))
def test_any_table(data: st.DataObject, width: int, left: int, right: int) -> None:
    assume(left + right)
    rows = data.draw(st.integers(0, 4))
    cells = [[data.draw(CELLS) for _ in range(left)] + [data.draw(FIGURES) for _ in range(right)] for _ in range(rows)]
    headings = [f"head {place}" for place in range(left + right)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("COLUMNS", str(width))
        shown: list[str] = []
        patched.setattr("sys.stdout.write", shown.append, raising=False)
        say([ResultTable.of("title", headings, cells, left=left)])
    text = "".join(shown)
    assert {cell for row in cells for cell in row[left:]} <= numbers(text) | {""}
    assert not rows or all(heading.split()[1] in text for heading in headings[left:])
    for line in text.splitlines():
        if set(line) & set(BORDERS):
            assert cell_len(line) <= width
