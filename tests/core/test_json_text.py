"""JSON that every parser takes: one rule for numbers that are not finite."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.core.result_table import json_text


@pytest.mark.parametrize(
    ("fact", "spelled"),
    [
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        (np.float64("inf"), "Infinity"),
        (np.float32("nan"), "NaN"),
        (np.array([1.5, np.inf]), [1.5, "Infinity"]),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (None, None),
        ((1, {2: float("inf")}), [1, {"2": "Infinity"}]),
        (Path("a") / "b", str(Path("a") / "b")),
        (Fraction(1, 3), "1/3"),
        ("\udcff", "\udcff"),
    ],
)
def test_whatever_comes_is_json(fact: object, spelled: object) -> None:
    text = json_text({"fact": fact}, indent=2)
    found = json.loads(text, parse_constant=pytest.fail)["fact"]
    assert (found, type(found)) == (spelled, type(spelled))
    assert text.isascii()
