"""A block law outside the tree: it joins by an entry point, and passes the contract suite."""

import os
import re
import shutil
import subprocess
import sys
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet import Domain, RandomizedResponse, SeededRandom
from discreet.device.protocol.sampler import Sampler
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS, description_of
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.registry import GROUP, Registry
from refusals import refused

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "own_law"
PLAN = '{"epsilon": 1.0, "domain": {"labels": ["a", "b", "c", "d"]}, "mechanism": {"name": "%s"}}'

STUDY = """
epsilon = 1.0
methods = ["linear"]
show = "linear"
data = { path = "people.csv" }
run = [{ protect = "all", mechanism = { name = "rr" } }, { protect = "all", mechanism = { name = "exclusion" } }]
"""
SURVEY = """
version = 2
epsilon = 1.0
attributes.answer.labels = ["a", "b", "c", "d"]
question = [{ attributes = ["answer"], share = 1.0, epsilon = 1.0, mechanism = { name = "exclusion" } }]
"""


def run(*command: object, folder: Path, places: list[Path]) -> str:
    path = os.pathsep.join(map(str, [*places, ROOT / "src"]))
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_example_package_joins_and_keeps_every_promise(tmp_path: Path) -> None:
    install = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target")
    package = shutil.copytree(PACKAGE, tmp_path / "own_law", ignore=shutil.ignore_patterns("__pycache__"))
    run(*install, tmp_path / "site", package, folder=tmp_path, places=[])
    site = [tmp_path / "site"]
    tests = run("-m", "pytest", package, folder=package, places=site)
    assert re.search(r"\d+ passed", tests)
    (tmp_path / "plan.json").write_text(PLAN % "exclusion")
    (tmp_path / "values.csv").write_text("value\n" + "\n".join("abcd" * 50) + "\n")
    (tmp_path / "people.csv").write_text("label,count,sensitive\na,100,true\nb,200,true\nc,300,true\nd,400,true\n")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "survey.toml").write_text(SURVEY)
    told = run("-c", OPERATED, folder=tmp_path, places=site)
    assert '"n": 200' in told
    assert re.search(r'"mechanism": "exclusion",\s+"epsilon_promised"', told)
    assert told.splitlines()[-2] == "exclusion"
    assert told.endswith("True\n")


OPERATED = """
import discreet as dc
from discreet.cli import main
for words in (
    "obfuscate plan.json values.csv -o reports.parquet",
    "estimate plan.json reports.parquet --json",
    "plan plan.json --epsilon 1 --users 99 --json",
    "simulate study.toml --seed 1 --json",
):
    main(words.split(), standalone_mode=False)
plan = dc.Plan.load("plan.json")
print(*(question.mechanism.name for question in dc.Questionnaire.load("survey.toml").survey().questions))
print(dc.Plan.of(plan.mechanism()).save("again.toml").fingerprint == plan.fingerprint)
"""


def entry(name: str, made: Any) -> Any:
    return SimpleNamespace(name=name, value=f"elsewhere:{name}", load=lambda: made)


class Elsewhere(RandomizedResponse):
    name = "elsewhere"


def points(monkeypatch: pytest.MonkeyPatch, *given: Any) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: given if group == GROUP else ())


def test_one_from_elsewhere_stands_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    points(monkeypatch, entry("elsewhere", Elsewhere))
    joined = Registry([RandomizedResponse])
    assert list(joined) == ["rr", "elsewhere"]
    assert joined["elsewhere"](Domain(range(3)), 1.0).epsilon == 1.0
    assert "nowhere" not in joined


class OddSymbols(Singletons):
    kind = "odd symbols"


class Odd(RandomizedResponse):
    name = "odd"
    laws = (OddSymbols,)

    @cached_property
    def law(self) -> OddSymbols:
        return OddSymbols(self.domain.sensitive_count)


def test_a_law_from_elsewhere_is_made_again_from_its_description(monkeypatch: pytest.MonkeyPatch) -> None:
    points(monkeypatch, entry("odd", Odd))
    mechanism, joined = Odd(Domain(range(7), sensitive=[2, 3]), 1.0), Registry([RandomizedResponse])
    assert joined.law_of(description_of(mechanism.law)) == mechanism.law
    assert type(joined.law_of({"law": "odd symbols", "size": 2})) is OddSymbols
    assert type(joined.law_of({"law": "singletons", "size": 2})) is Singletons
    assert "block-law.unknown" in refused(ParameterError, lambda: joined.law_of({"law": "even symbols", "size": 2}))
    monkeypatch.setitem(vars(BLOCK_MECHANISMS), "joined", {"odd": Odd})
    sampler = Sampler.parse(Sampler.of(mechanism).document())
    assert sampler.realised == mechanism.guarantee.realised
    assert len(sampler.record(2, SeededRandom(1))) == 2


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("other", Elsewhere),
        ("elsewhere", 5),
        ("elsewhere", Elsewhere(Domain(range(3)), 1.0)),
        ("rr", RandomizedResponse),
    ],
)
def test_what_is_no_mechanism_of_its_name_is_refused(name: str, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    points(monkeypatch, entry(name, made))
    assert repr(name) in refused(ParameterError, lambda: list(Registry([RandomizedResponse])))


def test_one_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> Any:
        raise ImportError("No module named 'elsewhere'")

    points(monkeypatch, SimpleNamespace(name="broken", value="elsewhere:Broken", load=load))
    registry = Registry([RandomizedResponse])
    message = refused(ParameterError, lambda: registry["nowhere"])
    assert "'broken'" in message
    assert "cannot be loaded" in message
    assert registry["rr"] is RandomizedResponse
