"""``risk plan``: both risks, always side by side."""

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.risk.bounds import identification_bounds
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


def test_users_who_are_likelier_than_others_take_a_smaller_epsilon(domain: Path) -> None:
    asked = ("risk", "plan", domain, "--identification-error", 0.95, "--users", 1000)
    alike, likely = (json.loads(done(*asked, *more, "--json")) for more in ([], ["--prior", "zipf:0.5"]))
    found = {one["name"]: one for one in likely["mechanisms"]}
    (before,) = (one for one in alike["mechanisms"] if one["name"] == "rr")
    assert (alike["prior"], likely["prior"]) == (None, "zipf:0.5")
    assert found["rr"]["epsilon_realised"] < before["epsilon_realised"]

    ranks = np.arange(1, 1001) ** -0.5
    mechanism = dc.RandomizedResponse(dc.Domain(range(40)), found["rr"]["epsilon_per_report"])
    bounds = identification_bounds(mechanism, 1000, prior=ranks / ranks.sum())
    assert bounds.error == pytest.approx(found["rr"]["identification_error"], rel=1e-12)
    assert 0.95 - 1e-9 <= bounds.error < 0.951
