"""What an outside law states of itself is not believed: each of its lies is denied, with the cause."""

import importlib.util
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import Domain, RandomizedResponse
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, LawMechanism
from discreet.mechanisms.registry import GROUP, Registry
from discreet.privacy.verify import verify
from packing import each
from refusals import refused


def _own_law() -> Any:
    file = Path(__file__).parents[2] / "examples" / "own_law" / "own_law.py"
    spec = importlib.util.spec_from_file_location("own_law", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("own_law", module)
    spec.loader.exec_module(module)
    return module


OWN = _own_law()
AllButOne: Any = OWN.AllButOne


class LargePi(AllButOne):
    """More of the noise contains a value than does: truth is told too often."""

    @property
    def inclusion(self) -> Fraction:
        return Fraction(2 * self.size - 1, 2 * self.size)


class WrongRho(AllButOne):
    @property
    def conditional_inclusion(self) -> Fraction:
        return Fraction(self.size - 1, self.size)


class NextContained(AllButOne):
    """Reads every block as one of the next value: pi and rho are right, devices mean others."""

    def contains(self, blocks: Any) -> Any:
        return np.roll(super().contains(blocks), 1, axis=1)


class LessThanOne(AllButOne):
    def alphabet(self) -> Any:
        blocks, weights = super().alphabet()
        return blocks, weights * Fraction(9, 10)


class Unlisted(AllButOne):
    """Does not list the last block, which devices send."""

    alphabet_size = property(lambda self: self.size - 1)

    def alphabet(self) -> Any:
        blocks, _ = super().alphabet()
        weights = np.full(self.size - 1, Fraction(1, self.size - 1), dtype=object)
        return {"absent": blocks["absent"][:-1]}, weights


class FirstFlawed(AllButOne):
    """Takes a block that devices send for a flaw: the collector would refuse some people."""

    def flaws(self, blocks: Any) -> Any:
        return blocks["absent"] == 0


class Raising(AllButOne):
    def contains(self, blocks: Any) -> Any:
        raise KeyError("absent")


LIES = {
    LargePi: "pi of value 0 must be 3/4, as counted, the law states 7/8",
    WrongRho: "rho of value 1, given 0, must be 2/3, as counted, the law states 3/4",
    NextContained: "a block must contain its member",
    LessThanOne: "fractions of at least 0 that add up to 1",
    Unlisted: "pi of value 0 must be 2/3, as counted",
    FirstFlawed: "blocks that are drawn must not be flawed",
    Raising: "but KeyError was raised",
}
each_lie = each("lie", LIES)


def lying(lie: Any, size: int = 4, sensitive: Any = None) -> LawMechanism:
    domain = Domain(range(size), sensitive=sensitive)
    return LawMechanism(domain, 1.0, lie(domain.sensitive_count))


@each_lie
@each("sensitive", [None, [0, 2, 3, 5]])
def test_a_lie_is_denied_with_its_cause(lie: Any, sensitive: Any) -> None:
    found = verify(lying(lie, 4 if sensitive is None else 7, sensitive))
    assert not found.holds
    assert found.counted == "all"
    assert any(LIES[lie] in fault for fault in found.faults), found.faults


@each_lie
def test_a_lie_of_a_law_too_large_to_be_counted_is_found_over_few_values(lie: Any) -> None:
    found = verify(lying(lie, 6000))
    assert (found.holds, found.counted, found.from_matrix) == (False, "few values", None)
    assert found.faults


def test_what_is_realised_follows_from_what_was_counted() -> None:
    """Twice the pi: a sampler that believes it tells the truth too often, and that is what verify states."""
    found = verify(lying(LargePi))
    honest = verify(lying(AllButOne))
    assert honest.holds
    assert honest.faults == ()
    assert found.realised > honest.realised + 0.05
    assert found.integers["block contains a given value"] == "3 / 4"


class Misstated(AllButOne):
    """Right over few values and wrong over many."""

    @property
    def inclusion(self) -> Fraction:
        return super().inclusion if self.size < 300 else Fraction(self.size - 1, self.size + 1)


def test_only_a_size_leaves_the_count_out() -> None:
    assert verify(lying(Misstated, 400)).counted == "all"
    assert not verify(lying(Misstated, 400)).holds


# At the entry point


def entry(monkeypatch: pytest.MonkeyPatch, made: Any) -> Registry:
    point = SimpleNamespace(name=made.name, value=f"elsewhere:{made.__name__}", load=lambda: made)
    monkeypatch.setattr(metadata, "entry_points", lambda group: (point,) if group == GROUP else ())
    return Registry([RandomizedResponse])


def mechanism_of(lie: Any) -> type[BlockMechanism]:
    @dataclass(frozen=True, eq=False, repr=False, kw_only=True)
    class Lying(BlockMechanism):
        name = "lying"
        laws = (lie,)

        @cached_property
        def law(self) -> Any:
            return lie(self.domain.sensitive_count)

    return Lying


@each_lie
def test_a_liar_does_not_join(lie: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = entry(monkeypatch, mechanism_of(lie))
    message = refused(ParameterError, lambda: registry["lying"])
    assert "entry-point.faulty" in message
    assert "that is what it states" in message
