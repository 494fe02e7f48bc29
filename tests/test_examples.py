"""Every public name has an example in its docstring; pytest runs the examples of all modules.

Public are the names of `discreet`, those that docs/reference/modules.md lists, and those that documents write.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import discreet
from packing import each

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LISTED = re.findall(
    r"^   (discreet\.[\w.]+)\.(\w+)$", (ROOT / "docs/reference/modules.md").read_text(encoding="utf-8"), re.MULTILINE
)


def imported() -> Iterator[tuple[str, str]]:
    """Names that examples in the documents import from discreet, and names that documents spell out in full.

    Not those of modules: `discreet.spark` for one needs a cluster, so tests of its own run what it does.
    """
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("discreet"):
                    yield from ((node.module, alias.name) for alias in node.names)
        yield from re.findall(r"`(discreet(?:\.[a-z_]+)*)\.([A-Za-z_]+)`", text)


def is_module(module: str, name: str) -> bool:
    parent = importlib.import_module(module)
    return hasattr(parent, "__path__") and find_spec(f"{module}.{name}") is not None


def public() -> dict[str, object]:
    """Return the public classes and functions; types by another name, numbers and texts have no docstring."""
    listed = [*(("discreet", name) for name in discreet.__all__), *LISTED]
    listed += [(module, name) for module, name in imported() if not is_module(module, name)]
    values = [getattr(importlib.import_module(module), name) for module, name in listed]
    described = [one for one in values if inspect.isclass(one) or inspect.isroutine(one)]
    return {f"{one.__module__}.{one.__qualname__}": one for one in described}


PUBLIC = public()


def test_public_names_are_many() -> None:
    """So that a change of the definition is noticed."""
    assert len(PUBLIC) >= 150
    names = "core.domain.Domain planning.compare.compare_mechanisms privacy.verify.verify formats.tallies.write_tally"
    assert {f"discreet.{name}" for name in names.split()} <= set(PUBLIC)


@each("name", PUBLIC)
def test_every_public_name_has_an_example(name: str) -> None:
    shown = inspect.getdoc(PUBLIC[name]) or ""
    assert "Example:\n    >>> " in shown, f"{name} needs an example in its docstring, under 'Example:'."
