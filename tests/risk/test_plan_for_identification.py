"""``risk plan``: both risks, always side by side."""

import json
from pathlib import Path

import pytest

from running import done


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    path = tmp_path / "domain.toml"
    path.write_text("[domain]\nrange = [0, 40]\n")
    return path


def test_facts(domain: Path) -> None:
    asked = ("risk", "plan", domain, "--identification-error", 0.95, "--users", 1000)
    text = done(*asked, "--reports-per-user", 2, "--json")
    facts = json.loads(text)
    assert facts["identification_error"] == 0.95
    assert facts["epsilon_limit"] is None
    for one in facts["mechanisms"]:
        assert one["identification_error"] >= 0.95 - 1e-12
        assert one["epsilon_together"] == pytest.approx(2 * one["epsilon_realised"])
        assert one["identification"]["source"]
