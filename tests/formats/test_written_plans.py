"""Plans that are written: whole, of the mechanism that was meant, and only where their files can be found again."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import BlockDesign, Plan, PooledHashing
from discreet.errors import OutputExistsError, ParameterError
from discreet.formats.plan import write_plan
from discreet.mechanisms import LawMechanism
from packing import each
from refusals import refused

DOMAINS = {
    "labels": 'labels = ["a\\u007f", "b \\"c\\"", "ç漢\\n"]\nsensitive = ["ç漢\\n"]',
    "range": "range = [0, 9]\nsensitive = [3, 4]",
    "product": 'product = { sex = ["f", "m"], "age group" = [1, 2, 3] }\nsensitive = [{ sex = "f" }]',
    "grid": "grid = { lat = [1.5, 2.0], lon = [-7e-5, 3.0], rows = 2, cols = 3 }",
}
MECHANISMS = {
    "default": lambda domain: dc.SubsetSelection(domain, 1.5),
    "theta": lambda domain: dc.UnaryEncoding(domain, 0.3, theta=0.5),
    "design": lambda domain: BlockDesign(domain, 2, sensitive_mass=0.25),
    "pool": lambda domain: PooledHashing(domain, 1.0, functions=64),
}


@each("ending", ["toml", "json"])
@each("kind", DOMAINS)
@each("name", MECHANISMS)
def test_a_written_plan_is_that_of_the_mechanism(tmp_path: Path, kind: str, name: str, ending: str) -> None:
    source, target = tmp_path / "domain.toml", tmp_path / f"plan.{ending}"
    source.write_text(f'title = "Ä \\u007f"\nsensitive_mass = 0.5\n[domain]\n{DOMAINS[kind]}\n')
    domain = Plan.load(_plan(tmp_path, DOMAINS[kind])).domain
    if name == "design" and not domain.clear_count:
        return
    mechanism: Any = MECHANISMS[name](domain)
    written = write_plan(target, source, mechanism)
    assert written.fingerprint == Plan.load(target).fingerprint == mechanism.fingerprint
    assert written.document.title == "Ä \x7f"
    read = tomllib.loads(target.read_text()) if ending == "toml" else json.loads(target.read_text())
    assert "sensitive_mass" not in read
    assert read["mechanism"]["name"] == mechanism.name


def _plan(folder: Path, domain: str) -> Path:
    path = folder / "other.toml"
    path.write_text(f'epsilon = 1.0\n[domain]\n{domain}\n[mechanism]\nname = "rr"\n')
    return path


def test_a_personalized_plan_keeps_its_tags(tmp_path: Path) -> None:
    source = tmp_path / "source.toml"
    source.write_text(
        'epsilon = 1.0\ntags = ["home", "work"]\nothers = false\n[domain]\nlabels = ["a", "b"]\nsensitive = ["a"]\n'
        '[mechanism]\nname = "rr"\n'
    )
    extended = Plan.load(source).mechanism().domain
    written = write_plan(tmp_path / "new.toml", source, dc.UnaryEncoding(extended, 1.0))
    assert written.is_personalized
    assert (written.document.tags, written.document.others) == (["home", "work"], False)


def test_files_of_labels_are_found_from_where_the_plan_is(tmp_path: Path) -> None:
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "labels.csv").write_text("label\na\nb\nc\n")
    source = tmp_path / "inputs" / "domain.toml"
    source.write_text('[domain]\nfile = { path = "labels.csv" }\n')
    mechanism = dc.RandomizedResponse(dc.Domain(["a", "b", "c"]), 1.0)
    above = write_plan(tmp_path / "plan.toml", source, mechanism)
    assert above.document.domain.file is not None
    assert above.document.domain.file.path == "inputs/labels.csv"
    beside = tmp_path / "inputs" / "below"
    beside.mkdir()
    with pytest.raises(ParameterError, match="labels"):
        write_plan(beside / "plan.toml", source, mechanism)
    assert not list(beside.iterdir())
    assert write_plan(beside / "plan.toml", source, mechanism, allow_outside=True).fingerprint == mechanism.fingerprint


def test_nothing_is_written_of_a_mechanism_over_another_domain_or_over_a_file(tmp_path: Path) -> None:
    source, target = _plan(tmp_path, DOMAINS["range"]), tmp_path / "plan.toml"
    with pytest.raises(ParameterError, match=r"mechanism.other-domain"):
        write_plan(target, source, dc.RandomizedResponse(dc.Domain(range(9)), 1.0))
    assert not target.exists()
    mechanism = dc.RandomizedResponse(Plan.load(source).domain, 1.0)
    target.write_text("mine")
    with pytest.raises(OutputExistsError):
        write_plan(target, source, mechanism)
    assert target.read_text() == "mine"
    write_plan(target, source, mechanism, force=True)
    assert Plan.load(target).fingerprint == mechanism.fingerprint


# Plans of mechanisms


BUILT = {
    "texts": dc.Domain(["a\x7f", 'b "c"', "ç漢\n", "true"], sensitive=["ç漢\n", "true"]),
    "all sensitive": dc.Domain(["yes", "no"]),
    "nothing sensitive": dc.Domain(["yes", "no"], sensitive=[], allow_unprotected=True),
    "integers": dc.Domain([5, 3, -1, 1 << 60], sensitive=[3, 1 << 60]),
    "ones and zeros": dc.Domain([1, 0], sensitive=[1]),
    "range": dc.Domain(range(-3, 7), sensitive=[-3, 6]),
    "product": dc.Domain.product(
        {"sex": ["f", "m"], "age group": [1, 2, 3], "last": ["x", "y"]},
        sensitive=[{"sex": "f", "age group": 2}, {"last": "y"}],
    ),
    "one by one": dc.Domain.product({"a": range(3), "b": ["x", "y", "z"]}, sensitive=[True, False, False] * 3),
    "grid": dc.Domain.grid(lat=(1.5, 2.0), lon=(-7e-5, 3.0), rows=5, cols=4, sensitive=np.arange(20) % 3 == 0),
}


@each("ending", ["toml", "json"])
@each("kind", BUILT)
@each("name", MECHANISMS)
def test_the_plan_of_a_mechanism_is_read_back(tmp_path: Path, kind: str, name: str, ending: str) -> None:
    domain = BUILT[kind]
    if name != "default" and domain.sensitive_count < 2:
        return
    if name == "design" and not domain.clear_count:
        return
    mechanism: Any = MECHANISMS[name](domain) if domain.sensitive_count else dc.RandomizedResponse(domain, 1.0)
    plan = Plan.of(mechanism, title="Ä")
    saved = plan.save(tmp_path / f"plan.{ending}")
    assert saved.fingerprint == plan.fingerprint == mechanism.fingerprint
    assert saved.document == plan.document
    assert saved.mechanism() == mechanism
    again = Plan.load(tmp_path / f"plan.{ending}").save(tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_text() == (tmp_path / f"plan.{ending}").read_text()
    assert again.document == plan.document


def test_a_saved_plan_replaces_nothing_and_finds_its_files(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("label,sensitive\na,true\nb,false\n")
    source = tmp_path / "plan.toml"
    file = 'file = { path = "labels.csv", sensitive = "sensitive" }'
    source.write_text(f'epsilon = 1.0\n[domain]\n{file}\n[mechanism]\nname = "rr"\n')
    plan = Plan.load(source)
    refused(OutputExistsError, lambda: plan.save(source))
    (tmp_path / "below").mkdir()
    outside = refused(ParameterError, lambda: plan.save(tmp_path / "below" / "plan.toml"))
    assert "path.outside" in outside
    assert not list((tmp_path / "below").iterdir())
    moved = Plan.load(source, allow_outside=True).save(tmp_path / "below" / "plan.toml")
    assert moved.fingerprint == plan.fingerprint
    assert plan.save(source, force=True).fingerprint == plan.fingerprint
    assert "must end in .toml or .json" in refused(ParameterError, lambda: plan.save(tmp_path / "plan.yaml"))
    assert "output.remote" in refused(ParameterError, lambda: plan.save("s3://bucket/plan.toml"))


def test_mechanisms_that_no_plan_names() -> None:
    domain = dc.Domain(range(4))
    by_law = LawMechanism(domain, 1.0, dc.RandomizedResponse(domain, 1.0).law)
    over_cells = dc.Personalized.cells(BUILT["grid"], 1.0, rows=1, cols=2)
    with_bots = dc.RandomizedResponse(domain.with_placeholders(["home"]), 1.0)
    for mechanism in (with_bots, dc.Channel([[0.5, 0.5], [0.4, 0.6]]), by_law, over_cells):
        refused(ParameterError, lambda mechanism=mechanism: Plan.of(mechanism))
    huge = dc.Domain(range(3_000_000), sensitive=np.arange(3_000_000) > 0)
    assert "domain.file" in refused(ParameterError, lambda: Plan.of(dc.RandomizedResponse(huge, 1.0)))
    assert len(Plan.of(dc.RandomizedResponse(dc.Domain(range(3_000_000)), 1.0)).document.domain.range or ()) == 2
