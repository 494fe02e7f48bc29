"""Tables of people's values, from every kind of file."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from discreet import Domain
from discreet.errors import DataError
from discreet.tables.columns import read_table
from discreet.tables.values import read_values
from packing import each
from refusals import refused

SECRET = 8_675_309


def save(path: Path, columns: dict[str, Any]) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    else:
        path.write_text("".join(f"{row}\n".replace("'", '"') for row in table.to_pylist()))
    return path


kinds = each("suffix", ["parquet", "csv", "arrow", "jsonl"])


@kinds
def test_a_single_column_needs_no_name(suffix: str, tmp_path: Path) -> None:
    domain = Domain(["b", "a", "c"])
    path = save(tmp_path / f"v.{suffix}", {"x": ["a", "c", "b", "a"]})
    for column in (None, "x"):
        assert domain.encode(read_values(path, domain, column)).tolist() == [1, 2, 0, 1]


@kinds
def test_one_of_several_columns(suffix: str, tmp_path: Path) -> None:
    domain = Domain(range(10, 20))
    path = save(tmp_path / f"v.{suffix}", {"id": [1, 2, 3], "age": [12, 19, 10]})
    assert domain.encode(read_values(path, domain, "age")).tolist() == [2, 9, 0]
    message = refused(DataError, lambda: read_values(path, domain))
    assert "--column" in message
    assert "id, age" in message
    assert "'name'" in refused(DataError, lambda: read_values(path, domain, "name"))


@kinds
def test_products_and_grids_take_the_table(suffix: str, tmp_path: Path) -> None:
    product = Domain.product({"age": ["x", "y"], "n": [1, 2, 3]})
    path = save(tmp_path / f"v.{suffix}", {"n": [3, 1], "note": ["-", "-"], "age": ["x", "y"]})
    assert product.encode(read_values(path, product)).tolist() == [2, 3]
    grid = Domain.grid(lat=(0.0, 2.0), lon=(0.0, 3.0), rows=2, cols=3)
    path = save(tmp_path / f"g.{suffix}", {"lon": [2.5, 0.5], "lat": [0.5, 1.5]})
    assert grid.encode(read_values(path, grid)).tolist() == [2, 3]


@kinds
def test_values_outside_the_domain_are_counted_and_not_quoted(suffix: str, tmp_path: Path) -> None:
    domain = Domain(range(5))
    path = save(tmp_path / f"v.{suffix}", {"x": [0, SECRET, 1, SECRET]})
    message = refused(DataError, lambda: domain.encode(read_values(path, domain)), SECRET)
    assert "2 of 4 values are not in the domain (first at row 1)" in message


@kinds
def test_a_value_in_a_broken_file_is_not_quoted(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"v.{suffix}"
    path.write_text(f'a,b\n1,2\n{SECRET}\n{{"a": {SECRET}\n')
    refused(DataError, lambda: read_table(path), SECRET)
