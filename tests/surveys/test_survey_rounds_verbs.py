"""Verbs on surveys with rounds: people and rounds in, reports that know their round and estimates of each out."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from running import done, refusal, told

PEOPLE = 600
MONTHS = ("2027-01", "2027-02", "2027-03")


def document(folder, rounds='number = 3\nhow = "memo"\nfirst = 1.5'):
    path = folder / "survey.toml"
    path.write_text(
        f"""version = 2
epsilon = 2.0
promise = "record"
[attributes.age]
labels = ["<18", "18-64", "65+"]
[attributes.sick]
labels = ["no", "yes"]
[rounds]
{rounds}
""",
        encoding="utf-8",
    )
    facts = told("survey", "plan", path, "--users", PEOPLE, "-o", folder / "full.toml")
    return folder / "full.toml", facts


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("rounds") / "people.csv"
    lines = [
        f"p{who},{month},{['<18', '18-64', '65+'][who % 3]},{'yes' if who % 10 < 3 else 'no'},{'ns'[who % 2]}"
        for month in MONTHS
        for who in range(PEOPLE)
    ]
    path.write_text("\n".join(["who,month,age,sick,region", *lines]), encoding="utf-8")
    return path


def test_reports_know_their_round_and_nobody_else(table, tmp_path):
    plan, _ = document(tmp_path)
    columns = ("--user", "who", "--round", "month")
    facts = told("survey", "obfuscate", plan, table, "-o", tmp_path / "r", *columns, "--keep", "region", "--seed", 1)
    assert sum(facts["reports"].values()) == facts["answers"] == 3 * PEOPLE
    for name in ("age", "sick"):
        reports = pq.read_table(tmp_path / "r" / f"{name}.parquet")
        assert reports.column_names[-2:] == ["region", "round"]
        assert "who" not in reports.column_names
        count = facts["reports"][name] // 3
        assert reports["round"].to_pylist() == [month for month in MONTHS for _ in range(count)]
        assert (
            len({tuple(reports["region"].to_pylist()[start : start + count]) for start in (0, count, 2 * count)}) == 1
        )
        by = told("survey", "estimate", plan, tmp_path / "r" / f"{name}.parquet", "--by", "round")["questions"][name]
        assert [group["round"] for group in by["groups"]] == [*MONTHS]
    whole = told("survey", "estimate", plan, tmp_path / "r", "--by", "round", "--statement")
    assert {name: len(part["groups"]) for name, part in whole["questions"].items()} == {"age": 3, "sick": 3}
    whole_groups = told("survey", "estimate", plan, tmp_path / "r", "--by", "round")["questions"]["age"]["groups"]
    # Reports of three rounds are not as many people's: no estimate of all has an error that is known.
    assert not any("overall" in part for part in (by, *whole["questions"].values()))
    # What a person's three permanent reports tell, and not what three people's would.
    assert whole["publication"]["epsilon"] is None
    for verb in ("estimate", "tally", "seal"):
        more = () if verb == "estimate" else ("-o", tmp_path / "out")
        again = "rounds.pooled"
        assert again in refusal("survey", verb, plan, tmp_path / "r", *more)
        one = ("-o", tmp_path / f"out{'.tally' * (verb == 'tally')}.parquet") if more else ()
        assert again in refusal("survey", verb, plan, tmp_path / "r", *one, "--question", "age")
        if verb != "tally":
            assert again in refusal("survey", verb, plan, tmp_path / "r", *one, "--question", "age", "--trust-plan")
    alone = told("survey", "estimate", plan, tmp_path / "r", "--question", "age", "--by", "round")
    assert alone["groups"] == whole_groups
    assert "overall" not in alone


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "rounds.without-columns"),
        (("--user", "who"), "rounds.without-columns"),
        (("--user", "age", "--round", "month"), "keep.secret"),
        (("--user", "who", "--round", "who"), "keep.not-names"),
        (("--user", "who", "--round", "nothing"), "column.unknown-name"),
        (("--user", "who", "--round", "region"), "person.twice-in-round"),
        (("--user", "region", "--round", "month"), "person.twice-in-round"),
    ],
)
def test_what_rounds_have_no_use_for_is_refused_and_nothing_is_written(options, words, table, tmp_path):
    plan, _ = document(tmp_path)
    assert words in refusal("survey", "obfuscate", plan, table, "-o", tmp_path / "r", *options)
    assert not (tmp_path / "r").exists() or not [*(tmp_path / "r").iterdir()]


def test_a_plan_has_ways_to_ask_in_rounds_side_by_side(tmp_path):
    plan, facts = document(tmp_path)
    ways = [(row["how"], row["first"], row["answers"]) for row in facts["rounds"]]
    assert ways == [("fresh", None, 3), ("rotate", None, 1), ("memo", 1.0, 3), ("memo", 1.8, 3), ("memo", None, 3)]
    errors = [row["error_in_units_of_one_survey"] for row in facts["rounds"]]
    assert errors == sorted(errors, reverse=True)
    assert errors[1] == pytest.approx(3)
    assert errors[-1] == pytest.approx(1)
    for row in facts["rounds"]:
        curve = row["epsilon_of_1_2_3_all_rounds"]
        assert curve == sorted(curve)
        assert curve[-1] <= 2
        assert row["first"] is None or curve[0] <= row["first"]
    text = " ".join(done("survey", "plan", plan, "--users", PEOPLE, "--rounds", 12).split())
    assert "Schedules of 12 rounds" in text
    assert text.count("Changes are hidden only if") == 1


def test_verify_states_what_rounds_tell(tmp_path):
    plan, _ = document(tmp_path)
    facts = told("survey", "verify", plan)
    assert facts["holds"]
    assert facts["record"] == 2.0
    curve = [row["epsilon"] for row in facts["rounds"]]
    assert curve == sorted(curve)
    assert curve[0] == pytest.approx(1.5)
    assert curve[-1] < 2
    assert "Changes are hidden only if" in " ".join(done("survey", "verify", plan).split())
    assert np.allclose(curve, [1.5, 1.9473530252739841, 1.9955873314607302])
