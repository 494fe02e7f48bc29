"""Spreadsheets of many countries: decimal commas, thousands, texts for missing cells, dates with the day first."""

from pathlib import Path
from typing import Any

import pytest

from discreet import Domain, read_reports
from discreet.errors import DataError, ParameterError
from discreet.formats.plan import Plan
from discreet.tables.labels import labels_in, summarize_columns
from discreet.tables.text import CellFormat
from discreet.tables.values import ValueColumns
from packing import each
from refusals import refused
from running import refusal, run
from table_files import save_table

NUMBERS = Domain.number(0, 2000, bins=2000)
COMMAS = CellFormat(decimal=",")


def codes(folder: Path, cells: list[str], domain: Domain = NUMBERS, name: str = "t.csv", **options: Any) -> list[int]:
    (folder / name).write_text("\n".join(["id;x", *(f"{row};{cell}" for row, cell in enumerate(cells))]) + "\n")
    found = ValueColumns(domain, "x", missing="drop", **options).of(folder / name)
    return [code for batch, _, _ in found.batches() for code in batch.tolist()]


@each("domain", [NUMBERS, Domain(range(2000))])
def test_numbers_with_decimal_commas(domain: Domain, tmp_path: Path) -> None:
    assert codes(tmp_path, ["7", " 12,0 ", "+3", "k.A.", ""], domain, spelling=CellFormat(",", ("k.A.",))) == [7, 12, 3]


@each("cell", ["1.500", "1 500", "1\u00a0500", "1\u202f500", "1'500", "1\u2019500", "1.500,0"])
def test_thousands_are_separated_beside_a_decimal_comma(cell: str, tmp_path: Path) -> None:
    """Without the decimal comma, 1.500 is one and a half."""
    with pytest.warns(UserWarning, match="thousands separators: 1.500 counts as 1500"):
        assert codes(tmp_path, [cell, "2,5"], spelling=COMMAS) == [1500, 2]
    assert codes(tmp_path, ["1.500"]) == [1]


@each("cell", ["1.5", "1.50", "1,5,0", "15.00", "1.5000", ",", "1,500.0", "k.A."])
def test_cells_that_are_no_numbers_with_commas(cell: str, tmp_path: Path) -> None:
    told = refused(
        DataError, lambda: codes(tmp_path, ["1,5", cell], spelling=COMMAS), cell if len(cell) > 1 else "k.A."
    )
    assert "1 of 2 cells" in told


def test_texts_for_missing_cells_are_read_in_every_kind_of_file(tmp_path: Path) -> None:
    domain, spelling = Domain(["a", "b"]), CellFormat(missing=("k.A.", "?"))
    assert codes(tmp_path, ["a", "k.A.", "?", "b"], domain, spelling=spelling) == [0, 1]
    for suffix in ("parquet", "arrow", "jsonl"):
        path = save_table(tmp_path / f"t.{suffix}", {"x": ["a", "k.A.", "?", "b"]})
        found = ValueColumns(domain, "x", missing="drop", spelling=spelling).of(path)
        assert [batch.tolist() for batch, _, _ in found.batches()] == [[0, 1]]
        assert found.left_out == {"have no value": 2}


@each(
    "cells, dates, expected",
    [
        (["31.12.1949", "1.1.1950", "01.01.1950 12:30", "1950-01-01"], "", [0, 1, 1, 1]),
        (["31/12/1949", "1/2/1950"], "day-first", [0, 1]),
        (["12/31/1949", "2-1-1950"], "month-first", [0, 1]),
    ],
)
def test_dates_with_the_day_or_the_month_first(
    cells: list[str], dates: str, expected: list[int], tmp_path: Path
) -> None:
    domain, cuts = Domain(["before 1950", "from 1950"]), ["1950"]
    assert codes(tmp_path, cells, domain, cuts=cuts, spelling=CellFormat(dates=dates)) == expected
    table = save_table(tmp_path / "t.parquet", {"x": cells})
    found = ValueColumns(domain, "x", cuts=cuts, spelling=CellFormat(dates=dates)).of(table)
    assert [batch.tolist() for batch, _, _ in found.batches()] == [expected]


@each("cell", ["32.1.1950", "1.13.1950", "31.12.50", "1/2/1950"])
def test_texts_that_are_no_dates(cell: str, tmp_path: Path) -> None:
    cuts, domain = ["1950"], Domain(["before 1950", "from 1950"])
    assert "cuts.not-dates" in refused(DataError, lambda: codes(tmp_path, [cell], domain, cuts=cuts), cell)


# What a proposal says of such a column


