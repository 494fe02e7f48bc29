"""A column of counts: a table without a plan in its metadata is not read as one report per row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Sources
from discreet.engines import LocalEngine, obfuscate, seal, tally
from discreet.errors import DataError, ParameterError
from discreet.formats.reports import iterate_reports
from discreet.tables.values import ValueColumns
from refusals import refused
from running import run

PLAN = 'epsilon = 1.0\n[domain]\nlabels = ["no", "yes"]\n[mechanism]\nname = "rr"\n'
MECHANISM = dc.RandomizedResponse(dc.Domain(["no", "yes"]), 1.0)
WHY = "report-table.has-counts"
COUNTS = {"symbol": [0, 1], "count": [600, 400]}


def counted(**others: Any) -> pa.Table:
    """Return 1,000 reports in two rows."""
    return pa.table({**COUNTS, **others})


def named() -> pa.Table:
    """Return such a table that says its plan in a column, which is not its metadata."""
    return counted(plan=[MECHANISM.fingerprint] * 2)


READERS: dict[str, Callable[[Any], Any]] = {
    "tally": lambda sources: tally(MECHANISM, sources),
    "groups": lambda sources: LocalEngine().tally_by(MECHANISM, sources, ["count"]),
    "evidence": lambda sources: LocalEngine().evidence(MECHANISM, sources),
    "reports": lambda sources: dc.read_reports(sources, MECHANISM),
    "batches": lambda sources: list(iterate_reports(sources, MECHANISM)),
}


@pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")
@pytest.mark.parametrize("name", READERS)
def test_no_reader_takes_a_count_for_a_report(name: str, tmp_path: Path) -> None:
    pq.write_table(counted(), tmp_path / "counts.parquet")
    pa.feather.write_feather(counted(), str(tmp_path / "counts.feather"), compression="uncompressed")
    (tmp_path / "counts.jsonl").write_text('{"symbol": 0, "count": 600}\n{"symbol": 1, "count": 400}\n')
    pq.write_table(named(), tmp_path / "named.parquet")
    frame = pd.DataFrame(COUNTS)
    tables: list[Any] = [
        counted(),
        named(),
        frame,
        pl.from_pandas(frame),
        counted().rename_columns(["symbol", "COUNT"]),
    ]
    for source in [*(str(path) for path in tmp_path.iterdir() if name != "groups" or path.suffix != ".jsonl"), *tables]:
        if name == "groups" and hasattr(source, "column_names") and "COUNT" in source.column_names:
            continue
        message = refused(DataError, lambda source=source: READERS[name](Sources(source, trust_plan=True)))
        # Lines have no other fields than devices write.
        assert ("report.unknown-fields" if "jsonl" in str(source) else WHY) in message


def test_tables_in_python_are_not_read_as_reports_either() -> None:
    for table in (named(), named().to_pandas(), pl.from_arrow(named())):
        assert WHY in refused(DataError, lambda table=table: dc.estimate(MECHANISM, table))
        assert WHY in refused(DataError, lambda table=table: tally(MECHANISM, table))


def test_what_writes_anew_refuses_counts(tmp_path: Path) -> None:
    pq.write_table(counted(), tmp_path / "counts.parquet")
    trusted = Sources(tmp_path / "counts.parquet", trust_plan=True)
    assert WHY in refused(DataError, lambda: seal(MECHANISM, trusted, tmp_path / "sealed.parquet"))
    assert {path.name for path in tmp_path.iterdir()} == {"counts.parquet"}


def test_a_column_named_count_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    Path("people.csv").write_text("answer,count\nyes,1\nno,2\n")
    options = {"--column": "answer", "--keep": "count", "-o": "reports.parquet"}
    result = run("obfuscate", "plan.toml", "people.csv", *(word for pair in options.items() for word in pair))
    assert (result.exit_code, "'count'" in result.output) == (2, True)
    assert not Path("reports.parquet").exists()
    columns = ValueColumns(MECHANISM.domain, "answer", keep=("count",))
    refused(ParameterError, lambda: obfuscate(MECHANISM, "people.csv", "reports.parquet", columns))


def test_a_file_with_a_plan_may_have_a_public_column_count(tmp_path: Path) -> None:
    """As versions before wrote it: a report per row, whatever the column says."""
    reports = MECHANISM.obfuscate(["yes"] * 50, random=dc.SeededRandom(1))
    table = pa.table(reports)
    beside = table.append_column("count", pa.array(np.arange(50) % 3))
    stamp_of = table.schema.metadata[b"discreet"].replace(b"{", b'{"public": ["count"], ', 1)
    pq.write_table(beside.replace_schema_metadata({b"discreet": stamp_of}), tmp_path / "kept.parquet")
    assert tally(MECHANISM, tmp_path / "kept.parquet").tally.n == 50
    grouped = LocalEngine().tally_by(MECHANISM, Sources(tmp_path / "kept.parquet"), ["count"])
    assert sum(one.n for one in grouped.values()) == 50
