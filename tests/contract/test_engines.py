"""The contract of engines: whatever holds the reports, and however many threads read, answers are those in memory."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import Reports, Sources, estimate, write_reports
from discreet.core.tally import GroupedTally
from discreet.engines import LocalEngine, TallyFold
from discreet.formats import scanned
from discreet.formats.scanned import CheckedBatch
from discreet.formats.sealed_files import check_sealed
from discreet.formats.sources import RowCounts
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.block_law import ValueCounts
from discreet.mechanisms.evidence import StoredBlocks
from discreet.mechanisms.laws.singletons import Singletons
from laws import MEDIUM, Case, cases, sampled
from packing import each
from reports_beside import write_beside, write_sealed

N = 500
ONE, SEVERAL = LocalEngine(threads=1), LocalEngine(threads=3)
CASES = cases({"12of40": MEDIUM["12of40"]}, (1.0,))
CASES += [Case(builder, sizes, 1.0) for sizes in ("1of40", "40of40") for builder in ("unary", "subset", "hadamard")]
REGION = np.random.default_rng(4).choice(["east", "north", "süd"], N)
AGE = np.random.default_rng(5).integers(0, 9, N)


class CountsForEachGroup(Singletons):
    """A law of another package, which has no counting by group of its own."""

    @property
    def counts(self) -> ValueCounts:
        return ValueCounts(self, super().counts.add)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts and batches so small that every file has many, and that they do not fill tiles."""
    monkeypatch.setattr(scanned, "PART_ROWS", 100)
    monkeypatch.setattr(scanned, "BATCH_ROWS", 37)
    monkeypatch.setattr(scanned, "LINES_AT_ONCE", 41)


