"""Files of reports that were changed in ways that keep some of their structure: no crash, and never other counts."""

import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from damage import CHECKED, MECHANISM, bare_bytes, written
from discreet.engines import tally
from discreet.errors import DataError, ParameterError

MUTATIONS = 160
SECTOR = 512


def flip(whole: bytearray, random: np.random.Generator) -> bytearray:
    whole[random.integers(len(whole))] ^= 1 << random.integers(8)
    return whole


def spell(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Put a number that often breaks readers into some place."""
    place, number = random.integers(len(whole) - 8), random.choice([0, 1, 127, 128, 255, 2**31 - 1, 2**32 - 1])
    whole[place : place + 4] = struct.pack("<I", number)
    return whole


def blank(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Lose a sector of the disk."""
    start = SECTOR * random.integers(len(whole) // SECTOR)
    whole[start : start + SECTOR] = bytes(len(whole[start : start + SECTOR]))
    return whole


def cut(whole: bytearray, random: np.random.Generator) -> bytearray:
    return whole[: random.integers(len(whole))]


def lose(whole: bytearray, random: np.random.Generator) -> bytearray:
    start, stop = sorted(random.integers(len(whole), size=2))
    return whole[:start] + whole[stop + 1 :]


def repeat(whole: bytearray, random: np.random.Generator) -> bytearray:
    start, stop = sorted(random.integers(len(whole), size=2))
    return whole[: stop + 1] + whole[start:]


def swap(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Let two stretches of one length change places."""
    length = int(random.integers(1, 200))
    first, second = sorted(random.integers(len(whole) - length, size=2))
    if second - first < length:
        return flip(whole, random)
    whole[first : first + length], whole[second : second + length] = (
        whole[second : second + length],
        whole[first : first + length],
    )
    return whole


def in_footer(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Change one byte of what says where everything lies."""
    place = len(whole) - int(random.integers(1, 700))
    whole[place] = (whole[place] + int(random.integers(1, 256))) % 256
    return whole


WAYS: list[Callable[[bytearray, np.random.Generator], bytearray]] = [
    flip,
    spell,
    blank,
    cut,
    lose,
    repeat,
    swap,
    in_footer,
]


def outcomes(path: Path, whole: bytes, right: object, count: int, seed: int) -> Counter[str]:
    """Tally mutated files; return how many were refused, gave the same or gave other counts."""
    random, found = np.random.default_rng(seed), Counter[str]()
    for number in range(count):
        way = WAYS[number % len(WAYS)]
        mutated = bytes(way(bytearray(whole), random))
        path.write_bytes(mutated)
        try:
            same = tally(MECHANISM, path, threads=1).tally == right
            found["same" if same else f"other: {way.__name__}"] += 1
        except (DataError, ParameterError):
            found["refused"] += mutated != whole
    return found


@pytest.mark.parametrize("suffix", CHECKED)
def test_mutated_files_never_give_other_counts(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    whole, right = written(path)
    found = outcomes(path, whole, right, MUTATIONS, seed=3)
    assert set(found) <= {"refused", "same"}
    assert found["refused"] > 0.9 * MUTATIONS


@pytest.mark.parametrize("suffix", ["arrow", "jsonl", "jsonl.gz", "parquet"])
def test_mutated_files_never_end_the_process(suffix: str, tmp_path: Path) -> None:
    """Without checksums counts may be others, which is said of the formats; all errors are refusals."""
    path = tmp_path / f"a.{suffix}"
    whole, right = written(path)
    whole = bare_bytes(path) if suffix in CHECKED else whole
    found = outcomes(path, whole, right, MUTATIONS, seed=4)
    assert found["refused"] > 0.3 * MUTATIONS
