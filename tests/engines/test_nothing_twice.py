"""Reports that are there twice are refused, in whatever files, formats and orders, and both places are named."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.core.tally import digesting
from discreet.engines import LocalEngine, gather, observe, seal, stamp, tally
from discreet.errors import DataError, EqualReportsWarning, ParameterError
from discreet.files.stored import look
from discreet.formats.public_columns import read_public
from discreet.formats.reports import iterate_reports, read_reports, write_beside, write_reports
from discreet.formats.sealed_files import put_sealed, write_sealed
from discreet.formats.sources import Sources, surveyed
from discreet.formats.tallies import put_tally, read_tally, write_tally
from discreet.mechanisms import report_tables
from refusals import refused

DOMAIN = dc.Domain(range(30), sensitive=range(20))
COUNTED, SORTED = dc.RandomizedResponse(DOMAIN, 1.0), dc.UnaryEncoding(DOMAIN, 1.0)
BINARY = dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0)
EVERY = pytest.mark.parametrize("mechanism", [COUNTED, SORTED], ids=["counted", "sorted"])
COLLECTION = "8f" * 32


def reports_of(mechanism: Any, n: int = 600) -> dc.Reports:
    return mechanism.obfuscate_codes(np.arange(n) % mechanism.domain.size, random=dc.SeededRandom(1))


def bare(path: Path, mechanism: Any, reports: dc.Reports) -> None:
    """Write reports as another tool does, in another order, with other types."""
    order = np.random.default_rng(1).permutation(reports.n)
    table = report_tables.to_arrow(mechanism, reports.take(order)).replace_schema_metadata(None)
    pq.write_table(table, path)


def known(tally: dc.Tally) -> tuple[list[tuple[str, int]], int | None]:
    return [(batch.name, batch.n) for batch in tally.batches], tally.rest


FORMS: dict[str, Callable[[Path, Any, dc.Reports], Any]] = {
    "again.parquet": write_reports,
    "again.arrow": write_reports,
    "again.jsonl": write_reports,
    "again.jsonl.gz": write_reports,
    "bare.parquet": bare,
    "sealed.parquet": write_sealed,
    "kept.tally.parquet": lambda path, mechanism, reports: write_tally(path, mechanism.tally(reports)),
    "kept.tally.arrow": lambda path, mechanism, reports: write_tally(path, mechanism.tally(reports)),
}


@EVERY
@pytest.mark.filterwarnings("ignore::discreet.errors.RewrittenFileWarning")
def test_the_same_reports_in_any_two_forms(mechanism: Any, tmp_path: Path) -> None:
    reports = reports_of(mechanism)
    first = tmp_path / "first.parquet"
    write_reports(first, mechanism, (reports.part(at, at + 100) for at in range(0, 600, 100)))
    found = {"first": tally(mechanism, first).tally}
    for name, write in FORMS.items():
        path = tmp_path / name
        write(path, mechanism, reports)
        found[name] = tally(mechanism, Sources(path, trust_plan=True)).tally
        for named in ([first, path], [path, first]):
            both = f"the same 600 reports twice: {first} and {path}; name one of them."
            turned = f"the same 600 reports twice: {path} and {first}; name one of them."
            read = Sources(named, trust_plan=True)
            assert refused(DataError, lambda read=read: tally(mechanism, read)) in {both, turned}
    digest = digesting(mechanism).of(reports)
    for name, one in found.items():
        assert known(one) == (([("", 600)], 0) if name.startswith("sealed") else ([], digest))
        assert (one.support == mechanism.tally(reports).support).all()
    assert found["sealed.parquet"].batches[0].digest == digest


@EVERY
@pytest.mark.filterwarnings("ignore::discreet.errors.RewrittenFileWarning")
def test_every_way_through_files_refuses(mechanism: Any, tmp_path: Path) -> None:
    reports, folder = reports_of(mechanism), tmp_path / "in"
    folder.mkdir()
    region = pa.table({"region": ["north", "south"] * 300})
    for name, rows in (("a.parquet", np.arange(600)), ("b.parquet", np.arange(600)[::-1])):
        write_beside(folder / name, mechanism, [(reports.take(rows), region)], region.schema)
    ways: list[Callable[[Any], Any]] = [
        partial(tally, mechanism),
        partial(tally, mechanism, threads=1),
        partial(gather, mechanism),
        partial(gather, mechanism, memory=0),
        partial(observe, mechanism),
        lambda named: seal(mechanism, named, tmp_path / "sealed.parquet", force=True),
        lambda named: stamp(mechanism, named, tmp_path / "stamped.parquet", force=True),
        lambda named: LocalEngine().tally_by(mechanism, named, "region"),
        lambda named: read_public(mechanism, named, ["region"]),
        lambda named: read_reports(named, mechanism),
        lambda named: list(iterate_reports(named, mechanism)),
    ]
    wanted = f"the same 600 reports twice: {folder / 'a.parquet'} and {folder / 'b.parquet'}; name one of them."
    for way in ways:
        assert refused(DataError, lambda way=way: way(folder)) == wanted
        way(folder / "a.parquet")
    (tmp_path / "sealed.parquet").unlink()
    refused(DataError, lambda: ways[5](folder))
    assert not (tmp_path / "sealed.parquet").exists()


def test_one_file_and_all_others_together(tmp_path: Path) -> None:
    reports = reports_of(SORTED)
    paths = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path, start in zip(paths, (0, 100, 300), strict=True):
        write_reports(path, SORTED, reports[start : start + 100 * (1 + paths.index(path))])
    sealed, kept, both = tmp_path / "s.parquet", tmp_path / "k.tally.parquet", tmp_path / "both.parquet"
    assert seal(SORTED, paths, sealed).n == 600
    write_tally(kept, tally(SORTED, paths).tally)
    together = ", ".join(map(str, paths))
    for whole in (sealed, kept):
        said = refused(DataError, lambda whole=whole: tally(SORTED, [whole, *paths]))
        assert said == f"the same 600 reports twice: {whole} and {together} together; leave {whole} out."
    assert "600 reports twice" in refused(DataError, lambda: tally(SORTED, [sealed, kept]))
    # A part of what is there is not recognised, which docs/reference/formats.md says.
    assert tally(SORTED, [sealed, *paths[:2]]).tally.n == 900
    write_reports(both, SORTED, reports[:300])
    assert tally(SORTED, [both, paths[0]]).tally.n == 400


@EVERY
def test_a_tally_lists_sealed_batches_and_nothing_finer(mechanism: Any, tmp_path: Path) -> None:
    reports = reports_of(mechanism)
    for epoch in (0, 1):
        part = reports[200 * epoch :][:200].sealed()
        facts = {"collection": COLLECTION, "epoch": epoch}
        put_sealed(tmp_path / f"epoch-{epoch}.parquet", mechanism, [part], 200, facts=facts)
    for name, start in (("a.jsonl", 400), ("b.jsonl", 450)):
        write_reports(tmp_path / name, mechanism, reports[start : start + 50 * (1 + 2 * (name > "b"))])
    whole = tally(mechanism, tmp_path).tally
    path = tmp_path / "kept.tally.parquet"
    write_tally(path, whole)
    facts = json.loads(look(path).schema.metadata[b"discreet"])
    listed = [
        [f"{COLLECTION}/{epoch}", f"{digesting(mechanism).of(reports[200 * epoch :][:200]):032x}", 200]
        for epoch in (0, 1)
    ]
    assert facts["batches"] == sorted(listed)
    assert facts["rest"] == f"{digesting(mechanism).of(reports[400:]):032x}"
    written = path.read_bytes() + (tmp_path / "epoch-0.parquet").read_bytes()
    for start in range(400, 600, 50):
        assert f"{digesting(mechanism).of(reports[start : start + 50]):032x}".encode() not in written
    assert read_tally(path, mechanism).batches == whole.batches
    assert read_tally(path, mechanism).rest == whole.rest
    said = refused(DataError, lambda: tally(mechanism, [path, tmp_path / "epoch-1.parquet"]))
    assert said == f"the same 200 reports twice: {tmp_path / 'epoch-1.parquet'} and {path}; name one of them."
    # The same through memory, where only methods that need reports go.
    paths = [*tmp_path.glob("*.parquet"), *tmp_path.glob("*.jsonl")]
    held, _ = gather(mechanism, [one for one in paths if one != path])
    assert isinstance(held, dc.Reports)
    assert known(mechanism.tally(held)) == known(whole)


def test_signed_batches_are_different_whatever_they_hold(tmp_path: Path) -> None:
    """Small honest epochs are alike by chance; a copy under another name is one all the same."""
    reports = reports_of(BINARY, 20).sealed()
    facts = [
        {"collection": COLLECTION, "epoch": 1},
        {"collection": COLLECTION, "epochs": [2, 3]},
        {"collection": "00" * 32, "epoch": 1},
    ]
    paths = [tmp_path / f"{place}.parquet" for place in range(3)]
    for path, said in zip(paths, facts, strict=True):
        put_sealed(path, BINARY, [reports], 20, facts=said)
        write_tally(path.with_suffix(".tally.parquet"), BINARY.tally(reports), facts=said)
    tallies = [path.with_suffix(".tally.parquet") for path in paths]
    for named in (paths, tallies, [paths[0], tallies[1], paths[2]]):
        found = tally(BINARY, named).tally
        assert (found.n, len(found.batches), found.rest) == (60, 3, 0)
    (tmp_path / "copy.parquet").write_bytes(paths[0].read_bytes())
    for named in ([paths[0], tallies[0]], [*paths, tmp_path / "copy.parquet"], [*tallies, paths[1]]):
        assert "the same 20 reports twice" in refused(DataError, lambda named=named: tally(BINARY, named))
    write_reports(tmp_path / "unsigned.jsonl", BINARY, reports)
    with pytest.warns(EqualReportsWarning, match="the same 20 reports twice"):
        tally(BINARY, [paths[2], tmp_path / "unsigned.jsonl"])
    # What is no known form of a name is none.
    for place in (0, 1):
        put_sealed(paths[place], BINARY, [reports], 20, facts={"collection": f"alice {place}", "epoch": 1}, force=True)
    with pytest.warns(EqualReportsWarning, match="the same 20 reports twice"):
        tally(BINARY, paths[:2])


@EVERY
def test_files_of_earlier_versions(mechanism: Any, tmp_path: Path) -> None:
    reports, path = reports_of(mechanism), tmp_path / "kept.tally.parquet"
    of_earlier = dc.Tally(
        mechanism.fingerprint, 600, mechanism.tally(reports).support, mechanism.tally(reports).clear, True
    )
    write_tally(path, of_earlier)
    assert {"batches", "rest"} & {*json.loads(look(path).schema.metadata[b"discreet"])} == set()
    found = tally(mechanism, path).tally
    assert (found == of_earlier, found.rest, found.batches) == (True, None, ())
    (tmp_path / "copy.tally.parquet").write_bytes(path.read_bytes())
    assert "the same 600 reports twice" in refused(DataError, lambda: tally(mechanism, tmp_path))
    (tmp_path / "copy.tally.parquet").unlink()
    # What was counted is not known, and that stays known.
    write_reports(tmp_path / "more.parquet", mechanism, reports)
    assert tally(mechanism, tmp_path).tally.rest is None
    # A sealed file without a digest gets it from its rows.
    write_reports(tmp_path / "s.parquet", mechanism, reports.sealed(), facts={"sealed": True, "n": 600})
    assert tally(mechanism, tmp_path / "s.parquet").tally.batches[0].digest == digesting(mechanism).of(reports)
    assert "more.parquet" in refused(
        DataError, lambda: tally(mechanism, [tmp_path / "s.parquet", tmp_path / "more.parquet"])
    )


def test_lists_that_were_changed_by_hand(tmp_path: Path) -> None:
    reports, path = reports_of(BINARY), tmp_path / "kept.tally.parquet"
    write_tally(path, BINARY.tally(reports), facts={"collection": COLLECTION, "epoch": 1})
    name, digest, n = json.loads(look(path).schema.metadata[b"discreet"])["batches"][0]
    entry = [name, digest, n]
    for batches, rest in (
        (None, "0" * 32),
        ([entry, entry], "0" * 32),
        ([["alice", digest, n]], "0" * 32),
        ([[name, digest[1:], n]], "0" * 32),
        ([[name, digest, "600"]], "0" * 32),
        ([[name, digest, 0]], "0" * 32),
        ([[name, digest]], "0" * 32),
        ([[name, digest, 601]], "0" * 32),
        ([entry], None),
        ([entry], 7),
        ([7], "0" * 32),
    ):
        whole = BINARY.tally(reports)
        with_facts = {"batches": batches, "rest": rest}
        unknown = dc.Tally(whole.fingerprint, 600, whole.support, whole.clear, True)
        put_tally(path, unknown, facts=with_facts)
        said = refused(DataError, lambda: read_tally(path, BINARY))
        assert re.search("changed by hand: it lists no sealed batches|no more than that in its sealed batches", said)
        assert "alice" not in said


@EVERY
def test_a_sealed_file_that_says_another_digest(
    mechanism: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sealed.parquet"
    monkeypatch.setattr("discreet.formats.sealed_files.spelled", lambda digest: f"{digest ^ 1:032x}")
    write_sealed(path, mechanism, reports_of(mechanism))
    said = refused(DataError, lambda: tally(mechanism, path))
    assert said == f"{path} holds other reports than it says; take the file once more from where it came."


def test_reports_that_were_read_once_more_count_once(tmp_path: Path) -> None:
    """A survey speaks of the last reading of each part."""
    for name, n in (("a.parquet", 100), ("b.jsonl", 200)):
        write_reports(tmp_path / name, SORTED, reports_of(SORTED, n))
    survey = surveyed(SORTED, tmp_path)
    for _ in range(2):
        for part in survey.parts:
            list(part.reports(most=7))
        assert survey.batches() == ()
        assert [part.seen.n for part in survey.parts] == [100, 200]
        whole = SORTED.tally(reports_of(SORTED, 100)) + SORTED.tally(reports_of(SORTED, 200))
        assert survey.whole(whole).rest == whole.rest


def test_rows_that_are_left_out_are_in_no_digest(tmp_path: Path) -> None:
    reports, path = reports_of(COUNTED, 99), tmp_path / "a.jsonl"
    write_reports(path, COUNTED, reports)
    with path.open("a") as file:
        file.write(json.dumps({"plan": COUNTED.fingerprint, "symbol": 20}) + "\n")
    assert tally(COUNTED, Sources(path, bad_share=0.1)).tally.rest == digesting(COUNTED).of(reports)
    write_reports(tmp_path / "b.parquet", COUNTED, reports)
    assert "the same 99 reports twice" in refused(DataError, lambda: tally(COUNTED, Sources(tmp_path, bad_share=0.1)))


def test_a_name_given_twice_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    write_reports(tmp_path / "a.parquet", COUNTED, reports_of(COUNTED))
    assert "named twice" in refused(ParameterError, lambda: tally(COUNTED, [tmp_path, tmp_path / "a.parquet"]))
