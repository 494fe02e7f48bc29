"""Reports in looser types: the same reports, and what can be wrong with them besides."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, RandomizedResponse, SeededRandom, SubsetSelection, UnaryEncoding
from discreet.errors import DataError
from discreet.mechanisms import row_checks
from discreet.mechanisms.report_tables import check_columns, sifted_rows, to_arrow
from discreet.spark.frames import spark_type, to_spark
from laws import Case, one_epsilon, sampled
from refusals import refused


def as_batch(table: Any) -> Any:
    return table.combine_chunks().to_batches()[0]


def equal(mechanism: Any, left: Any, right: Any) -> bool:
    return to_arrow(mechanism, left).equals(to_arrow(mechanism, right)) and left.n == right.n


@one_epsilon
def test_looser_types_hold_the_same_reports(case: Case) -> None:
    mechanism, reports = case.mechanism, sampled(case, 300)
    wire_types = to_arrow(mechanism, reports)
    loose = to_spark(mechanism, reports)
    large = {"binary": pa.large_binary(), "list": pa.large_list(pa.int64())}
    larger = pa.table(
        {
            column.name: loose.column(column.name).cast(
                large.get(str(spark_type(column)).partition("<")[0], spark_type(column))
            )
            for column in mechanism.columns
        }
    )
    for table in (wire_types, pa.Table.from_batches([loose]), larger):
        check_columns(mechanism, table.schema)
        found, left_out = sifted_rows(mechanism, as_batch(table), simulated=True)
        assert not left_out
        assert equal(mechanism, found, reports)
        # Any rows of a batch, too, with what is before them in its buffers.
        part, _ = sifted_rows(mechanism, as_batch(table).slice(17, 100), simulated=True)
        assert equal(mechanism, part, reports.part(17, 117))


def test_every_flaw_has_its_reason() -> None:
    mechanism = UnaryEncoding(Domain(range(12), sensitive=list(range(9))), 1.0)
    good = b"\x01\x00"
    rows: list[tuple[int | None, bytes | None]] = [
        (None, good),
        (10, None),
        (None, b"\x01"),
        (None, b""),
        (None, b"\x01\x00\x00"),
        (None, None),
        (10, good),
        (12, None),
        (-1, None),
        (3, None),
        (None, b"\x00\xff"),
    ]
    clear, bits = zip(*rows, strict=True)
    batch = pa.record_batch({"clear": pa.array(clear, pa.int16()), "bits": pa.array(bits, pa.binary())})
    found, left_out = sifted_rows(mechanism, batch)
    assert found.n == 2
    assert sum(left_out.values()) == 9
    assert left_out[row_checks.UNREADABLE] == 3
    assert sorted(left_out.values()) == [1, 1, 1, 1, 2, 3]
    assert set(left_out) <= set(row_checks.reasons(mechanism))


def test_lists_of_another_length_or_with_gaps() -> None:
    mechanism = SubsetSelection(Domain(range(9)), 1.0, k=3)
    lists = [[0, 4, 8], [0, 4], [0, None, 8], None, [0, 4, 9], [4, 4, 8], [0, 4, 5, 8], [None, None, None], [1, 2, 3]]
    batch = pa.record_batch({"members": pa.array(lists, pa.list_(pa.int32()))})
    found, left_out = sifted_rows(mechanism, batch)
    assert found.blocks["members"].tolist() == [[0, 4, 8], [1, 2, 3]]
    assert sum(left_out.values()) == 7
    assert (left_out[row_checks.UNREADABLE], left_out[row_checks.GAP]) == (2, 2)
    cut, others = sifted_rows(mechanism, batch.slice(2, 2))
    assert (cut.n, sum(others.values())) == (0, 2)


def test_random_numbers_are_sifted_as_a_loop_would() -> None:
    mechanism = RandomizedResponse(Domain(range(20), sensitive=list(range(7))), 1.0)
    rng = np.random.default_rng(5)
    pick = [None, None, None, *range(-3, 24)]
    clear, symbol = ([pick[place] for place in rng.integers(0, len(pick), 4000)] for _ in range(2))
    batch = pa.record_batch({"clear": pa.array(clear, pa.int64()), "symbol": pa.array(symbol, pa.int32())})
    found, left_out = sifted_rows(mechanism, batch)
    good = [
        (c, s)
        for c, s in zip(clear, symbol, strict=True)
        if (c is None) != (s is None) and (c is None or 7 <= c < 20) and (s is None or 0 <= s < 7)
    ]
    assert found.clear.tolist() == [c for c, _ in good if c is not None]
    assert found.blocks["symbol"].tolist() == [s for _, s in good if s is not None]
    assert sum(left_out.values()) == 4000 - len(good)
    assert isinstance(left_out, Counter)


@pytest.mark.parametrize(
    "schema",
    [
        {"bits": pa.binary()},
        {"clear": pa.int64(), "bits": pa.string()},
        {"clear": pa.bool_(), "bits": pa.binary()},
        {"clear": pa.decimal128(5, 0), "bits": pa.binary()},
        {"clear": pa.int64(), "bits": pa.binary(3)},
        {"clear": pa.int64(), "bits": pa.list_(pa.int8())},
    ],
)
def test_columns_of_another_kind(schema: Any) -> None:
    mechanism = UnaryEncoding(Domain(range(12), sensitive=list(range(9))), 1.0)
    message = refused(DataError, lambda: check_columns(mechanism, pa.schema(list(schema.items()))))
    assert "clear (integer), bits (2 bytes)" in message


def test_simulated_batches_stay_marked() -> None:
    mechanism = RandomizedResponse(Domain(range(20)), 1.0)
    reports = mechanism.obfuscate_codes(np.arange(20), random=SeededRandom(1))
    batch = to_spark(mechanism, reports)
    assert sifted_rows(mechanism, batch, simulated=True)[0].simulated
    assert not sifted_rows(mechanism, batch)[0].simulated
