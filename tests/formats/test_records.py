"""Records: every report becomes W bytes and comes back, and what no device can send is refused by place."""

from typing import Any

import numpy as np
import pytest

from discreet import (
    Domain,
    HadamardResponse,
    LocalHashing,
    Personalized,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.formats.records import RecordCodec
from discreet.mechanisms.row_checks import FlawedRowsError
from laws import Case, one_epsilon, sampled
from packing import each

WIDE = Domain(range(1000), sensitive=range(100))
FEW = Domain(range(300), sensitive=range(12))


def same(left: Reports, right: Reports) -> bool:
    told = left.in_clear is right.in_clear is None or np.array_equal(left.in_clear, right.in_clear)  # type: ignore[arg-type]
    blocks = all(np.array_equal(left.blocks[name], column) for name, column in right.blocks.items())
    types = all(left.blocks[name].dtype == column.dtype for name, column in right.blocks.items())
    return (
        told and blocks and types and np.array_equal(left.clear, right.clear) and left.clear.dtype == right.clear.dtype
    )


@one_epsilon
def test_reports_come_back(case: Case) -> None:
    codec, reports = RecordCodec.of(case.mechanism), sampled(case)
    records = codec.encode(reports)
    assert records.shape == (reports.n, codec.width)
    assert same(codec.reports(case.mechanism, records, simulated=True), reports)
    assert same(codec.reports(case.mechanism, records[1:2], simulated=True), reports.part(1, 2))
    assert codec.reports(case.mechanism, records[:0], simulated=True).n == 0


# Widths of the specification.
WIDTHS: list[tuple[Any, int]] = [
    (RandomizedResponse(WIDE, 1.0), 3),
    (RandomizedResponse(Domain(range(100)), 1.0), 2),
    (RandomizedResponse(Domain(range(1000)), 1.0), 3),
    (HadamardResponse(WIDE, 1.0), 3),
    (LocalHashing(WIDE, 1.0), 13),
    (UnaryEncoding(WIDE, 1.0), 14),
    (UnaryEncoding(WIDE, 1.0, clear_bits=True), 16),
    (SubsetSelection(WIDE, 1.0), 28),
    (SubsetSelection(Domain(range(900), sensitive=range(700)), 1.0), 377),
]


@each("mechanism, width", WIDTHS)
def test_records_have_their_width_and_turned_ones_the_other_order(mechanism: Any, width: int) -> None:
    codec = RecordCodec.of(mechanism)
    assert codec.width == width
    codes = np.arange(600) % mechanism.domain.size
    reports = mechanism.obfuscate_codes(codes, random=SeededRandom(1))
    records, other = codec.encode(reports), RecordCodec(codec.columns, codec.clear_blocks, order=">")
    before = records.copy()
    assert np.array_equal(codec.swap_byte_order(records), other.encode(reports))
    assert np.array_equal(other.swap_byte_order(codec.swap_byte_order(records)), records)
    assert np.array_equal(records, before)
    assert codec.swap_byte_order(records[:0]).shape == (0, codec.width)


def test_a_personalized_mechanism_has_the_records_of_its_extended_domain() -> None:
    mechanism = Personalized(Domain(range(255), sensitive=[3]), 1.0, tags=["home", "work"])
    reports = mechanism.common.obfuscate_codes(np.arange(258), random=SeededRandom(1))
    codec = RecordCodec.of(mechanism.common)
    assert same(codec.reports(mechanism.common, codec.encode(reports), simulated=True), reports)


def test_bytes_are_where_the_page_says() -> None:
    codec = RecordCodec.of(UnaryEncoding(FEW, 1.0, clear_bits=True))
    reports = Reports(
        UnaryEncoding(FEW, 1.0, clear_bits=True).fingerprint,
        2,
        np.array([False, True]),
        np.array([259]),
        {"bits": np.array([[1, 2], [3, 4]], dtype=np.uint8)},
    )
    assert codec.encode(reports).tolist() == [[1, 0, 0, 1, 2], [3, 3, 1, 3, 4]]
    plain = UnaryEncoding(FEW, 1.0)
    told = Reports(
        plain.fingerprint,
        2,
        np.array([False, True]),
        np.array([259]),
        {"bits": np.array([[1, 2]], dtype=np.uint8)},
    )
    assert RecordCodec.of(plain).encode(told).tolist() == [[1, 1, 2], [2, 3, 1]]
    hashing = LocalHashing(WIDE, 1.0, g=4)
    block = {"alpha": [77], "beta": [0x0102], "bucket": [3]}
    columns = {name: np.array(entries, dtype=np.uint32) for name, entries in block.items()}
    hashed = Reports(hashing.fingerprint, 2, np.array([True, False]), np.array([999]), columns)
    written = RecordCodec.of(hashing).encode(hashed)
    assert written.tolist() == [[2, 0xE7, 3, *[0] * 10], [1, 77, 0, 0, 0, 2, 1, 0, 0, 3, 0, 0, 0]]


RR, HASHING, SUBSET = RandomizedResponse(WIDE, 1.0), LocalHashing(WIDE, 1.0), SubsetSelection(WIDE, 1.0)
ALL, BITS, BOTH = RandomizedResponse(Domain(range(300)), 1.0), UnaryEncoding(FEW, 1.0), None
BOTH = UnaryEncoding(FEW, 1.0, clear_bits=True)


@each(
    "mechanism, record, flaw",
    [
        (RR, [0, 5, 0], "tag byte"),
        (RR, [3, 5, 0], "tag byte"),
        (RR, [255, 5, 0], "tag byte"),
        (ALL, [2, 5, 0], "tag byte"),
        (ALL, [3, 5, 0], "tag byte"),
        (BOTH, [2, 99, 0, 0, 0], "tag byte"),
        (RR, [1, 5, 1], "other than zero"),
        (HASHING, [2, 99, 1, *[0] * 9, 1], "other than zero"),
        (HASHING, [2, 99, 1, 1, *[0] * 9], "other than zero"),
        (BOTH, [1, 1, 0, 0, 0], "other than zero"),
        (BOTH, [1, 0, 1, 0, 0], "other than zero"),
        (RR, [1, 100, 0], "symbol outside"),
        (RR, [2, 0xE8, 3], "clear outside"),
        (ALL, [1, 44, 1], "symbol outside"),
        (RR, [2, 99, 0], "sensitive value in clear"),
        (BOTH, [3, 11, 0, 0, 0], "sensitive value in clear"),
        (BITS, [1, 0, 0x10], "no device can send"),
        (BOTH, [3, 99, 0, 0, 0x10], "no device can send"),
        (HASHING, [1, *[0] * 12], "no device can send"),
        (SUBSET, [1, *range(26), 25], "no device can send"),
    ],
)
def test_flawed_records_are_refused_by_place(mechanism: RandomizedResponse, record: list[int], flaw: str) -> None:
    codec = RecordCodec.of(mechanism)
    codes = mechanism.domain.clear_codes if mechanism.domain.clear_count else np.arange(mechanism.domain.size)
    good = codec.encode(mechanism.obfuscate_codes(codes[:5], random=SeededRandom(1)))
    rows = np.vstack([good[:2], np.array([record], dtype=np.uint8), good[2:]])
    with pytest.raises(FlawedRowsError) as caught:
        codec.reports(mechanism, rows, simulated=False)
    assert flaw in str(caught.value)
    assert "1 of 6 reports" in str(caught.value)
    assert caught.value.rows is not None
    assert caught.value.rows.tolist() == [2]
    assert caught.value.what in RecordCodec.reasons(mechanism)
