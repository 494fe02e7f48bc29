"""Batches of subsets: uniform whatever they start from, with members as without."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from discreet import SeededRandom
from discreet.core.random import BATCH
from discreet.kernels import counting
from discreet.mechanisms.laws import subsets
from discreet.mechanisms.laws.subsets import MixedSubsets, NoiseBits, draw_batch, noise_bits
from evidence import multinomial


def drawn(size: int, count: int, members: Any, seed: int) -> Any:
    print(f"seed {seed}")
    out = np.empty((len(members), count), dtype=np.uint16)
    draw_batch(size, members, SeededRandom(seed), out)
    return out


def test_noise_bits_are_fractions_of_at_most_half_the_places() -> None:
    for size in range(1, 200):
        for count in range(size // 2 + 1):
            noise = noise_bits(size, count)
            assert 0 <= noise.threshold < 2**noise.depth
            assert noise.threshold % 2 == 1 or noise == NoiseBits(0, 0, noise.places)
            assert 1 <= noise.places <= 128
    assert noise_bits(624, 167) == NoiseBits(1, 2, 28)
    assert noise_bits(100_000, 26_894).places == 128


def test_a_wanted_value_makes_each_subset_that_holds_it_of_one_subset_of_the_others() -> None:
    for size, count in ((2, 1), (5, 1), (5, 3), (6, 5)):
        others = list(combinations(range(size - 1), count - 1))
        for wanted in range(size):
            marks = np.array([[sum(1 << p for p in subset)] for subset in others], dtype=np.uint64)
            subsets.put_member(np.full(len(others), wanted), size - 1, marks)
            holding = {sum(1 << p for p in s) for s in combinations(range(size), count) if wanted in s}
            assert set(marks[:, 0].tolist()) == holding
            assert len(holding) == len(others)


@pytest.mark.parametrize(("size", "count"), [(2, 1), (3, 3), (6, 3), (7, 1)])
def test_every_subset_is_listed_once_behind_each_of_its_members(size: int, count: int) -> None:
    listed = subsets.every_subset(size, count)
    assert listed is not None
    for value, rows in enumerate(np.split(listed, size)):
        assert sorted(map(tuple, rows.tolist())) == [s for s in combinations(range(size), count) if value in s]
    assert subsets.every_subset(624, 168) is None


@pytest.mark.parametrize(("size", "count"), [(2, 1), (64, 20), (65, 33), (129, 100), (625, 168), (4000, 3)])
def test_numpy_and_compiled_forms_draw_the_same(monkeypatch: pytest.MonkeyPatch, size: int, count: int) -> None:
    members = np.random.default_rng(3).integers(-1, size, 1200)
    found = []
    for compiled in (True, False):
        monkeypatch.setattr(counting, "compiled_pays", lambda _, answer=compiled: answer)
        found.append(drawn(size, count, members, 3))
    np.testing.assert_array_equal(*found)
    assert (np.diff(found[0].astype(int), axis=1) > 0).all()
    assert found[0].max() < size
    assert (found[0] == members[:, None]).any(axis=1)[members >= 0].all()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [NoiseBits(0, 0, 1), NoiseBits(1, 1, 1), NoiseBits(7, 3, 2), None])
def test_any_noise_and_few_places_at_once_give_uniform_subsets(
    monkeypatch: pytest.MonkeyPatch, noise: NoiseBits | None
) -> None:
    """The slow paths: all is added or taken out, one place at a time. Rival: noise bits as they are, if they are 2.

    Without noise bits one of all subsets, in a list, is drawn.
    """
    if noise is not None:
        monkeypatch.setattr(subsets, "noise_bits", lambda *_: noise)
        monkeypatch.setattr(subsets, "every_subset", lambda *_: None)
    n, pairs = 30_000, list(combinations(range(6), 3))
    for member in (-1, 0, 5):
        found = drawn(6, 3, np.full(n, member), 5)
        right = np.array([float(member in (-1, *block)) for block in pairs])
        codes = [int(np.sum((found == block).all(axis=1))) for block in pairs]
        rival = right * np.array([1.3 if 1 in block else 1.0 for block in pairs])
        multinomial(f"{noise} {member}", codes, right / right.sum(), rival=rival / rival.sum())


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), [(625, 168), (625, 450), (1500, 12)])
def test_large_subsets_have_as_many_in_any_part_as_uniform_ones(size: int, count: int) -> None:
    """Of noise, hypergeometric in each part; rival: every member on its own. Values are as frequent as each other."""
    n = 40_000
    found = drawn(size, count, np.full(n, -1), 6)
    for name, part in (("first", np.arange(size // 2)), ("odd", np.arange(1, size, 2)), ("ends", np.r_[0, size - 1])):
        inside = np.isin(np.arange(size), part)[found].sum(axis=1)
        every = np.arange(min(len(part), count) + 1)
        law, rival = hypergeom(size, len(part), count).pmf(every), binom(count, len(part) / size).pmf(every)
        low, high = np.searchsorted(np.cumsum(law), 0.03), np.searchsorted(np.cumsum(law), 0.97)
        if name == "ends":
            low, high, rival = 0, 2, rival[::-1] / rival.sum()
        cells = [np.concatenate([[p[: low + 1].sum()], p[low + 1 : high], [p[high:].sum()]]) for p in (law, rival)]
        counts = np.bincount(np.clip(inside, low, high) - low, minlength=high - low + 1)
        if n * cells[0].min() > 500 and count > 20:
            multinomial(f"{name} of {size}", counts, cells[0] / cells[0].sum(), rival=cells[1] / cells[1].sum())
    frequent = np.bincount(found.reshape(-1), minlength=size)
    spread = (frequent - n * count / size) / np.sqrt(n * count / size * (1 - count / size))
    assert np.abs(spread).max() < 6.5
    # Rival: values of probabilities 1% apart, whose squares would be at least so many more.
    assert abs((spread**2).sum() - size) < 8 * np.sqrt(2 * size)


def test_a_design_may_take_every_value() -> None:
    """k + 1 = v: nothing is left to draw."""
    law = MixedSubsets(4, 3, 1 << 63)
    out = {"members": np.empty((BATCH, 4), dtype=np.uint8)}
    law.draw(np.arange(BATCH) % 5 - 1, SeededRandom(8), out)
    assert not law.flaws(out).any()
    assert 0.4 < (out["members"][:, -1] == 4).mean() < 0.6