ORDERED = [f"{day}/{month}/1950" for day in range(1, 13) for month in (3, 4)]


@each(
    "cells, code, words",
    [
        (["1,81", "1,7", "2"] * 30, "column.decimal-commas", "`decimal=','`"),
        (
            [*map(str, range(60)), *["k.A."] * 25, "Meier"],
            "column.numbers-and-texts",
            "(rows: 26, different texts: 2, frequent texts: 'k.A.').",
        ),
        ([*ORDERED, "13/4/1950"], "column.order-of-dates", "as day-first."),
        ([*ORDERED, "4/13/1950"], "column.order-of-dates", "as month-first."),
        (ORDERED, "column.order-of-dates", "as day-first or month-first."),
    ],
)
def test_a_proposal_names_the_option_that_reads_a_column(
    cells: list[str], code: str, words: str, tmp_path: Path
) -> None:
    """A text in few rows may be about somebody, so it is counted and not quoted."""
    (tmp_path / "t.csv").write_text("\n".join(["id;x", *(f"{row};{cell}" for row, cell in enumerate(cells))]) + "\n")
    summary = summarize_columns(tmp_path / "t.csv")["x"]
    told = refused(DataError, lambda: labels_in(summary), "Meier")
    assert code in told
    assert words in told


def test_a_proposal_lists_labels_that_only_look_like_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["id;x", *["1;1", "2;2", "3;none"] * 30]) + "\n")
    assert labels_in(summarize_columns(tmp_path / "t.csv")["x"]).labels == ("1", "2", "none")


GERMAN = [f"{1 + row % 90 / 100:.2f}".replace(".", ",") for row in range(180)]


@each("encoding", ["cp1252", "latin-1", "utf-8-sig", "utf-16"])
@each("separator", [";", "\t"])
@pytest.mark.filterwarnings("ignore:.*Windows-1252")
def test_a_spreadsheet_goes_from_the_file_to_an_estimate_in_three_commands(
    encoding: str, separator: str, tmp_path: Path
) -> None:
    rows = [separator.join(["Größe", "Alter"]), *(f"{cell}{separator}k.A." for cell in GERMAN), f"k.A.{separator}1"]
    table, plan, reports = tmp_path / "t.csv", tmp_path / "p.toml", tmp_path / "r.parquet"
    table.write_bytes("\r\n".join(rows).encode(encoding))
    options = ("--column", "Größe", "--decimal", ",", "--as-missing", "k.A.")
    proposed = run("init", table, *options, "--all-sensitive", "--epsilon", 1, "-o", plan)
    assert proposed.exit_code == 0
    following = f"{table} --column 'Größe' --decimal , --as-missing k.A. --missing drop -o reports.parquet"
    assert following in " ".join(proposed.stdout.split())
    assert " --missing drop" in run("obfuscate", plan, table, *options, "-o", reports).stderr
    assert run("obfuscate", plan, table, *options, "--missing", "drop", "-o", reports).exit_code == 0
    assert read_reports(reports, Plan.load(plan).mechanism()).n == len(GERMAN)
    assert run("estimate", plan, reports).exit_code == 0


# Layouts and files


@each("first", ["Umfrage 2026", "Umfrage 2026;;"])
def test_a_title_above_the_names_of_columns_is_noticed(first: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{first}\nid;x;y\n1;a;b\n")
    assert "header.title" in refused(DataError, lambda: summarize_columns(tmp_path / "t.csv"))


@each("name", ["t.csv", "t.tsv", "t.txt", "t.csv.gz", "t.tsv.gz", "t.ndjson", "t.ndjson.gz", "t.jsonl", "t.feather"])
def test_tables_have_many_endings(name: str, tmp_path: Path) -> None:
    path = save_table(tmp_path / name, {"x": ["a", "b"]})
    found = ValueColumns(Domain(["a", "b"]), "x").of(path)
    assert [batch.tolist() for batch, _, _ in found.batches()] == [[0, 1]]


@each("name", ["t.xlsx", "t.xls", "t.ods"])
def test_a_spreadsheet_file_is_refused_with_the_line_that_converts_it(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK")
    told = refused(ParameterError, lambda: ValueColumns(NUMBERS, "x").of(tmp_path / name))
    assert f"pandas.read_excel('{name}').to_csv('t.csv', index=False)" in told
    assert "file.spreadsheet" in refusal("init", tmp_path / name, "--column", "x")


def test_a_spelling_is_checked() -> None:
    assert "decimal" in refused(ParameterError, lambda: CellFormat(decimal=";"))
    assert "dates" in refused(ParameterError, lambda: CellFormat(dates="year-first"))
