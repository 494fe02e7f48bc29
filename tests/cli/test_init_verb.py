"""The verb ``init``: a plan is proposed from a table, nothing rare or personal gets into it, and nothing is guessed."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from discreet import Plan
from discreet.cli import main
from running import done, refusal, run, told
from table_files import save_table

STATUS = ["single"] * 60 + ["married"] * 100 + ["widowed"] * 25 + ["hermit"] * 3 + [None] * 12
RARE = "hermit"


PEOPLE = {
    "name": [f"person {row}" for row in range(200)],
    "status": STATUS,
    "age": [20 + row % 8 for row in range(200)],
}


def table(folder: Path, suffix: str = "csv", **columns: list[Any]) -> Path:
    return save_table(folder / f"people.{suffix}", columns or PEOPLE)


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
        {"column": "status", "found": True, "rows": 200, "missing": 12, "others": 1, "other_rows": 3, "read_rows": 0}
    ]
    assert RARE not in plan.read_text()
    text = done(*asked, "-o", tmp_path / "again.toml")
    assert "Wrote" in text
    assert "3 values, 1 protected, " in text
    assert "The plan is public and lists every label of status found in at least 20 rows." in " ".join(text.split())
    assert "3 of 200 rows hold 1 other values of status" in text
    assert "12 of 200 rows" in text
    assert RARE not in text
    assert "output.exists" in refusal(*asked, "-o", plan)
    assert told(*asked, "-o", plan, "--force")["plan"] == told(*asked)["plan"]


def test_listed_labels_take_nothing_from_the_table(tmp_path: Path) -> None:
    people = table(tmp_path)
    listed = ("--labels", 'never,"yes, once",married', "--sensitive", "status=never", "--epsilon", 1)
    asked = ("init", people, "--column", "status", *listed)
    facts = told(*asked)
    assert facts["document"]["domain"]["labels"] == ["never", "yes, once", "married"]
    (column,) = facts["columns"]
    assert (column["found"], column["others"], column["other_rows"]) == (False, 3, 88)
    assert "The plan is public" not in run(*asked).stderr
    names = ("init", people, "--column", "name", "--labels", "a,b", "--all-sensitive", "--epsilon", 1)
    assert told(*names)["values"] == 2
    assert "least.idle" in refusal(*names, "--least", 5)
    numbers = told("init", people, "--column", "age", "--labels", "3,20", "--all-sensitive", "--epsilon", 1)
    assert numbers["document"]["domain"]["labels"] == [3, 20]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--column status --labels status=a,b --cuts 1 --all-sensitive --epsilon 1", "column.labels-and-cuts"),
        ("--column status --cuts 1 --all-sensitive --epsilon 1", "cuts.other-kind"),
        ("--column age --cuts 24,22 --all-sensitive --epsilon 1", "cuts.not-ascending"),
        ("--column age --cuts a,b --all-sensitive --epsilon 1", "cuts.not-numbers"),
        ("--column age --cuts 1 --least 5 --all-sensitive --epsilon 1", "least.idle"),
        ("--column status --column status --all-sensitive --epsilon 1", "column.twice"),
        ("--column status --epsilon 1", "--all-sensitive. [init.incomplete]"),
        ("--column status --epsilon 1 --all-sensitive --sensitive single", "option.not-here"),
        ("--column status --all-sensitive", "with --epsilon. [init.incomplete]"),
        ("--column status --all-sensitive --epsilon -1", "epsilon.not-positive"),
        ("--column nope --all-sensitive --epsilon 1", "Use --column to name another column"),
        ("--column status --sensitive hermit --epsilon 1", "sensitive.unknown"),
        ("--column status --sensitive status= --epsilon 1", "got none"),
        ("--column name --all-sensitive --epsilon 1", "column.mostly-different"),
        ("--column name --least 1 --all-sensitive --epsilon 1", "column.mostly-different"),
        ("--column age --least 130 --all-sensitive --epsilon 1", "200 of 200 rows of column 'age'"),
        ("--column status --least 100 --all-sensitive --epsilon 1", "labels.only-one"),
        ("--column status --labels a,a --all-sensitive --epsilon 1", "labels.not-different"),
        ("--column status --labels a,b --labels c --all-sensitive --epsilon 1", "once"),
    ],
)
def test_refusals(tmp_path: Path, options: str, said: str) -> None:
    message = refusal("init", table(tmp_path), *options.split(), "-o", tmp_path / "plan.toml")
    assert said in message
    assert "person" not in message
    assert not (tmp_path / "plan.toml").exists()


def test_tables_with_too_few_rows_and_labels_in_other_letters(tmp_path: Path) -> None:
    few = table(tmp_path, place=["x", "y"])
    asked = ("--column", "place", "--all-sensitive", "--epsilon", 1)
    assert "Column 'place' has 2 values" in refusal("init", few, *asked)
    few.write_text("place\n")
    assert "Column 'place' has 0 values" in refusal("init", few, *asked)
    other = ("--column", "status", "--sensitive", "Widowed", "--epsilon", 1)
    assert "got 'Widowed'; perhaps 'widowed' was meant" in refusal("init", table(tmp_path), *other)
    message = refusal("init", tmp_path / "people.csv", "--column", "state", "--all-sensitive", "--epsilon", 1)
    assert message.count("people.csv") == 1
    message = refusal("init", tmp_path / "nowhere.csv", "--column", "state", "--all-sensitive", "--epsilon", 1)
    assert message.count("nowhere.csv") == 1


MESSY = {
    "id": [10_000 + row for row in range(240)],
    "name": [f"Müller {row}" for row in range(240)],
    "weight": [f"{60 + row * 7 % 400 / 10}" for row in range(240)],
    "age": [18 + row * 13 % 70 for row in range(240)],
    "born": [f"{1940 + row * 11 % 60}-0{1 + row % 9}-15" for row in range(240)],
    "income": [None if row % 3 else 1000 + row * 37 for row in range(240)],
    "town": [["Köln", "Bonn", "NA", "Köln"][row % 4] for row in range(240)],
    "empty": [""] * 240,
    "postcode": [["01067", "50667"][row % 2] for row in range(240)],
    "rare": [["a", "b"][row % 2] if row else "z" for row in range(240)],
    "day": [f"2026-0{1 + row % 6}-1{row % 8} 12:00:00" for row in range(240)],
    "children": [0 if row % 3 else 1 for row in range(240)],
} | {f"more {place}": ["x", "y"] * 120 for place in range(8)}


def messy(folder: Path) -> Path:
    path = table(folder, **MESSY)
    path.write_bytes(path.read_text().replace(",", ";").encode("latin-1"))
    return path


def test_a_table_is_listed_and_all_that_is_not_said_is_refused_at_once(tmp_path: Path) -> None:
    result = run("init", messy(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    note, heading, *listed, refused_as = result.stderr.splitlines()
    assert note == f"Note: {tmp_path}/people.csv is not in UTF-8; it was read as Windows-1252 (Latin-1)."
    assert [line.split("  ")[0] for line in listed] == list(MESSY)
    lines = {line.split("  ")[0]: " ".join(line.split()) for line in listed}
    assert heading.split() == ["column", "holds", "missing", "different", "proposed"]
    assert lines["id"] == "id integers 0 240 nothing: mostly different"
    assert lines["weight"].startswith("weight numbers 0 240 ")
    assert lines["born"].endswith(" ranges")
    assert lines["town"] == "town text 60 2 2 labels"
    assert lines["empty"] == "empty text 240 0 nothing: it is empty"
    assert lines["rare"] == "rare text 0 3 2 labels, 1 rare ones not"
    assert "Müller" not in result.stderr
    for option in ("--column", "--sensitive", "--all-sensitive", "--epsilon"):
        assert option in refused_as
    headless = tmp_path / "headless.csv"
    headless.write_text("12,Köln\n13,Bonn\n")
    assert "table.without-names" in refusal("init", headless)


@pytest.mark.parametrize("column", ["weight", "age", "born", "income", "town", "postcode", "rare", "day", "children"])
def test_from_a_messy_table_to_an_estimate(tmp_path: Path, column: str) -> None:
    """Three commands, the last two of them as the first one prints them."""
    plan, reports = tmp_path / "plan.toml", tmp_path / "reports.parquet"
    asked = ("--column", column, "--all-sensitive", "--epsilon", 2, "-o", plan)
    said = run("init", messy(tmp_path), *asked).stdout
    [obfuscate] = [line.split() for line in said.splitlines() if "discreet obfuscate" in line]
    assert run(*obfuscate[1:-1], reports).exit_code == 0
    facts = told("estimate", plan, reports)
    gone = {"rare": 1, "town": 60, "income": 160}.get(column, 0)
    assert (facts["n"], sum(row["frequency"] for row in facts["values"])) == (240 - gone, pytest.approx(1))


def test_numbers_and_dates_are_cut_into_ranges(tmp_path: Path) -> None:
    people = messy(tmp_path)
    asked = ("init", people, "--all-sensitive", "--epsilon", 1, "--column")
    proposed = {
        name: json.loads(run(*asked, name, "--json").stdout)["document"]["domain"] for name in ("weight", "day")
    }
    assert proposed["weight"]["cuts"] == [65, 70, 75, 80, 85, 90, 95]
    assert proposed["weight"]["labels"][:2] == ["below 65", "65 to below 70"]
    assert proposed["day"]["cuts"] == ["2026-02", "2026-03", "2026-04", "2026-05", "2026-06"]
    both = (*asked, "age", "--column", "born", "--cuts", "age=30,50", "--cuts", "born=1960,1980-07-01", "--json")
    said = json.loads(run(*both).stdout)["document"]["domain"]
    assert said["cuts"] == {"age": [30, 50], "born": ["1960", "1980-07-01"]}
    assert said["product"] == {
        "age": ["29 and below", "30 to 49", "50 and above"],
        "born": ["before 1960", "1960 to before 1980-07-01", "from 1980-07-01"],
    }


def test_what_is_not_said_is_asked_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are on the error stream, and asked again until the answer can be used."""
    monkeypatch.setattr("discreet.cli.proposing.at_a_terminal", lambda: True)
    people = messy(tmp_path)
    answers = ["ages", "town,age", "50,40", "40", "Koeln", "Köln", "-", "one", "1.5"]
    result = CliRunner().invoke(main, ["init", str(people)], input="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.stderr
    document = tomllib.loads(result.stdout)
    assert document["domain"] == {
        "product": {"town": ["Bonn", "Köln"], "age": ["39 and below", "40 and above"]},
        "sensitive": [{"town": ["Köln"]}],
        "cuts": {"age": [40]},
    }
    assert document["epsilon"] == 1.5
    for said in ("perhaps 'age' was meant", "cuts.not-ascending", "got 'Koeln'", "town: Bonn, Köln"):
        assert said in result.stderr
    everything = CliRunner().invoke(main, ["init", str(people)], input="weight\n\nall\n1\n")
    assert len(tomllib.loads(everything.stdout)["domain"]["cuts"]) == 7


def test_numbers_are_put_into_bins_between_round_ends_that_many_rows_reach(tmp_path: Path) -> None:
    values = np.random.default_rng(1).gamma(4, 9000, 3000).tolist()
    rows = [f"{value:.2f}" for value in [*values, 9_876_543.21]]
    (tmp_path / "incomes.csv").write_text("\n".join(["income", *rows, '""']))
    words = ("init", tmp_path / "incomes.csv", "--column", "income", "--bins", "64", "--epsilon", "1")
    result = run(*words, "--sensitive", "0:10000", "-o", tmp_path / "plan.toml")
    assert result.exit_code == 0, result.output
    assert " --missing drop -o " in result.stdout
    plan = Plan.load(tmp_path / "plan.toml")
    space: Any = plan.domain.space
    assert plan.mechanism().name == "windows"
    assert (space.size, space.clip) == (64, True)
    ranked = sorted(values)
    assert space.low == 0
    assert ranked[-40] < space.high < ranked[-1] + 5000
    assert "9876543" not in result.output + (tmp_path / "plan.toml").read_text()
    assert plan.domain.sensitive[plan.domain.encode([9000.0, 30_000.0])].tolist() == [True, False]
    for more in (["--sensitive", "low"], ["--sensitive", "5:1"], []):
        assert run(*words, *more).exit_code == 2
