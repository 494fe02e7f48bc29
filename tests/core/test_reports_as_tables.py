"""Batches of reports: rows by mask and slice, sums, and tables of Arrow."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import Reports
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.mechanisms.report_tables import to_arrow
from laws import MEDIUM, Case, cases, over, sampled
from refusals import refused

MECHANISM = dc.UnaryEncoding(dc.Domain(range(30), sensitive=range(20)), 1.0)
REPORTS = MECHANISM.obfuscate_codes(np.arange(200) % 30, random=dc.SeededRandom(1))
CLEAR_BITS = dc.UnaryEncoding(dc.Domain(range(7), sensitive=[0, 2]), 1.0, clear_bits=True)


every_law = over(cases(MEDIUM, (1.0,)))


def same(one: Reports, other: Reports, mechanism: Any) -> bool:
    return to_arrow(mechanism, one).equals(to_arrow(mechanism, other), check_metadata=True)


def rows_of(reports: Reports, mechanism: Any) -> list[Any]:
    return list(to_arrow(mechanism, reports).to_pylist())


@every_law
def test_rows_by_mask_and_by_slice(case: Case) -> None:
    mechanism, reports = case.mechanism, sampled(case, 90)
    rows = rows_of(reports, mechanism)
    mask = np.random.default_rng(1).random(90) < 0.4
    assert rows_of(reports[mask], mechanism) == [row for row, chosen in zip(rows, mask, strict=True) if chosen]
    for some in (slice(None), slice(10, 20), slice(-5, None), slice(50, 10), slice(3, 80, 7)):
        assert rows_of(reports[some], mechanism) == rows[some]
    both = reports[mask] + reports[~mask]
    assert mechanism.tally(both) == mechanism.tally(reports)
    assert same(sum([reports[:40], reports[40:41], reports[41:]]), reports, mechanism)


def test_blocks_beside_values_in_clear_follow_the_mask() -> None:
    reports = CLEAR_BITS.obfuscate_codes(np.arange(70) % 7, random=dc.SeededRandom(2))
    mask = np.arange(70) % 3 == 0
    assert reports.block_count == 70
    assert rows_of(reports[mask], CLEAR_BITS) == rows_of(reports, CLEAR_BITS)[::3]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([True] * 199, "must have 200 entries, one for each report, got 199"),
        (np.ones((200, 1), bool), "column.not-one"),
        (np.arange(200), "column.not-flags"),
        ([True, None] * 100, "missing"),
        (pa.array([True, None] * 100), "missing"),
        (3, "column.not-sequence"),
        ("yes", "column.not-sequence"),
    ],
    ids=["short", "two axes", "numbers", "None", "null", "one row", "text"],
)
def test_masks_that_are_none(rows: Any, said: str) -> None:
    assert said in refused(DataError, lambda: REPORTS[rows])


def test_other_plans_and_other_things_are_not_added() -> None:
    other = dc.UnaryEncoding(MECHANISM.domain, 2.0)
    refused(MismatchError, lambda: REPORTS + other.obfuscate_codes([1, 2]))
    for stranger in (1, None, [REPORTS], MECHANISM.tally(REPORTS)):
        with pytest.raises(TypeError):
            _ = REPORTS + stranger


def test_reports_put_together_by_hand_say_what_they_lack() -> None:
    by_hand = Reports(REPORTS.fingerprint, 2, None, np.empty(0, np.uint8), {"bits": np.zeros((2, 3), np.uint8)})
    assert "reports.no-formats" in refused(ParameterError, by_hand.to_arrow)
    other = replace(REPORTS, blocks={"symbol": np.zeros(REPORTS.block_count, np.uint8)})
    assert "reports.no-formats" in refused(ParameterError, other.to_arrow)
    symbols = dc.RandomizedResponse(dc.Domain(range(9)), 1.0).obfuscate_codes([1, 2, 3])
    for number in (-1, 256 + 4):
        wide = replace(symbols, blocks={"symbol": np.full(symbols.block_count, number)})
        assert "reports.out-of-range" in refused(DataError, wide.to_arrow, number)
