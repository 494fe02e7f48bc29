"""Plans: strict, and the same mechanism as one made by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import (
    Domain,
    Plan,
    Questionnaire,
    RandomizedResponse,
)
from discreet.errors import ParameterError
from discreet.formats.plan import DomainDocument, read_document
from discreet.simulation.study import Study
from discreet.surveys.documents import every_schema
from packing import each
from refusals import refused

ROOT = Path(__file__).parents[2]
LABELS = {"labels": ["a", "b", "c"], "sensitive": ["a", "c"]}
PLAN: dict[str, Any] = {"version": 1, "epsilon": 1.0, "domain": LABELS, "mechanism": {"name": "rr"}}


def load(folder: Path, suffix: str = "json", **changes: Any) -> Plan:
    path = folder / f"plan.{suffix}"
    document = {name: part for name, part in {**PLAN, **changes}.items() if part is not None}
    spelled = "\n".join(f"{name} = {toml(part)}" for name, part in document.items())
    path.write_text(spelled if suffix == "toml" else json.dumps(document), encoding="utf-8")
    return Plan.load(path)


def toml(part: Any) -> str:
    if isinstance(part, dict):
        return "{" + ", ".join(f"{name} = {toml(entry)}" for name, entry in part.items()) + "}"
    if isinstance(part, list):
        return "[" + ", ".join(map(toml, part)) + "]"
    return json.dumps(part)


# Everything that a plan can say

GRID = {"lat": [40.5, 41.0], "lon": [-74.0, -73.0], "rows": 4, "cols": 5}
PRODUCT = {"age": ["20s", "30s", "40s"], "sex": ["f", "m"], "grade": [1, 2]}
DOMAINS: dict[str, tuple[dict[str, Any], Domain]] = {
    "texts": (LABELS, Domain(["a", "b", "c"], sensitive=["a", "c"])),
    "all": ({"labels": ["a", "b", "c"]}, Domain(["a", "b", "c"])),
    "integers": ({"labels": [30, 10, 20], "sensitive": [10]}, Domain([30, 10, 20], sensitive=[10])),
    "mask": (
        {"labels": ["x", "y", "z"], "sensitive": [False, True, True]},
        Domain(["x", "y", "z"], sensitive=["z", "y"]),
    ),
    "range": ({"range": [-5, 5], "sensitive": [-5, 4]}, Domain(range(-5, 5), sensitive=[-5, 4])),
    "product": (
        {"product": PRODUCT, "sensitive": [{"age": ["30s", "40s"], "sex": "f"}, {"grade": 2}]},
        Domain.product(PRODUCT, sensitive=lambda row: row["grade"] == 2 or (row["age"] != "20s" and row["sex"] == "f")),
    ),
    "grid": (
        {"grid": GRID, "sensitive": [[40.6, -73.9], [41.0, -73.0]]},
        Domain.grid(
            lat=(40.5, 41.0), lon=(-74.0, -73.0), rows=4, cols=5, sensitive=np.eye(20, dtype=bool)[[0, 19]].any(0)
        ),
    ),
    "unprotected": (
        {"range": [0, 4], "sensitive": [], "allow_unprotected": True},
        Domain(range(4), sensitive=[], allow_unprotected=True),
    ),
}


@pytest.mark.parametrize("suffix", ["json", "toml"])
@pytest.mark.parametrize("kind", DOMAINS)
def test_domains(kind: str, suffix: str, tmp_path: Path) -> None:
    said, built = DOMAINS[kind]
    plan = load(tmp_path, suffix, domain=said)
    assert plan.domain.fingerprint == built.fingerprint
    assert plan.fingerprint == plan.mechanism().fingerprint == RandomizedResponse(built, 1.0).fingerprint


def test_fingerprints_tell_plans_apart(tmp_path: Path) -> None:
    changes = [
        {},
        {"epsilon": 1.5},
        {"domain": {"labels": ["a", "b", "c"], "sensitive": ["a"]}},
        {"domain": {"labels": ["a", "b", "d"], "sensitive": ["a"]}},
        *[{"mechanism": said} for said in ({"name": "unary"}, {"name": "unary", "theta": 0.25}, {"name": "hadamard"})],
    ]
    assert len({load(tmp_path, **change).fingerprint for change in changes}) == len(changes)
    assert load(tmp_path, title="another").fingerprint == load(tmp_path).fingerprint


# Domains in files


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ("1 2 -3", [1, 2, -3]),
        ("20.0 21.0", [20, 21]),
        ("01 02", ["01", "02"]),
        ("1 02", ["1", "02"]),
        ("0.5 1.5", ["0.5", "1.5"]),
        ("2026-01-01 2026-01-02", ["2026-01-01", "2026-01-02"]),
        ("true false", ["true", "false"]),
        ("NA DE null", ["NA", "DE", "null"]),
        (f"{2**63} 1", [f"{2**63}", "1"]),
    ],
)
def test_labels_in_a_text_file_are_what_is_written(cells: str, labels: list[Any], tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("label;n\n" + "".join(f"{cell};1\n" for cell in cells.split()))
    found = load(tmp_path, domain={"file": {"path": "labels.csv"}}).domain
    assert found == Domain(labels)
    assert found.table()["value"].tolist() == labels


# What a plan may not say


@each("suffix", ["json", "toml"])
@each(
    "changes, place",
    [
        ({"epsylon": 1.0}, "document.not-valid"),
        ({"domain": {**LABELS, "lables": []}}, "The field lables is unknown in domain."),
        ({"domain": {"grid": {**GRID, "depth": 2}}}, "The field depth is unknown in domain.grid."),
        ({"domain": {"file": {"path": "x.csv", "sheet": 1}}}, "in domain.file."),
        ({"mechanism": {"name": "rr", "theta": 0.5}}, "in mechanism."),
        ({"mechanism": {"name": "olh"}}, "'$.mechanism.name"),
        ({"version": 3}, "'$.version"),
        ({"epsilon": True}, "The field epsilon must be a number, got true or false."),
        ({"domain": {"labels": ["a", True]}}, "The field domain.labels[1] must be a whole number or text"),
        ({"domain": {"product": {"age": "young"}}}, "The field domain.product"),
        ({"mechanism": None}, "mechanism"),
    ],
)
def test_documents_that_name_the_place(changes: dict[str, Any], place: str, suffix: str, tmp_path: Path) -> None:
    message = refused(ParameterError, lambda: load(tmp_path, suffix, **changes))
    assert place in message
    assert str(tmp_path / f"plan.{suffix}") in message


@each(
    "changes, told",
    [
        ({"domain": {}}, "labels, range, number, product, grid, file, got none"),
        ({"domain": {"labels": ["a"], "range": [0, 1]}}, "got labels, range"),
        ({"domain": {"range": [5, 1]}}, "column.empty"),
        ({"domain": {"labels": ["a", 1]}}, "column.not-all-text"),
        ({"domain": {"labels": ["a", "b"], "sensitive": [True]}}, "sensitive.wrong-mask-shape"),
        ({"domain": {"labels": ["a", "b"], "sensitive": [{"age": 1}]}}, "product"),
        ({"domain": {"product": PRODUCT, "sensitive": [{"age": "20s"}, {"sex": "x"}]}}, "pattern 1"),
        ({"domain": {"grid": {**GRID, "rows": 1 << 20, "cols": 1 << 20}}}, "domain.too-large"),
        ({"domain": {"grid": GRID, "sensitive": [[50.0, 0.0]]}}, "sensitive.unknown-labels"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"mechanism": {"name": "unary", "theta": 1.0}}, "theta"),
        ({"mechanism": {"name": "subset", "k": 2}}, "k must be an integer in 1..1"),
        ({"mechanism": {"name": "hashing", "g": 1}}, "g must be"),
        ({"domain": {"labels": ["a", "b"]}, "mechanism": {"name": "unary", "clear_bits": True}}, "clear_bits"),
    ],
)
def test_plans_that_no_mechanism_can_follow(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told in refused(ParameterError, lambda: load(tmp_path, **changes).mechanism())


# The schema and the examples


def test_the_published_schema_is_the_one_that_plans_are_read_by() -> None:
    published = json.loads((ROOT / "docs" / "reference" / "plan.schema.json").read_text(encoding="utf-8"))
    assert published == every_schema()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_every_example_loads(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "[[run]]" in text:
        study = Study.load(path)
        for run in study.document.run:
            assert study.mechanism(run).guarantee.realised <= study.document.epsilon
    elif "[[question]]" in text:
        survey = Questionnaire.load(path).survey()
        assert survey.guarantee.record <= survey.epsilon
    elif "[mechanism]" in text:
        mechanism = Plan.load(path).mechanism()
        assert mechanism.guarantee.realised <= mechanism.epsilon
    else:
        assert read_document(path, DomainDocument).domain.domain(path.parent).size > 1
