"""The verb ``risk people``, as an officer tries it."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planted import VALUE, clean
from running import done, refusal, run, told

EXAMPLE = Path(str(files("discreet") / "examples" / "people.csv"))
PLAN = 'epsilon = 1.0\n[domain]\nlabels = ["02138", "02139", "02140"]\n[mechanism]\nname = "rr"\n'


def write(folder: Path, text: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def risks(facts: dict[str, list[dict[str, object]]]) -> dict[object, object]:
    return {one["attacker"]: one["mean"] for one in facts["risks"]}


def test_the_example() -> None:
    facts = told("risk", "people", EXAMPLE, "--quasi", "age,zip,sex", "--sensitive", "diagnosis", "--limit", 0.4)
    assert (facts["people"], facts["k"], facts["limit"], facts["estimate"]) == (300, 1, 0.4, None)
    assert facts["risk"] == 1
    assert facts["diversity"][0]["column"] == "diagnosis"
    assert len(facts["in_words"]) == 4
    text = " ".join(done("risk", "people", EXAMPLE, "--quasi", "age,zip,sex", "--sensitive", "diagnosis").split())
    for words in ("300 people in", "Alone in their class: ", "diagnosis: ", "Each row counts as one person"):
        assert words in text


def test_steps_suppression_and_the_gate() -> None:
    coarse = ["risk", "people", EXAMPLE, "--quasi", "age,zip,sex", "--generalise", "age=20-year, zip=3,sex=*"]
    facts = told(*coarse, "--suppress", 5)
    assert facts["k"] >= 5
    assert facts["people"] + facts["suppressed"] == 300
    assert run(*coarse, "--suppress", 5, "--fail-above", 0.2).exit_code == 0
    above = run("risk", "people", EXAMPLE, "--quasi", "age,zip,sex", "--fail-above", 0.2)
    assert above.exit_code == 1
    assert above.stderr == "The identification risk in the riskiest class is 1, above 0.2.\n"


def test_a_sample_is_judged_by_models_which_the_gate_does_not_believe() -> None:
    asked = ["risk", "people", EXAMPLE, "--quasi", "age,zip,sex", "--fraction", 0.01]
    facts = told(*asked, "--seed", 3)
    assert facts == told(*asked, "--seed", 3)
    assert facts["estimate"]["uniques"]["low"] <= facts["estimate"]["uniques"]["value"] <= facts["uniques"]
    assert 0 < risks(facts)["journalist, negative binomial"] < risks(facts)["journalist, Pitman's model"] < 1
    rare = told(*asked, "--seed", 3, "--suppress", 3)["estimate"]
    assert (rare["alpha"], rare["uniques"]["high"]) == (facts["estimate"]["alpha"], 0)
    assert facts["risk"] == 1
    assert run(*asked, "--fail-above", 0.9).exit_code == 1
    assert "is as Pitman's model says" in " ".join(done(*asked).split())


def test_a_table_of_the_population(tmp_path: Path) -> None:
    everybody = tmp_path / "everybody.parquet"
    ages = np.arange(400) % 4
    pq.write_table(
        pa.table({"age": pa.array(ages, pa.int8()), "name": [f"person {at}" for at in range(400)]}), everybody
    )
    sample = write(tmp_path, "age\n0\n0\n1\n\n")
    facts = told("risk", "people", sample, "--quasi", "age", "--population", everybody)
    # An empty line is somebody whose age is missing, and whom the population does not have.
    assert (facts["people"], facts["k_map"], facts["outside"], facts["missing"]) == (4, 1, 1, 1)
    assert risks(facts)["journalist"] == pytest.approx((3 / 100 + 1) / 4)
    assert facts["presence"] == [0, 1]


def test_ways_of_writing_the_columns() -> None:
    asked = ["risk", "people", EXAMPLE, "--quasi", "age,zip,sex", "--what-if"]
    facts = told(*asked, "--suppress", 5)
    assert {"5-wide", "20-wide", "*"} < set(facts["step_age"])
    assert len(facts["k"]) == len(facts["best"]) > 40
    assert min(facts["k"]) >= 5
    named = told(*asked, "--generalise", "age=10-year/30-year")
    assert named["step_age"] == ["as it is", "10-year", "30-year"]
    assert set(named["step_zip"]) == {"as it is"}
    assert "ways of writing age, zip, sex" in done(*asked)


def test_a_file_shows_every_way_and_makes_the_table(tmp_path: Path) -> None:
    """What is recommended is written, read again, and gives the table that it promised."""
    found, table = tmp_path / "way.toml", tmp_path / "release.parquet"
    ladders = write(
        tmp_path,
        'limit = 0.25\n[columns]\nage = ["10-year", "25-wide"]\nzip = ["as it is", "4", "3"]\nsex = "*"\n'
        "[suppress]\nbelow = 4\nshare = 0.02\n",
        "ladders.toml",
    )
    facts = told("risk", "people", EXAMPLE, "--generalise", ladders, "--what-if", "-o", found)
    assert facts["files"] == [str(found)]
    rows = zip(
        *(facts[name] for name in ("kept", "suppressed", "worst", "step_age", "step_zip", "step_sex")), strict=True
    )
    fit = [row for row in rows if row[2] <= 0.25 and row[1] <= 0.02 and row[3] != "as it is" and row[5] == "*"]
    best = max(fit, key=lambda row: row[0] * (1 - row[1]))
    assert facts["generalisation"]["columns"] == dict(zip(("age", "zip", "sex"), best[3:], strict=True))
    assert ["as it is"] * 3 in [
        list(row) for row in zip(facts["step_age"], facts["step_zip"], facts["step_sex"], strict=True)
    ]
    applied = told("risk", "people", EXAMPLE, "--generalise", found, "--sensitive", "diagnosis", "-o", table)
    chosen = told("risk", "people", EXAMPLE, "--generalise", ladders, "--sensitive", "diagnosis")
    assert applied["generalisation"] == chosen["generalisation"] == facts["generalisation"]
    assert (applied["k"], applied["suppressed"] / 300) == (chosen["k"], pytest.approx(best[1]))
    columns = pq.read_table(table)
    assert columns.column_names == ["age", "zip", "sex", "diagnosis"]
    again = told("risk", "people", table, "--quasi", "age,zip,sex", "--sensitive", "diagnosis", "--limit", 0.25)
    assert (again["people"], again["k"], again["risks"]) == (applied["people"], applied["k"], applied["risks"])
    assert again["diversity"] == applied["diversity"]
    # As JSON, and as options.
    spelled = write(tmp_path, json.dumps(facts["generalisation"]), "way.json")
    done("risk", "people", EXAMPLE, "--generalise", spelled, "-o", tmp_path / "same.toml")
    assert (tmp_path / "same.toml").read_text() == found.read_text()
    text = ",".join(f"{name}={step}" for name, step in facts["generalisation"]["columns"].items())
    given = told("risk", "people", EXAMPLE, "--generalise", text, "--suppress", 4, "--limit", 0.25)
    assert {**given["generalisation"]["suppress"], "share": 0.02} == facts["generalisation"]["suppress"]
    assert given["risks"] == chosen["risks"]


def test_no_table_is_written_that_is_riskier_than_was_asked_for(tmp_path: Path) -> None:
    table = tmp_path / "release.csv"
    asked = ["risk", "people", EXAMPLE, "--generalise", "age=10-year,zip=as it is", "-o", table]
    result = run(*asked)
    assert (result.exit_code, table.exists()) == (1, False)
    assert result.stderr.endswith(f"above the limit of 0.2: {table} is not written; generalise, or leave more out.\n")
    assert run(*asked, "--suppress", 5, "--fail-above", 0.1).exit_code == 1
    few = write(
        tmp_path, '[columns]\nage = "10-year"\nzip = "as it is"\n[suppress]\nbelow = 5\nshare = 0.01\n', "few.toml"
    )
    result = run("risk", "people", EXAMPLE, "--generalise", few, "-o", table)
    assert result.stderr.endswith("of the people would be left out, above 1.00%: nothing is written.\n")
    assert not table.exists()
    assert f"Written: {table}" in done(*asked, "--suppress", 5).replace("\n", "")
    assert "exists" in refusal(*asked, "--suppress", 5)
    assert "would be replaced" in refusal(
        "risk", "people", EXAMPLE, "--generalise", few, "--what-if", "-o", few, "--force"
    )
    new = tmp_path / "new.toml"
    assert "and at most 1.00% left out; allow" in refusal(
        "risk", "people", EXAMPLE, "--generalise", few, "--what-if", "-o", new
    )
    assert not new.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limt = 0.2", "unknown field `limt`; known are limit, columns, suppress; perhaps 'limit' was meant."),
        (
            "[suppress]\nbellow = 5",
            "at suppress, object contains unknown field `bellow`; known are below, share; perhaps",
        ),
        (
            "[suppress]\nbelow = 0",
            "at suppress, below must be an integer of at least 1 that fits into 64 bits, got below=0.",
        ),
        ("limit = nan", "limit must be a number in 0..1, got limit=nan."),
        ('[columns]\nage = "5-yeer"', "column 'age': a generalisation must be written as 5-year"),
        ("[columns]\nage = []", "column 'age': a generalisation must be written as 5-year"),
        ("[columns]\nage = 5", "expected `str | array`, got `int`."),
        ('[columns]\nagee = "3"', "there is no column 'agee'; the table has age, zip, sex"),
    ],
)
def test_files_that_say_what_they_may_not(tmp_path: Path, text: str, words: str) -> None:
    # As editors of Windows write it, with a mark at the start.
    message = refusal("risk", "people", EXAMPLE, "--generalise", write(tmp_path, f"\ufeff{text}\n", "way.toml"))
    assert words in message
    assert not message.endswith("..\n")
    for option in (["--suppress", 5], ["--limit", 0.5]):
        path = tmp_path / "way.toml"
        assert "way.toml says it" in refusal("risk", "people", EXAMPLE, "--generalise", path, *option)


def test_a_column_that_is_published_as_reports(tmp_path: Path) -> None:
    plan = write(tmp_path, PLAN, "plan.toml")
    plain = told("risk", "people", EXAMPLE, "--quasi", "age,sex")
    facts = told("risk", "people", EXAMPLE, "--quasi", "age,zip,sex", "--plan", f"zip={plan}")
    assert facts["names"] == ["age", "sex"]
    assert risks(facts)["prosecutor"] == risks(plain)["prosecutor"]
    assert risks(facts)["prosecutor"] < risks(facts)["reader of reports of zip"] < 1
    way = tmp_path / "way.toml"
    done(
        "risk",
        "people",
        EXAMPLE,
        "--quasi",
        "age,zip,sex",
        "--plan",
        f"zip={plan}",
        "--what-if",
        "--limit",
        1,
        "-o",
        way,
    )
    assert set(told("risk", "people", EXAMPLE, "--generalise", way)["names"]) == {"age", "sex"}
    told_nothing = told("risk", "people", EXAMPLE, "--quasi", "age", "--sensitive", "zip", "--plan", f"zip={plan}")
    assert told_nothing["diversity"] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--quasi", "age,postcode"], "there is no column 'postcode'; the table has age, zip, sex, education"),
        (["--quasi", "age,age"], "each once"),
        (["--quasi", ","], "--quasi must name the columns"),
        (["--quasi", "age", "--generalise", "zip=3"], "'zip' is none of the quasi-identifiers, age"),
        (
            ["--generalise", "age=5-year/2-year,zip=4"],
            "None of the ways that may be chosen has a worst risk of at most 0.2",
        ),
        ([], "--quasi must name the columns that others may know"),
        (["--quasi", "age", "--what-if", "-o", "new.csv"], "--what-if writes no table; let new.csv end in .toml"),
        (
            ["--quasi", "age,zip", "--plan", "zip=none.toml", "-o", "new.csv"],
            "no table has the reports of --plan; let new.csv end in .toml",
        ),
        (["--generalise", "none.toml"], "none.toml does not exist"),
        (["--quasi", "sex", "--generalise", "sex=5-year"], "cannot be written as 5-year"),
        (["--quasi", "age,zip,sex", "--suppress", 200], "nobody is left"),
        (["--quasi", "age", "--seed", 1], "only estimates with --fraction draw numbers"),
        (["--quasi", "age", "--limit", 2], "limit must be a number in 0..1"),
        (["--quasi", "age", "--fraction", 2], "fraction must be a number between 0 and 1"),
        (["--quasi", "age", "--fraction", 0.1, "--population", EXAMPLE], "--population says more than --fraction"),
        (["--quasi", "age", "--what-if", "--fail-above", 0.1], "--fail-above does nothing here"),
        (["--quasi", "age", "--what-if", "--sensitive", "sex"], "--sensitive does nothing here"),
        (["--quasi", "age", "--plan", "zip=plan.toml"], "--plan must name a column of --quasi or --sensitive"),
        (["--quasi", "age,sex", "--plan", "age=none.toml"], "none.toml"),
        (["--quasi", "age", "--plan", "age=none.toml"], "--plan leaves no column in --quasi but 'age'"),
        (["--quasi", "age", "--allow-outside"], "--allow-outside goes with --plan"),
    ],
)
def test_requests_that_say_nothing_are_refused(options: list[object], words: str) -> None:
    assert words in refusal("risk", "people", EXAMPLE, *options)


def test_tables_as_they_come(tmp_path: Path) -> None:
    empty = write(tmp_path, "age,zip\n", "empty.csv")
    assert "the table of people must have a row at least" in refusal("risk", "people", empty, "--quasi", "age")
    assert "the table of the population must have a row at least" in refusal(
        "risk", "people", EXAMPLE, "--quasi", "age,zip", "--population", empty
    )
    two = write(tmp_path, "age;zip\n30;02139\n30;02139\n", "two.csv")
    assert told("risk", "people", two, "--quasi", "age,zip")["k"] == 2
    assert "sample" not in done("risk", "people", two, "--quasi", "age,zip")
    assert told("risk", "people", two, "--quasi", "age,zip", "--fraction", 0.5)["estimate"]["uniques"]["high"] == 0
    assert told("risk", "people", two, "--quasi", "age,zip", "--what-if")["kept"][0] == 1
    salaries = write(tmp_path, "pay,sex\n" + "".join(f"{at * 7 % 100000}.5,f\n" for at in range(20000)), "pay.csv")
    facts = told("risk", "people", salaries, "--quasi", "pay,sex")
    assert facts["telling"] == [["pay", 1]]
    assert min(told("risk", "people", salaries, "--quasi", "pay,sex", "--what-if")["k"]) == 1
    assert "pay alone tells 100.0% of the people apart" in done("risk", "people", salaries, "--quasi", "pay,sex")


def test_no_cell_is_quoted(tmp_path: Path) -> None:
    table = write(tmp_path, f"age,word\n1,{VALUE}\n2,{VALUE}\nx,{VALUE}\n")
    way = write(tmp_path, '[columns]\nword = ["4", "5"]\nage = "5-wide"\n', "way.toml")
    for options in (
        [],
        ["--what-if"],
        ["--generalise", way],
        ["--generalise", "word=4"],
        ["--generalise", "word=5-year"],
        ["--json"],
    ):
        for quasi in ("age,word", VALUE[:4]):
            result = run("risk", "people", table, "--quasi", quasi, *options)
            clean(result.output)
            assert result.exit_code in {0, 2}


def test_folders_and_patterns_are_one_table(tmp_path: Path) -> None:
    lines = EXAMPLE.read_text().splitlines()
    for name, part in (("a", lines[1:100]), ("b", lines[100:])):
        write(tmp_path, "\n".join([lines[0], *part]) + "\n", f"{name}.csv")
    whole = told("risk", "people", EXAMPLE, "--quasi", "age,sex")
    for table in (tmp_path, tmp_path / "*.csv"):
        assert told("risk", "people", table, "--quasi", "age,sex") == whole
    write(tmp_path, "age,sex\nold,f\n", "c.csv")
    message = refusal("risk", "people", tmp_path, "--quasi", "age,sex")
    assert "c.csv: the column 'age' holds text here and numbers in" in message
