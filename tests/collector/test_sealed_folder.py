"""The sealed folder as it is, read by `discreet estimate` and by DuckDB: every report once, and nothing else."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collectors import PLANS
from sealed_folders import Sealed, sealed_of

from discreet import Tally, estimate
from discreet.mechanisms.report_tables import to_arrow
from json_rows import columns

plans = pytest.mark.parametrize("plan", sorted(PLANS))


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
