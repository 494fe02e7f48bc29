"""``obfuscate`` and ``estimate`` under a personalized plan: from values and secrets to an estimate."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Plan, SeededRandom, estimate_personalized, read_reports
from discreet.mechanisms.personalized import SimulatedTags
from json_rows import columns
from running import done, refusal, told
from table_files import save_table

PLAN = """
epsilon = 2.0
tags = ["home", "work=play"]
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


def test_from_values_and_secrets_to_an_estimate(tmp_path: Path) -> None:
    path, reports, known = tmp_path / "plan.toml", tmp_path / "reports.parquet", tmp_path / "home.csv"
    path.write_text(PLAN)
    known.write_text("label,probability\npark,0.5\ntower,0.5\n")
    users, codes, tags = zip(*SECRETS, strict=True)
    people = {"place": [LABELS[code] for code in CODES], "who": [f"u{user}" for user in USERS]}
    secrets = {"who": [f"u{user}" for user in users], "place": [LABELS[code] for code in codes], "tag": tags}
    values, tagged = save_table(tmp_path / "values.csv", people), save_table(tmp_path / "tags.csv", secrets)
    # Secrets never go in clear by omission.
    for option in ([], ["--user", "who"], ["--tags", tagged]):
        text = refusal("obfuscate", path, values, "--column", "place", *option, "-o", reports)
        assert "tags.missing" in text
    assert not reports.exists()
    command = ["obfuscate", path, values, "--user", "who", "--tags", tagged, "-o", reports]
    assert "every user's own secret values" in done(*command)
    plan = Plan.load(path).personalized()
    assert told(*command, "--seed", 7, "--force")["plan"] == plan.fingerprint
    found = read_reports(reports, Plan.load(path).mechanism())
    replaced = SimulatedTags(plan, users, codes, tags).replaced(plan, CODES, USERS)
    wanted = plan.common.obfuscate_codes(replaced, random=SeededRandom(7))
    assert found.clear.tolist() == wanted.clear.tolist()
    np.testing.assert_array_equal(found.blocks["bits"], wanted.blocks["bits"])

    def same(facts: Any, background: Any) -> None:
        by_python = estimate_personalized(plan, found, method="mle", background=background)
        frequencies = by_python.estimate.frequencies.tolist()
        assert columns(facts)["frequency"] == pytest.approx(frequencies, rel=1e-9, abs=1e-12)
        shares = list(by_python.placeholders.values())
        assert columns(facts, "placeholders")["frequency"] == pytest.approx(shares, rel=1e-9, abs=1e-12)
        assert columns(facts, "placeholders")["tag"] == ["home", "work=play", "others"]
        assert facts["worst_case_l1"] == pytest.approx(by_python.worst_case)

    asked, output = ["estimate", path, reports, "--method", "mle"], tmp_path / "e.json"
    options = ["--background", f"home={known}", "--background", "work=play=drop", "-o", output]
    same(told(*asked, *options), {"home": [0, 0.5, 0, 0.5, 0], "work=play": "drop"})
    same(json.loads(output.read_text()), {"home": [0, 0.5, 0, 0.5, 0], "work=play": "drop"})
    same(told(*asked, "--background", "drop"), "drop")
    assert told(*asked) == told(*asked, "--background", "in-clear")
