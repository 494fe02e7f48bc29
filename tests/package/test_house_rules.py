"""The rules of the house hold, and each of them sees what breaks it."""

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


def test_every_rule_holds(house: ModuleType) -> None:
    assert house.broken() == []


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
