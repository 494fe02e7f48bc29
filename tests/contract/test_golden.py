"""The structure may change; reports, tallies, fingerprints and estimates may not."""

import json
from typing import Any

import pytest

from golden import FILE, facts, mechanisms
from packing import each

GOLDEN: dict[str, Any] = json.loads(FILE.read_text())
MECHANISMS = dict(mechanisms())
_ROUNDING = {"rel": 1e-9, "abs": 1e-7}
# A gap g leaves a sum of estimates within sqrt(2 g n) of its standard errors: 2e-5 of them, and sums have below one.
# Errors of blocks that are drawn are in single precision, each within 3e-7 of itself.
_OF_REPORTS = {"rel": 1e-9, "abs": 1e-5}


def test_no_mechanism_is_gone() -> None:
    """A new one need not be in the file."""
    assert set(GOLDEN) <= set(MECHANISMS)


@each("name", GOLDEN)
def test_a_mechanism_does_what_it_did(name: str) -> None:
    was, now = dict(GOLDEN[name]), facts(MECHANISMS[name])
    assert now.pop("estimates") == {
        method: pytest.approx(numbers, **(_OF_REPORTS if method in ("mle", "em") else _ROUNDING))
        for method, numbers in was.pop("estimates").items()
    }
    assert now.pop("errors", []) == pytest.approx(was.pop("errors", []), **_ROUNDING)
    assert now == was
