"""Verbs on whole surveys: of each question what its plan alone gives, what they come to together, what is refused."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import discreet as dc
from running import done, refusal, run, told

SURVEY = Path(dc.__file__).parent / "examples" / "health_survey.toml"
QUESTIONS = ["age", "education", "diagnosis", "sex,diagnosis"]
FILES = {name: f"{name}.parquet" for name in QUESTIONS}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two folders of reports, with a column that is kept beside them."""
    folder = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(3)
    for seed, side in enumerate(("first", "second")):
        rows = zip(
            rng.integers(20, 80, 400),
            rng.choice(["f", "m"], 400),
            rng.choice(["trade", "college", "school"], 400),
            rng.choice(["none", "flu", "asthma", "diabetes", "depression"], 400),
            rng.choice(["north", "south"], 400),
            strict=True,
        )
        lines = ["age,sex,education,diagnosis,region", *(",".join(map(str, row)) for row in rows)]
        (folder / f"{side}.csv").write_text("\n".join(lines), encoding="utf-8")
        done(
            "survey",
            "obfuscate",
            SURVEY,
            folder / f"{side}.csv",
            "-o",
            folder / side,
            "--keep",
            "region",
            "--seed",
            seed,
        )
    return folder


def alone(verb, name, *arguments):
    """Return what a verb gives for one question, but for its publication, which is the survey's to state."""
    facts = told("survey", verb, SURVEY, *arguments, "--question", name)
    return {key: value for key, value in facts.items() if not key.startswith("publication")}


def without_statements(facts):
    return json.loads(json.dumps(facts), object_hook=lambda fact: {k: v for k, v in fact.items() if k != "publication"})


@pytest.mark.parametrize(
    ("verb", "more"),
    [("estimate", ("--by", "region")), ("regress", ("--on", "region"))],
)
def test_of_each_question_a_verb_gives_what_it_gives_for_the_question_alone(verb, more, place, tmp_path):
    facts = told("survey", verb, SURVEY, place / "first", *more, "-o", tmp_path / "all.csv", "--statement")
    assert list(facts["questions"]) == QUESTIONS
    table = csv.read_csv(tmp_path / "all.csv")
    for name, file in FILES.items():
        one = alone(verb, name, place / "first" / file, *more, "-o", tmp_path / "one.csv", "--force")
        assert without_statements(facts["questions"][name]) == without_statements(one)
        rows = table.filter(np.asarray(table["question"]) == name)
        expected = csv.read_csv(tmp_path / "one.csv")
        same = [column for column in expected.column_names if column in rows.column_names and column != "value"]
        assert same[-2:] == expected.column_names[-2:]
        assert rows.select(same).to_pylist() == expected.select(same).to_pylist()
    assert facts["promise"] == "record"
    assert facts["record"] == pytest.approx(2)
    assert facts["publication"]["people"] == 400


def test_sides_are_compared_question_by_question(place):
    facts = told("survey", "compare", SURVEY, place / "first", place / "second", "--statement")
    for name, file in FILES.items():
        one = alone("compare", name, place / "first" / file, place / "second" / file)
        both = facts["questions"][name]
        assert [side["title"] for side in both["sides"]] == ["first", "second"]
        assert both["values"] == one["values"]
    # Eight hundred people, half of them on each side.
    assert facts["publication"]["people"] == 800
    assert "sides.overlap" in refusal("survey", "compare", SURVEY, place / "first", place / "first")


