"""Tallies by group from files, against tallies of each group's own reports."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Reports, write_reports
from discreet.core.tally import GroupedTally
from discreet.engines import LocalEngine, folds
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.formats.tallies import write_tally
from discreet.mechanisms import BlockMechanism, LawMechanism
from discreet.mechanisms.block_law import ValueCounts
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import MixedSubsets
from discreet.mechanisms.report_tables import to_arrow
from packing import each

ULDP = dc.Domain(["flu", "hiv", "none", "cold"], sensitive=["hiv", "flu"])


class CallsForEachGroup(Singletons):
    """A law of another package, which has no counting by group of its own."""

    @property
    def counts(self) -> ValueCounts:
        return ValueCounts(self, super().counts.add)


def test_counts_that_add_group_by_group_do_so_in_another_process_too() -> None:
    """A pickle of them knows no other way than the law's."""
    law = CallsForEachGroup(3)
    counts = pickle.loads(pickle.dumps(law.counts))
    found = np.zeros((2, 3), np.int64)
    counts.add_by_group({"symbol": np.array([0, 2, 2], np.uint8)}, np.array([0, 1, 1], np.int32), found)
    assert found.tolist() == [[1, 0, 0], [0, 0, 2]]


MECHANISMS: dict[str, BlockMechanism] = {
    "rr": dc.RandomizedResponse(ULDP, 1.0),
    "bits": dc.UnaryEncoding(dc.Domain(range(9)), 1.0),
    "clear-bits": dc.UnaryEncoding(ULDP, 1.0, clear_bits=True),
    "hashing": dc.LocalHashing(ULDP, 1.0),
    "pool": dc.PooledHashing(ULDP, 1.0, functions=12),
    "subsets": dc.SubsetSelection(ULDP, 1.0),
    "two sizes": LawMechanism(dc.Domain(range(9)), 1.0, MixedSubsets(9, 2, 1 << 63)),
    "another's law": LawMechanism(dc.Domain(range(4)), 1.0, CallsForEachGroup(4)),
    "open": dc.RandomizedResponse(dc.Domain(["a", "b"], sensitive=[], allow_unprotected=True), 1.0),
}
pytestmark = pytest.mark.filterwarnings("ignore:Columns that reports of this plan do not have are not read")
PEOPLE = 3000
RANDOM = np.random.default_rng(4)
REGION = RANDOM.choice(["east", "north", "süd"], PEOPLE)
AGE = RANDOM.integers(0, 40, PEOPLE)


def reports_of(mechanism: BlockMechanism) -> Reports:
    return mechanism.obfuscate_codes(np.arange(PEOPLE) % mechanism.domain.size, random=dc.SeededRandom(1))


def write(path: Path, mechanism: BlockMechanism, rows: slice = slice(None), **more: Any) -> None:
    reports = reports_of(mechanism)
    table = to_arrow(mechanism, reports)
    for name, column in {"region": REGION, "age": AGE, **more}.items():
        table = table.append_column(name, column if isinstance(column, pa.Array) else pa.array(column))
    start, end, _ = rows.indices(PEOPLE)
    pq.write_table(table.slice(start, end - start), path, row_group_size=700)


def expected(mechanism: BlockMechanism, by: tuple[str, ...]) -> GroupedTally:
    reports, columns = reports_of(mechanism), [{"region": REGION, "age": AGE}[name].tolist() for name in by]
    labels = list(zip(*columns, strict=True)) if len(by) > 1 else columns[0]
    rows = {label: [at for at, own in enumerate(labels) if own == label] for label in sorted(set(labels))}
    return GroupedTally(by, {label: mechanism.tally(reports.take(np.array(own))) for label, own in rows.items()})


def same(one: GroupedTally, other: GroupedTally) -> bool:
    return one.names == other.names and list(one.items()) == list(other.items())


@each("name", MECHANISMS)
@each("by", [("region",), ("age",), ("age", "region")])
def test_each_group_has_the_tally_of_its_own_reports(tmp_path: Path, name: str, by: tuple[str, ...]) -> None:
    mechanism = MECHANISMS[name]
    write(tmp_path / "monday.parquet", mechanism, slice(0, 1000))
    write(tmp_path / "tuesday.parquet", mechanism, slice(1000, PEOPLE))
    found = LocalEngine(threads=2).tally_by(mechanism, tmp_path, by)
    assert same(found, expected(mechanism, by))


