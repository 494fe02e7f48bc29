"""Sensitive ranges in documents: they protect all that they did, and mean the same each time that they are written."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import discreet as dc
from discreet import Plan
from discreet.surveys.obfuscation import obfuscate_survey, survey_columns
from discreet.surveys.questions import question_domain
from packing import each

TENTHS = {"low": 0, "high": 1, "bins": 10}


def spaces() -> list[Any]:
    """Return bins of numbers of many kinds."""
    random, some = np.random.default_rng(4), list[Any]()
    for _ in range(15):
        low, width = round(random.uniform(-0.9, 9), 2), round(random.uniform(0.1, 900), 2)
        scale, bins = str(random.choice(["linear", "log1p"])), int(random.choice([2, 7, 10, 256, 999]))
        some.append(dc.Domain.number(low, round(low + width, 2), bins=bins, scale=scale).space)
    return some


@each("ending", [".toml", ".json"])
def test_plans_mean_the_same_bins_however_often_they_are_written(ending: str, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    for space in spaces():
        chosen = random.random(space.bins) < random.choice([0.1, 0.5, 0.9])
        chosen[int(random.integers(space.bins))] = True
        domain = dc.Domain.over(space, chosen)
        written, texts = Plan.of(dc.RandomizedResponse(domain, 1.0)), list[str]()
        for step in range(3):
            path = tmp_path / f"{step}{ending}"
            written.save(path, force=True)
            texts.append(path.read_text())
            written = Plan.of(Plan.load(path).mechanism())
            assert written.domain == domain
        assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize(
    ("arguments", "fingerprint"),
    [
        ({"low": 0, "high": 100, "bins": 10, "sensitive": [[0, 15], [75, 96]]}, "6b308fc16e1e50ce"),
        ({"low": 0, "high": 1, "bins": 10, "sensitive": [[0.7, 1]]}, "77ef265220309290"),
        ({"low": -0.5, "high": 7.25, "scale": "log1p", "clip": True, "sensitive": [[0.1, 2]]}, "f4ded2d41428c16f"),
    ],
)
def test_fingerprints_of_ranges_that_end_within_bins_stay(arguments: dict[str, Any], fingerprint: str) -> None:
    assert dc.Domain.number(**arguments).fingerprint.startswith(fingerprint)


def test_fingerprints_of_patterns_stay() -> None:
    tenths = dc.Domain.number(**TENTHS).space
    domain = dc.Domain.product({"sex": ["f", "m"], "x": tenths}, sensitive={"sex": "f", "x": [[0.1, 0.35]]})
    assert domain.fingerprint.startswith("eef142fa142479dc")


def test_ranges_of_combinations_reach_the_columns_of_a_table(tmp_path: Path) -> None:
    """A float16 of 0.89995, the end of a range that only combinations name, is 0.9, and yet it is protected."""
    asked = tmp_path / "survey.toml"
    asked.write_text(
        'version = 2\nepsilon = 8.0\npromise = "record"\n[attributes.sex]\nlabels = ["f", "m"]\n[attributes.score]\n'
        "number = { low = 0, high = 1, bins = 10 }\n[ask]\nwant = [['sex', 'score']]\n"
        "combinations = [{ sex = 'f', score = [[0.3, 0.89995]] }]\n[[question]]\nattributes = ['sex', 'score']\n"
        "share = 1.0\nepsilon = 8.0\nmechanism = { name = 'rr' }\n"
    )
    questionnaire = dc.Questionnaire.load(asked)
    domain = question_domain(questionnaire.attributes, ["sex", "score"], questionnaire.document.ask.combinations)
    assert domain.sensitive_codes.tolist() == [3, 4, 5, 6, 7, 8]
    numbers = pa.array(np.array([0.3, 0.5, 0.89995, 0.9], np.float16))
    pa.parquet.write_table(pa.table({"sex": ["f"] * 4, "score": numbers}), tmp_path / "people.parquet")
    survey, folder = questionnaire.survey(), tmp_path / "reports"
    obfuscate_survey(survey, tmp_path / "people.parquet", folder, survey_columns(questionnaire), seed=1)
    (file,) = folder.iterdir()
    assert pa.parquet.read_table(file)["clear"].null_count == 4
