"""Numbers on devices: nobody who answers with an end of a sensitive range answers in clear."""

from typing import Any

import numpy as np
import pytest

from discreet.device.protocol.collection import open_envelope, rebuild
from discreet.device.protocol.notice import sections
from discreet.device.protocol.wording import wording
from signed import PLAIN, TRUST, altered, collection, document, envelope

TENTHS = {"low": 0, "high": 1, "bins": 10}


def numbers(sensitive: list[list[float]], **number: Any) -> dict[str, Any]:
    return {**PLAIN, "domain": {"number": {**TENTHS, **number}, "sensitive": sensitive}}


@pytest.mark.parametrize(
    ("sensitive", "protected"),
    [
        ([[0, 0.3]], [0, 1, 2, 3]),
        ([[0, 0.25]], [0, 1, 2]),
        ([[0.7, 1]], [7, 8, 9]),
        ([[0, 0.1], [0.5, 0.6]], [0, 1, 5, 6]),
        ([[0.3, 0.7]], [3, 4, 5, 6, 7]),
    ],
    ids=str,
)
def test_the_bin_of_each_end_is_protected(sensitive: list[list[float]], protected: list[int]) -> None:
    found = collection(numbers(sensitive))
    assert [code for code in range(10) if found.sensitive[code]] == protected
    assert all(found.sensitive[found.code_of(end)] for pair in sensitive for end in pair)
    assert rebuild(found).fingerprint == found.fingerprint


@pytest.mark.parametrize("end", [0.3, 0.35, 0.399999995])
def test_a_narrow_number_that_may_be_an_end_is_protected(end: float) -> None:
    """A float32 of 0.4 may stand for 0.399999995, and the document does not say where within a bin a range ends."""
    found = collection(numbers([[0, end]]))
    assert [found.code_of(kind(0.4)) for kind in (np.float16, np.float32, np.float64, float)] == [3, 3, 4, 4]
    assert found.code_of(np.nextafter(np.float32(0.4), np.float32(1))) == 4
    assert rebuild(found).fingerprint == found.fingerprint


def test_a_notice_says_which_border_belongs_to_a_bin() -> None:
    found = sections(collection(numbers([[0.05, 0.1], [0.9, 1]])), wording())
    assert found["protected"][0] == "0 – <0.1; 0.1 – <0.2; 0.9 – 1."


def test_a_document_of_before_protects_what_it_did() -> None:
    """Its range ends at a border, and its sampler protects nothing above it."""
    today = envelope(numbers([[0, 0.25]]))
    plan = document(today)["plan"]
    before = altered(today, plan={**plan, "domain": {**plan["domain"], "sensitive": [[0, 0.3]]}})
    found = open_envelope(before, TRUST)
    assert (rebuild(found).fingerprint, found.sampler.sensitive) == (found.fingerprint, ((0, 3),))
