"""Questionnaires: read strictly, written as they are read, and each question an ordinary plan."""

from pathlib import Path

import pytest

import discreet as dc
from discreet.collector.documents.signing import spelled_out
from discreet.errors import OutputExistsError, ParameterError

TEXT = """
version = 2
title = "Health"
epsilon = 1.0
promise = "record"

[attributes.age]
labels = ["<18", "18-64", "65+"]
sensitive = ["<18", "65+"]
cuts = [18, 65]

[attributes."body mass"]
range = [15, 45]
missing = 15

[attributes.sex]
labels = ["f", "m"]
"""


EXAMPLES = Path(dc.__file__).parent / "examples"


def written(folder: Path, text: str = TEXT) -> Path:
    path = folder / "survey.toml"
    path.write_text(text, encoding="utf-8")
    return path


def planned(asked: dc.Questionnaire, users: int | None = None):
    return dc.plan_survey(asked.attributes, users=users, **asked.asked)


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_planned_survey_is_read_as_it_was_written(tmp_path, ending):
    asked = dc.Questionnaire.load(written(tmp_path, TEXT + '[ask]\nwant = "pairs"\n'))
    plan = planned(asked, 10_000)
    full = asked.asking(plan.survey)
    again = full.save(tmp_path / f"full.{ending}")
    assert again.survey() == plan.survey == dc.Questionnaire.load(tmp_path / f"full.{ending}").survey()
    assert [question.share for question in again.survey().questions] == [q.share for q in plan.survey.questions]
    assert again.document.attributes == asked.document.attributes
    with pytest.raises(OutputExistsError):
        full.save(tmp_path / f"full.{ending}")
    for question in plan.survey.questions:
        one = again.plan(question.name)
        assert one.fingerprint == question.mechanism.fingerprint
        assert one.document.epsilon == question.epsilon
    spec = again.plan("sex,age").document.domain
    assert spec.cuts == {"age": [18, 65]}
    assert again.plan("body mass,age").document.domain.missing == {"body mass": 15}


def test_a_question_is_saved_and_read_as_a_plan_of_its_own(tmp_path):
    plan = dc.Questionnaire.load(EXAMPLES / "health_survey.toml").plan("age")
    assert plan.document.title == "Health: age"
    assert plan.save(tmp_path / "age.toml").fingerprint == plan.fingerprint
    assert 'attribute = "age"' in (tmp_path / "age.toml").read_text(encoding="utf-8")
    # Without the name of the attribute it is another plan.
    text = (tmp_path / "age.toml").read_text(encoding="utf-8").replace('attribute = "age"', "")
    (tmp_path / "other.toml").write_text(text, encoding="utf-8")
    assert dc.Plan.load(tmp_path / "other.toml").fingerprint != plan.fingerprint


def test_a_survey_of_ones_own_is_written_with_its_exact_shares(tmp_path):
    domains = {"a": dc.Domain(range(3)), "b": dc.Domain(range(2))}
    third = (1 << 64) // 3
    questions = [
        dc.Question((name,), dc.RandomizedResponse(domain.for_attribute(name), 1.0), share)
        for (name, domain), share in zip(domains.items(), (third, (1 << 64) - third), strict=True)
    ]
    survey = dc.Survey(domains, questions, 1.0, promise="attribute")
    saved = dc.Questionnaire.of(survey, title="Mine").save(tmp_path / "mine.toml")
    assert saved.survey() == survey
    assert f'share = "{third}"' in (tmp_path / "mine.toml").read_text(encoding="utf-8")


