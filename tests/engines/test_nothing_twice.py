"""Batches that are there twice are refused, in whatever files and forms, and their places are named."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Sources, read_reports, write_reports
from discreet.core.batches import NamedBatch
from discreet.engines import LocalEngine, tally
from discreet.errors import DataError, ParameterError
from discreet.files.stored import look
from discreet.formats.reports import iterate_reports, read_public
from discreet.formats.sealed_files import put_sealed
from discreet.formats.tallies import read_tally, write_tally
from refusals import refused
from reports_beside import write_beside, write_sealed

DOMAIN = dc.Domain(range(30), sensitive=range(20))
COUNTED, SORTED = dc.RandomizedResponse(DOMAIN, 1.0), dc.UnaryEncoding(DOMAIN, 1.0)
BINARY = dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0)
EVERY = pytest.mark.parametrize("mechanism", [COUNTED, SORTED], ids=["counted", "sorted"])
COLLECTION = "8f" * 32


def reports_of(mechanism: Any, n: int = 600) -> dc.Reports:
    return mechanism.obfuscate_codes(np.arange(n) % mechanism.domain.size, random=dc.SeededRandom(1))


def known(counted: dc.Tally) -> list[tuple[str, int]]:
    return [(batch.name, batch.n) for batch in counted.batches]


def stamp_of(path: Path) -> dict[str, Any]:
    return json.loads(look(path).schema.metadata[b"discreet"])


FORMS: dict[str, Callable[[Path, Any, dc.Reports], Any]] = {
    "again.parquet": write_reports,
    "again.arrow": write_reports,
    "sealed.parquet": write_sealed,
    "kept.tally.parquet": lambda path, mechanism, reports: write_tally(path, mechanism.tally(reports)),
    "kept.tally.arrow": lambda path, mechanism, reports: write_tally(path, mechanism.tally(reports)),
    "arrow.parquet": lambda path, _, reports: pq.write_table(reports.to_arrow(), path),
}


@EVERY
def test_the_same_batch_in_any_two_forms(mechanism: Any, tmp_path: Path) -> None:
    reports = reports_of(mechanism)
    assert reports.batch is not None
    first, name = tmp_path / "first.parquet", reports.batch.name
    write_reports(first, mechanism, reports)
    for form, write in FORMS.items():
        path = tmp_path / form
        write(path, mechanism, reports)
        assert known(tally(mechanism, path).tally) == [(name, 600)]
        for named in ([first, path], [path, first]):
            said = refused(DataError, lambda named=named: tally(mechanism, named))
            assert f"Batch {name} has 600 reports, but 1,200 were found in " in said
            assert all(str(place) in said for place in named)
    for tables in ([first, reports], [reports, pa.table(reports)], [reports.to_arrow(), reports[:1]]):
        assert f"Batch {name} " in refused(DataError, lambda tables=tables: tally(mechanism, tables))
    # Lines have no place for a name: they are not recognised, but by their path.
    lines = tmp_path / "again.jsonl"
    write_reports(lines, mechanism, reports)
    assert tally(mechanism, [first, lines]).tally.n == 1200
    assert "file.twice" in refused(ParameterError, lambda: tally(mechanism, [lines, lines]))
    bare = reports.to_arrow().replace_schema_metadata(None)
    assert "sources.table-twice" in refused(ParameterError, lambda: tally(mechanism, [bare, bare]))


@EVERY
def test_every_way_through_files_refuses(mechanism: Any, tmp_path: Path) -> None:
    reports, folder = reports_of(mechanism), tmp_path / "in"
    folder.mkdir()
    region = pa.table({"region": ["north", "south"] * 300})
    write_beside(folder / "a.parquet", mechanism, [(reports, region)], region.schema)
    shutil.copy(folder / "a.parquet", folder / "b.parquet")
    ways: list[Callable[[Any], Any]] = [
        partial(tally, mechanism),
        partial(tally, mechanism, threads=1),
        partial(LocalEngine().evidence, mechanism),
        partial(LocalEngine(memory=0).evidence, mechanism),
        lambda named: LocalEngine().seal(mechanism, named, tmp_path / "sealed.parquet", force=True),
        lambda named: LocalEngine().tally_by(mechanism, named, "region"),
        lambda named: read_public(mechanism, named, ["region"]),
        lambda named: read_reports(named, mechanism),
        lambda named: list(iterate_reports(named, mechanism)),
    ]
    wanted = f"but 1,200 were found in {folder / 'a.parquet'} and {folder / 'b.parquet'}. "
    for way in ways:
        assert wanted in refused(DataError, lambda way=way: way(folder))
        way(folder / "a.parquet")
    (tmp_path / "sealed.parquet").unlink()
    refused(DataError, lambda: ways[4](folder))
    assert not (tmp_path / "sealed.parquet").exists()


@pytest.mark.parametrize("streamed", [False, True])
@EVERY
def test_parts_that_another_tool_made_are_read_side_by_side(mechanism: Any, streamed: bool, tmp_path: Path) -> None:
    """Also of a file whose writer knew the number of reports at the end only."""
    reports, path = reports_of(mechanism), tmp_path / "whole.parquet"
    parts = iter([reports[:200], reports[200:]]) if streamed else reports
    write_reports(path, mechanism, parts)
    table = pq.read_table(path).append_column("region", pa.array(["north", "south"] * 300))
    ds.write_dataset(table, tmp_path / "parts", format="parquet", partitioning=["region"], partitioning_flavor="hive")
    places = sorted((tmp_path / "parts").rglob("*.parquet"))
    assert [stamp_of(place)["n"] for place in places] == [600, 600]
    whole = tally(mechanism, path).tally
    assert tally(mechanism, places).tally == whole
    assert tally(mechanism, places).tally.batches == whole.batches
    north, south = (tally(mechanism, place).tally for place in places)
    assert north.batches == (NamedBatch(whole.batches[0].name, 300, 600),)
    # Parts of different people are compared, and a part is not compared with the whole.
    estimates = [dc.estimate(mechanism, each) for each in (north, south, whole)]
    assert dc.compare(*estimates[:2]).overall is not None
    assert "300 reports are in both" in refused(ParameterError, lambda: dc.compare(*estimates[1:]))
    write_tally(tmp_path / "north.tally.parquet", north)
    assert read_tally(tmp_path / "north.tally.parquet", mechanism).batches == north.batches
    assert tally(mechanism, [tmp_path / "north.tally.parquet", places[1]]).tally == whole
    for twice in ([path, places[0]], [tmp_path / "north.tally.parquet", places[0], places[1]]):
        assert "batch.read-twice" in refused(DataError, lambda twice=twice: tally(mechanism, twice))


def test_one_file_with_more_than_its_batch(tmp_path: Path) -> None:
    """Arrow keeps the metadata of the first table where others are appended."""
    first, second = (reports_of(SORTED, 100) for _ in range(2))
    for name, tables in (("twice", [first, first]), ("both", [first, second])):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.concat_tables([each.to_arrow() for each in tables]), path)
        said = refused(DataError, lambda path=path: tally(SORTED, path))
        assert f" has 100 reports, but 200 were found in {path}. " in said
        assert said.endswith("[batch.read-twice]")


def test_equal_reports_of_other_people_are_never_refused(tmp_path: Path) -> None:
    """Small honest days are equal by chance; whatever they are written as, and in groups too."""
    for day in range(30):
        write_reports(tmp_path / f"{day:02}.parquet", BINARY, reports_of(BINARY, 20))
        write_tally(tmp_path / f"{day:02}.tally.parquet", BINARY.tally(reports_of(BINARY, 20)))
    counted = tally(BINARY, tmp_path).tally
    assert (counted.n, len(counted.batches), counted.unnamed) == (1200, 60, 0)
    region = pa.table({"region": ["north"] * 20})
    for name in ("a", "b"):
        (tmp_path / "by" / f"day={name}").mkdir(parents=True)
        place = tmp_path / "by" / f"day={name}" / "r.parquet"
        write_beside(place, BINARY, [(reports_of(BINARY, 20), region)], region.schema)
    groups = LocalEngine().tally_by(BINARY, tmp_path / "by", ["day", "region"])
    assert groups.whole.n == 40


@EVERY
def test_names_are_the_writers_or_the_callers(mechanism: Any, tmp_path: Path) -> None:
    reports = reports_of(mechanism)
    for name in ("a.parquet", "b.arrow", "c.parquet"):
        write_reports(tmp_path / name, mechanism, iter([reports[:300], reports[300:]]))
    names = [stamp_of(tmp_path / name)["name"] for name in ("a.parquet", "b.arrow", "c.parquet")]
    assert len({*names, reports.batches[0].name}) == 4
    assert all(len(name) == 32 for name in names)
    # An Arrow file is begun before the number is known: it is taken to be whole, and its copies are known.
    assert ["n" in stamp_of(tmp_path / name) for name in ("a.parquet", "b.arrow")] == [True, False]
    shutil.copy(tmp_path / "b.arrow", tmp_path / "copy.arrow")
    refused(DataError, lambda: tally(mechanism, [tmp_path / "b.arrow", tmp_path / "copy.arrow"]))
    for path in (tmp_path / "d.parquet", tmp_path / "d.arrow"):
        write_reports(path, mechanism, reports, name="monday")
        assert known(tally(mechanism, path).tally) == [("monday", 600)]
        assert read_reports(path, mechanism).batches == (NamedBatch("monday", 600, 600),)
    assert "batch.no-name-in-lines" in refused(
        ParameterError, lambda: write_reports(tmp_path / "e.jsonl", mechanism, reports, name="monday")
    )
    assert "name.not-usable" in refused(
        ParameterError, lambda: write_reports(tmp_path / "e.parquet", mechanism, reports, name="")
    )


def test_sealed_epochs_are_known_by_collection_and_epoch(tmp_path: Path) -> None:
    reports = reports_of(BINARY, 20).sealed()
    facts = [
        {"collection": COLLECTION, "epoch": 1},
        {"collection": COLLECTION, "epochs": [2, 3]},
        {"collection": "00" * 32, "epoch": 1},
    ]
    paths = [tmp_path / f"{place}.parquet" for place in range(3)]
    for path, said in zip(paths, facts, strict=True):
        put_sealed(path, BINARY, [reports], 20, facts=said)
        write_tally(path.with_suffix(".tally.parquet"), BINARY.tally(reports_of(BINARY, 1)), facts=said)
    tallies = [path.with_suffix(".tally.parquet") for path in paths]
    assert [known(tally(BINARY, path).tally)[0][0] for path in paths] == [
        f"{COLLECTION}/1",
        f"{COLLECTION}/2-3",
        f"{'00' * 32}/1",
    ]
    assert tally(BINARY, paths).tally.n == 60
    assert tally(BINARY, [paths[0], tallies[1], paths[2]]).tally.n == 41
    (tmp_path / "copy.parquet").write_bytes(paths[0].read_bytes())
    for named in ([paths[0], tallies[0]], [*paths, tmp_path / "copy.parquet"], [*tallies, paths[1]]):
        assert "batch.read-twice" in refused(DataError, lambda named=named: tally(BINARY, named))


def test_no_row_of_a_named_batch_is_left_out(tmp_path: Path) -> None:
    """A batch is whole, or damaged; of lines and of tables without a name bad rows are left out."""
    table = reports_of(COUNTED, 99).to_arrow()
    wrong = pa.array([40, *table["symbol"].to_pylist()[1:]], pa.uint8())
    flawed = table.set_column(table.column_names.index("symbol"), "symbol", wrong)
    for share in (0.0, 0.5):
        said = refused(DataError, lambda share=share: tally(COUNTED, Sources(flawed, bad_share=share)))
        assert "first in row 0" in said
    plan = pa.array([COUNTED.fingerprint] * 99)
    simulated = pa.array([True] * 99)
    bare = flawed.replace_schema_metadata(None).append_column("plan", plan).append_column("simulated", simulated)
    assert tally(COUNTED, Sources(bare, bad_share=0.5)).bad == 1
