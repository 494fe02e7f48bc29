"""Reports in looser types: the same reports, and what can be wrong with them besides."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import Domain, RandomizedResponse
from discreet.mechanisms.report_tables import check_columns, to_arrow, valid_rows
from discreet.spark.frames import spark_type, to_spark
from laws import Case, one_epsilon, sampled


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
        found, left_out = valid_rows(mechanism, as_batch(table), simulated=True)
        assert not left_out
        assert equal(mechanism, found, reports)
        # Any rows of a batch, too, with what is before them in its buffers.
        part, _ = valid_rows(mechanism, as_batch(table).slice(17, 100), simulated=True)
        assert equal(mechanism, part, reports.part(17, 117))


def test_random_numbers_are_sifted_as_a_loop_would() -> None:
    mechanism = RandomizedResponse(Domain(range(20), sensitive=list(range(7))), 1.0)
    rng = np.random.default_rng(5)
    pick = [None, None, None, *range(-3, 24)]
    clear, symbol = ([pick[place] for place in rng.integers(0, len(pick), 4000)] for _ in range(2))
    batch = pa.record_batch({"clear": pa.array(clear, pa.int64()), "symbol": pa.array(symbol, pa.int32())})
    found, left_out = valid_rows(mechanism, batch)
    good = [
        (c, s)
        for c, s in zip(clear, symbol, strict=True)
        if (c is None) != (s is None) and (c is None or 7 <= c < 20) and (s is None or 0 <= s < 7)
    ]
    assert found.clear.tolist() == [c for c, _ in good if c is not None]
    assert found.blocks["symbol"].tolist() == [s for _, s in good if s is not None]
    assert sum(left_out.values()) == 4000 - len(good)
    assert isinstance(left_out, Counter)
