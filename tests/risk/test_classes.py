"""Reports beside public columns against a plain loop and against the paper's probabilities."""

from collections import Counter
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DataError, ParameterError
from discreet.risk.classes import class_risk, written_cells

PEOPLE = st.lists(
    st.tuples(
        st.sampled_from([None, 1.5, 20.0, 23.0]), st.sampled_from([None, "a", "b1"]), st.sampled_from([None, True])
    ),
    min_size=1,
    max_size=24,
)
YES_NO = dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0)


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    ages, places, marks = (list(column) for column in zip(*rows, strict=True))
    columns = [pa.array(ages, pa.float64()), pa.array(places, pa.string()), pa.array(marks, pa.bool_())]
    return pa.table(columns, names=["age", "count_all", "mark"])


def success(people: int) -> float:
    """The probability of the best guess at the sender of a report, among people who answer as they like.

    The report is the value with p = e/(e + 1). The best guess is right with the sum over y of max P(y | x), divided by
    the number of people: that is 2 p / f where both values occur.
    """
    truth = exp(YES_NO.epsilon) / (exp(YES_NO.epsilon) + 1)
    return 1.0 if people == 1 else 2 * truth / people


@given(PEOPLE)
def test_classes_are_those_of_a_plain_loop(rows: list[tuple[Any, ...]]) -> None:
    risk, sizes = class_risk(YES_NO, table_of(rows)), Counter(rows)
    assert risk.columns == ("age", "count_all", "mark")
    assert (risk.people, risk.classes, risk.smallest) == (len(rows), len(sizes), min(sizes.values()))
    assert risk.alone == sum(size == 1 for size in sizes.values())
    assert risk.missing == sum(None in row for row in rows)
    assert risk.guessed == pytest.approx(np.mean([1 / sizes[row] for row in rows]))
    assert risk.identified == pytest.approx(np.mean([success(sizes[row]) for row in rows]))
    assert risk.worst == pytest.approx(success(min(sizes.values())))
    assert risk.guessed <= risk.identified


def test_cells_are_alike_if_they_are_written_alike() -> None:
    long = 1 << 60
    parts = [pa.table({"id": [long, long + 1]}), pa.table({"id": [str(long), "x"]}), pa.table({"id": pa.nulls(2)})]
    risk = class_risk(YES_NO, pa.concat_tables(map(written_cells, parts)))
    assert (risk.people, risk.classes, risk.alone, risk.missing) == (6, 4, 2, 2)
    coded = pa.table({"place": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert class_risk(YES_NO, coded).classes == 2


def test_refusals_and_results_show_nobody() -> None:
    secret = "quaggasteppe-4711"
    table = pa.table({"name": [secret, secret], "pair": [[1], [2]], "raw": [b"1", b"2"]})
    risk = class_risk(YES_NO, table.select(["name"]))
    assert secret not in f"{risk!r}{risk.heading}{risk.sentences}"
    for tried, error, words in (
        (table, DataError, "'pair' must hold text, numbers, dates or booleans, got list"),
        (table.select(["raw"]), DataError, "'raw' must hold text, numbers, dates or booleans, got binary"),
        (table.select(["name", "name"]), ParameterError, r"public-columns.unnamed"),
        (table.select([]), ParameterError, "at least one"),
        (table.select(["name"]).slice(2), DataError, "at least one row"),
    ):
        with pytest.raises(error, match=words):
            class_risk(YES_NO, tried)
