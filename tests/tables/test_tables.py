"""Tables of people's values, from every kind of file."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from discreet.core.domain import Domain
from discreet.errors import DataError, DiscreetError, ParameterError
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
@each("content", [b"", b"\0\1\2\xff" * 9, b'{"a": 1}\n{"a": "x"}\n', b"PAR1\0\0PAR1", b"ARROW1\0\0"])
def test_broken_tables_are_refused_or_read(content: bytes, suffix: str, tmp_path: Path) -> None:
    """CSV takes nearly anything for text; nothing may end in another error."""
    path = tmp_path / f"v.{suffix}"
    path.write_bytes(content)
    found = columns_or_refusal(path)
    assert str(path) in str(found) if isinstance(found, DiscreetError) else found > 0
    assert isinstance(found, DiscreetError) or suffix in ("csv", "jsonl")


def columns_or_refusal(path: Path) -> int | DiscreetError:
    try:
        return int(read_table(path).num_columns)
    except DiscreetError as error:
        return error


@kinds
def test_a_value_in_a_broken_file_is_not_quoted(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"v.{suffix}"
    path.write_text(f'a,b\n1,2\n{SECRET}\n{{"a": {SECRET}\n')
    refused(DataError, lambda: read_table(path), SECRET)


def test_other_files(tmp_path: Path) -> None:
    refused(ParameterError, lambda: read_table(tmp_path / "values.xlsx"))
    assert "does not exist" in refused(DataError, lambda: read_table(tmp_path / "values.csv"))


def test_codes_of_whole_tables(tmp_path: Path) -> None:
    labels = np.random.default_rng(3).integers(0, 300, 5000)
    domain = Domain(range(300))
    path = save(tmp_path / "v.parquet", {"x": labels})
    np.testing.assert_array_equal(domain.encode(read_values(path, domain)), labels)
