"""Surveys at the collector: a collection for each question, whose sealed files are reports of that question."""

import html
from dataclasses import replace
from pathlib import Path

import pytest
from collectors import EPOCH, added_envelope, current, ids, put, records, serving
from test_sealing import seal

import discreet as dc
from discreet.collector.documents.publications import collection_publication, most_answers, survey_reach
from discreet.collector.documents.signing import sign_survey
from discreet.collector.sealing import sealed_folder
from discreet.collector.storage.folder import DataFolder
from discreet.core.guarantee import posterior_share
from discreet.device.protocol.collection import open_envelope
from discreet.privacy.publication import joint_epsilon
from discreet.surveys.sources import files_by_question
from running import run
from signed import TRUST, key, terms

NAMES = ("place", "means")


def _survey_of_three(answers: int) -> dc.Survey:
    """Return a survey of three questions of which everybody answers some, with values in clear in the last one."""
    attributes = {name: dc.Domain(range(size)) for name, size in {"a": 2, "b": 4}.items()}
    attributes["c"] = dc.Domain(range(3), sensitive=[1, 2])
    each = [0.75, 0.5, 0.25]
    questions = [
        dc.Question(
            (name,), dc.RandomizedResponse(domain.for_attribute(name), epsilon), answers * 2**64 // 3 + (place == 0)
        )
        for place, ((name, domain), epsilon) in enumerate(zip(attributes.items(), each, strict=True))
    ]
    left = answers * 2**64 - sum(question.share for question in questions)
    questions[-1] = replace(questions[-1], share=questions[-1].share + left)
    return dc.Survey(attributes, questions, 1.5, promise="record", answers=answers)


def test_what_is_published_is_said_of_all_answers_of_a_person_together(tmp_path: Path) -> None:
    survey, epochs = _survey_of_three(2), replace(current(), count=4)
    asked = terms(name="habits", epochs=epochs, least=5000, lifetime=3.0, answers="fresh")
    entries = [added_envelope(tmp_path, one) for one in sign_survey(dc.Questionnaire.of(survey), asked, [key()])]
    times = 4
    reached = []
    for entry in entries:
        assert most_answers(entry.collection) == times
        publication = collection_publication(entry.collection, entry.mechanism)
        reached.append((publication, times * entry.collection.cost))
    # Any two questions may be those of one person, whose losses are composed.
    parts = dict(enumerate(reached))
    pairs = [(0, 1), (0, 2), (1, 2)]
    share = posterior_share(joint_epsilon(parts, pairs, 1e-6))
    figures = [publication.figures() for publication, _ in reached]
    alone = sorted(max(each[way]["epsilon"] for way in ("among", "versus_clear") if each[way]) for each in figures)
    assert posterior_share(alone[-1]) < share < posterior_share(sum(alone[1:]))
    with serving(tmp_path) as served:
        for number in (1, 2, 3):
            facts = dict(served.client.get(f"/collections/habits-{number}").json["published"])
            assert facts["brief.published"]["share"] == facts["published.among"]["share"] == share
            assert facts["published.among"]["chance"] == 1_000_000
            assert facts["published.several"] == {"count": 2 * times}
            page = served.client.get(f"/take/habits-{number}").body.decode()
            assert f"can be at most {share:.0%} sure" in page
            about = html.unescape(served.client.get(f"/collections/habits-{number}/about").body.decode())
            together = about[about.index("All of a person's answers") :]
            assert f"at most {share:.0%} sure" in together.partition("</p>")[0]
    # Of a question that is not at hand no more is known than the epsilon of the survey.
    for others in ((), [entries[1].collection]):
        assert survey_reach(entries[0].collection, others) == (times * survey.epsilon - times * 0.25, 0.0)
    single = sign_survey(dc.Questionnaire.of(_survey_of_three(1)), asked, [key()])[0]
    assert survey_reach(open_envelope(single, TRUST)) is None


def _survey() -> dc.Survey:
    attributes = {name: dc.Domain(["no", "yes", "now and then"]) for name in NAMES}
    questions = [
        dc.Question((name,), dc.RandomizedResponse(domain.for_attribute(name), 1.0), 2**63)
        for name, domain in attributes.items()
    ]
    return dc.Survey(attributes, questions, 1.0, promise="record")


@pytest.fixture
def sealed(tmp_path: Path) -> list[Path]:
    """Folders of sealed files of both questions, 60 and 80 reports."""
    asked = terms(name="habits", epochs=current(), late=EPOCH // 4, least=50, lifetime=2.0)
    entries = [added_envelope(tmp_path, one) for one in sign_survey(dc.Questionnaire.of(_survey()), asked, [key()])]
    for entry, n in zip(entries, (60, 80), strict=True):
        put(tmp_path, entry, [(ids(n), records(entry, n))], 0)
        seal(tmp_path, entry, 0)
    return [sealed_folder(DataFolder(tmp_path), entry) for entry in entries]


def test_sealed_files_of_all_questions_are_estimated_together(sealed: list[Path], tmp_path: Path) -> None:
    survey = _survey()
    files = files_by_question(survey, sealed)
    assert {name: len(some) for name, some in files.items()} == {"place": 1, "means": 1}
    dc.Questionnaire.of(survey).save(tmp_path / "survey.toml")
    result = run("survey", "estimate", str(tmp_path / "survey.toml"), *map(str, sealed), "--json")
    assert result.exit_code == 0, result.output
    assert '"n": 60' in result.stdout
    assert '"n": 80' in result.stdout
