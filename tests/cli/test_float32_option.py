"""The option --float32, and the note on numbers that were float32."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packing import each
from running import run

NOTE = "were float32 before they were float64"
NUMBERS = "number = { low = 0, high = 1, bins = 10 }\nsensitive = [[0.7, 1]]\n"
SEVENS = np.full(40, 0.7, np.float32)


def plan(name: str, domain: str) -> str:
    """Write a plan, and return its name."""
    Path(name).write_text(f'epsilon = 2.0\n[domain]\n{domain}[mechanism]\nname = "rr"\n')
    return name


def tables() -> None:
    """Write people with 0.7 as float32, and widened to float64, in Parquet and in text."""
    widened = SEVENS.astype(np.float64)
    pq.write_table(pa.table({"score": SEVENS}), "narrow.parquet")
    pq.write_table(pa.table({"score": widened}), "wide.parquet")
    Path("wide.csv").write_text("score\n" + "\n".join(map(repr, widened.tolist())))


def in_clear(table: str, *options: str) -> tuple[int, str]:
    """Return how many reports of a table are in clear, and what was printed."""
    result = run("obfuscate", plan("plan.toml", NUMBERS), table, "-o", "reports.parquet", "--force", *options)
    assert result.exit_code == 0, result.output
    clear = pq.read_table("reports.parquet")["clear"]
    return len(clear) - clear.null_count, result.output


@each("table", ["narrow.parquet", "wide.parquet", "wide.csv"])
def test_nobody_with_a_sensitive_float32_goes_in_clear(
    table: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    tables()
    count, printed = in_clear(table)
    assert [NOTE in printed, "--float32" in printed, count > 0] == ["wide" in table] * 3
    assert in_clear(table, "--float32")[0] == 0
    if table != "narrow.parquet":
        assert NOTE not in in_clear(table, "--float32")[1]


def test_the_option_is_refused_where_it_does_nothing_or_would_lose_something(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("score\n0.1\n0.25\n")
    result = run("obfuscate", plan("plan.toml", NUMBERS), "people.csv", "-o", "reports.parquet", "--float32")
    assert (result.exit_code, "1 of 2 values are not float32" in result.output) == (2, True)
    labels = plan("labels.toml", 'labels = ["a", "b"]\nsensitive = ["a"]\n')
    result = run("obfuscate", labels, "people.csv", "-o", "reports.parquet", "--float32")
    assert (result.exit_code, "option.idle" in result.output) == (2, True)
    assert not Path("reports.parquet").exists()


def test_a_survey_reads_float32_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    tables()
    Path("survey.toml").write_text(
        'version = 2\nepsilon = 2.0\npromise = "record"\n[attributes.score]\n' + NUMBERS + "[ask]\nwant = [['score']]\n"
        "[[question]]\nattributes = ['score']\nshare = 1.0\nepsilon = 2.0\nmechanism = { name = 'rr' }\n"
    )
    for table, options, protected in (("narrow", [], True), ("wide", [], False), ("wide", ["--float32"], True)):
        result = run("survey", "obfuscate", "survey.toml", f"{table}.parquet", "-o", f"{table}{len(options)}", *options)
        assert result.exit_code == 0, result.output
        assert (NOTE in result.output) != protected
        (file,) = Path(f"{table}{len(options)}").iterdir()
        assert (pq.read_table(file)["clear"].null_count == 40) == protected
    for options in ([], ["--float32"]):
        result = run("survey", "simulate", "survey.toml", "wide.parquet", "-o", f"out{len(options)}", *options)
        assert (result.exit_code, NOTE in result.output) == (0, not options), result.output
    found = [json.loads(Path(f"out{many}/score/results.json").read_text()) for many in (0, 1)]
    assert found[0] != found[1]
