"""``obfuscate``, ``estimate`` and ``verify`` under personalized plans: a simulation from end to end."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.random import SeededRandom
from discreet.estimators.tags import estimate_personalized
from discreet.formats.plan import Plan
from discreet.formats.reports import read_reports
from discreet.mechanisms.personalized import SimulatedTags
from json_rows import columns
from running import done, refusal, run, told

PLAN = """
epsilon = 2.0
{bots}
[domain]
labels = ["clinic", "park", "street", "tower", "harbour"]
sensitive = ["clinic"]
[mechanism]
name = "unary"
"""
MAP = PLAN.replace('labels = ["clinic", "park", "street", "tower", "harbour"]\nsensitive = ["clinic"]', "{grid}")
LABELS = ["clinic", "park", "street", "tower", "harbour"]
RANDOM = np.random.default_rng(5)
CODES, USERS = RANDOM.choice(5, 800, p=[0.1, 0.3, 0.3, 0.2, 0.1]), RANDOM.integers(0, 100, 800)
SECRETS = [(user, 1 + user % 4, ["home", "work=play"][user % 2]) for user in range(0, 100, 3)]


class Folder:
    def __init__(self, path: Path, bots: str = 'tags = ["home", "work=play"]') -> None:
        self.path = path
        self.plan, self.values, self.tags, self.reports = (
            path / name for name in ("plan.toml", "values.csv", "tags.csv", "reports.parquet")
        )
        self.plan.write_text(PLAN.format(bots=bots))
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
    assert columns(facts, "bots")["tag"] == ["home", "work=play", "others"]
    assert columns(facts, "bots")["frequency"] == pytest.approx(list(wanted.bots.values()), rel=1e-9, abs=1e-12)
    assert facts["worst_case_l1"] == pytest.approx(wanted.worst_case)
    assert columns(json.loads((folder.path / "e.json").read_text())) == columns(facts)
    assert columns(told(*command, "--background", "drop"))["frequency"] == pytest.approx(
        estimate_personalized(
            plan.personalized(), reports, method="mle", background="drop"
        ).estimate.frequencies.tolist()
    )
    assert told(*command) == told(*command, "--background", "in-clear")


def test_cells_need_no_tags(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    grid = "grid = { lat = [0, 4], lon = [0, 4], rows = 4, cols = 4 }\nsensitive = [[0.5, 0.5]]"
    folder.plan.write_text(MAP.format(bots="cells = { rows = 2, cols = 2 }", grid=grid))
    codes = RANDOM.integers(0, 16, 800)
    places = {"lat": codes // 4 + 0.5, "lon": codes % 4 + 0.5, "who": USERS}
    folder.values, folder.tags = tmp_path / "values.parquet", tmp_path / "tags.parquet"
    pq.write_table(pa.table(places), folder.values)
    pq.write_table(pa.table({"lat": [1.5, 3.5], "lon": [1.5, 2.5], "who": [3, 4]}), folder.tags)
    plan = Plan.load(folder.plan).personalized()
    wanted = plan.obfuscate_users(codes, USERS, SimulatedTags(plan, [3, 4], [5, 14]), random=SeededRandom(7))
    assert folder.obfuscated().clear.tolist() == wanted.clear.tolist()
    facts = told("estimate", folder.plan, folder.reports)
    assert columns(facts, "bots")["tag"] == list(plan.tags)


@pytest.mark.parametrize("option", [[], ["--user", "who"], ["--tags", "tags.csv"]])
def test_secrets_never_go_in_clear_by_omission(folder: Folder, option: list[str]) -> None:
    text = refusal("obfuscate", folder.plan, folder.values, "--column", "place", *option, "-o", folder.reports)
    assert "secrets would go in clear" in text
    assert not folder.reports.exists()


def test_plans_that_are_not_personalized(folder: Folder) -> None:
    folder.plan.write_text(PLAN.format(bots=""))
    assert "personalized plans" in refusal(*folder.command)
    done("obfuscate", folder.plan, folder.values, "--column", "place", "-o", folder.reports)
    assert "personalized plans" in refusal("estimate", folder.plan, folder.reports, "--background", "drop")
    assert "bots" not in told("estimate", folder.plan, folder.reports)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["u1,park,home", "u2,street,zanzibar"], "1 of 2 rows have a tag that is not in the plan (first at row 1)"),
        (["u1,park,home", "u2,zanzibar,home"], "1 of 2 values are not in the domain"),
        (["u1,park,home", "u1,park,others"], "1 carry another"),
        (["u1,park,home", "u2,street,"], "not in the plan"),
    ],
)
def test_bad_tags_are_not_quoted(folder: Folder, rows: list[str], said: str) -> None:
    folder.write_tags(rows)
    text = refusal(*folder.command)
    assert said in text
    assert str(folder.tags) in text
    assert "zanzibar" not in text
    assert not folder.reports.exists()


def test_a_secret_that_is_sensitive_for_everybody_is_noted(folder: Folder) -> None:
    folder.write_tags(["u1,clinic,home", "u2,park,home"])
    result = run(*folder.command)
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: ")
    assert "as protected as before" in result.stderr
    known = folder.path / "home.csv"
    known.write_text("label,probability\nclinic,0.5\ntower,0.5\n")
    result = run("estimate", folder.plan, folder.reports, "--background", f"home={known}", "--json")
    assert result.stderr.startswith("Note: 0.5 of the background of 'home'")
    assert json.loads(result.stdout)["n"] == 800
