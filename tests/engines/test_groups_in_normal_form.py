"""Groups of people are the same group however their accents are stored, in memory and in files."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.grouping import Grouping
from discreet.engines import LocalEngine
from discreet.engines.folds import groups_in
from discreet.tables.values import ValueColumns

COMPOSED, APART = "K\u00f6ln", "Ko\u0308ln"
COLUMN = [COMPOSED, "Bonn", APART, "Bonn"]


@pytest.mark.parametrize("column", [COLUMN, pd.Series(COLUMN), pa.array(COLUMN), pa.array(COLUMN).dictionary_encode()])
def test_groups_of_a_column(column: object) -> None:
    grouping = Grouping.of(column)
    assert (grouping.labels, grouping.codes.tolist()) == (["Bonn", COMPOSED], [1, 0, 1, 0])
    whole = Grouping.of({"city": column, "n": [1, 1, 1, 2]})
    assert whole.labels == [("Bonn", 1), ("Bonn", 2), (COMPOSED, 1)]


def test_groups_of_a_batch() -> None:
    codes, labels = groups_in([pa.array(COLUMN)], ["city"])
    assert [labels[code] for code in codes] == [COMPOSED, "Bonn", COMPOSED, "Bonn"]


def test_groups_of_files(tmp_path: Path) -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["ja", "nein"]), epsilon=1.0)
    for place, city in enumerate((COMPOSED, APART)):
        values = tmp_path / f"{place}.csv"
        values.write_text("x,city\n" + f"ja,{city}\nnein,Bonn\n" * 30, encoding="utf-8")
        columns = ValueColumns(mechanism.domain, "x", keep=("city",))
        LocalEngine().obfuscate(mechanism, values, tmp_path / f"{place}.parquet", columns)
    grouped = LocalEngine().tally_by(mechanism, [tmp_path / "0.parquet", tmp_path / "1.parquet"], "city")
    assert {label: counts.n for label, counts in grouped.items()} == {"Bonn": 60, COMPOSED: 60}
