"""Verbs on surveys: a table in, a folder of reports, an estimate of every question out, and nothing lost in between."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.surveys.obfuscation import obfuscate_survey, survey_columns
from running import done, refusal, run, told

EXAMPLES = Path(dc.__file__).parent / "examples"
SURVEY, PEOPLE = EXAMPLES / "health_survey.toml", EXAMPLES / "people.csv"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey") / "reports"
    done("survey", "obfuscate", SURVEY, PEOPLE, "-o", folder, "--seed", 1, "--keep", "zip")
    return folder


def test_each_person_is_in_one_file_and_every_question_is_estimated(reports, tmp_path):
    files = sorted(file.name for file in reports.iterdir())
    assert files == ["age.parquet", "diagnosis.parquet", "education.parquet", "sex,diagnosis.parquet"]
    assert sum(pq.read_metadata(file).num_rows for file in reports.iterdir()) == 300
    facts = told("survey", "estimate", SURVEY, reports, "-o", tmp_path / "all.csv")
    assert list(facts["questions"]) == ["age", "education", "diagnosis", "sex,diagnosis"]
    assert sum(part["n"] for part in facts["questions"].values()) == 300
    assert facts["unanswered"] == []
    assert (tmp_path / "all.csv").read_text(encoding="utf-8").startswith('"question","value","n","sensitive"')
    # One question by itself, with a column kept beside its reports, is the same.
    one = told("survey", "estimate", SURVEY, reports, "--question", "age")
    assert one["values"] == facts["questions"]["age"]["values"]
    by = told("survey", "estimate", SURVEY, reports, "--question", "age", "--by", "zip", "--minimum", 2)
    assert by["overall"]["n"] == one["n"]


@pytest.mark.parametrize("method", ["joint", "consistent"])
def test_questions_are_estimated_together(method, reports):
    facts = told("survey", "estimate", SURVEY, reports, "--method", method)
    assert {part["method"] for part in facts["questions"].values()} == {method}
    words = refusal("survey", "estimate", SURVEY, reports, "--question", "age", "--method", method)
    assert "method.needs-all-questions" in words


def test_rows_are_streamed_as_they_are_and_answers_follow_the_people(tmp_path):
    questionnaire = dc.Questionnaire.load(SURVEY)
    lines = ["age,sex,education,diagnosis,row"]
    lines += [f"{20 + n % 50},{'fm'[n % 2]},trade,{'flu' if n % 2 else ''},{n}" for n in range(3000)]
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    columns = survey_columns(questionnaire, ["row"])
    written = obfuscate_survey(questionnaire.survey(), tmp_path / "people.csv", tmp_path / "r", columns, seed=4)
    assert sum(written.values()) == 3000
    rows = np.concatenate([pq.read_table(file)["row"].to_numpy() for file in (tmp_path / "r").iterdir()])
    assert np.sort(rows).tolist() == list(range(3000))
    # Who is in the file of diagnoses and says "no answer" in clear is one of those without one.
    table = pq.read_table(tmp_path / "r" / "diagnosis.parquet")
    clear = table["clear"].to_pandas().to_numpy()
    assert set(table["row"].to_numpy()[clear == 5] % 2) == {0}
    assert set(table["row"].to_numpy()[clear == 1] % 2) == {1}


def test_plan_writes_what_is_asked_and_says_what_other_ways_cost(tmp_path):
    facts = told("survey", "plan", SURVEY, "--users", 5000, "--epsilon", 1, "-o", tmp_path / "p.toml")
    assert dc.Questionnaire.load(tmp_path / "p.toml").fingerprint == facts["plan"]
    assert facts["record_epsilon"] == 1
    assert facts["options"][0]["error"] == min(option["error"] for option in facts["options"])
    assert [question["question"] for question in facts["questions"]] == [
        "age",
        "education",
        "diagnosis",
        "sex,diagnosis",
    ]
    assert "No such option" in run("survey", "plan", SURVEY, "--users", 10, "--standard-error", 0.1).stderr


def test_verify_adds_up_both_promises_and_fails_where_one_is_broken(tmp_path, monkeypatch):
    facts = told("survey", "verify", SURVEY)
    assert facts["holds"]
    assert facts["record"] == pytest.approx(2)
    assert facts["attributes"].keys() == {"age", "sex", "education", "diagnosis"}
    assert "name the question with --question" in refusal("survey", "verify", SURVEY, "--statement", 100)
    one = told("survey", "verify", SURVEY, "--question", "age", "--statement", 10_000)
    assert one["publication"]["among"]["epsilon"] < one["realised"]
    from discreet.surveys import guarantees as surveys

    survey = dc.Questionnaire.load(SURVEY).survey()
    object.__setattr__(survey.questions[0], "share", survey.questions[0].share + 1)
    assert not surveys.verify_survey(survey).holds


def test_init_proposes_a_survey_and_a_label_for_those_without_an_answer(tmp_path):
    plan = tmp_path / "s.toml"
    asked = ("--question", "age", "--question", "sex,diagnosis", "--least", 5, "--epsilon", 2)
    done(
        "survey",
        "init",
        PEOPLE,
        *asked,
        "--sensitive",
        "age=60 to 69,70 and above",
        "--sensitive",
        "diagnosis=diabetes",
        "-o",
        plan,
    )
    survey = dc.Questionnaire.load(plan).survey()
    assert [question.name for question in survey.questions] == ["age", "sex,diagnosis"]
    assert survey.question("age").mechanism.domain.sensitive_count == 2
    assert survey.attributes["sex"].sensitive_count == 0
    assert dc.Questionnaire.load(plan).plan("sex,diagnosis").document.domain.missing == {"diagnosis": "no answer"}
    text = done("survey", "obfuscate", plan, PEOPLE, "-o", tmp_path / "r")
    assert "300 people, 1 of 2 questions each" in text
    result = run("survey", "init", PEOPLE, "--epsilon", 2, "--all-sensitive")
    assert result.exit_code == 2
    assert "Name each question by its column" in result.stderr
    assert "diagnosis" in result.stderr


def test_decimal_commas_are_read_in_surveys_too(tmp_path):
    table, plan = tmp_path / "t.csv", tmp_path / "s.toml"
    table.write_text("age;sex\n" + '"39,5";m\n"41,5";f\n' * 20, encoding="utf-8")
    words = ("--question", "age", "--cuts", 40, "--all-sensitive", "--epsilon", 1, "--decimal", ",", "-o", plan)
    assert "--decimal , -o reports" in done("survey", "init", table, *words)
    assert "cells.decimal-commas" in refusal("survey", "obfuscate", plan, table, "-o", tmp_path / "r")
    assert "40 people" in done("survey", "obfuscate", plan, table, "-o", tmp_path / "s", "--decimal", ",")


def test_nothing_is_written_where_something_is_wrong(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("age,sex,education,diagnosis\n30,f,trade,flu\n31,f,,flu\n", encoding="utf-8")
    words = refusal("survey", "obfuscate", SURVEY, table, "-o", tmp_path / "r")
    assert "'education': 1 of 2 values are missing (first in row 1" in words
    assert not any((tmp_path / "r").glob("*"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine", encoding="utf-8")
    assert "folder.with-other-content" in refusal("survey", "obfuscate", SURVEY, PEOPLE, "-o", tmp_path / "full")
    done("survey", "obfuscate", SURVEY, PEOPLE, "-o", tmp_path / "r", "--seed", 2)
    assert "output.exists" in refusal("survey", "obfuscate", SURVEY, PEOPLE, "-o", tmp_path / "r", "--seed", 2)
    done("survey", "obfuscate", SURVEY, PEOPLE, "-o", tmp_path / "r", "--seed", 2, "--force")
