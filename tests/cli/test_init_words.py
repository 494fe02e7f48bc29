"""Plans from tables in which people write one answer in several ways: protection spreads to all of them."""

import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet import Plan
from discreet.tables.spellings import joined_counts
from running import done, refusal, told
from table_files import save_table

STATES = {"gesund": 180, "krank": 60, "Krank": 60, "krank ": 60}
GENES = {"AA": 50, "Aa": 50, "aa": 50}


def table(folder: Path, column: dict[str, int], name: str = "t.csv", **others: list[str]) -> Path:
    texts = [text for text, rows in column.items() for _ in range(rows)]
    return save_table(folder / name, {"x": texts, **others})


def proposed(source: Path, *options: object, column: str = "x") -> tuple[Plan, dict[str, Any]]:
    output = source.parent / "plan.toml"
    facts = told("init", source, "--column", column, "--epsilon", 1, "-o", output, "--force", *options)
    return Plan.load(output), facts


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_protection_spreads_to_labels_that_read_alike(tmp_path: Path, name: str) -> None:
    source = table(tmp_path, STATES, name)
    plan, facts = proposed(source, "--sensitive", "krank")
    assert plan.domain.names() == ["Krank", "gesund", "krank"]
    assert plan.domain.sensitive.tolist() == [True, False, True]
    assert not plan.domain.exact
    assert facts["also_sensitive"] == {"x": ["Krank"]}
    assert [group["labels"] for group in facts["alike"]] == [["Krank", "krank"]]
    (column,) = facts["columns"]
    assert (column["read_rows"], column["other_rows"]) == (60, 0)
    text = " ".join(
        done("init", source, "--column", "x", "--sensitive", "krank", "--epsilon", 1, "-o", tmp_path / "a.toml").split()
    )
    assert "Also protected in x, because they read like a protected label: 'Krank'." in text
    assert "--merge makes one label of labels that read alike; --exact treats" in text
    assert "60 of 360 rows write a label of x differently; obfuscate --as-read reads them as the label." in text


@pytest.mark.parametrize("options", [[], ["--merge"], ["--exact"]])
def test_the_commands_that_are_proposed_run_and_report_nothing_protected_in_clear(
    tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    source = table(tmp_path, STATES)
    text = done("init", source, "--column", "x", "--sensitive", "krank", "--epsilon", 1, "-o", "plan.toml", *options)
    commands = [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  discreet ")]
    for command in commands:
        done(*command)
    domain = Plan.load("plan.toml").domain
    clear = pq.read_table("reports.parquet")["clear"].drop_null().to_pylist()
    named = {domain.names()[code] for code in clear}
    assert named == ({"gesund", "Krank", "krank "} if options == ["--exact"] else {"gesund"})


def test_merge_makes_one_label_and_exact_keeps_all_apart(tmp_path: Path) -> None:
    plan, facts = proposed(table(tmp_path, STATES), "--sensitive", "Krank", "--merge")
    assert (plan.domain.names(), plan.domain.sensitive.tolist()) == (["gesund", "krank"], [False, True])
    assert facts["columns"][0]["read_rows"] == 120
    assert "alike" not in facts
    plan, facts = proposed(table(tmp_path, STATES), "--sensitive", "Krank", "--exact")
    assert plan.domain.names() == ["Krank", "gesund", "krank", "krank "]
    assert plan.domain.sensitive.tolist() == [True, False, False, False]
    assert plan.document.domain.exact
    assert facts["columns"][0]["read_rows"] == 0
    assert "also_sensitive" not in facts
    refused = refusal("init", table(tmp_path, GENES), "--column", "x", "--sensitive", "aA", "--epsilon", 1, "--exact")
    assert "must name labels" in refused


def test_what_few_rows_hold_is_counted_and_not_named(tmp_path: Path) -> None:
    source = table(tmp_path, {"gesund": 60, "krank": 30, "KRANK": 4, "kranc": 3})
    text = done("init", source, "--column", "x", "--sensitive", "krank", "--epsilon", 1, "-o", tmp_path / "a.toml")
    assert "4 of 97 rows write a label of x differently" in " ".join(text.split())
    assert "KRANK" not in text
    assert "kranc" not in text
    assert "3 of 97 rows hold 1 other values of x" in " ".join(text.split())
    # Joined they are held by enough rows.
    plan, _ = proposed(table(tmp_path, {"gesund": 60, "krank": 12, "krank ": 12}), "--sensitive", "krank")
    assert plan.domain.names() == ["gesund", "krank"]
    plan, _ = proposed(table(tmp_path, {"gesund": 60, "ja": 30, "krank": 12, "Krank": 12}), "--sensitive", "ja")
    assert plan.domain.names() == ["gesund", "ja"]
    plan, _ = proposed(table(tmp_path, {"gesund": 60, "krank": 12, "Krank": 12}), "--sensitive", "krank", "--merge")
    assert plan.domain.names() == ["Krank", "gesund"]


@pytest.mark.parametrize(
    ("counts", "join", "labels"),
    [
        ({"krank ": 9}, "spaces", {"krank ": 9}),
        ({"krank ": 9, " krank": 2}, "spaces", {"krank": 11}),
        ({"krank ": 9, "krank": 2}, "spaces", {"krank": 11}),
        ({"krank ": 9, "krank": 2}, "exact", {"krank ": 9, "krank": 2}),
        ({"e\u0301": 1, "\u00e9": 2}, "exact", {"\u00e9": 3}),
        ({" ": 3, "\u200b": 4}, "spaces", {"\u200b": 7}),
        ({"NA ": 3, " NA": 4}, "spaces", {" NA": 7}),
        ({"krank ": 5, " krank": 4, "Krank": 8}, "reading", {"krank": 17}),
        ({"a": 2, "A": 2}, "reading", {"A": 4}),
        ({}, "reading", {}),
    ],
)
def test_joined_labels(counts: dict[str, int], join: Any, labels: dict[str, int]) -> None:
    assert joined_counts(counts, join) == labels
