"""Nobody outside the mechanisms asks which one it is, and the order of the bases of a law does not matter."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import discreet
from discreet import Domain, RandomizedResponse
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.mechanisms.laws.singletons import Singletons
from packing import each
from refusals import refused

SOURCES = Path(discreet.__file__).parent
ROOM = SOURCES / "mechanisms"


def _classes() -> set[str]:
    """Return the classes of mechanisms, block laws, counting parts and decoders."""
    modules = [
        import_module(f"discreet.mechanisms.{path.stem}") for path in ROOM.glob("*.py") if path.stem != "__init__"
    ]
    known = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    # Reports have columns too, and are everybody's.
    found = {one for one in known if not one.__module__.startswith("discreet.core")}
    parts = ("obfuscate_codes", "draw", "is_consistent", "decode", "columns", "inclusion")
    # A survey is no kind of mechanism: it has several.
    return {one.__name__ for one in found if any(hasattr(one, part) for part in parts)} - {"Survey"}


MECHANISMS = _classes()


def asks(text: str) -> list[str]:
    """Return the classes of mechanisms and laws that a source asks an object for."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    kinds = [call.args[1] for call in calls if getattr(call.func, "id", "") in {"isinstance", "issubclass"}]
    names = [node for kind in kinds for node in ast.walk(kind)]
    return [name for node in names if (name := getattr(node, "id", getattr(node, "attr", ""))) in MECHANISMS]


@each("path", [path for path in SOURCES.rglob("*.py") if ROOM not in path.parents])
def test_nobody_asks_which_mechanism_it_is(path: Path) -> None:
    assert asks(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("given", [None, "rr", RandomizedResponse, Singletons(3)], ids=repr)
def test_what_is_no_mechanism_is_refused_by_its_class(given: object) -> None:
    assert refused(ParameterError, lambda: Mechanism.checked(given)).startswith("mechanism must be a block mechanism")


def test_a_matrix_is_no_block_mechanism() -> None:
    channel = RandomizedResponse(Domain(range(3)), 1.0).channel()
    assert Mechanism.checked(channel) is channel is channel.channel()
    assert channel.is_explicit
    assert "got Channel" in refused(ParameterError, lambda: BlockMechanism.checked(channel))