def test_counts_that_do_not_fit_into_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = MECHANISMS["rr"]
    write(tmp_path / "all.parquet", mechanism)
    row = 8 * (1 + sum(mechanism.tally_sizes))
    monkeypatch.setattr(folds, "memory_limit", lambda: 39 * row)
    with pytest.raises(DataError, match=r"^40 or more groups need 0\.0 GB .* \[groups.too-large\]"):
        LocalEngine().tally_by(mechanism, tmp_path, "age")
    monkeypatch.setattr(folds, "memory_limit", lambda: 40 * row)
    assert same(LocalEngine().tally_by(mechanism, tmp_path, "age"), expected(mechanism, ("age",)))


def test_threads_share_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is too little for a row of each group in every thread, one thread counts."""
    mechanism = MECHANISMS["rr"]
    for place in range(4):
        write(tmp_path / f"{place}.parquet", mechanism, slice(place * PEOPLE // 4, (place + 1) * PEOPLE // 4))
    row, largest, real = 8 * (1 + sum(mechanism.tally_sizes)), [0], folds.GroupState.grow
    granted: dict[folds.GroupState, int] = {}

    def watched(state: folds.GroupState) -> None:
        real(state)
        # Those that were granted, without those that another thread is about to be refused.
        granted[state] = len(state.places)
        largest[0] = max(largest[0], sum(granted.get(one, 0) for one in state.states))

    monkeypatch.setattr(folds.GroupState, "grow", watched)
    monkeypatch.setattr(folds, "memory_limit", lambda: 41 * row)
    assert same(LocalEngine(threads=4).tally_by(mechanism, tmp_path, "age"), expected(mechanism, ("age",)))
    assert largest[0] <= 41
    monkeypatch.setattr(folds, "memory_limit", lambda: 39 * row)
    with pytest.raises(DataError, match=r"groups\.too-large"):
        LocalEngine(threads=4).tally_by(mechanism, tmp_path, "age")


@pytest.mark.parametrize("table", [0, folds.TABLE_ENTRIES])
def test_combinations_are_numbered_in_order(table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds, "TABLE_ENTRIES", table)
    columns = [pa.array(["b", "a", "b", "b"]), pa.array([3, 3, 1, 3]), pa.array([True, True, True, False])]
    codes, labels = folds.groups_in(columns, ("x", "y", "z"))
    assert [labels[code] for code in codes] == [("b", 3, True), ("a", 3, True), ("b", 1, True), ("b", 3, False)]
    assert len(labels) == 4


def test_an_estimate_takes_the_tallies(tmp_path: Path) -> None:
    mechanism = MECHANISMS["rr"]
    write(tmp_path / "all.parquet", mechanism)
    streamed = dc.estimate_groups(mechanism, LocalEngine().tally_by(mechanism, tmp_path, "region"))
    alike = dc.estimate_groups(mechanism, reports_of(mechanism), groups={"region": REGION})
    assert streamed.to_pandas().equals(alike.to_pandas())


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    mechanism, engine = MECHANISMS["rr"], LocalEngine()
    write(
        tmp_path / "all.parquet", mechanism, weight=RANDOM.random(PEOPLE), gaps=pa.array([None] + ["a"] * (PEOPLE - 1))
    )
    for by, words in (
        ("sex", r"public-column.missing"),
        ("weight", "'weight' holds double.*groups.wrong-type"),
        ("gaps", "1 of 700 labels of 'gaps' in a batch are missing"),
        ("symbol", r"public-column.reserved"),
    ):
        with pytest.raises(DataError, match=words):
            engine.tally_by(mechanism, tmp_path / "all.parquet", by)
    for wrong in ((), ("region", "region"), (3,)):
        with pytest.raises(ParameterError, match=r"by\.not-names"):
            engine.tally_by(mechanism, tmp_path / "all.parquet", wrong)  # type: ignore[arg-type]
    with pytest.raises(MismatchError):
        engine.tally_by(dc.RandomizedResponse(ULDP, 2.0), tmp_path / "all.parquet", "region")
    lines, tally = tmp_path / "some.jsonl", tmp_path / "some.tally.parquet"
    write_reports(lines, mechanism, reports_of(mechanism))
    write_tally(tally, mechanism.tally(reports_of(mechanism)))
    for path in (lines, tally):
        with pytest.raises(DataError, match=r"public.no-columns"):
            engine.tally_by(mechanism, path, "region")