QUESTION = '[[question]]\nattributes = ["age"]\nshare = {}\nepsilon = 1.0\nmechanism = {{ name = "rr" }}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT.replace('promise = "record"', ""), "promise.missing"),
        (TEXT.replace('"record"', '"people"'), "document.not-valid"),
        (TEXT + "[asks]\n", "The field asks is unknown"),
        (TEXT + "[ask]\nwant = [['age', 'hair']]\n", "attribute.unknown"),
        (TEXT + "[ask]\ncombinations = [{ age = '<18' }]\n", "attribute.sensitive-twice"),
        (TEXT.replace('labels = ["f", "m"]', 'labels = ["f", "f"]'), "labels.repeated"),
        (
            TEXT.replace('labels = ["f", "m"]', 'attribute = "gender"\nlabels = ["f"]'),
            "attribute.two-names",
        ),
        (TEXT.replace("epsilon = 1.0", "epsilon = -1"), "epsilon"),
    ],
)
def test_documents_that_say_what_they_may_not_are_refused(tmp_path, text, words):
    with pytest.raises(ParameterError) as caught:
        planned(dc.Questionnaire.load(written(tmp_path, text)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT, "has no questions yet"),
        (TEXT + QUESTION.format(0.5), "shares.wrong-sum"),
        (TEXT + QUESTION.format(1.0), "table.not-asked"),
        (TEXT + QUESTION.format(-0.5), "share.out-of-range"),
        (TEXT + QUESTION.format('"' + "9" * 5000 + '"'), "shares.mixed-types"),
        (TEXT + "[ask]\nwant = [['age']]\n" + QUESTION.format(1.0) + QUESTION.format(1.0), "shares.wrong-sum"),
        (TEXT + "[ask]\nwant = [['age']]\n" + QUESTION.format(0.5) * 2, "question.repeated"),
        (
            TEXT + "[ask]\nwant = [['age']]\n" + QUESTION.format(1.0).replace("1.0\nm", "2.0\nm"),
            "questions.too-much-epsilon",
        ),
    ],
)
def test_questions_that_make_no_survey_are_refused(tmp_path, text, words):
    with pytest.raises(ParameterError) as caught:
        dc.Questionnaire.load(written(tmp_path, text)).survey()
    assert words in str(caught.value)


ROUNDS = """
version = 2
epsilon = 2.0
promise = "record"
attributes = {{ a = {{ labels = [0, 1] }}, b = {{ labels = [0, 1, 2] }} }}
[rounds]
{}
"""


@pytest.mark.parametrize("ending", [".toml", ".json"])
def test_rounds_are_written_and_read_as_they_are(tmp_path, ending):
    rounds = 'number = 12\nhow = "memo"\nfirst = 1.8'
    asked = dc.Questionnaire.load(written(tmp_path, ROUNDS.format(rounds)))
    survey = planned(asked).survey
    assert survey.rounds == asked.document.rounds
    full = asked.asking(survey).save(tmp_path / f"full{ending}")
    assert full.survey() == survey == dc.Questionnaire.of(survey).survey()
    assert dc.Questionnaire.load(tmp_path / f"full{ending}").document.rounds == asked.document.rounds


NUMBERS = """
version = 2
epsilon = 2.0
promise = "record"
[attributes.sex]
labels = ["f", "m"]
[attributes.income]
number = {{ low = 0, high = 1, bins = 10 }}
[ask]
want = [["sex", "income"], ["income"]]
combinations = [{{ sex = "f", income = {} }}, {{ income = 0.95 }}]
"""


@pytest.mark.parametrize("ending", [".toml", ".json"])
def test_a_combination_may_name_ranges_of_numbers(tmp_path, ending):
    asked = dc.Questionnaire.load(written(tmp_path, NUMBERS.format("[[0.1, 0.3], [0.7, 0.8]]")))
    full = asked.asking(planned(asked).survey).save(tmp_path / f"full{ending}")
    both, alone = (question.mechanism.domain for question in full.survey().questions)
    assert both.sensitive_codes.tolist() == [1, 2, 3, 7, 8, 9, 19]
    assert alone.sensitive_codes.tolist() == [1, 2, 3, 7, 8, 9]
    for name in ("sex,income", "income"):
        plan = full.plan(name)
        assert plan.fingerprint == full.survey().question(name).mechanism.fingerprint
        assert dc.Plan.of(plan.mechanism()).save(tmp_path / f"one{ending}", force=True).fingerprint == plan.fingerprint
    with pytest.raises(ParameterError, match=r"product.with-numbers"):
        spelled_out(full.plan("sex,income"))
