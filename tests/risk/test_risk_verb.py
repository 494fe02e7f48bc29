"""The verb ``risk``."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv

from running import done, refusal, run, told

PLACES = [f"place {place}" for place in range(12)]


def write_table(folder: Path, users: int = 40, events: int = 12) -> Path:
    """People with two favourite places each."""
    generator, path = np.random.default_rng(8), folder / "events.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "event", "when"])
        for user in range(users):
            mine = generator.integers(0, 12, 2)
            for time in range(events):
                place = mine[generator.integers(0, 2)] if generator.random() < 0.8 else generator.integers(0, 12)
                rows.writerow([f"person-{user}", PLACES[place], time])
    return path


def write_plan(folder: Path, name: str = "rr", epsilon: float = 2.0) -> Path:
    path = folder / f"{name}.toml"
    labels = ", ".join(f'"{place}"' for place in PLACES)
    path.write_text(f'epsilon = {epsilon}\n[domain]\nlabels = [{labels}]\n[mechanism]\nname = "{name}"\n')
    return path


def test_reports_of_a_plan_and_of_an_epsilon(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    for options in (["--plan", write_plan(tmp_path)], ["--epsilon", 2, "--mechanism", "unary"], ["--epsilon", 1]):
        facts = told("risk", table, *options, "--seed", 3)
        assert facts["success"]["low"] <= facts["identification_at_most"]["value"] < 1
        assert facts["pie_at_least_bits"] <= facts["pie_at_most_bits"]
        assert facts["epsilon_together"] in (pytest.approx(2, abs=1e-3), pytest.approx(1, abs=1e-3))
        assert any("Attribute risk" in sentence for sentence in facts["in_words"])
    assert told("risk", table, "--epsilon", 1, "--reports", 3)["epsilon_together"] == pytest.approx(3, abs=1e-3)


def test_nobody_is_named(tmp_path: Path) -> None:
    table, out = write_table(tmp_path), tmp_path / "out"
    text = done("risk", table, "--epsilon", 4, "-o", out)
    written = (out / "risk.html").read_text() + (out / "risk.json").read_text()
    for word in ("person-", "place 3"):
        assert word not in text + written
    assert written.count("data:image/svg+xml;base64,") == 1
    assert "http" not in written.replace("http://www.w3.org", "")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_users_by_name_go_to_a_file_for_its_owner_alone(ending: str, tmp_path: Path) -> None:
    table, out = write_table(tmp_path), tmp_path / f"users.{ending}"
    with table.open("a") as file:
        file.write("person-alone,place 1,0\n")
    words = ("risk", table, "--attack", "learned", "--seed", 1, "--per-user", out)
    run_of = run(*words, "--json")
    facts = json.loads(run_of.stdout)
    assert "person-" not in run_of.output
    assert out.stat().st_mode & 0o777 == 0o600
    found = (arrow_csv.read_csv(out) if ending == "csv" else pq.read_table(out)).to_pylist()
    assert {one["user"] for one in found} == {f"person-{user}" for user in range(40)}
    assert {(one["events_known"], one["events_attributed"]) for one in found} == {(6, 6)}
    assert sum(one["named"] for one in found) == facts["singled_out"]
    shared = [1 / (one["worst_rank"] - one["best_rank"] + 1) for one in found if one["best_rank"] == 1]
    assert sum(shared) / 40 == pytest.approx(facts["success"]["value"])
    assert all((one["margin"] > 0) == one["named"] for one in found if abs(one["margin"]) > 1e-3)
    before = out.read_bytes()
    assert "output.exists" in refusal(*words)
    assert out.read_bytes() == before
    out.chmod(0o644)
    assert done(*words, "--force").endswith(f"Written: {out}.\n")
    assert out.stat().st_mode & 0o777 == 0o600


def test_names_stay_with_their_users(tmp_path: Path) -> None:
    """Users whose traces say who they are, in whatever order the names come and whoever is left out."""
    table, out = tmp_path / "events.csv", tmp_path / "users.csv"
    lengths = {"zoe": 4, "few": 1, "adam": 6, "mia": 8, "bo": 10}
    rows = [(user, f"at-{user}") for turn in range(10) for user, length in lengths.items() if turn < length]
    table.write_text("user,event\n" + "".join(f"{user},{place}\n" for user, place in rows))
    words = ("risk", table, "--attack", "markov", "--split", "first:1", "--per-user", out)
    done(*words)
    with out.open() as file:
        found = {row["user"]: row for row in csv.DictReader(file)}
    assert {user: int(row["events_attributed"]) for user, row in found.items()} == {
        user: length - 1 for user, length in lengths.items() if user != "few"
    }
    assert {row["margin"] for row in found.values()} == {""}
    assert "--per-user is for events as they are" in refusal(*words[:2], "--epsilon", 1, "--per-user", "other.csv")
    assert "does not go with --known" in refusal(*words[:2], "--known", table, "--per-user", "other.csv")


def test_an_alert_asks_the_upper_limit_of_the_strongest_attack(tmp_path: Path) -> None:
    """What was measured may be below the limit while the risk, with that confidence, is not."""
    table = write_table(tmp_path)
    facts = told("risk", table, "--seed", 1)
    assert facts["attack"] == facts["attacks_tried"][0]["attack"]
    assert {one["attack"] for one in facts["attacks_tried"]} >= {"markov", "learned", "jointly", "event"}
    value, high = facts["success"]["value"], facts["success"]["high"]
    assert facts["risk"] == high > value
    assert "learns" in facts["attacker"] or "Markov" in facts["attacker"]
    assert (facts["seed"], facts["limit"], facts["verdict"]) == (1, None, None)
    gated = run("risk", table, "--seed", 1, "--fail-above", high + 1e-9, "--json")
    assert json.loads(gated.stdout)["verdict"] == "within the limit"
    chosen = told("risk", table, "--attack", "markov")
    assert chosen["success"]["value"] <= value
    assert chosen["risk"] is None
    assert "risk" not in done("risk", table, "--attack", "markov")
    assert run("risk", table, "--seed", 1, "--fail-above", (value + high) / 2).exit_code == 1
    assert run("risk", table, "--seed", 1, "--fail-above", high + 1e-9).exit_code == 0
    text = " ".join(done("risk", table, "--seed", 1, "-o", tmp_path / "out").split())
    assert "Attacks tried: " in text
    assert "How often each attack identifies the right user" in (tmp_path / "out" / "risk.html").read_text()


def test_defences_are_ranked(tmp_path: Path) -> None:
    table, plan = write_table(tmp_path), write_plan(tmp_path, epsilon=1.0)
    given = ["risk", "compare", "--traces", table, "--time", "when", "--time-unit", "order", plan, "--seed", 1]
    asked = [*given, "--defences", "first:1/99, rare:2, event=7-digits,when=*,rare:2+first:1/2"]
    facts = told(*asked)
    risks = {one["name"]: one["risk"] for one in facts["defences"]}
    assert list(risks.values()) == sorted(risks.values())
    assert {*risks} == {
        *("events as they are", "first event of each user", "first 99 events of each user"),
        *("without events of fewer than 2 users", "event: 7-digits", "no when", str(plan)),
        "without events of fewer than 2 users + first event of each user",
        "without events of fewer than 2 users + first 2 events of each user",
    }
    text = " ".join(done(*asked).split())
    assert "first 99 events of each user" in facts["in_words"][0]
    assert facts["in_words"][0] in text
    assert "person-" not in text
    above = run(*asked, "--fail-above", 0.2)
    assert above.exit_code == 1
    assert f"of {len(risks)} ways to release the traces" in above.stderr
    assert "defence.none" in refusal(*[word for word in given if word != plan])