def test_seals_are_those_of_each_question_and_are_verified_together(place, tmp_path):
    facts = told("survey", "seal", SURVEY, place / "first", "-o", tmp_path / "sealed")
    assert {name: part["output"] for name, part in facts["questions"].items()} == {
        name: str(tmp_path / "sealed" / file) for name, file in FILES.items()
    }
    for name, file in FILES.items():
        one = "-o", tmp_path / "one.parquet", "--force"
        done("survey", "seal", SURVEY, place / "first", *one, "--question", name)
        assert (tmp_path / "sealed" / file).read_bytes() == (tmp_path / "one.parquet").read_bytes()
    assert "output.exists" in refusal("survey", "seal", SURVEY, place / "first", "-o", tmp_path / "sealed")
    done("survey", "seal", SURVEY, place / "first", "-o", tmp_path / "sealed", "--force")
    verified = told("survey", "verify", SURVEY, "--sealed", tmp_path / "sealed")
    assert all(part["sealed"] for part in verified["questions"].values())
    sizes = {name: part["reports"] for name, part in facts["questions"].items()}
    assert sum(sizes.values()) == 400
    # One of them was turned round since, and the others are as they were.
    table = pq.read_table(tmp_path / "sealed" / FILES["age"])
    turned = table.take(np.arange(table.num_rows)[::-1])
    pq.write_table(turned.replace_schema_metadata(table.schema.metadata), tmp_path / "sealed" / FILES["age"])
    result = run("survey", "verify", SURVEY, "--sealed", tmp_path / "sealed", "--json")
    assert result.exit_code == 1
    assert [part["sealed"] for part in json.loads(result.stdout)["questions"].values()] == [False, True, True, True]


def test_what_fits_no_question_is_refused_and_nothing_is_written(place, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(SURVEY.read_text(encoding="utf-8").replace("epsilon = 2.0", "epsilon = 1.0"), encoding="utf-8")
    sealed = tmp_path / "sealed"
    assert "reports.of-no-question" in refusal("survey", "seal", other, place / "first", "-o", sealed)
    words = refusal("survey", "seal", SURVEY, place / "first", "-o", sealed, "--least", 90)
    assert "batch.too-small" in words
    assert "Question '" in words
    assert not [*sealed.iterdir()]
    assert "folder.is-file" in refusal("survey", "seal", SURVEY, place / "first", "-o", "s.parquet")
    one = "survey", "seal", SURVEY, place / "first", "--question"
    assert "perhaps 'age' was meant" in refusal(*one, "agee", "-o", tmp_path / "s.parquet")
    assert "file.unknown-ending" in refusal(*one, "age", "-o", tmp_path / "s")
    more = place / "first" / FILES["age"], "--question", "sex,diagnosis", "-o", tmp_path / "s.parquet"
    assert "reports.none-on-question" in refusal("survey", "seal", SURVEY, *more)
    words = "name the question with --question"
    assert words in refusal("survey", "seal", SURVEY, place / "first", "-o", sealed, "--trust-plan")
    assert words in refusal("survey", "compare", SURVEY, place / "first", "--given", SURVEY)
    (tmp_path / "again.parquet").write_bytes((place / "first" / FILES["age"]).read_bytes())
    words = refusal("survey", "seal", SURVEY, place / "first", tmp_path / "again.parquet", "-o", sealed)
    assert "Question 'age': " in words


def test_questions_are_simulated_by_those_who_are_drawn(place, tmp_path, monkeypatch):
    from discreet.surveys.verbs import answering

    folders = []
    monkeypatch.setattr(answering, "save_findings", lambda findings, folder, **_: folders.append(folder) or [])
    facts = told("survey", "simulate", SURVEY, place / "first.csv", "-o", tmp_path / "out", "--seed", 2)
    assert [folder.name for folder in folders] == QUESTIONS
    assert sum(part["users"] for part in facts["questions"].values()) == 400
    truth = (
        np.bincount(
            dc.Questionnaire.load(SURVEY).attributes["education"].encode(csv.read_csv(place / "first.csv")["education"])
        )
        / 400
    )
    mechanism, part = dc.Questionnaire.load(SURVEY).plan("education").mechanism(), facts["questions"]["education"]
    alone = mechanism.decoder.mse(part["users"], truth)
    assert alone - (1 - truth @ truth) / part["users"] < part["expected_mse"] < alone
    assert facts["record"] == pytest.approx(2)
    (tmp_path / "out" / "age").mkdir(parents=True)
    (tmp_path / "out" / "age" / "page.html").write_text("mine", encoding="utf-8")
    assert "output.exists" in refusal("survey", "simulate", SURVEY, place / "first.csv", "-o", tmp_path / "out")
