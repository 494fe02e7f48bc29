"""Without numba: the same counts and estimates by NumPy, and a refusal of what would take too long."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.kernels import bits, hashing, members, plain
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.risk.assessment import assess
from discreet.risk.traces import Traces, by_half

DRAWN = np.random.default_rng(5)
COLUMNS = tuple(DRAWN.integers(low, 101, 9000).astype(np.uint32) for low in (1, 0, 0))
"""More rows than are looked at together."""
MEMBERS = DRAWN.integers(0, 60, (500, 7)).astype(np.uint16)
ROWS = np.packbits(DRAWN.random((70, 45)) < 0.4, axis=1, bitorder="little")
TILES = bits.transpose_tiles(ROWS, 45)
GROUPS = DRAWN.integers(0, 3, 9000).astype(np.int32)


def filled(shape: Any, dtype: Any = np.float64) -> Any:
    return np.zeros(shape, dtype)


def wide(column: Any) -> Any:
    """Return numbers below 2^32 - 5, a prime of 32 bits."""
    return (column.astype(np.uint64) * 42949672 % (2**32 - 5)).astype(np.uint32)


Call = tuple[Any, Any, Callable[[], tuple[Any, ...]]]
CALLS: dict[str, Call] = {
    "preimages": (
        hashing.count_by_group,
        plain.count_preimages,
        lambda: (COLUMNS, GROUPS, 101, 7, filled((3, 95), np.int64)),
    ),
    "preimages, 32 bits": (
        hashing.count_by_group,
        plain.count_preimages,
        lambda: (tuple(map(wide, COLUMNS)), GROUPS, 2**32 - 5, 2**30 + 3, filled((3, 2**20), np.int64)),
    ),
    "dot": (hashing.row_sums, plain.preimages_dot, lambda: (COLUMNS, np.arange(95) / 7, 101, 7, filled(9000))),
    "dot transposed": (
        hashing.column_sums,
        plain.preimages_dot_transposed,
        lambda: (COLUMNS, np.arange(9000) / 7, 101, 7, filled(95)),
    ),
    "members": (members.row_sums, plain.members_dot, lambda: (MEMBERS, np.arange(50) / 7, filled(500))),
    "members transposed": (
        members.column_sums,
        plain.members_dot_transposed,
        lambda: (MEMBERS, np.arange(500) / 7, 50),
    ),
    "tiles": (bits.transpose_rows, plain.transpose_rows, lambda: (ROWS, filled((3, 45), np.uint32))),
    "tiles, dot": (bits.row_sums, plain.tiles_dot, lambda: (TILES, np.arange(45) / 7, 4096, filled((3, 32)))),
    "tiles, dot transposed": (
        bits.column_sums,
        plain.tiles_dot_transposed,
        lambda: (TILES, np.arange(96) / 7, 4096),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpy_computes_what_compiled_kernels_do(name: str) -> None:
    compiled, by_numpy, arguments = CALLS[name]
    results = []
    for function in (compiled, by_numpy):
        handed = arguments()
        returned = function(*handed)
        results.append(handed[-1] if returned is None else returned)
    assert np.any(results[0])
    if results[0].dtype.kind == "f":
        np.testing.assert_allclose(results[1], results[0], rtol=1e-12)
    else:
        np.testing.assert_array_equal(results[1], results[0])


def estimates() -> dict[str, Any]:
    """Return the counts and estimates of every mechanism with defaults, and the answer on traces."""
    answers: dict[str, Any] = {}
    codes = np.arange(100) ** 2 % 12
    for name, builder in BLOCK_MECHANISMS.items():
        try:
            mechanism = builder(dc.Domain(range(12), sensitive=range(8)), 1.0)
        except TypeError:
            # It has no defaults.
            continue
        reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(1))
        tally = mechanism.tally(reports)
        linear, likeliest = dc.estimate(mechanism, tally), dc.estimate(mechanism, reports, method="mle")
        answers[name] = [linear.frequencies.tolist(), likeliest.frequencies.tolist()]
    users = np.repeat(np.arange(20), 6)
    places = (users * 7 + np.arange(120) % 6 * (users % 5)) % 23
    answer = assess(by_half(Traces.of(users, places)), random=dc.SeededRandom(1))
    answers["risk"] = [answer.risk, str(answer)]
    return answers


HIDDEN = f"""
import json, sys
sys.modules["numba"] = None
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
import numpy as np, discreet as dc, test_plain
print(json.dumps(test_plain.estimates()))
from discreet.errors import DiscreetError
from discreet.risk.kernels import events
try:
    events.find_numbers(np.zeros(5_000_000, np.int64), *[np.zeros(1, np.int64)] * 3)
except DiscreetError as refused:
    print(refused)
"""


def test_a_machine_without_numba_answers_the_same_and_refuses_what_would_take_too_long() -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    answered, refused = done.stdout.splitlines()
    answers, expected = json.loads(answered), json.loads(json.dumps(estimates()))
    assert answers.pop("risk") == expected.pop("risk")
    assert len(expected) >= 6
    for name, (linear, likeliest) in expected.items():
        assert answers[name][0] == linear, name
        # Sums of floating point numbers are added in another order.
        np.testing.assert_allclose(answers[name][1], likeliest, atol=1e-9, err_msg=name)
    assert "extra.fast-missing" in refused
