"""Tables of text as people's programs write them: what is read, and what is refused rather than guessed."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Domain
from discreet.errors import DataError, ParameterError
from discreet.tables import text
from discreet.tables.values import read_values
from refusals import refused

TEXT = Domain(["01", "2026-01-01", "true", "ä", "1"])
INTEGERS = Domain([10, 20, 30])
SECRET = 8_675_309


def codes(folder: Path, content: str | bytes, domain: Domain, column: str | None = None, name: str = "v.csv") -> Any:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return domain.encode(read_values(path, domain, column)).tolist()


def refusal(folder: Path, content: str | bytes, domain: Domain, column: str | None = None) -> str:
    return refused(DataError, lambda: codes(folder, content, domain, column), SECRET)


# What labels are decides


def test_text_is_what_is_written(tmp_path: Path) -> None:
    assert codes(tmp_path, "x\n01\n2026-01-01\ntrue\n1\n", TEXT) == [0, 1, 2, 4]
    assert codes(tmp_path, "x\n01\n01\n", TEXT) == [0, 0]
    assert codes(tmp_path, '{"x": "2026-01-01"}\n{"x": "2026-01-01"}\n', TEXT, name="v.jsonl") == [1, 1]
    assert codes(tmp_path, "x\n20\n30\n", Domain(["20", "30"])) == [0, 1]


def test_integers_are_read_however_they_are_written(tmp_path: Path) -> None:
    assert codes(tmp_path, "x\n20.0\n10.\n3e1\n 20\n+10\n10\n1.0e+01\n", INTEGERS) == [1, 0, 2, 1, 0, 0, 0]
    assert codes(tmp_path, "x\n10\n20\n", INTEGERS) == [0, 1]
    large = 2**53 + 1
    assert codes(tmp_path, f"x\n{large}.0\n{large}\n{-(2**63)}\n", Domain([large, -(2**63)])) == [0, 0, 1]


@pytest.mark.parametrize("cell", ["ten", "10.5", "1e999999999", "0x0a.0", "1_0", "10 10", "99999999999999999999"])
def test_cells_that_are_no_integers(cell: str, tmp_path: Path) -> None:
    message = refusal(tmp_path, f"id,x\n1,10\n2,{cell}\n3,{SECRET}!\n", INTEGERS, "x")
    assert "Column 'x'" in message
    assert "2 of 3 cells" in message
    assert "(first in row 1, line 3)" in message
    assert message.endswith("[cells.wrong-kind]")


def test_products_and_grids_are_read_by_their_attributes(tmp_path: Path) -> None:
    product = Domain.product({"plz": ["01067", "80331"], "age": [20, 30]})
    assert codes(tmp_path, "id;age;plz\n1;20.0;80331\n2;30;01067\n", product) == [2, 1]
    grid = Domain.grid(lat=(0.0, 2.0), lon=(0.0, 3.0), rows=2, cols=3)
    assert codes(tmp_path, "lon\tlat\n2.5\t0.5\n.5\t1\n", grid) == [2, 3]
    message = refusal(tmp_path, "lon;lat\n2,5;0,5\n0,5;1,5\n", grid)
    assert "2 of 2 cells" in message
    assert message.endswith("[cells.decimal-commas]")
    with pytest.raises(ParameterError, match=r"column\.several"):
        codes(tmp_path, "lon,lat\n1,1\n", grid, "lon")


# Missing cells


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_an_empty_line_is_a_missing_value(end: str, newline: str, tmp_path: Path) -> None:
    text = f"x\n10\n\n20{end}".replace("\n", newline).encode()
    assert "1 of 3 values are missing (first in row 1)" in refusal(tmp_path, text, INTEGERS)
    text = f"x\na\n\n\nb{end}".replace("\n", newline).encode()
    assert "2 of 4 values are missing (first in row 1)" in refusal(tmp_path, text, Domain(["a", "b"]))
    assert "1 of 2 values are missing (first in row 1)" in refusal(tmp_path, b"x\na\n\n", Domain(["a", "b"]))


@pytest.mark.parametrize("spelled", ["", "NA", "NULL", "null", "NaN", "None", "N/A", "#N/A", "<NA>", "\\N"])
def test_what_programs_write_for_nothing(spelled: str, tmp_path: Path) -> None:
    for domain, cell in ((TEXT, "01"), (INTEGERS, "10"), (INTEGERS, "10.0")):
        message = refusal(tmp_path, f"id,x\n1,{cell}\n2,{spelled}\n3,{cell}\n", domain, "x")
        assert "1 of 3 values are missing (first in row 1)" in message


def test_what_stands_for_nothing_is_a_label_where_the_domain_says_so(tmp_path: Path) -> None:
    countries = Domain(["NA", "DE", ""])
    assert codes(tmp_path, 'id,x\n1,NA\n2,\n3,DE\n4,""\n5,"NA"\n', countries, "x") == [0, 2, 1, 2, 0]
    # Beside a column without such a label.
    product = Domain.product({"country": ["NA", "DE"], "age": [20, 30], "sex": ["f", "m"]})
    assert codes(tmp_path, "country,age,sex\nNA,20,f\nDE,30,m\n", product) == [0, 7]
    for row in ("DE,NA,f", "DE,20,NA", "NULL,20,f"):
        assert "1 of 2" in refusal(tmp_path, f"country,age,sex\nNA,20,f\n{row}\n", product)
        assert "missing (first in row 1)" in refusal(tmp_path, f"country,age,sex\nNA,20,f\n{row}\n", product)


def test_quoted_text_is_text_and_quoted_nothing_is_nothing(tmp_path: Path) -> None:
    assert "1 of 2 values are not in the domain" in refusal(tmp_path, 'x\n01\n"NA"\n', TEXT)
    assert "1 of 2 values are missing" in refusal(tmp_path, 'x\n01\n""\n', TEXT)


# As programs write


@pytest.mark.parametrize(
    ("content", "column"),
    [
        pytest.param("id;wert\r\n1;ä\r\n2;01\r\n".encode("cp1252"), "wert", id="Excel"),
        pytest.param("\ufeffid;wert\r\n1;ä\r\n2;01\r\n".encode(), "wert", id="Excel UTF-8"),
        pytest.param("id\twert\r\n1\tä\r\n2\t01\r\n".encode("utf-16"), "wert", id="Excel Unicode text"),
        pytest.param("sep=;\r\nid;wert\r\n1;ä\r\n2;01\r\n".encode("cp1252"), "wert", id="Excel sep"),
        pytest.param("Größe;wert\r\n1;ä\r\n2;01\r\n".encode("cp1252"), "wert", id="Latin-1 in the header"),
        pytest.param('"","wert"\n"1","ä"\n"2","01"\n', None, id="R"),
        pytest.param(",wert\n0,ä\n1,01\n", None, id="pandas"),
        pytest.param("id|wert\n1|ä\n2|01\n", "wert", id="SQL"),
        pytest.param('"id","wert"\n1,"ä"\n2,"01"\n', "wert", id="LibreOffice"),
        pytest.param(" id , wert \n1,ä\n2,01\n", "wert", id="spaces in the header"),
        pytest.param('"id, and more","wert"\n1,ä\n2,01\n', "wert", id="a quoted comma in the header"),
        pytest.param('id,"we\nrt"\n1,ä\n2,01\n', "we\nrt", id="a line break in the header"),
        pytest.param("wert\rä\r01\r", None, id="old Macintosh"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Windows-1252")
def test_files_of_programs(content: str | bytes, column: str | None, tmp_path: Path) -> None:
    assert codes(tmp_path, content, TEXT, column) == [3, 0]


def test_another_encoding_is_said(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"v\.csv is not in UTF-8; it was read as Windows-1252"):
        assert codes(tmp_path, "x\n01\nä\n".encode("latin-1"), TEXT) == [0, 3]
    # Far from the beginning, too, and not because of what is not asked for.
    rows = 300_000
    with pytest.warns(UserWarning, match="Windows-1252"):
        assert codes(tmp_path, ("x\n" + "01\n" * rows + "ä\n").encode("latin-1"), TEXT)[-1] == 3
    late = ("x,y\n" + "01,a\n" * rows + "01,ä\n").encode("latin-1")
    assert len(codes(tmp_path, late, TEXT, "x")) == rows + 1


def test_a_line_break_in_a_cell_is_no_end_of_a_row(tmp_path: Path) -> None:
    domain = Domain(["a\nb", "c"])
    assert codes(tmp_path, 'x,y\n"a\nb",1\nc,2\n', domain, "x") == [0, 1]
    rows = random.Random(5).choices([0, 1], k=300_000)
    content = "x,y\n" + "".join(['"a\nb",1\n', "c,2\n"][row] for row in rows)
    assert codes(tmp_path, content, domain, "x") == rows


# The first line


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "header.missing"),
        ("\n\n", "header.missing"),
        ("\n01\n", "header.empty"),
        (";;\n01;;\n", "header.empty"),
        ("x", "table.without-rows"),
        ("x\n", "table.without-rows"),
        ("x\r\n", "table.without-rows"),
        ("01\ntrue\n", "header.like-value"),
        ("a,b;c\n1,2;3\n", "could be split at ',' or ';'"),
        ("x\0\n01\n", "text.nul-bytes"),
        ("x\n01\n\0\n", "1 of 2 values are not in the domain"),
        ("x\n01\n".encode("utf-32"), "UTF-32"),
        ("x\n01\n".encode("utf-16-le"), "text.nul-bytes"),
        ("a,b\n1,2\n", "column.not-chosen"),
        ("x" * 200_000 + "\n01\n", "header.too-long"),
    ],
)
def test_first_lines_that_are_refused(content: str | bytes, told: str, tmp_path: Path) -> None:
    message = refusal(tmp_path, content, TEXT)
    assert told in message
    assert str(tmp_path / "v.csv") in message or "the domain" in message


def test_columns_are_listed_unless_they_may_be_somebodys(tmp_path: Path) -> None:
    assert "a, b, ''." in refusal(tmp_path, "a;b;\n1;2;3\n", TEXT, "x")
    assert "column.repeated" in refusal(tmp_path, "x,x\n1,2\n", TEXT, "x")
    assert "and 70 more" in refusal(tmp_path, ",".join(f"c{place}" for place in range(100)) + "\n", TEXT, "x")
    assert "'\\x1b[31m'" in refusal(tmp_path, "\x1b[31m,b\n1,2\n", TEXT, "x")
    for line in (f"{SECRET},b", f"b;{SECRET},5"):
        assert "header.like-values" in refusal(tmp_path, f"{line}\n1,2\n", INTEGERS, "x")
        assert "look like values" in refusal(tmp_path, f"{line}\n1,2\n", TEXT, "x")
    text = Domain(["secret", "other"])
    message = refused(DataError, lambda: codes(tmp_path, "anna,secret\nbert,other\n", text, "x"), "secret", "anna")
    assert "header.like-values" in message


def test_rows_of_another_length_are_counted(tmp_path: Path) -> None:
    message = refusal(tmp_path, f"x,y\n10,20\n{SECRET}\n10,20,30\n20,20\n", INTEGERS, "y")
    assert "2 of 4 rows" in message
    assert "row 1, line 3)" in message
    # An empty line is one of missing cells, at the end as well.
    assert "1 of 2 values are missing (first in row 1)" in refusal(tmp_path, "x,y\n10,20\n\n", INTEGERS, "y")


def test_blocks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamed or at once, cut anywhere: the same rows."""
    cells = np.random.default_rng(3).choice(["10", "20.0", " 30", "1e1", "NA"], 5000).tolist()
    wanted = [{"10": 10, "20.0": 20, " 30": 30, "1e1": 10, "NA": None}[cell] for cell in cells]
    path = tmp_path / "v.csv"
    path.write_text("x,y\n" + "".join(f"{cell},z\n" for cell in cells))
    asked = {"x": text.Cells(text.Kind.INTEGER)}
    form = text.DelimitedText(path, text.layout_of(path, ["x"]), asked)
    careful, table = form.settled()
    assert careful.careful
    assert table["x"].to_pylist() == wanted
    read = text.csv.ReadOptions
    monkeypatch.setattr(text.csv, "ReadOptions", lambda **given: read(block_size=97, **given))
    assert [cell for batch in careful.batches() for cell in batch["x"].to_pylist()] == wanted
    assert form.settled()[1]["x"].to_pylist() == wanted
