"""Tables as people have them: answers written in several ways, missing and unknown ones, numbers of narrow types.

Rows that cannot be taken are refused with a count, or counted where an option leaves them out. Nothing that is secret
goes in clear for how it is written or stored.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from discreet import Plan
from discreet.cli import main
from discreet.collector.documents.signing import new_key
from discreet.errors import ParameterError
from packing import each
from refusals import refused
from running import done, flat, refusal, run, told

COMPOSED, APART = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"
LABELS = 'labels = ["a", "b", "none said"]'
PRODUCT = "product = { age = [20, 30, 99], sex = ['f', 'm'] }"
BARE = "\nsensitive = []\nallow_unprotected = true"


def plan(folder: Path, domain: str, head: str = "") -> Path:
    path = folder / "plan.toml"
    text = f'title = "t"\nepsilon = 1.0\n{head}[domain]\n{domain}\n[mechanism]\nname = "rr"\n'
    path.write_text(text, encoding="utf-8")
    return path


def clear(folder: Path, domain: str, table: Path, *options: object) -> tuple[list[int], Any]:
    """Obfuscate under a plan that protects nobody, and return the codes and what was said."""
    asked = ["obfuscate", plan(folder, domain + BARE), table, "-o", folder / "r.parquet", "--force", *options]
    facts = told(*asked)
    return pq.read_table(folder / "r.parquet")["clear"].to_pylist(), facts


# As they read

VALUES = ["krank", "Krank ", "\u00a0KRANK", "gesund", "GRO\u0308SSE", APART]
WRITERS: dict[str, Callable[[Path], object]] = {
    "a.csv": lambda path: path.write_text("\n".join([APART, *VALUES]), encoding="utf-8"),
    "utf-16.csv": lambda path: path.write_text("\n".join(["n\t" + APART, *(f"1\t{v}" for v in VALUES)]), "utf-16"),
    "a.parquet": lambda path: pq.write_table(pa.table({APART: pa.array(VALUES).dictionary_encode()}), path),
    "a.jsonl": lambda path: path.write_text("\n".join(json.dumps({APART: value}) for value in VALUES)),
}


@each("name", WRITERS)
def test_values_are_refused_or_taken_as_they_read_and_counted(name: str, tmp_path: Path) -> None:
    table, domain = tmp_path / name, f'labels = ["gesund", "krank", "{COMPOSED}"]'
    WRITERS[name](table)
    message = refusal("obfuscate", plan(tmp_path, domain), table, "--column", COMPOSED, "-o", tmp_path / "r.parquet")
    assert "3 of 6 values are not in the domain (first in row 1" in message
    assert "With --as-read, 3 of them count" in message
    assert "krank" not in message.lower()
    codes, facts = clear(tmp_path, domain, table, "--column", APART, "--as-read")
    assert codes == [1, 1, 1, 0, 2, 2]
    assert [(read["label"], read["values"]) for read in facts["read_as"]] == [(COMPOSED, 1), ("krank", 2)]
    assert facts["left_out"] == {"count as the label that reads alike": 3}


def test_surveys_take_values_as_they_read(tmp_path: Path) -> None:
    path, table = tmp_path / "survey.toml", tmp_path / "v.csv"
    (tmp_path / "s.toml").write_text(
        'version = 2\nepsilon = 4.0\npromise = "record"\n'
        f'[attributes."{COMPOSED}"]\nlabels = ["klein", "gro\u00df"]\n'
        '[attributes.state]\nlabels = ["gesund", "krank"]\n',
        encoding="utf-8",
    )
    done("survey", "plan", tmp_path / "s.toml", "--users", 1000, "-o", path)
    table.write_text(f"{APART},state\n" + "GROSS,krank\nklein,Krank \n" * 100, encoding="utf-8")
    for verb in (["obfuscate", path, table, "-o", tmp_path / "r"], ["simulate", path, table, "-o", tmp_path / "s"]):
        assert "With --as-read, 200 of them count" in refusal("survey", *verb)
        read = told("survey", *verb, "--as-read")["read_as"]
        assert [(one["label"], one["values"]) for one in read] == [("gro\u00df", 100), ("krank", 100)]


def test_secret_values_are_taken_as_they_read(tmp_path: Path) -> None:
    table, tags = tmp_path / "v.csv", tmp_path / "t.csv"
    table.write_text("who,place\nZo\u00eb,park\nBob,Park\n", encoding="utf-8")
    tags.write_text("who,place,tag\nZoe\u0308 ,PARK,home\n", encoding="utf-8")
    path = plan(tmp_path, 'labels = ["clinic", "park"]\nsensitive = ["clinic"]', 'tags = ["home"]\nothers = false\n')
    asked = ["obfuscate", path, table, "--user", "who", "--tags", tags, "-o", tmp_path / "r.parquet"]
    message = refusal(*asked)
    assert str(tags) in message
    assert "With --as-read, 1 of them count" in message
    assert told(*asked, "--as-read")["read_as"] == [{"attribute": "", "label": "park", "values": 1}]


def test_labels_that_read_alike_are_named_by_what_approves_or_signs_a_plan(tmp_path: Path) -> None:
    exact = 'labels = ["AA", "Aa", "aa", "krank", "Krank"]\nsensitive = ["aa", "krank", "Krank"]\nexact = true'
    new_key(tmp_path / "key.pem")
    terms = "--name genes --purpose p --contact c --answers once --collector https://collect.example.org --lifetime 2"
    signed = [*terms.split(), "--key", tmp_path / "key.pem", "-o", tmp_path / "c.json"]
    vague = plan(tmp_path, exact.removesuffix("\nexact = true"))
    assert "'aa' and 'AA' read alike" in refusal("collection", "sign", vague, *signed)
    path = plan(tmp_path, exact)
    for asked in (["verify", path], ["plan", path, "--users", 1000], ["collection", "sign", path, *signed]):
        text = flat(done(*asked))
        assert "exact: 'AA', 'Aa' and 'aa' read alike" in text
        assert "'krank' and 'Krank' read alike; all are protected" in text
        facts = told(*asked, *["--force"] * ("sign" in asked))
        assert facts["exact"]
        assert [(one["labels"], one["differ"]) for one in facts["alike"]] == [
            (["AA", "Aa", "aa"], True),
            (["krank", "Krank"], False),
        ]


# Missing and unknown


def test_rows_without_a_value_are_refused_counted_or_stand_for_a_label(tmp_path: Path) -> None:
    table, typed = tmp_path / "v.csv", tmp_path / "v.parquet"
    table.write_text("x\na\n\nb\nNA\n")
    path = plan(tmp_path, LABELS)
    message = refusal("obfuscate", path, table, "-o", tmp_path / "r.jsonl")
    assert "2 of 4 values are missing (first in row 1, line 3)" in message
    codes, facts = clear(tmp_path, LABELS, table, "--missing", "drop")
    assert (codes, facts["reports"], facts["left_out"]) == ([0, 1], 2, {"have no value": 2})
    codes, facts = clear(tmp_path, f"{LABELS}\nmissing = 'none said'", table)
    assert (codes, "left_out" in facts) == ([0, 2, 1, 2], False)
    pq.write_table(pa.table({"x": [20.0, None, float("nan")]}), typed)
    assert clear(tmp_path, "labels = [20, 30, 99]\nmissing = 99", typed)[0] == [0, 2, 2]
    table.write_text("age,sex\n,f\n30,\n20.0,m\n")
    codes, facts = clear(tmp_path, f"{PRODUCT}\nmissing = {{ age = 99 }}", table, "--missing", "drop")
    assert (codes, facts["left_out"]) == ([4, 1], {"have no value": 1})


@each(
    "domain",
    [
        f"{LABELS}\nmissing = 'other'",
        f"{LABELS}\nmissing = {{ x = 'a' }}",
        f"{PRODUCT}\nmissing = 99",
        f"{PRODUCT}\nmissing = {{ age = 98 }}",
        f"{PRODUCT}\nmissing = {{ place = 99 }}",
        "range = [0, 9]\nmissing = 9",
        "grid = { lat = [0, 1], lon = [0, 1], rows = 2, cols = 2 }\nmissing = 1",
    ],
)
def test_labels_that_missing_values_cannot_stand_for(domain: str, tmp_path: Path) -> None:
    message = refused(ParameterError, lambda: Plan.load(plan(tmp_path, domain)).mechanism())
    assert "[missing.not-" in message


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
    verb = ["obfuscate", str(plan(tmp_path, LABELS)), "-", "-o", str(tmp_path / "r.jsonl"), "--force"]
    result = CliRunner().invoke(main, verb, input=text)
    assert (result.exit_code, result.stderr) == (0, f"Standard input is read as {form}.\n")
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2
    broken = CliRunner().invoke(main, verb, input=text.replace("b", "secret"))
    assert (broken.exit_code, "secret" in broken.stderr) == (2, False)
    assert CliRunner().invoke(main, verb, input=b"PAR1").exit_code == 2
    assert "standard input: " in CliRunner().invoke(main, verb, input="").stderr


# Numbers that were float32

NOTE = "were float32 before they became float64"
NUMBERS = "number = { low = 0, high = 1, bins = 10 }\nsensitive = [[0.7, 1]]\n"


def sevens(folder: Path) -> None:
    """Write people with 0.7 as float32, and widened to float64, in Parquet and in text."""
    narrow = np.full(40, 0.7, np.float32)
    pq.write_table(pa.table({"score": narrow}), folder / "narrow.parquet")
    pq.write_table(pa.table({"score": narrow.astype(np.float64)}), folder / "wide.parquet")
    (folder / "wide.csv").write_text("score\n" + "\n".join(map(repr, narrow.astype(np.float64).tolist())))


@each("table", ["narrow.parquet", "wide.parquet", "wide.csv"])
def test_nobody_with_a_sensitive_float32_goes_in_clear(table: str, tmp_path: Path) -> None:
    sevens(tmp_path)

    def obfuscated(*options: str) -> tuple[int, str]:
        words = ["obfuscate", plan(tmp_path, NUMBERS), tmp_path / table, "-o", tmp_path / "r.parquet", "--force"]
        result = run(*words, *options)
        assert result.exit_code == 0, result.output
        column = pq.read_table(tmp_path / "r.parquet")["clear"]
        return len(column) - column.null_count, result.output

    count, printed = obfuscated()
    assert [NOTE in printed, "--float32" in printed, count > 0] == ["wide" in table] * 3
    count, printed = obfuscated("--float32")
    assert (count, NOTE in printed and table != "narrow.parquet") == (0, False)


def test_float32_is_refused_where_it_does_nothing_or_would_lose_something(tmp_path: Path) -> None:
    people, reports = tmp_path / "people.csv", tmp_path / "r.parquet"
    people.write_text("score\n0.1\n0.25\n")
    message = refusal("obfuscate", plan(tmp_path, NUMBERS), people, "-o", reports, "--float32")
    assert "1 of 2 values are not float32" in message
    assert "option.idle" in refusal("obfuscate", plan(tmp_path, LABELS), people, "-o", reports, "--float32")
    assert not reports.exists()


def test_a_survey_reads_float32_too(tmp_path: Path) -> None:
    sevens(tmp_path)
    survey = tmp_path / "survey.toml"
    survey.write_text(
        'version = 2\nepsilon = 2.0\npromise = "record"\n[attributes.score]\n' + NUMBERS + "[ask]\nwant = [['score']]\n"
        "[[question]]\nattributes = ['score']\nshare = 1.0\nepsilon = 2.0\nmechanism = { name = 'rr' }\n"
    )
    for options in ([], ["--float32"]):
        folder = tmp_path / f"r{len(options)}"
        result = run("survey", "obfuscate", survey, tmp_path / "wide.parquet", "-o", folder, *options)
        (file,) = folder.iterdir()
        assert (NOTE in result.output, pq.read_table(file)["clear"].null_count == 40) == (not options, bool(options))
        result = run("survey", "simulate", survey, tmp_path / "wide.parquet", "-o", f"{folder}s", *options)
        assert (result.exit_code, NOTE in result.output) == (0, not options), result.output
