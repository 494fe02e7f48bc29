"""``obfuscate``, ``estimate`` and ``verify`` under personalized plans: a simulation from end to end."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Plan, SeededRandom, estimate_personalized, read_reports
from discreet.mechanisms.personalized import SimulatedTags
from json_rows import columns
from running import done, refusal, told

PLAN = """
epsilon = 2.0
{placeholders}
[domain]
labels = ["clinic", "park", "street", "tower", "harbour"]
sensitive = ["clinic"]
[mechanism]
name = "unary"
"""
LABELS = ["clinic", "park", "street", "tower", "harbour"]
RANDOM = np.random.default_rng(5)
CODES, USERS = RANDOM.choice(5, 800, p=[0.1, 0.3, 0.3, 0.2, 0.1]), RANDOM.integers(0, 100, 800)
SECRETS = [(user, 1 + user % 4, ["home", "work=play"][user % 2]) for user in range(0, 100, 3)]


class Folder:
    def __init__(self, path: Path, placeholders: str = 'tags = ["home", "work=play"]') -> None:
        self.path = path
        self.plan, self.values, self.tags, self.reports = (
            path / name for name in ("plan.toml", "values.csv", "tags.csv", "reports.parquet")
        )
        self.plan.write_text(PLAN.format(placeholders=placeholders))
        rows = [f"{LABELS[code]},u{user}" for code, user in zip(CODES, USERS, strict=True)]
        self.values.write_text("place,who\n" + "\n".join(rows) + "\n")
        self.write_tags([f"u{user},{LABELS[code]},{tag}" for user, code, tag in SECRETS])

    def write_tags(self, rows: list[str]) -> None:
        self.tags.write_text("who,place,tag\n" + "\n".join(rows) + "\n")

    @property
    def command(self) -> list[object]:
        return ["obfuscate", self.plan, self.values, "--user", "who", "--tags", self.tags, "-o", self.reports]

    def obfuscated(self) -> Any:
        done(*self.command, "--seed", 7, "--force")
        return read_reports(self.reports, Plan.load(self.plan).mechanism())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_obfuscate_replaces_every_users_secrets(folder: Folder) -> None:
    plan = Plan.load(folder.plan).personalized()
    tags = SimulatedTags(plan, [s[0] for s in SECRETS], [s[1] for s in SECRETS], [s[2] for s in SECRETS])
    wanted = plan.obfuscate_users(CODES, USERS, tags, random=SeededRandom(7))
    found = folder.obfuscated()
    assert found.clear.tolist() == wanted.clear.tolist()
    np.testing.assert_array_equal(found.blocks["bits"], wanted.blocks["bits"])
    text = done(*folder.command, "--force")
    assert "every user's own secret values" in text
    assert told(*folder.command, "--force")["plan"] == plan.fingerprint


def test_estimate_is_the_estimator(folder: Folder) -> None:
    reports, plan = folder.obfuscated(), Plan.load(folder.plan)
    known = folder.path / "home.csv"
    known.write_text("label,probability\npark,0.5\ntower,0.5\n")
    background = {"home": [0, 0.5, 0, 0.5, 0], "work=play": "drop"}
    wanted = estimate_personalized(plan.personalized(), reports, method="mle", background=background)
    command = ["estimate", folder.plan, folder.reports, "--method", "mle"]
    facts = told(
        *command, "--background", f"home={known}", "--background", "work=play=drop", "-o", folder.path / "e.json"
    )
    assert columns(facts)["frequency"] == pytest.approx(wanted.estimate.frequencies.tolist(), rel=1e-9, abs=1e-12)
    assert columns(facts)["value"] == LABELS
    assert columns(facts, "placeholders")["tag"] == ["home", "work=play", "others"]
    shares = list(wanted.placeholders.values())
    assert columns(facts, "placeholders")["frequency"] == pytest.approx(shares, rel=1e-9, abs=1e-12)
    assert facts["worst_case_l1"] == pytest.approx(wanted.worst_case)
    assert columns(json.loads((folder.path / "e.json").read_text())) == columns(facts)
    assert columns(told(*command, "--background", "drop"))["frequency"] == pytest.approx(
        estimate_personalized(
            plan.personalized(), reports, method="mle", background="drop"
        ).estimate.frequencies.tolist()
    )
    assert told(*command) == told(*command, "--background", "in-clear")


@pytest.mark.parametrize("option", [[], ["--user", "who"], ["--tags", "tags.csv"]])
def test_secrets_never_go_in_clear_by_omission(folder: Folder, option: list[str]) -> None:
    text = refusal("obfuscate", folder.plan, folder.values, "--column", "place", *option, "-o", folder.reports)
    assert "secrets would be sent in clear" in text
    assert not folder.reports.exists()
