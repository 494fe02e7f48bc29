"""Verbs print what protects an answer and, on request, what publishing their result reveals of a person."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import write_reports
from discreet.privacy.publication import Publication
from running import VALUES, Files, done, refusal, run, told

REGIONS = ["north"] * 300 + ["south"] * 200 + ["east"] * 100


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, "rr")


def drawn(files: Files, **columns: Any) -> Path:
    """Write reports that are no simulation, with public columns kept beside them."""
    table = pa.table({"habit": VALUES, **columns})
    pq.write_table(table, files.folder / "values.parquet")
    kept = [part for name in columns for part in ("--keep", name)]
    named = ("--column", "habit", *kept, "-o", files.reports, "--force")
    done("obfuscate", files.plan, files.folder / "values.parquet", *named)
    return files.reports


def text(*arguments: object) -> str:
    return " ".join(done(*arguments).split())


def statement(*arguments: object) -> str:
    """Return what a verb prints with the statement."""
    return text(*arguments, "--statement")


def stated(*arguments: object) -> Any:
    """Return what a verb says for programs, with the statement."""
    return told(*arguments, "--statement")


def last_line(*arguments: object) -> str:
    return done(*arguments).splitlines()[-1]


def test_one_line_says_what_protects_an_answer(files: Files) -> None:
    line = (
        "2 of 5 values are protected with epsilon 1.5, and the other 3 may be reported in clear. "
        "Use --statement to see what publishing this reveals."
    )
    drawn(files, region=REGIONS, age=np.arange(600) % 30)
    assert dc.Plan.load(files.plan).mechanism().guarantee.realised <= 1.5
    asked = {
        "estimate": (),
        "compare": ("--by", "region", "--groups", "north", "south"),
        "regress": ("--on", "age"),
    }
    for verb, options in asked.items():
        assert last_line(verb, files.plan, files.reports, *options) == line
        assert "A reader who" not in done(verb, files.plan, files.reports, *options)
        assert "publication" not in told(verb, files.plan, files.reports, *options)
    assert last_line("estimate", files.plan, files.reports, "--by", "region") == line
    assert not {"publication"} & set(told("estimate", files.plan, files.reports, "--by", "region")["groups"][0])


def test_two_lines_say_what_holds_of_a_person_and_when(files: Files) -> None:
    named = dc.read_reports(drawn(files), files.mechanism).batches
    made = Publication(files.mechanism, (600,), shown="this estimate", named=named)
    person, *conditions = made.lines()
    assert " ".join([person, *conditions]) in statement("estimate", files.plan, files.reports)
    assert f"- The reports are of batch {named[0].name} (600 reports)." in conditions
    assert conditions[0] == "Conditions:"
    assert person.startswith("This assumes 600 different people with one report each. Readers of this estimate")
    assert "- No report is fake or known to the reader (not trusted: 0)." in conditions
    facts = stated("estimate", files.plan, files.reports)["publication"]
    assert facts == made.to_dict()
    assert facts["central"] == dc.shuffled(files.mechanism, 600).to_dict()


def test_each_statement_names_the_batches_that_were_read(files: Files) -> None:
    reports = drawn(files, region=REGIONS, age=np.arange(600) % 30 + 1)
    (batch,) = dc.read_reports(reports, files.mechanism).batches
    sentence = f"The reports are of batch {batch.name} (600 reports)."
    for verb in (
        ["estimate"],
        ["estimate", "--by", "region"],
        ["estimate", "--weights", "age"],
        ["estimate", "--method", "mle"],
        ["compare", "--by", "region", "--groups", "north", "south"],
        ["regress", "--on", "age"],
    ):
        asked = (verb[0], files.plan, reports, *verb[1:])
        assert sentence in statement(*asked)
        assert stated(*asked)["publication"]["named"] == [[batch.name, 600]]
    other = files.folder / "other.parquet"
    shutil.copy(drawn(files), other)
    drawn(files)
    both = stated("compare", files.plan, files.reports, other)["publication"]
    assert sorted(n for _, n in both["named"]) == [600, 600]


def test_kept_columns_are_stated_beside_the_estimate_alone(files: Files) -> None:
    drawn(files, region=REGIONS)
    facts = stated("estimate", files.plan, files.reports)
    assert facts["publication"]["n"] == 600
    assert (facts["publication_with_columns"]["n"], facts["publication_with_columns"]["batches"]) == (100, 3)
    shown = statement("estimate", files.plan, files.reports)
    assert "Readers of this estimate with the columns beside the reports (region) or the files" in shown
    ages = [*range(20, 50)] * 20
    drawn(files, region=REGIONS, age=ages)
    by = stated("estimate", files.plan, files.reports, "--by", "region")
    assert by["publication"]["n"] == 100
    least = min(Counter(zip(REGIONS, ages, strict=True)).values())
    assert (by["publication_with_columns"]["n"], by["publication_with_columns"]["batches"]) == (least, 90)


def test_weights_that_differ_have_no_statement_and_those_of_cells_do(files: Files) -> None:
    drawn(files, region=REGIONS, weight=np.arange(1, 601), even=[3.0] * 300 + [1.0] * 300)
    weighted = stated("estimate", files.plan, files.reports, "--weights", "weight")["publication"]
    assert weighted["central"] is None
    assert "weights differ between people" in weighted["local_only_reason"]
    assert stated("estimate", files.plan, files.reports, "--weights", "even")["publication"]["n"] == 300
    both = stated("estimate", files.plan, files.reports, "--weights", "even", "--by", "region")["publication"]
    assert (both["n"], both["batches"]) == (100, 3)


def test_sealed_files_say_what_a_reader_learns(files: Files) -> None:
    drawn(files)
    sealed = files.folder / "sealed.parquet"
    shown = text("seal", files.plan, files.reports, "-o", sealed, "--not-trusted", 50)
    assert "This assumes 600 different people with one report each. Readers of the sealed file" in shown
    assert "50 reports of each batch are fake or known to the reader" in shown
    facts = stated("estimate", files.plan, sealed)["publication"]
    assert facts["n"] == 600


def test_sealed_batches_of_a_tally_are_batches_still(files: Files) -> None:
    """Whoever has the sealed files and the estimate can subtract; a tally knows of which it was made."""
    parts = []
    for name, n in (("first", 400), ("second", 200)):
        table = files.folder / f"{name}.csv"
        table.write_text("habit\n" + "\n".join(VALUES[:n]) + "\n")
        done("obfuscate", files.plan, table, "-o", files.folder / f"{name}.parquet")
        parts.append(files.folder / f"{name}.sealed.parquet")
        done("seal", files.plan, files.folder / f"{name}.parquet", "-o", parts[-1])
    kept = files.folder / "both.tally.parquet"
    facts = stated("estimate", files.plan, *parts, "--tally", kept)["publication"]
    assert (facts["n"], facts["batches"]) == (200, 2)
    assert stated("estimate", files.plan, kept)["publication"] == facts
    assert "batch.read-twice" in refusal("estimate", files.plan, kept, parts[0])


def test_reports_of_no_known_batch_have_their_condition(files: Files) -> None:
    unnamed = "Some reports belong to no named batch"
    reports = drawn(files)
    lines = files.folder / "r.jsonl"
    write_reports(lines, files.mechanism, dc.read_reports(reports, files.mechanism))
    assert unnamed in statement("estimate", files.plan, lines)
    assert unnamed not in statement("estimate", files.plan, reports)


def test_files_on_somebodys_word_are_a_condition(files: Files) -> None:
    drawn(files)
    pq.write_table(pq.read_table(files.reports).replace_schema_metadata(None), files.reports)
    result = run("estimate", files.plan, files.reports, "--trust-plan")
    assert result.stdout.splitlines()[-1].startswith("As you state, 2 of 5 values are protected with epsilon 1.5")
    result = run("estimate", files.plan, files.reports, "--trust-plan", "--statement")
    assert result.exit_code == 0
    shown = " ".join(result.output.split())
    assert "As you state, 2 of 5 values are protected with epsilon 1.5" in shown
    assert "With --trust-plan, you state that the files hold reports of this plan" in shown
    assert "This assumes 600 different people" in shown
