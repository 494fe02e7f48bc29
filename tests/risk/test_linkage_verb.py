"""The verb ``risk`` with a table that the attacker knows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.cli import main
from running import done, refusal, run, told


@pytest.fixture
def tables(tmp_path: Path) -> list[object]:
    """A release of people 20 to 59 and a known table, by other names of columns, of people 0 to 39."""
    generator = np.random.default_rng(4)
    release, known = tmp_path / "release.csv", tmp_path / "known.csv"
    for path, people, head in ((release, range(20, 60), "user,event"), (known, range(40), "name,place")):
        rows = [
            f"person-{who},place {who % 30 if step else generator.integers(30)}" for who in people for step in range(5)
        ]
        path.write_text("\n".join([head, *rows]) + "\n")
    return [release, "--known", known, "--known-user", "name", "--known-event", "place", "--seed", 1]


def test_a_release_beside_a_known_table(tables: list[object]) -> None:
    facts = told("risk", *tables)
    assert (facts["known"], facts["traces"], facts["traces_of_known_users"]) == (40, 40, 20)
    assert facts["success"]["value"] > 0.3
    assert facts["named_by_permuted_names"]["recall"]["value"] < 0.3
    assert facts["named"][0]["named"] == 40
    text = " ".join(done("risk", *tables).split())
    assert "40 traces, 20 of them of the 40 known users" in text
    assert "names permuted" in text
    assert "person-" not in text + str(facts)
    assert "vary from run" in " ".join(done("risk", *tables[:-2]).split())


def test_columns_are_those_of_the_release_unless_named(tables: list[object], tmp_path: Path) -> None:
    same = tmp_path / "same.csv"
    same.write_text(Path(str(tables[2])).read_text().replace("name,place", "user,event", 1))
    assert told("risk", tables[0], "--known", same, "--seed", 1) == told("risk", *tables)
    timed = [tmp_path / name for name in ("a.csv", "b.csv")]
    for path, head in zip(timed, ("user,event,when", "user,event,at"), strict=True):
        rows = [f"{who},{place},{9 - time}" for who in range(9) for time, place in enumerate((who, 1, 2, who))]
        path.write_text("\n".join([head, *rows]) + "\n")
    words = ["risk", timed[0], "--time", "when", "--known", timed[1]]
    assert "no column 'when'" in refusal(*words)
    assert told(*words, "--known-time", "at", "--seed", 1)["known"] == 9
    assert "--known-user names another" in refusal("risk", *tables[:3], "--known-user", "nope")


def test_reports_have_a_bound(tables: list[object], tmp_path: Path) -> None:
    labels = ", ".join(f'"place {place}"' for place in range(30))
    plan = tmp_path / "plan.toml"
    plan.write_text(f'epsilon = 2.0\n[domain]\nlabels = [{labels}]\n[mechanism]\nname = "rr"\n')
    facts = told("risk", *tables, "--plan", plan)
    assert facts["success"]["low"] <= facts["identification_at_most"]["value"] == facts["risk"]
    assert told("risk", *tables, "--epsilon", 2)["risk"] == facts["risk"]
    assert told("risk", *tables, "--plan", plan, "--reports", 3)["risk"] > facts["risk"]
    assert run("risk", *tables, "--plan", plan, "--fail-above", facts["risk"] / 2).exit_code == 1
    assert run("risk", *tables, "--plan", plan, "--fail-above", facts["risk"]).exit_code == 0


def test_an_alert_and_a_page(tables: list[object], tmp_path: Path) -> None:
    risk, out = told("risk", *tables)["risk"], tmp_path / "out"
    found = run("risk", *tables, "--fail-above", 0.2)
    assert found.exit_code == 1
    assert "The identification risk of users in both tables" in found.stderr
    if risk < 1:
        assert run("risk", *tables, "--fail-above", risk).exit_code == 0
    done("risk", *tables, "-o", out)
    page, numbers = (out / "risk.html").read_text(), (out / "risk.json").read_text()
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "person-" not in page + numbers
    assert "exists already" in refusal("risk", *tables, "-o", out)


def test_rows_with_missing_values_are_counted_or_refused(tables: list[object]) -> None:
    for place, name in ((0, "rows_left_out"), (2, "known_rows_left_out")):
        path = Path(str(tables[place]))
        path.write_text(path.read_text() + ",place 3\n")
        assert "missing" in refusal("risk", *tables)
        assert told("risk", *tables, "--missing", "drop")[name] == 1
    assert "Left out of the known table: 1 row in which" in done("risk", *tables, "--missing", "drop")


def test_tables_that_do_not_fit(tables: list[object], tmp_path: Path) -> None:
    numbered, strange, empty = tmp_path / "numbered.parquet", tmp_path / "strange.csv", tmp_path / "empty.csv"
    pq.write_table(pa.table({"name": [1, 1, 2, 2], "place": ["place 1"] * 4}), numbered)
    strange.write_text("name,place\n" + "".join(f"nobody-{row},place 1\n" for row in range(6)))
    empty.write_text("name,place\n")
    for path, said in (
        (numbered, "users are text in the release and integers in what is known; write them alike in both."),
        (strange, "none of the 40 users of the release is among the 6 known"),
        (empty, "at least 2 users must be known and 2 have a trace in the release, got 0 and 40"),
    ):
        assert said in refusal("risk", tables[0], "--known", path, *tables[3:])


@pytest.mark.parametrize(
    "options", [["--split", "all"], ["--least", 3], ["--attack", "markov"], ["--alone"], ["--list", 5]]
)
def test_what_goes_with_one_table_alone_is_refused(options: list[object], tables: list[object]) -> None:
    message = refusal("risk", *tables, *options)
    assert f"{options[0]} does nothing here: with --known" in message


def test_options_of_the_known_table_go_with_it(tables: list[object]) -> None:
    for option in ("--known-user", "--known-event", "--known-time"):
        assert f"{option} goes with --known" in refusal("risk", tables[0], option, "name")
    assert "--known" in [name for one in main.commands["risk"].commands["traces"].params for name in one.opts]
