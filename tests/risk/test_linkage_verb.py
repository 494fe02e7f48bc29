"""The verb ``risk`` with a table that the attacker knows."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    assert facts["claims"][0]["count"] == 40
    text = " ".join(done("risk", *tables).split())
    assert "20 of the 40 traces have a known user" in text
    assert "person-" not in text + str(facts)
    assert "vary from run" in " ".join(done("risk", *tables[:-2]).split())


def test_a_release_of_a_part_of_the_known_people(tmp_path: Path) -> None:
    """Two people of four, each at two places of their own."""
    for name, people in (("release", (1, 2)), ("known", (1, 2, 3, 4))):
        rows = [f"u{user},p{user}{place}" for user in people for place in (1, 2)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["user,event", *rows]) + "\n")
    facts = told("risk", tmp_path / "release.csv", "--known", tmp_path / "known.csv", "--seed", 1)
    assert (facts["known"], facts["traces"], facts["traces_of_known_users"]) == (4, 2, 2)
    assert facts["success"]["value"] == 1


def test_numbers_of_users_may_be_text_in_one_of_the_tables(tmp_path: Path) -> None:
    users, events = np.repeat(np.arange(8, 20), 3), np.arange(36) // 2
    files = [tmp_path / f"{name}.parquet" for name in ("release", "known", "padded")]
    for path, names in zip(files, (users, users.astype(str), np.char.zfill(users.astype(str), 5)), strict=True):
        pq.write_table(pa.table({"user": names, "event": events}), path)
    for one, other in (files[:2], files[1::-1]):
        facts = told("risk", one, "--known", other, "--seed", 1)
        assert (facts["traces_of_known_users"], facts["success"]["value"]) == (12, 1)
    # These are other names.
    assert "linked-tables.too-few-users" in refusal("risk", files[0], "--known", files[2])


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
    assert run("risk", *tables, "--fail-above", 0.2).exit_code == 1
    if risk < 1:
        assert run("risk", *tables, "--fail-above", risk).exit_code == 0
    done("risk", *tables, "-o", out)
    page, numbers = (out / "risk.html").read_text(), (out / "risk.json").read_text()
    assert "person-" not in page + numbers
    assert "output.exists" in refusal("risk", *tables, "-o", out)


def test_a_gate_passes_no_copy_and_asks_for_the_unit(tmp_path: Path) -> None:
    """All have been at the same five places, in orders of their own."""
    path = tmp_path / "copy.csv"
    orders = list(permutations(range(5)))[:30]
    rows = [f"u{user},p{place},{day}" for user, order in enumerate(orders) for day, place in enumerate(order)]
    path.write_text("\n".join(["user,event,day", *rows]) + "\n")
    both = ["risk", path, "--known", path, "--time", "day", "--seed", 1, "--fail-above", 0.6]
    assert "times.unknown-unit" in refusal(*both)
    for unit in ("d", "order"):
        assert run(*both, "--time-unit", unit).exit_code == 1
        assert told(*both[:-2], "--time-unit", unit)["success"]["value"] == 1
