"""Plans that are written: whole, of the mechanism that was meant, and only where their files can be found again."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet import BlockDesign, Plan
from discreet.errors import OutputExistsError, ParameterError
from discreet.formats.plan import write_plan
from discreet.mechanisms import BLOCK_MECHANISMS, LawMechanism
from packing import each
from refusals import refused

DOMAINS = {
    "labels": 'labels = ["a\\u007f", "b \\"c\\"", "ç漢\\n"]\nsensitive = ["ç漢\\n"]',
    "range": "range = [0, 9]\nsensitive = [3, 4]",
}
MECHANISMS: dict[str, Callable[[dc.Domain], Any]] = {
    "default": lambda domain: dc.SubsetSelection(domain, 1.5),
    "k": lambda domain: dc.SubsetSelection(domain, 1.25, **({"k": 1} if domain.sensitive_count > 1 else {})),
    "theta": lambda domain: dc.UnaryEncoding(domain, 0.3, theta=0.5),
    "bits": lambda domain: dc.UnaryEncoding(domain, 1.0, clear_bits=domain.clear_count > 0, digits="few"),
    "g": lambda domain: dc.LocalHashing(domain, 1.0, g=7),
    "columns": lambda domain: dc.HadamardResponse(domain, 1.0),
    "design": lambda domain: BlockDesign(domain, 2, sensitive_mass=0.25),
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


WRITERS: dict[str, Any] = {
    "save": lambda source, target, **how: Plan.load(source, allow_outside=True).save(target, **how),
    "write_plan": lambda source, target, allow_outside=False, **how: write_plan(
        target, source, Plan.load(source, allow_outside=True).mechanism(), allow_outside=allow_outside, **how
    ),
}


@each("write", WRITERS.values())
def test_a_plan_replaces_nothing_and_its_files_are_found_from_where_it_is(write: Any, tmp_path: Path) -> None:
    (tmp_path / "inputs" / "below").mkdir(parents=True)
    (tmp_path / "inputs" / "labels.csv").write_text("label,sensitive\na,true\nb,false\n")
    source = tmp_path / "inputs" / "plan.toml"
    file = 'file = { path = "labels.csv", sensitive = "sensitive" }'
    source.write_text(f'epsilon = 1.0\n[domain]\n{file}\n[mechanism]\nname = "rr"\n')
    plan, before = Plan.load(source), source.read_text()
    above = write(source, tmp_path / "plan.toml")
    assert (above.fingerprint, above.document.domain.file.path) == (plan.fingerprint, "inputs/labels.csv")
    refused(OutputExistsError, lambda: write(source, source))
    assert source.read_text() == before
    assert write(source, source, force=True).fingerprint == plan.fingerprint
    assert "must end in .toml or .json" in refused(ParameterError, lambda: write(source, tmp_path / "plan.yaml"))
    assert "output.remote" in refused(ParameterError, lambda: write(source, "s3://bucket/plan.toml"))


def test_nothing_is_written_of_a_mechanism_over_another_domain_or_where_files_are_not_found(tmp_path: Path) -> None:
    source, target = _plan(tmp_path, DOMAINS["range"]), tmp_path / "below" / "plan.toml"
    target.parent.mkdir()
    strange = dc.RandomizedResponse(dc.Domain(range(9)), 1.0)
    assert "mechanism.other-domain" in refused(ParameterError, lambda: write_plan(target, source, strange))
    (tmp_path / "labels.csv").write_text("label\na\nb\n")
    plan = Plan.load(_plan(tmp_path, 'file = { path = "labels.csv" }'))
    for write in (lambda: plan.save(target), lambda: write_plan(target, source, plan.mechanism())):
        assert "path.outside" in refused(ParameterError, write)
    assert not target.exists()
    assert write_plan(target, source, plan.mechanism(), allow_outside=True).fingerprint == plan.fingerprint


def test_mechanisms_that_no_plan_names() -> None:
    domain = dc.Domain(range(4))
    by_law = LawMechanism(domain, 1.0, dc.RandomizedResponse(domain, 1.0).law)
    over_cells = dc.Personalized.cells(BUILT["grid"], 1.0, rows=1, cols=2)
    with_bots = dc.RandomizedResponse(domain.with_placeholders(["home"]), 1.0)
    for mechanism in (with_bots, dc.Channel([[0.5, 0.5], [0.4, 0.6]]), by_law, over_cells):
        refused(ParameterError, lambda mechanism=mechanism: Plan.of(mechanism))
    huge = dc.Domain(range(3_000_000), sensitive=np.arange(3_000_000) > 0)
    assert "plan.too-many-labels" in refused(ParameterError, lambda: Plan.of(dc.RandomizedResponse(huge, 1.0)))
    assert len(Plan.of(dc.RandomizedResponse(dc.Domain(range(3_000_000)), 1.0)).document.domain.range or ()) == 2


@each("name", ["hashing-pool", "paley"])
def test_a_removed_mechanism_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f'epsilon = 1.0\n[domain]\nrange = [0, 9]\n[mechanism]\nname = "{name}"\n')
    message = refused(ParameterError, lambda: Plan.load(path))
    assert "mechanism.removed" in message
    assert name in message
    assert "projective" in message


@each("kind", ["hash pool", "paley"])
def test_a_removed_block_law_is_refused_by_name(kind: str) -> None:
    message = refused(ParameterError, lambda: BLOCK_MECHANISMS.law_of({"law": kind, "size": 4}))
    assert "block-law.removed" in message
    assert kind in message
