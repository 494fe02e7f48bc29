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


def test_both_risks_are_in_the_table(domain: Path) -> None:
    text = done("risk", "plan", domain, "--identification-error", 0.97, "--users", 1000, "--epsilon", 2)
    for word in ("epsilon", "together", "error >=", "PIE (bits)", "hashing, best g", "Use ", "does not make the other"):
        assert word in text
    assert "no attribute privacy at all" in text
    free = done("risk", "plan", domain, "--identification-error", 0.95, "--users", 1000)
    assert "no limit on epsilon" in free
    assert "Nothing is recommended without a limit" in free


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


def test_several_reports_need_fresh_noise_and_large_epsilons_are_told_in_odds(tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    path.write_text("[domain]\nrange = [0, 50]\n")
    run = ("risk", "plan", path, "--identification-error", 0.5, "--users", 1000, "--epsilon", 8)
    once = " ".join(done(*run).split())
    assert "fresh" not in once
    assert once.count("At the largest epsilon: In odds: those of a protected value may grow by a factor of") == 1
    several = " ".join(done(*run, "--reports-per-user", 4).split())
    assert "identification and PIE for 4 reports of a user hold if noise is fresh in each report" in several
