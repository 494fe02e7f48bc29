"""The sealed folder as it is, read by `discreet estimate` and by DuckDB: every report once, and nothing else."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collectors import PLANS
from sealed_folders import EPOCHS, N, Sealed, sealed_of

from discreet.core.tally import Tally
from discreet.engines import gather, tally
from discreet.errors import DataError
from discreet.estimators import estimate
from discreet.mechanisms.report_tables import to_arrow
from discreet.results.estimate import estimate_facts
from json_rows import columns

plans = pytest.mark.parametrize("plan", sorted(PLANS))


@plans
def test_discreet_estimate_reads_it(tmp_path: Path, plan: str) -> None:
    sealed = sealed_of(tmp_path, plan)
    expected = estimate_facts(estimate(sealed.mechanism, sealed.tally, method="linear"))
    said = sealed.estimated()
    assert said["n"] == EPOCHS * N
    assert {name: said[name] for name in expected} == expected
    reports, left_out = gather(sealed.mechanism, sealed.place)
    assert left_out == {}
    found = estimate(sealed.mechanism, reports, method="mle")
    assert columns(sealed.estimated("mle"))["frequency"] == found.frequencies.tolist()


def test_names_with_an_underscore_are_passed_over(tmp_path: Path) -> None:
    """The tallies beside the reports would count them twice, which is refused."""
    sealed = sealed_of(tmp_path, "rr")
    assert sealed.estimated()["n"] == EPOCHS * N
    shutil.copytree(sealed.place / "_tallies", sealed.place / "tallies")
    with pytest.raises(DataError, match="hold 4,000 reports of batch 0 of collection"):
        tally(sealed.mechanism, sealed.place)
    # A tally of every epoch, and nothing else: the batches are those of the files.
    counted = tally(sealed.mechanism, sealed.place / "tallies").tally
    assert (len(counted.batches), counted.rest_n) == (EPOCHS, 0)
    (sealed.place / "tallies").rename(tmp_path / "tallies")
    assert tally(sealed.mechanism, sealed.place).tally.batches == counted.batches


@plans
def test_duckdb_reads_it(tmp_path: Path, plan: str) -> None:
    """Each different report as often as it was sent."""
    duckdb = pytest.importorskip("duckdb")
    sealed = sealed_of(tmp_path, plan)
    # With ** or the folder's own name it would read the tallies too: no name is passed over.
    query = "SELECT *, count(*) AS reports FROM read_parquet(?) GROUP BY ALL"
    found = duckdb.execute(query, [f"{sealed.place}/*.parquet"]).fetchall()
    assert Counter({plainly(row): n for *row, n in found}) == sent(sealed)


def test_the_tally_of_plain_sql_is_that_of_the_library(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    sealed = sealed_of(tmp_path, "rr")
    domain, files = sealed.mechanism.domain, f"{sealed.place}/*.parquet"

    def counts(column: str, values: Any) -> Any:
        query = f"SELECT {column}, count(*) FROM read_parquet(?) WHERE {column} IS NOT NULL GROUP BY 1"
        found = dict(duckdb.execute(query, [files]).fetchall())
        assert sorted(found) == list(values)
        return np.array([found[value] for value in values])

    clear, symbols = counts("clear", domain.clear_codes), counts("symbol", range(domain.sensitive_count))
    tally = Tally(sealed.mechanism.fingerprint, int(clear.sum() + symbols.sum()), symbols, clear)
    assert tally == sealed.tally
    assert estimate(sealed.mechanism, tally).frequencies.tolist() == columns(sealed.estimated())["frequency"]


def sent(sealed: Sealed) -> Counter[Any]:
    """Return how often each report was sent."""
    columns = to_arrow(sealed.mechanism, sealed.sent).to_pydict().values()
    return Counter(plainly(row) for row in zip(*columns, strict=True))


def plainly(row: Any) -> tuple[Any, ...]:
    """Return a row that can be compared and counted: lists of one length come as tuples."""
    return tuple(tuple(entry) if isinstance(entry, list | tuple) else entry for entry in row)
