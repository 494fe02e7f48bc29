"""The face for authors of laws: `discreet.laws` is all that they import; what they mistype is said in a sentence."""

import ast
import threading
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Domain, Plan, RandomizedResponse, SeededRandom
from discreet.core.random import Keystream
from discreet.errors import ParameterError
from discreet.formats import plan as plans
from discreet.laws import BlockMechanism, Blocks, IndexedLaw, RandomSource, WholeAlphabet, sensitive_size, uniform_below
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.privacy.verify import verify
from discreet.testing import CHECKS, contract
from refusals import refused

OWN_LAW = Path(__file__).parents[2] / "examples" / "own_law"


def test_the_example_imports_nothing_else() -> None:
    tree = ast.parse((OWN_LAW / "own_law.py").read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("discreet")} == {"discreet.laws"}


# A law of one index, as CONTRIBUTING says


@dataclass(frozen=True, slots=True, eq=False)
class _AllRows(WholeAlphabet):
    def dot(self, values: Any) -> Any:
        return np.sum(values) - np.asarray(values, dtype=np.float64)

    def transpose_dot(self, weights: Any) -> Any:
        return np.sum(weights) - np.asarray(weights, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class IndexedAllButOne(IndexedLaw):
    kind = "indexed all but one"
    index = "absent"

    size: int

    @property
    def alphabet_size(self) -> int:
        return self.size

    @property
    def inclusion(self) -> Fraction:
        return Fraction(self.size - 1, self.size)

    @property
    def conditional_inclusion(self) -> Fraction:
        return Fraction(self.size - 2, self.size - 1)

    def describe(self) -> dict[str, Any]:
        return {"law": self.kind, "size": self.size}

    def draw(self, members: Any, random: RandomSource, out: Blocks) -> None:
        noise = uniform_below(self.size, len(members), random).astype(np.int64)
        others = uniform_below(self.size - 1, len(members), random).astype(np.int64)
        out["absent"][:] = np.where(members < 0, noise, others + (others >= members))

    def contains(self, blocks: Blocks) -> Any:
        return blocks["absent"][:, None] != np.arange(self.size)

    def support_of(self, counts: Any) -> Any:
        return counts.sum() - counts

    def membership_of(self, counts: Any) -> _AllRows:
        return _AllRows(counts.astype(np.float64), self.size)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Indexed(BlockMechanism):
    name = "indexed"
    laws = (IndexedAllButOne,)

    depth: int = 3

    @cached_property
    def law(self) -> IndexedAllButOne:
        return IndexedAllButOne(sensitive_size(self.domain))


@pytest.mark.parametrize("check", [check for check in CHECKS if check not in contract.DRAWN])
def test_an_indexed_law_keeps_the_contract(check: Any) -> None:
    check(Indexed(Domain(range(6), sensitive=[0, 2, 3, 5]), 0.7))


def test_an_indexed_law_is_verified() -> None:
    assert verify(Indexed(Domain(range(6)), 0.7)).holds
    assert replace(Indexed(Domain(range(6)), 0.7), epsilon=1.0).epsilon == 1.0


# What is mistyped


@pytest.mark.parametrize(("name", "option"), [("indexed", "dept"), ("unary", "thta")])
def test_a_misspelt_option_of_a_plan_is_named(
    name: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BLOCK_MECHANISMS, "joined", {"indexed": Indexed}, raising=False)
    plans.schema_with_joined.cache_clear()
    file = tmp_path / "plan.json"
    file.write_text(
        f'{{"epsilon": 1.0, "domain": {{"labels": ["a", "b"]}}, "mechanism": {{"name": "{name}", "{option}": 3}}}}'
    )
    message = refused(ParameterError, lambda: Plan.load(file))
    plans.schema_with_joined.cache_clear()
    assert f"unknown field '{option}' - at '$.mechanism'" in message


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
