"""Surveys at the collector: a collection for each question, whose sealed files are reports of that question."""

from pathlib import Path

import pytest
from collectors import EPOCH, added_envelope, current, ids, put, records, serving
from test_sealing import seal

import discreet as dc
from discreet.collector.inboxes import DataFolder
from discreet.collector.sealing import sealed_folder
from discreet.formats.signing import sign_survey
from discreet.formats.sources import files_by_question
from running import run
from signed import key, terms

NAMES = ("place", "means")


def _survey() -> dc.Survey:
    attributes = {name: dc.Domain(["no", "yes", "now and then"]) for name in NAMES}
    questions = [
        dc.Question((name,), dc.RandomizedResponse(domain.about(name), 1.0), 2**63)
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
    result = run("estimate", str(tmp_path / "survey.toml"), *map(str, sealed), "--json")
    assert result.exit_code == 0, result.output
    assert '"n": 60' in result.stdout
    assert '"n": 80' in result.stdout


@pytest.mark.usefixtures("sealed")
def test_an_analysts_page_leads_to_the_other_questions(tmp_path: Path) -> None:
    with serving(tmp_path, demo=True) as served:
        page = served.client.get("/analyst/habits-1").body.decode()
        listed = served.client.get("/analyst").body.decode()
    assert "each person answers 1 of 2, drawn by their device" in page
    assert '<a href="/analyst/habits-2">means</a>' in page
    assert "<strong>place</strong>" in page
    assert "Habits: means" in listed
