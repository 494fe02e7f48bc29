"""Each rule of the house sees what breaks it; that they hold is seen by `make lint`."""

import ast
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("src/discreet/room/module.py")


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = spec_from_file_location("house", ROOT / "tools" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("words", "clause"),
    [
        ("What a file may say.", True),
        ("Whatever comes.", True),
        ("Told by the system.", True),
        ("Return whether it holds.", True),
        ("Yield how many there are.", True),
        ("Whole numbers of reports.", False),
        ("Return the number of rows.", False),
        ("True if every row is told.", False),
        ("Howard's method.", False),
    ],
)
def test_first_lines_that_are_clauses(house: ModuleType, words: str, clause: bool) -> None:
    for text in (f'"""{words}"""', f'class C:\n    """{words}\n\n    More."""', f'async def f():\n    """{words}"""'):
        assert bool(list(house.of_words(HERE, ast.parse(text)))) == clause
    assert bool(list(house.of_scripts(HERE, f"/** {words} @param x */\nlet a;"))) == clause
    assert bool(list(house.of_scripts(HERE, f"  /**\n   * {words}\n   */"))) == clause


@pytest.mark.parametrize(("size", "fits"), [(40, True), (41, False)])
def test_functions_that_are_too_long(house: ModuleType, size: int, fits: bool) -> None:
    """Docstring, comments and blank lines do not count."""
    text = 'def f():\n    """One.\n\n    Two.\n    """\n\n    # Why.\n' + "    x = 1\n" * size
    assert bool(list(house.of_sizes(HERE, ast.parse(text), text.splitlines()))) != fits


@pytest.mark.parametrize(("lines", "fits"), [(500, True), (501, False)])
def test_files_that_are_too_large(house: ModuleType, lines: int, fits: bool) -> None:
    assert bool(list(house.of_sizes(HERE, ast.parse(""), [""] * lines))) != fits


def test_public_classes_of_one_name(house: ModuleType) -> None:
    tree = ast.parse("class Rows: pass\nclass _Own: pass")
    trees = {Path("src/a.py"): tree, Path("src/b.py"): tree}
    (sentence,) = house.public_classes(trees)
    assert "the class Rows is in src/a.py, src/b.py" in sentence
    assert not list(house.public_classes({Path("src/a.py"): tree, Path("papers/b.py"): tree}))


def test_circles_of_imports_are_seen_wherever_they_are(
    house: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within functions and for types; a list of circles may shrink, and must say so."""
    files = {
        "__init__": "",
        "plain": "from circled import typed",
        "typed": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from circled.plain import x",
        "late": "def f():\n    from circled import later",
        "later": "from circled import latest",
        "latest": "import circled.late, circled.plain, os",
    }
    (tmp_path / "circled").mkdir()
    for name, text in files.items():
        (tmp_path / "circled" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    found = list(house.circles("circled"))
    late, plain = ({f"circled.{name}" for name in names} for names in (("late", "later", "latest"), ("plain", "typed")))
    assert sorted(found, key=len) == [plain, late]
    assert len(list(house.of_circles(found, []))) == 2
    listed = [" ".join(late), " ".join(plain)]
    assert list(house.of_circles(found, listed)) == []
    (shrunk,) = house.of_circles([{"circled.late", "circled.later"}, plain], listed)
    assert "smaller" in shrunk
