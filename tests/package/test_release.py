"""A release: one version everywhere, parts and origins of what was built, workflows for what pyproject.toml says."""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
release: Any = __import__("release")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROJECT_VERSION = release.version()


def workflow(name: str) -> Any:
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))


def test_the_version_is_that_of_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert release.states(write=False) == []
    for name in (*release.STATED, "src/discreet/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace('__version__ = "', '__version__ = "9.'), encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    assert release.states(write=True) == [*release.STATED]
    assert all(f"9.{PROJECT_VERSION}" in (tmp_path / name).read_text(encoding="utf-8") for name in release.STATED)
    assert release.states(write=False) == []


def test_documents_install_from_where_the_packages_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert release.installs(write=False) == []
    for path in [*release.documents(), ROOT / "pyproject.toml"]:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        copy.write_text(text.replace("published = false", "published = true"), encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    assert {"README.md", "js/README.md", "docs/reference/releases.md"} <= set(release.installs(write=True))
    assert "pip install 'discreet[serve]'" in (tmp_path / "docs/reference/releases.md").read_text(encoding="utf-8")
    assert release.installs(write=False) == []


def test_other_recipes_need_what_the_project_needs() -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["fast"]]
    assert recipe["requirements"]["run"] == [
        f"python {PROJECT['requires-python']}",
        *(re.sub(r"(?=[<>])", " ", need, count=1) for need in wanted),
    ]


def test_workflows_try_every_python_and_system_and_targets_that_are_there() -> None:
    jobs = workflow("ci")["jobs"]
    matrix = jobs["pythons"]["strategy"]["matrix"]
    assert matrix["python"] == [n.rpartition(" ")[2] for n in PROJECT["classifiers"] if "Python :: 3." in n]
    assert {system.partition("-")[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    steps = [step for name in ("ci", "release") for job in workflow(name)["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert {"make lowest", "make release", ".ci/run"} <= set(commands)
    assert {word[5:] for word in commands if word.startswith("make ")} <= targets
    for path in " ".join(commands).split():
        assert not path.startswith(("tests/", "requirements/", "deploy/")) or (ROOT / path).exists(), path
    # Whoever may publish is said job by job, and only there.
    assert workflow("release")["permissions"] == {}
    assert workflow("ci")["permissions"] == {"contents": "read"}