def spread(folder: Path, mechanism: Any, reports: Reports) -> Path:
    """Write reports as a folder of files of every kind, some of them in folders of their own."""
    (folder / "day-2").mkdir(parents=True)
    places = ["a.parquet", "day-2/b.arrow", "c.jsonl", "day-2/d.PARQUET", "day-2/e.Jsonl.gz", "f.ARROW"]
    step = -(-reports.n // len(places))
    for place, start in zip(sorted(places, key=lambda name: folder / name), range(0, reports.n, step), strict=True):
        part = reports.part(start, start + step)
        write_reports(folder / place, mechanism, [part.part(0, 60), part.part(60, part.n)])
    (folder / "_SUCCESS").write_text("")
    (folder / ".a.parquet.crc").write_text("")
    return folder


@each("case", CASES)
def test_tallies_are_those_in_memory(case: Case, tmp_path: Path) -> None:
    reports = sampled(case, N)
    folder = spread(tmp_path / "in", case.mechanism, reports)
    for engine in (ONE, SEVERAL):
        found = engine.tally(case.mechanism, folder)
        assert found.tally == case.mechanism.tally(reports)
        assert (found.rows, found.bad, found.left_out) == (N, 0, {})


@each("case", CASES)
def test_estimates_are_those_in_memory(case: Case, tmp_path: Path) -> None:
    reports, mechanism = sampled(case, N), case.mechanism
    engine = LocalEngine(threads=2, memory=0, folder=tmp_path)
    found, left_out = engine.evidence(mechanism, spread(tmp_path / "in", mechanism, reports))
    assert isinstance(found, StoredBlocks)
    assert not left_out
    for method in ("mle", "em", "linear"):
        inside, outside = (estimate(mechanism, data, method=method) for data in (reports, found))
        np.testing.assert_allclose(outside.frequencies, inside.frequencies, rtol=0, atol=1e-12)
        np.testing.assert_allclose(outside.standard_errors, inside.standard_errors, rtol=0, atol=1e-12)
        assert (outside.n, outside.gap is None) == (inside.n, inside.gap is None)
        assert outside.gap is None or outside.gap == pytest.approx(inside.gap, abs=1e-12)
        if (method, case.builder) == ("mle", "unary"):
            np.testing.assert_allclose(outside.limits(), inside.limits(), rtol=1e-8, atol=1e-12)


GROUPED: list[Any] = [
    LawMechanism(dc.Domain(range(4)), 1.0, CountsForEachGroup(4)),
    dc.RandomizedResponse(dc.Domain(range(3), sensitive=[], allow_unprotected=True), 1.0),
    *(
        Case(name, "12of40", 1.0).mechanism
        for name in ("rr", "unary", "unary-clear-bits", "subset", "hashing", "design")
    ),
    Case("hadamard", "40of40", 1.0).mechanism,
]


@each("mechanism", GROUPED)
@each("by", [("region",), ("age", "region")])
def test_groups_are_those_in_memory(by: tuple[str, ...], mechanism: Any, tmp_path: Path) -> None:
    reports = mechanism.obfuscate_codes(np.arange(N) % mechanism.domain.size, random=dc.SeededRandom(1))
    beside = pa.table({"region": REGION, "age": AGE})
    for place, start in (("a.parquet", 0), ("b.arrow", 400)):
        part = (reports.part(start, start + 400), beside.slice(start, 400))
        write_beside(tmp_path / place, mechanism, [part], beside.schema)
    found = SEVERAL.tally_by(mechanism, tmp_path, by)
    columns = [{"region": REGION, "age": AGE}[column].tolist() for column in by]
    labels = list(zip(*columns, strict=True)) if len(by) > 1 else columns[0]
    rows = {label: [at for at, own in enumerate(labels) if own == label] for label in sorted(set(labels))}
    wanted = GroupedTally(by, {label: mechanism.tally(reports.take(np.array(own))) for label, own in rows.items()})
    assert (found.names, list(found.items())) == (wanted.names, list(wanted.items()))


def test_counts_that_add_group_by_group_do_so_in_another_process_too() -> None:
    """A pickle of them knows no other way than the law's."""
    counts, found = pickle.loads(pickle.dumps(CountsForEachGroup(3).counts)), np.zeros((2, 3), np.int64)
    counts.add_by_group({"symbol": np.array([0, 2, 2], np.uint8)}, np.array([0, 1, 1], np.int32), found)
    assert found.tolist() == [[1, 0, 0], [0, 0, 2]]


@each("case", CASES)
def test_sealed_files_are_those_in_memory(case: Case, tmp_path: Path) -> None:
    reports, sealed = replace(sampled(case, N), batches=()), tmp_path / "found.parquet"
    write_sealed(tmp_path / "wanted.parquet", case.mechanism, reports, name="monday")
    folder = spread(tmp_path / "in", case.mechanism, reports)
    assert SEVERAL.seal(case.mechanism, folder, sealed, name="monday").n == N
    assert sealed.read_bytes() == (tmp_path / "wanted.parquet").read_bytes()
    assert check_sealed(sealed, case.mechanism).n == N


@each("case", CASES)
def test_states_merge_in_any_order_and_in_pieces(case: Case) -> None:
    """As a cluster merges them."""
    mechanism, reports = case.mechanism, sampled(case, 300)
    fold, states, account = TallyFold(mechanism), [], RowCounts(mechanism)
    for start in range(0, reports.n, 70):
        batch = CheckedBatch(reports.part(start, start + 70))
        states.append(fold.zero())
        fold.add(states[-1], batch)
        account.add(batch)
    for order in (states, states[::-1], states[2:] + states[:2]):
        whole = fold.zero()
        for state in order:
            fold.merge(whole, state)
        assert fold.finish(whole, account).tally == mechanism.tally(reports)
    in_pieces = np.concatenate([sum(state[cut : cut + 7] for state in states) for cut in range(0, len(states[0]), 7)])
    assert fold.finish(in_pieces, account).tally == mechanism.tally(reports)
    assert fold.finish(fold.zero(), RowCounts(mechanism)).tally == mechanism.empty_tally()


def test_every_thread_needs_a_state_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(1000)), 1.0)
    reports = mechanism.obfuscate_codes(np.arange(1000), random=dc.SeededRandom(1))
    monkeypatch.setattr("discreet.engines.engine.STATES_BYTES", 1)
    found = LocalEngine(threads=4).tally(mechanism, Sources(spread(tmp_path / "in", mechanism, reports)))
    assert found.tally == mechanism.tally(reports)
