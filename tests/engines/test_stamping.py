"""Files that other tools rewrote, written anew: every row checked before, and read without anybody's word after."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet.formats.sources as reading
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.engines import stamp, tally
from discreet.errors import (
    DataError,
    DiscreetError,
    MismatchError,
    OutputExistsError,
    ParameterError,
    RewrittenFileWarning,
)
from discreet.formats.reports import read_reports, write_reports
from discreet.formats.sources import Sources
from discreet.formats.tallies import write_tally
from discreet.mechanisms import UnaryEncoding
from discreet.mechanisms.report_tables import to_arrow
from laws import Case, cases, sampled
from packing import each
from refusals import refused

MECHANISM = UnaryEncoding(Domain(range(30), sensitive=list(range(20))), 1.0)
REPORTS = MECHANISM.obfuscate_codes(np.arange(300) % 30, random=SeededRandom(1))


def rewritten(path: Path, mechanism: Any = MECHANISM, reports: Any = REPORTS, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = to_arrow(mechanism, reports).replace_schema_metadata(None)
    for name, column in columns.items():
        table = table.append_column(name, column)
    pq.write_table(table, path)
    return path


def stamped(*arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewrittenFileWarning)
        return stamp(*arguments, **options)


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@each("case", cases({"3of7": (7, [0, 4, 6]), "5of5": (5, None)}, (1.0,)))
@each("suffix", ["parquet", "jsonl.gz"])
def test_what_is_stamped_is_read_without_a_word(case: Case, suffix: str, tmp_path: Path) -> None:
    mechanism, reports = case.mechanism, sampled(case, 100)
    source, target = rewritten(tmp_path / "r.parquet", mechanism, reports), tmp_path / f"s.{suffix}"
    found = stamped(mechanism, source, target)
    assert (found.files, found.reports, found.left_out, found.simulated) == ({target: 100}, 100, {}, ())
    again = read_reports(target, mechanism)
    np.testing.assert_array_equal(mechanism.tally(again).support, mechanism.tally(reports).support)
    assert not again.simulated
    for name, column in reports.blocks.items():
        np.testing.assert_array_equal(again.blocks[name], column, strict=True)


def test_one_file_of_many_and_a_folder_of_files_named_alike(tmp_path: Path) -> None:
    source = tmp_path / "reports of May"
    rewritten(source / "a.PARQUET", reports=REPORTS.part(0, 100))
    rewritten(source / "día 2" / "b.parquet", reports=REPORTS.part(100, 210))
    write_reports(source / "c.jsonl.gz", MECHANISM, REPORTS.part(210, 300))
    whole = stamped(MECHANISM, source, tmp_path / "all.arrow")
    assert whole.files == {tmp_path / "all.arrow": 300}
    assert tally(MECHANISM, tmp_path / "all.arrow").tally == MECHANISM.tally(REPORTS)
    folder = tmp_path / "new" / "stamped"
    each = stamped(MECHANISM, source, folder)
    assert files_in(folder) == ["a.parquet", "c.parquet", "día 2/b.parquet"]
    assert sorted(each.files.values()) == [90, 100, 110]
    assert each.simulated == (folder / "c.parquet",)
    assert tally(MECHANISM, folder).tally == MECHANISM.tally(REPORTS)
    refused(OutputExistsError, lambda: stamped(MECHANISM, source, folder))
    assert stamped(MECHANISM, source, folder, force=True).reports == 300


def test_what_is_read_is_not_replaced(tmp_path: Path) -> None:
    path = rewritten(tmp_path / "reports" / "r.parquet")
    before = path.read_bytes()
    (tmp_path / "link.parquet").symlink_to(path)
    for target in (path, path.parent, path.parent / "new.parquet", path.parent / "new", tmp_path / "link.parquet"):
        for source in (path, path.parent):
            if (source, target) != (path, path.parent / "new.parquet") and (source, target) != (
                path,
                path.parent / "new",
            ):
                with pytest.raises(ParameterError, match="is read"):
                    stamped(MECHANISM, source, target, force=True)
    assert path.read_bytes() == before
    assert files_in(tmp_path) == ["link.parquet", "reports/r.parquet"]


@pytest.mark.parametrize("batch", [37, 1000])
def test_one_simulated_report_marks_the_file(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BATCH_ROWS", batch)
    path = rewritten(tmp_path / "r.parquet", simulated=pa.array([False] * 299 + [True]))
    assert stamped(MECHANISM, path, tmp_path / "s.parquet").simulated == (tmp_path / "s.parquet",)
    assert tally(MECHANISM, tmp_path / "s.parquet").tally.simulated


def test_bad_rows_are_counted_over_all_files_and_nothing_is_written_before(tmp_path: Path) -> None:
    source, folder = tmp_path / "reports", tmp_path / "stamped"
    rewritten(source / "a.parquet")
    bad = pa.table({"clear": pa.array([25, 3, 25]), "bits": pa.array([None] * 3, pa.binary())})
    pq.write_table(bad, source / "b.parquet")
    message = refused(DataError, lambda: stamped(MECHANISM, source, folder))
    assert "b.parquet: 1 of 3 reports give a sensitive value in clear (first at row 1)" in message
    message = refused(DataError, lambda: stamped(MECHANISM, Sources(source, bad_share=0.001), folder))
    assert "1 of 303 rows are no reports of this plan" in message
    assert not folder.exists()
    found = stamped(MECHANISM, Sources(source, bad_share=0.01), folder)
    assert found.left_out == {"give a sensitive value in clear": 1}
    assert tally(MECHANISM, folder).tally.n == 302


def test_what_cannot_be_stamped(tmp_path: Path) -> None:
    other = UnaryEncoding(MECHANISM.domain, 2.0)
    source = tmp_path / "reports"
    rewritten(source / "a.parquet")
    write_reports(source / "b.parquet", other, other.obfuscate_codes([1, 2], random=SeededRandom(1)))
    assert "b.parquet" in refused(MismatchError, lambda: stamped(MECHANISM, source, tmp_path / "s.parquet"))
    (source / "b.parquet").unlink()
    write_tally(source / "b.tally.parquet", MECHANISM.tally(REPORTS))
    assert "leave the 1 tallies out" in refused(ParameterError, lambda: stamped(MECHANISM, source, tmp_path / "s"))
    (source / "b.tally.parquet").unlink()
    for target in ("s.csv", "s.tally.parquet", "none/s.parquet"):
        refused(ParameterError, lambda target=target: stamped(MECHANISM, source, tmp_path / target))
    rewritten(tmp_path / "more" / "a.parquet", reports=REPORTS.part(0, 9))
    several = [source, tmp_path / "more"]
    assert "several files would be" in refused(ParameterError, lambda: stamped(MECHANISM, several, tmp_path / "s"))
    assert "does not exist" in refused(DataError, lambda: stamped(MECHANISM, tmp_path / "gone", tmp_path / "s"))
    (tmp_path / "file").touch()
    refused(ParameterError, lambda: stamped(MECHANISM, source, tmp_path / "file" / "s"))
    refused(ParameterError, lambda: stamped(MECHANISM, Sources(source, bad_share=2), tmp_path / "s"))
    assert files_in(tmp_path) == ["file", "more/a.parquet", "reports/a.parquet"]


def test_a_row_of_another_plan_is_refused_whatever_is_left_out(tmp_path: Path) -> None:
    plans = pa.array([MECHANISM.fingerprint] * 299 + ["0" * 32])
    path = rewritten(tmp_path / "r.parquet", plan=plans)
    with pytest.raises(DiscreetError, match="1 of 300 rows"):
        stamped(MECHANISM, Sources(path, bad_share=1.0), tmp_path / "s.parquet")
    assert files_in(tmp_path) == ["r.parquet"]
