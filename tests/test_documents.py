"""What the documents say works as they say it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.io.plan import PlanDocument, read_document

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readme_starts_with_its_two_commands() -> None:
    first = re.search(r"```\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == ["make demo", "make test"]


def test_the_example_of_the_readme_runs() -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    found = names["estimate"]
    assert isinstance(found, discreet.Estimate)
    assert abs(found.frequencies - 0.25).max() < 0.1
    assert found.n == 20_000


def test_the_example_of_the_personalized_mechanism_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(ROOT / "docs" / "personalized.md", "python")
    names: dict[str, Any] = {}
    exec(compile(example, "personalized.md", "exec"), names)
    found = names["found"]
    assert found.bots["home"] == pytest.approx(1, abs=0.1)
    assert found.estimate.frequencies[[1, 3]] == pytest.approx([0.6, 0.4], abs=0.1)
    shown = capsys.readouterr().out
    assert shown.startswith("SecretTags(hidden)")
    assert "park" not in shown


def test_plans_in_the_documents_are_plans(tmp_path: Path) -> None:
    (plan,) = blocks(ROOT / "docs" / "formats.md", "toml")
    path = tmp_path / "plan.toml"
    path.write_text(plan, encoding="utf-8")
    assert read_document(path, PlanDocument).domain.domain(tmp_path).size == 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == discreet.__version__
    assert f"version: {discreet.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_public_name_can_be_had() -> None:
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    with pytest.raises(AttributeError):
        _ = discreet.nothing_of_the_kind  # type: ignore[attr-defined]
