"""The verb ``risk``."""

import csv
import json
import re
import shlex
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv

from discreet import __version__
from discreet.risk.attacks import traces as attacks
from discreet.risk.attacks.traces import ATTACKS
from discreet.risk.pages import CHANCES_HEADING
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


def test_traces_as_they_are(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    facts = told("risk", table, "--time", "when", "--seed", 1)
    assert facts["users"] == 40
    assert facts["identification_at_most"] is None
    assert facts["success"]["value"] > 5 / 40
    assert 0 <= facts["pie_at_least_bits"] <= np.log2(40)
    assert facts["pie_at_most_bits"] is None
    assert facts["consistent"] is True
    text = done("risk", table, "--time", "when", "--split", "all")
    assert "nothing limits what a better attack finds" in " ".join(text.split())
    assert "figures vary from run to run; --seed repeats them." in text
    assert "vary from run" not in done("risk", table, "--time", "when", "--split", "all", "--seed", 1)


def test_reports_of_a_plan_and_of_an_epsilon(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    for options in (["--plan", write_plan(tmp_path)], ["--epsilon", 2, "--mechanism", "unary"], ["--epsilon", 1]):
        facts = told("risk", table, *options, "--seed", 3)
        assert facts["success"]["low"] <= facts["identification_at_most"]["value"] < 1
        assert facts["pie_at_least_bits"] <= facts["pie_at_most_bits"]
        assert facts["epsilon_together"] in (pytest.approx(2, abs=1e-3), pytest.approx(1, abs=1e-3))
        assert any("Attribute risk" in sentence for sentence in facts["in_words"])
    assert told("risk", table, "--epsilon", 1, "--reports", 3)["epsilon_together"] == pytest.approx(3, abs=1e-3)


@pytest.mark.parametrize("options", [[], ["--time", "when"], ["--epsilon", 2], ["--split", "first:3", "--least", 9]])
def test_a_folder_is_one_table(options: list[object], tmp_path: Path) -> None:
    path, folder = write_table(tmp_path), tmp_path / "events"
    whole = told("risk", path, *options, "--seed", 1)
    (folder / "later").mkdir(parents=True)
    table = arrow_csv.read_csv(path)
    pq.write_table(table.slice(0, 100), folder / "a.parquet")
    arrow_csv.write_csv(table.slice(100, 150), folder / "b.csv")
    pq.write_table(table.slice(250), folder / "later" / "c.parquet", row_group_size=30)
    assert told("risk", folder, *options, "--seed", 1) == whole
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert told("risk", *files, *options, "--seed", 1) == whole


def test_a_plan_takes_a_folder_too(tmp_path: Path) -> None:
    path, folder = write_table(tmp_path), tmp_path / "events"
    folder.mkdir()
    pq.write_table(arrow_csv.read_csv(path), folder / "a.parquet", row_group_size=30)
    options = ["--plan", write_plan(tmp_path), "--seed", 1]
    assert told("risk", folder, *options) == told("risk", path, *options)
    (folder / "b.csv").write_text("user,event,when\nperson-1,nowhere,5\nperson-2,place 3,6\n")
    message = refusal("risk", folder, *options)
    assert "b.csv: 1 of 2 values are not in the domain (first at row 0, line 2)" in message
    assert "nowhere" not in message


def test_nobody_is_named(tmp_path: Path) -> None:
    table, out = write_table(tmp_path), tmp_path / "out"
    text = done("risk", table, "--epsilon", 4, "-o", out)
    written = (out / "risk.html").read_text() + (out / "risk.json").read_text()
    for word in ("person-", "place 3"):
        assert word not in text + written
    assert written.count("data:image/svg+xml;base64,") == 3
    assert "http" not in written.replace("http://www.w3.org", "")


def test_long_work_says_how_long_and_of_what_its_figures_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_table(tmp_path, users=90)
    short = run("risk", table, "--attack", "markov", "--seed", 1)
    assert short.stderr == ""
    assert "random sample" not in short.stdout
    monkeypatch.setattr(attacks, "_SECONDS_PER_ADDITION", 0.1)
    long = run("risk", table, "--attack", "markov", "--seed", 1, "--json")
    assert re.fullmatch(r"Comparing .* of 90 users, .* takes about 200 seconds of a processor\.\n", long.stderr)
    facts = json.loads(long.stdout)
    (tried,) = facts["attacks_tried"]
    assert tried["traces"] == 90 > tried["success"]["trials"] == facts["success"]["trials"]
    assert any("random sample" in sentence for sentence in facts["in_words"])
    assert facts["users"] == 90


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
    assert "exists already" in refusal(*words)
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


def test_evidence_says_of_what_and_how_it_was_made(tmp_path: Path) -> None:
    table, out, plan = write_table(tmp_path), tmp_path / "out", write_plan(tmp_path)
    with table.open("a") as file:
        file.write(",place 1,0\n")
    words = ["risk", table, "--missing", "drop", "--seed", 1, "--fail-above", 0.001, "-o", out]
    facts = json.loads(run(*words, "--json").stdout)
    saved = json.loads((out / "risk.json").read_text())
    assert saved["evidence"] == facts["evidence"]
    files = [{"file": str(table), "bytes": table.stat().st_size, "sha256": sha256(table.read_bytes()).hexdigest()}]
    assert facts["evidence"] == {
        "command": shlex.join(["discreet", "risk", "traces", *map(str, words[1:]), "--json"]),
        "version": __version__,
        "rows_read": 481,
        "files": files,
    }
    page = (out / "risk.html").read_text()
    assert all(
        word in page for word in (files[0]["sha256"], "Rows read: 481; left out: 1.", "above the limit of 0.001")
    )
    assert "left out: 1 row in which" in " ".join(facts["conditions"])
    assert ("Each user is assumed" in page) == (len(facts["attacks_tried"]) == 3)
    alone = told("risk", table, "--missing", "drop", "--alone")["conditions"]
    assert not any("Each user is assumed" in condition for condition in alone)
    reports = json.loads(done("risk", table, "--missing", "drop", "--plan", plan, "--json"))
    assert [one["file"] for one in reports["evidence"]["files"]] == [str(table), str(plan)]
    assert "The bounds hold for every attack, on average over users." in reports["conditions"]


def test_an_alert_has_an_exit_code(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    high = run("risk", table, "--split", "all", "--fail-above", 0.05)
    assert high.exit_code == 1
    assert re.fullmatch(r"The identification risk, [\d.e-]+ \([^)]+\), is above 0\.05\.\n", high.stderr)
    assert run("risk", table, "--epsilon", 0.1, "--fail-above", 0.5).exit_code == 0


def test_an_alert_asks_the_upper_limit_of_the_strongest_attack(tmp_path: Path) -> None:
    """What was measured may be below the limit while the risk, with that confidence, is not."""
    table = write_table(tmp_path)
    facts = told("risk", table, "--seed", 1)
    assert facts["attack"] == facts["attacks_tried"][0]["attack"]
    assert {one["attack"] for one in facts["attacks_tried"]} == set(ATTACKS)
    value, high = facts["success"]["value"], facts["success"]["high"]
    assert facts["risk"] == high > value
    assert "learns" in facts["attacker"] or "Markov" in facts["attacker"]
    assert (facts["seed"], facts["limit"], facts["verdict"]) == (1, None, None)
    gated = run("risk", table, "--seed", 1, "--fail-above", high + 1e-9, "--json")
    assert json.loads(gated.stdout)["verdict"] == "within the limit"
    assert told("risk", table, "--attack", "markov")["success"]["value"] <= value
    assert run("risk", table, "--seed", 1, "--fail-above", (value + high) / 2).exit_code == 1
    assert run("risk", table, "--seed", 1, "--fail-above", high + 1e-9).exit_code == 0
    text = " ".join(done("risk", table, "--seed", 1, "-o", tmp_path / "out").split())
    assert "Right user named, by each attack" in text
    assert "How often each attack names the right user" in (tmp_path / "out" / "risk.html").read_text()


def test_plans_are_ranked_by_their_risk(tmp_path: Path) -> None:
    plans = [write_plan(tmp_path, name, epsilon) for name, epsilon in (("unary", 5.0), ("rr", 0.5), ("hashing", 2.0))]
    facts = told("risk", "compare", *plans, "--users", 1000)
    risks = [plan["identification"]["value"] for plan in facts["plans"]]
    assert risks == sorted(risks)
    assert facts["plans"][0]["mechanism"] == "rr"
    text = done("risk", "compare", *plans, "--users", 1000)
    assert "two risks are different things" in text
    assert "noise is fresh" not in text
    several = " ".join(done("risk", "compare", *plans, "--users", 1000, "--reports", 3).split())
    assert "identification and PIE for 3 reports of a user hold if noise is fresh in each report" in several


def test_some_users_are_likelier_than_others(tmp_path: Path) -> None:
    """The likeliest of three users is named blindly with probability 6/11 under Zipf's law, 1/2 by the table."""
    plan, table, few = write_plan(tmp_path, "rr", 5.0), tmp_path / "who.csv", tmp_path / "few.csv"
    table.write_text("user,weight\nu,1\nv,2\nw,1\n")
    few.write_text("weight\n1\n0\n")
    words = ("risk", "compare", plan, "--users", 3)
    for prior, guessed in (("zipf:0", 1 / 3), ("zipf:1", 6 / 11), (table, 0.5)):
        facts = told(*words, "--prior", prior)
        assert facts["guessed"] == pytest.approx(guessed)
        assert facts["plans"][0]["identification"]["value"] > guessed
    assert "0.5455 without any report" in done(*words, "--prior", "zipf:1")
    even = told(*words)
    assert {**told(*words, "--prior", "zipf:0"), "prior": None} == even
    assert even["entropy_bits"] == pytest.approx(1.584963)
    for wrong in ("zipf:", "zipf:-1", "zipf:nan"):
        assert "--prior zipf:S needs a number S of at least 0" in refusal(*words, "--prior", wrong)
    assert "one probability for each of 3 users" in refusal(*words, "--prior", few)
    few.write_text("weight\n1\n-1\n2\n")
    assert "weights must be finite numbers of at least 0" in refusal(*words, "--prior", few)
    few.write_text("share\n1\n")
    assert "no column 'weight'" in refusal(*words, "--prior", few)


def test_a_plan_without_noise_is_compared(tmp_path: Path) -> None:
    """Few values hide many users as they are [PIE, Prop. 9], and the table says that epsilon has no limit."""
    open_plan = tmp_path / "open.toml"
    open_plan.write_text(
        'epsilon = 1.0\n[domain]\nlabels = ["a", "b", "c", "d", "e"]\nsensitive = []\nallow_unprotected = true\n'
        '[mechanism]\nname = "rr"\n'
    )
    facts = told("risk", "compare", write_plan(tmp_path, "rr", 0.5), open_plan, "--users", 100_000_000)
    bare = facts["plans"][-1]
    assert bare["identification"]["value"] == pytest.approx(5e-8)
    assert bare["told_in_clear"] == 1
    assert "inf" in done("risk", "compare", open_plan, "--users", 100_000_000)


def test_what_cannot_be_assessed_is_refused(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    assert "no column 'who'" in refusal("risk", table, "--user", "who")
    assert "--split must be" in refusal("risk", table, "--split", "third")
    assert "--split must be" in refusal("risk", table, "--split", "first:0")
    assert "attack must be" in refusal("risk", table, "--attack", "oracle")
    assert "--mechanism must be" in refusal("risk", table, "--epsilon", 1, "--mechanism", "translates")
    assert "give one of the two" in refusal("risk", table, "--epsilon", 1, "--plan", write_plan(tmp_path))
    assert "lower --least" in refusal("risk", table, "--least", 1000)
    assert "--users must say" in refusal("risk", "compare", write_plan(tmp_path))
    assert "does not exist" in refusal("risk", tmp_path / "none.csv")
    for wrong in (["risk", table, table, "--score", "when"], ["risk", table, "--users", 5]):
        assert run(*wrong).exit_code == 2


def test_probabilities_of_the_right_user_are_in_text_json_and_page(tmp_path: Path) -> None:
    """Whoever has a place of their own is named."""
    table, out = tmp_path / "events.csv", tmp_path / "out"
    rows = [f"person-{user},place {min(user, 30)}" for user in range(60) for _ in range(4)]
    table.write_text("\n".join(["user,event", *rows]) + "\n")
    asked = ["risk", table, "--attack", "learned", "--seed", 1]
    groups = told(*asked)["by_probability_of_the_right_user"]
    assert sum(one["share"]["value"] for one in groups) == pytest.approx(1)
    text = " ".join(done(*asked, "-o", out).split())
    assert CHANCES_HEADING in text
    assert CHANCES_HEADING in (out / "risk.html").read_text()


def test_defences_are_ranked_in_text_json_and_page(tmp_path: Path) -> None:
    table, plan, out = write_table(tmp_path), write_plan(tmp_path, epsilon=1.0), tmp_path / "out"
    given = ["risk", "compare", "--traces", table, "--time", "when", plan, "--seed", 1]
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
    assert facts["defences"][-1]["places"][1] == len(risks)
    text = " ".join(done(*asked, "-o", out).split())
    page = (out / "risk.html").read_text()
    assert "first 99 events of each user" in facts["in_words"][0]
    for words in (facts["in_words"][0], "Least identification risk first; 40 users"):
        assert words in text
        assert words in page
    numbers = json.loads((out / "risk.json").read_text())
    assert numbers["defences"] == facts["defences"]
    assert numbers["evidence"]["files"][1]["sha256"] == sha256(plan.read_bytes()).hexdigest()
    assert "person-" not in text + page
    above = run(*asked, "--fail-above", 0.2)
    assert above.exit_code == 1
    assert f"of {len(risks)} ways to release the traces" in above.stderr


def test_defences_that_cannot_be(tmp_path: Path) -> None:
    given = ["risk", "compare", "--traces", write_table(tmp_path)]
    for wrong in (
        "rarer:5",
        "first:",
        "first:1/-2",
        "first:²",
        "rare:" + "9" * 5000,
        "when=*",
        "",
        "event=7+",
        "first",
    ):
        message = refusal(*given, "--defences", wrong or " ")
        assert "a defence must be first:K, rare:N, a plan, or COLUMN=STEP" in message
    assert "--event or --time, event or -; got 'when=*'." in refusal(*given, "--defences", "when=*")
    assert "count must be" in refusal(*given, "--defences", "first:0")
    personal = tmp_path / "personal.toml"
    personal.write_text(
        'epsilon = 2.0\ntags = ["a"]\n[domain]\nlabels = ["x", "y"]\nsensitive = ["x"]\n[mechanism]\nname = "rr"\n'
    )
    assert "is personalized" in refusal(*given, personal, "--defences", "first:1")
    assert "12 of 12 different events are not in its domain" in refusal(
        *given, write_plan(tmp_path), "--event", "when", "--defences", "first:1"
    )
