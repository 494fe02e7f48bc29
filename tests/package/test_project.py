"""What the project says of itself to installers: which Pythons, which locked requirements."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
LOCKED = sorted((ROOT / "requirements").glob("*.txt")) + sorted((ROOT / "bench" / "peers").glob("*.txt"))


@pytest.mark.parametrize("file", LOCKED, ids=lambda file: file.name)
def test_requirements_are_locked_by_hash_and_name_no_host(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
    pinned = [block for block in re.split(r"\n(?=\S)", text) if not block.startswith(("#", "--"))]
    assert len(pinned) >= 2
    for block in pinned:
        assert re.match(r"[\w.\[\]-]+==\S+", block), block[:80]
        assert "--hash=sha256:" in block, block[:80]


def test_what_is_locked_covers_what_is_needed() -> None:
    """Every dependency of the project is pinned in the file that a demo installs, or in the developers'."""
    pinned = {
        file.stem: set(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==", file.read_text(), flags=re.MULTILINE))
        for file in LOCKED
    }
    needs = PROJECT["optional-dependencies"] | SETTINGS["dependency-groups"]
    for group, names in {"run": ("fast", "plot"), "dev": needs}.items():
        extras = [need for name in names for need in needs[name]]
        wanted = {re.match(r"[\w-]+", need)[0] for need in (*PROJECT["dependencies"], *extras)} - {"discreet"}
        assert not wanted - pinned[group]
