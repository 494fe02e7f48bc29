"""The face for authors of laws: `discreet.laws` is all that they import; what they mistype is said in a sentence."""

import ast
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Domain, Plan, RandomizedResponse, SeededRandom
from discreet.core.random import Keystream
from discreet.errors import ParameterError
from refusals import refused

OWN_LAW = Path(__file__).parents[2] / "examples" / "own_law"


def test_the_example_imports_nothing_else() -> None:
    tree = ast.parse((OWN_LAW / "own_law.py").read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("discreet")} == {"discreet.laws"}


def test_a_misspelt_option_of_a_plan_is_named(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('{"epsilon": 1.0, "domain": {"labels": ["a", "b"]}, "mechanism": {"name": "unary", "thta": 3}}')
    assert "The field thta is unknown in mechanism" in refused(ParameterError, lambda: Plan.load(file))


# Seeded words that threads share


def test_a_seeded_source_that_two_threads_draw_from_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    random, entered, done, words = SeededRandom(1), threading.Event(), threading.Event(), Keystream.words

    def slow(stream: Keystream, n: int) -> Any:
        entered.set()
        done.wait(10)
        return words(stream, n)

    monkeypatch.setattr(Keystream, "words", slow)
    thread = threading.Thread(target=random.words, args=(5,))
    thread.start()
    entered.wait(10)
    message = refused(ParameterError, lambda: random.words(5))
    done.set()
    thread.join()
    assert "random.several-threads" in message
    monkeypatch.undo()
    assert (random.words(3) == np.split(SeededRandom(1).words(8), [5])[1]).all()
    assert RandomizedResponse(Domain(range(3)), 1.0).obfuscate([0], random=random).n == 1
