"""Sources that somebody else wrote: words that are none would make devices tell the truth, so they are refused."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import Channel, Domain, SecureRandom, SeededRandom
from discreet.core.random import bernoulli, checked_source, uniform_below
from discreet.errors import ParameterError
from laws import BUILDERS
from packing import each
from refusals import refused

DOMAIN = Domain(range(7), sensitive=[0, 3, 4, 6])


class Foreign:
    """A generator of words as somebody outside would wrap one, with one thing wrong."""

    secure = True

    def __init__(self, spoil: Callable[[Any], Any] = lambda words: words) -> None:
        self._source, self._spoil = SeededRandom(11), spoil

    def words(self, n: int) -> Any:
        return self._spoil(self._source.words(n))


def read_only(words: Any) -> Any:
    words.flags.writeable = False
    return words


WRONG: dict[str, Callable[[Any], Any]] = {
    "32 bits": lambda words: (words >> np.uint64(32)).astype(np.uint32),
    "signed": lambda words: words.view(np.int64),
    "floats of words": lambda words: words.astype(np.float64),
    "bytes": lambda words: words.tobytes(),
    "objects": lambda words: words.astype(object),
    "the other byte order": lambda words: words.astype(">u8"),
    "a column": lambda words: words[:, None],
    "one too many": lambda words: np.append(words, words[:1]),
    "one too few": lambda words: words[:-1],
    "masked": np.ma.masked_array,
    "every other word": lambda words: np.repeat(words, 2)[::2],
    "read-only": read_only,
    "nothing": lambda words: None,
}


@each("builder", [name for name in BUILDERS if name != "unary-clear-bits"])
@each("spoil", WRONG.values())
def test_words_that_are_none_are_refused_by_every_mechanism(builder: str, spoil: Callable[[Any], Any]) -> None:
    mechanism = BUILDERS[builder](DOMAIN, 1.0)
    refused(ParameterError, lambda: mechanism.obfuscate_codes([0, 3, 5], random=Foreign(spoil)))


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_words_that_are_none_are_refused_by_whatever_draws(spoil: Callable[[Any], Any]) -> None:
    channel = Channel(np.full((3, 4), 0.25))
    refused(ParameterError, lambda: channel.obfuscate_codes([0, 1, 2], random=Foreign(spoil)))
    refused(ParameterError, lambda: bernoulli(3, 1 << 63, Foreign(spoil)))
    refused(ParameterError, lambda: uniform_below(5, 3, Foreign(spoil)))
    law = BUILDERS["hadamard"](DOMAIN, 1.0).law
    out = {"column": np.zeros(3, dtype=np.uint8)}
    refused(ParameterError, lambda: law.draw(np.array([0, 1, -1]), Foreign(spoil), out))


@each("builder", BUILDERS)
def test_a_source_that_does_as_it_should_gives_the_same_reports(builder: str) -> None:
    mechanism = BUILDERS[builder](DOMAIN, 1.0)
    codes = np.arange(700) % 7
    ours = mechanism.obfuscate_codes(codes, random=SeededRandom(11))
    theirs = mechanism.obfuscate_codes(codes, random=Foreign())
    assert all((ours.blocks[name] == theirs.blocks[name]).all() for name in ours.blocks)
    assert ours.clear.tolist() == theirs.clear.tolist()
    assert (ours.simulated, theirs.simulated) == (True, False)


class Reused(Foreign):
    """Hands out one buffer again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = np.empty(1000, dtype=np.uint64)

    def words(self, n: int) -> Any:
        self.buffer[:n] = self._source.words(n)
        return self.buffer[:n]


class Reseeded(Foreign):
    """Begins anew whenever it is asked."""

    def words(self, n: int) -> Any:
        return SeededRandom(5).words(n)


class Alternating(Foreign):
    """Begins anew every other time."""

    turn = 0

    def words(self, n: int) -> Any:
        self.turn += 1
        return SeededRandom(self.turn % 2).words(n)


@pytest.mark.parametrize("kind", [Reused, Reseeded, Alternating])
def test_what_comes_again_is_refused(kind: type[Foreign]) -> None:
    mechanism, source = BUILDERS["subset-k2"](DOMAIN, 1.0), kind()
    refused(ParameterError, lambda: [mechanism.obfuscate_codes([0, 1, 2], random=source) for _ in range(2)])


def test_what_comes_again_in_a_later_call_is_refused() -> None:
    """A channel draws once per call; and a source may refuse to be hashed, but then remembers nothing by itself."""
    channel, source = Channel(np.full((3, 4), 0.25)), Reseeded()
    channel.obfuscate_codes([0, 1, 2], random=source)
    message = refused(ParameterError, lambda: channel.obfuscate_codes([0, 1], random=source))
    assert "random.same-words" in message


def test_a_buffer_that_changes_later_changes_nothing() -> None:
    """Two buffers in turns: what was drawn from the first stays as it was."""
    given_out: list[Any] = []

    class Kept(Foreign):
        def words(self, n: int) -> Any:
            given_out.append(self._source.words(n))
            return given_out[-1]

    source = checked_source(Kept())
    words = source.words(5)
    before = words.copy()
    given_out[0][:] = 0
    np.testing.assert_array_equal(words, before)


@pytest.mark.parametrize(
    "random",
    [
        SecureRandom,
        SeededRandom,
        Foreign,
        7,
        "secure",
        np.random.default_rng(1),
        SimpleNamespace(words=lambda n: SecureRandom().words(n)),
        SimpleNamespace(secure=True),
        SimpleNamespace(secure=True, words=3),
        SimpleNamespace(secure="yes", words=lambda n: SecureRandom().words(n)),
        SimpleNamespace(secure=None, words=lambda n: SecureRandom().words(n)),
    ],
    ids=[f"source {place}" for place in range(11)],
)
def test_what_is_no_source_is_refused(random: Any) -> None:
    refused(ParameterError, lambda: BUILDERS["rr"](DOMAIN, 1.0).obfuscate_codes([0], random=random))


def test_a_source_that_cannot_be_remembered_is_watched_for_a_call() -> None:
    class Unhashable(Reseeded):
        __hash__ = None  # type: ignore[assignment]

    mechanism = BUILDERS["rr"](DOMAIN, 1.0)
    refused(ParameterError, lambda: mechanism.obfuscate_codes([0, 1, 2], random=Unhashable()))


def test_subclasses_of_our_own_sources_are_watched_too() -> None:
    class Narrow(SecureRandom):
        def words(self, n: int) -> Any:
            return super().words(n).astype(np.uint32)

    refused(ParameterError, lambda: BUILDERS["hadamard"](DOMAIN, 1.0).obfuscate_codes([0], random=Narrow()))
