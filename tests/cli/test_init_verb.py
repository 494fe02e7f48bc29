"""The verb ``init``: a plan is proposed from a table, nothing rare or personal gets into it, and nothing is guessed."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.errors import DataError, ParameterError
from discreet.io.column_labels import labels_of
from discreet.io.plan import Plan
from refusals import refused
from running import done, refusal, run, told

STATUS = ["single"] * 60 + ["married"] * 100 + ["widowed"] * 25 + ["hermit"] * 3 + [None] * 12
RARE = "hermit"


def table(folder: Path, suffix: str = "csv", **columns: list[Any]) -> Path:
    path = folder / f"people.{suffix}"
    columns = columns or {
        "name": [f"person {row}" for row in range(200)],
        "status": STATUS,
        "age": [20 + row % 8 for row in range(200)],
    }
    if suffix == "csv":
        rows = zip(*columns.values(), strict=True)
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    elif suffix == "jsonl":
        rows = zip(*columns.values(), strict=True)
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_plan_of_a_column(tmp_path: Path, suffix: str) -> None:
    people, plan = table(tmp_path, suffix), tmp_path / "plan.toml"
    asked = ("init", people, "--column", "status", "--sensitive", "widowed", "--epsilon", 1.5)
    facts = told(*asked, "--title", "Status", "-o", plan)
    loaded = Plan.load(plan)
    assert loaded.document.domain.labels == ["married", "single", "widowed"]
    assert loaded.document.domain.sensitive == ["widowed"]
    assert (loaded.document.title, loaded.document.epsilon, loaded.fingerprint) == ("Status", 1.5, facts["plan"])
    assert facts["columns"] == [
        {"column": "status", "found": True, "rows": 200, "missing": 12, "others": 1, "other_rows": 3}
    ]
    assert RARE not in plan.read_text()
    text = done(*asked, "-o", tmp_path / "again.toml")
    assert "A plan is public" in text
    assert "1 different values of status, in 3 of 200 rows" in text
    assert "12 of 200 rows" in text
    assert RARE not in text
    assert "exists already" in refusal(*asked, "-o", plan)
    assert told(*asked, "-o", plan, "--force")["plan"] == told(*asked)["plan"]


def test_a_plan_is_only_shown_without_an_output(tmp_path: Path) -> None:
    text = done("init", table(tmp_path), "--column", "age", "--all-sensitive", "--epsilon", 1)
    shown = tomllib.loads(text[: text.index("\n8 values")])
    assert shown["domain"] == {"range": [20, 28]}
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_the_plan_obfuscates_the_table(tmp_path: Path) -> None:
    people = table(tmp_path, age=["007" if row % 2 else "01" for row in range(60)])
    done("init", people, "--column", "age", "--all-sensitive", "--epsilon", 1, "-o", tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml").document.domain.labels == ["007", "01"]
    reports = tmp_path / "r.parquet"
    assert told("obfuscate", tmp_path / "plan.toml", people, "-o", reports, "--seed", 1)["reports"] == 60


def test_a_large_epsilon_is_said_in_odds(tmp_path: Path) -> None:
    asked = ("init", table(tmp_path), "--column", "age", "--all-sensitive", "--epsilon")
    assert "In odds: whoever held a protected value at 1% before may hold it for certain after." in done(*asked, 100)
    assert "In odds" not in done(*asked, 1)


def test_several_columns_make_a_product(tmp_path: Path) -> None:
    people = table(tmp_path)
    asked = ("init", people, "--column", "status", "--column", "age", "--epsilon", 1)
    both = ("--sensitive", "status=widowed", "--sensitive", "age=20,21")
    facts = told(*asked, *both)
    assert (facts["values"], facts["sensitive"]) == (3 * 8, 8 + 2 * 2)
    assert "must say which column" in refusal(*asked, "--sensitive", "widowed")
    assert told(*asked, "--all-sensitive")["sensitive"] == 24


def test_listed_labels_take_nothing_from_the_table(tmp_path: Path) -> None:
    people = table(tmp_path)
    listed = ("--labels", 'never,"yes, once",married', "--sensitive", "status=never", "--epsilon", 1)
    asked = ("init", people, "--column", "status", *listed)
    facts = told(*asked)
    assert facts["document"]["domain"]["labels"] == ["never", "yes, once", "married"]
    (column,) = facts["columns"]
    assert (column["found"], column["others"], column["other_rows"]) == (False, 3, 88)
    assert "A plan is public" not in done(*asked)
    names = ("init", people, "--column", "name", "--labels", "a,b", "--all-sensitive", "--epsilon", 1)
    assert told(*names)["values"] == 2
    assert "leave it out" in refusal(*names, "--least", 5)
    numbers = told("init", people, "--column", "age", "--labels", "3,20", "--all-sensitive", "--epsilon", 1)
    assert numbers["document"]["domain"]["labels"] == [3, 20]


def test_rarer_labels_on_request(tmp_path: Path) -> None:
    asked = ("init", table(tmp_path), "--column", "status", "--all-sensitive", "--epsilon", 1)
    assert told(*asked, "--least", 3)["document"]["domain"]["labels"] == ["hermit", "married", "single", "widowed"]
    assert told(*asked, "--least", 60)["document"]["domain"]["labels"] == ["married", "single"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--all-sensitive --epsilon 1", "--column must name"),
        ("--column status --column status --all-sensitive --epsilon 1", "different columns"),
        ("--column status --epsilon 1", "it is never guessed"),
        ("--column status --epsilon 1 --all-sensitive --sensitive single", "it is never guessed"),
        ("--column status --all-sensitive", "--epsilon must be given"),
        ("--column status --all-sensitive --epsilon -1", "epsilon must be"),
        ("--column nope --all-sensitive --epsilon 1", "there is no column 'nope'"),
        ("--column status --sensitive hermit --epsilon 1", "list all labels with --labels"),
        ("--column status --sensitive status= --epsilon 1", "got none"),
        ("--column name --all-sensitive --epsilon 1", "as names or e-mails are"),
        ("--column name --least 1 --all-sensitive --epsilon 1", "as names or e-mails are"),
        ("--column age --least 30 --all-sensitive --epsilon 1", "200 of 200 rows hold a value"),
        ("--column status --least 100 --all-sensitive --epsilon 1", "at least two labels"),
        ("--column status --labels a,a --all-sensitive --epsilon 1", "different from each other"),
        ("--column status --labels a,b --labels c --all-sensitive --epsilon 1", "once"),
    ],
)
def test_refusals(tmp_path: Path, options: str, said: str) -> None:
    message = refusal("init", table(tmp_path), *options.split(), "-o", tmp_path / "plan.toml")
    assert said in message
    assert "person" not in message
    assert not (tmp_path / "plan.toml").exists()


@pytest.mark.parametrize("cell", [1.5, True, b"x"], ids=repr)
def test_columns_that_hold_no_labels(tmp_path: Path, cell: Any) -> None:
    people = table(tmp_path, "parquet", x=[cell] * 50)
    message = refused(DataError, lambda: labels_of(people, {"x": None}))
    assert "text or integers" in message


def test_tables_with_too_few_rows_and_labels_in_other_letters(tmp_path: Path) -> None:
    few = table(tmp_path, place=["x", "y"])
    asked = ("--column", "place", "--all-sensitive", "--epsilon", 1)
    assert "column 'place' holds 2 values, and a label that is found is held by 20 rows" in refusal("init", few, *asked)
    few.write_text("place\n")
    assert "column 'place' holds 0 values" in refusal("init", few, *asked)
    other = ("--column", "status", "--sensitive", "Widowed", "--epsilon", 1)
    assert "got 'Widowed'; perhaps 'widowed' was meant" in refusal("init", table(tmp_path), *other)
    message = refusal("init", tmp_path / "people.csv", "--column", "state", "--all-sensitive", "--epsilon", 1)
    assert message.count("people.csv") == 1
    message = refusal("init", tmp_path / "nowhere.csv", "--column", "state", "--all-sensitive", "--epsilon", 1)
    assert message.count("nowhere.csv") == 1


def test_labels_of_several_files_and_kinds(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    one = table(tmp_path / "in", "parquet", x=[1, 2] * 20)
    one.rename(one.with_name("1.parquet"))
    found = labels_of([one.with_name("1.parquet"), table(tmp_path, "parquet", x=[2, None] * 20)], {"x": None})
    assert (found["x"].labels, found["x"].rows, found["x"].missing) == ((1, 2), 80, 20)
    table(tmp_path / "in", "parquet", x=["1", "2"] * 20)
    message = refused(DataError, lambda: labels_of(tmp_path / "in", {"x": None}))
    assert "holds text here and integers" in message
    other = table(tmp_path, "parquet", x=[1, 2] * 20)
    assert "must be integers, got 'a'" in refused(ParameterError, lambda: labels_of(other, {"x": ["1", "a"]}))
    refused(ParameterError, lambda: labels_of(other, {}))


def test_na_is_a_label_where_it_is_listed(tmp_path: Path) -> None:
    people = table(tmp_path, x=["NA", "DE"] * 30)
    found, listed = labels_of(people, {"x": None})["x"], labels_of(people, {"x": ["NA", "DE"]})["x"]
    assert (found.labels, found.missing) == (("DE",), 30)
    assert (listed.labels, listed.missing, listed.other_rows) == (("NA", "DE"), 0, 0)


def test_too_many_labels(tmp_path: Path) -> None:
    people = table(tmp_path, "parquet", x=list(range(1001)) * 3)
    message = refused(DataError, lambda: labels_of(people, {"x": None}, least=2))
    assert "at most 1,000 labels" in message
    assert len(labels_of(people, {"x": [str(code) for code in range(2000)]})["x"].labels) == 2000


def test_epsilon_is_asked_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = table(tmp_path)
    asked = ["init", str(people), "--column", "status", "--all-sensitive"]
    assert run(*asked).exit_code == 2
    monkeypatch.setattr("discreet.cli.init._at_a_terminal", lambda: True)
    result = CliRunner().invoke(main, [*asked, "-o", str(tmp_path / "plan.toml")], input="0.7\n")
    assert result.exit_code == 0
    assert Plan.load(tmp_path / "plan.toml").document.epsilon == 0.7
    assert run(*asked, "--json").exit_code == 2
