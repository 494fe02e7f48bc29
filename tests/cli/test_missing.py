"""Missing values: refused, filled in as the plan says, or left out and counted; and values on standard input."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from discreet import Plan
from discreet.cli import main
from discreet.errors import ParameterError
from refusals import refused
from running import done, refusal, told

PLAN = 'epsilon = 1.0\n[domain]\n{domain}\n[mechanism]\nname = "rr"\n'
LABELS = 'labels = ["a", "b", "none said"]'
PRODUCT = "product = { age = [20, 30, 99], sex = ['f', 'm'] }"


def plan(folder: Path, domain: str, before: str = "") -> Path:
    path = folder / "plan.toml"
    path.write_text(before + PLAN.format(domain=domain))
    return path


def clear(folder: Path, domain: str, table: Path, *options: object) -> tuple[list[int], Any]:
    """Obfuscate under a plan that protects nobody, and return the codes and what was said."""
    path = plan(folder, f"{domain}\nsensitive = []\nallow_unprotected = true")
    output = folder / "r.parquet"
    facts = told("obfuscate", path, table, "-o", output, "--force", *options)
    return pq.read_table(output)["clear"].to_pylist(), facts


def test_rows_without_a_value_are_refused_or_counted(tmp_path: Path) -> None:
    table = tmp_path / "v.csv"
    table.write_text("x\na\n\nb\nNA\n")
    path = plan(tmp_path, LABELS)
    assert "2 of 4 values are missing (first in row 1, line 3)" in refusal(
        "obfuscate", path, table, "-o", tmp_path / "r.jsonl"
    )
    codes, facts = clear(tmp_path, LABELS, table, "--missing", "drop")
    assert (codes, facts["reports"], facts["left_out"]) == ([0, 1], 2, {"have no value": 2})
    text = done("obfuscate", path, table, "-o", tmp_path / "r.jsonl", "--missing", "drop")
    assert "Rows left out that have no value: 2." in text


def test_missing_values_stand_for_a_label(tmp_path: Path) -> None:
    table = tmp_path / "v.csv"
    table.write_text("x\na\n\nb\nNA\n")
    codes, facts = clear(tmp_path, f"{LABELS}\nmissing = 'none said'", table)
    assert (codes, "left_out" in facts) == ([0, 2, 1, 2], False)
    pq.write_table(pa.table({"x": pa.array(["a", None]).dictionary_encode()}), tmp_path / "v.parquet")
    assert clear(tmp_path, f"{LABELS}\nmissing = 'none said'", tmp_path / "v.parquet")[0] == [0, 2]
    pq.write_table(pa.table({"x": [20.0, None, float("nan")]}), tmp_path / "v.parquet")
    assert clear(tmp_path, "labels = [20, 30, 99]\nmissing = 99", tmp_path / "v.parquet")[0] == [0, 2, 2]
    table.write_text("age,sex\n,f\n30,\n20.0,m\n")
    codes, facts = clear(tmp_path, f"{PRODUCT}\nmissing = {{ age = 99 }}", table, "--missing", "drop")
    assert (codes, facts["left_out"]) == ([4, 1], {"have no value": 1})


@pytest.mark.parametrize(
    "domain",
    [
        f"{LABELS}\nmissing = 'other'",
        f"{LABELS}\nmissing = 1",
        f"{LABELS}\nmissing = {{ x = 'a' }}",
        f"{PRODUCT}\nmissing = 99",
        f"{PRODUCT}\nmissing = {{ age = 98 }}",
        f"{PRODUCT}\nmissing = {{ place = 99 }}",
        "range = [0, 9]\nmissing = 9",
        f"range = [0, 9]\nmissing = {2**62}",
        "grid = { lat = [0, 1], lon = [0, 1], rows = 2, cols = 2 }\nmissing = 1",
    ],
)
def test_labels_that_missing_values_cannot_stand_for(domain: str, tmp_path: Path) -> None:
    assert "missing of a plan must be one of the labels" in refused(
        ParameterError, lambda: Plan.load(plan(tmp_path, domain)).mechanism()
    )


def test_users_that_are_missing_are_no_person(tmp_path: Path) -> None:
    path = plan(tmp_path, f"{LABELS}\nsensitive = ['a']", "tags = ['home']\n")
    table, tags = tmp_path / "v.csv", tmp_path / "t.csv"
    table.write_text("who,x\n01,b\n,b\n1,\n")
    tags.write_text("who,x,tag\n")
    verb = ["obfuscate", path, table, "--user", "who", "--tags", tags, "-o", tmp_path / "r.parquet"]
    assert "1 of 3 users are missing (first in row 1, line 3)" in refusal(*verb)
    facts = told(*verb, "--missing", "drop")
    assert (facts["reports"], facts["left_out"]) == (1, {"have no value": 1, "have no user": 1})
    table.write_text("who,x\n01,b\n")
    for row in (",b,home", "01,,home", "01,b,"):
        tags.write_text(f"who,x,tag\n{row}\n")
        refusal(*verb, "--missing", "drop", "--force")


@pytest.mark.parametrize(("text", "form"), [("x\na\nb\n", "CSV"), ('{"x": "a"}\n{"x": "b"}\n', "JSON lines")])
def test_values_on_standard_input(text: str, form: str, tmp_path: Path) -> None:
    verb = ["obfuscate", plan(tmp_path, LABELS), "-", "-o", tmp_path / "r.jsonl", "--force"]
    result = CliRunner().invoke(main, [str(one) for one in verb], input=text)
    assert (result.exit_code, result.stderr) == (0, f"Standard input is read as {form}.\n")
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2
    broken = CliRunner().invoke(main, [str(one) for one in verb], input=text.replace("b", "secret"))
    assert (broken.exit_code, "secret" in broken.stderr) == (2, False)
    assert CliRunner().invoke(main, [str(one) for one in verb], input=b"PAR1").exit_code == 2
    assert "standard input: " in CliRunner().invoke(main, [str(one) for one in verb], input="").stderr
