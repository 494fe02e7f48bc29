"""Sealing: each report once, in canonical order, and nothing of ids, order or times in what is left."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from collectors import (
    PLANS,
    added,
    current,
    frame,
    ids,
    keeping,
    kept,
    put,
    records,
    serving,
    stored,
    total,
    wait_until,
)

from discreet import read_reports
from discreet.collector.control import ask
from discreet.collector.sealing import due_batches, seal_batch, sealed_folder
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.clock import Clock
from discreet.collector.storage.folder import DataFolder
from discreet.collector.storage.store import FailedStoreError, SealRow, Store
from discreet.errors import DataError
from discreet.formats.sealing import is_canonical
from discreet.formats.tallies import read_tally


def seal(folder: Path, entry: Entry, *batch: int) -> SealRow | None:
    with keeping(folder) as keeper:
        return seal_batch(keeper, entry, batch or (1,))


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_what_was_stored_is_sealed(tmp_path: Path, plan: str) -> None:
    entry = added(tmp_path, plan)
    rows = records(entry, 500)
    put(tmp_path, entry, [(ids(n), rows[start : start + n]) for start, n in ((0, 1), (1, 1), (2, 300), (302, 198))])
    row = seal(tmp_path, entry)
    assert row is not None
    assert (row.n, row.duplicates, row.conflicts) == (500, 0, 0)
    place = sealed_folder(DataFolder(tmp_path), entry)
    assert sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()) == [
        "_collection.json",
        *(f"_estimates/epoch-000001.{kind}" for kind in ("csv", "html", "json")),
        "_plan.json",
        "_tallies/epoch-000001.tally.parquet",
        "epoch-000001.parquet",
    ]
    found = read_reports(place / "epoch-000001.parquet", entry.mechanism)
    sent = entry.codec.reports(entry.mechanism, rows, simulated=False)
    assert entry.mechanism.tally(found) == entry.mechanism.tally(sent)
    assert read_tally(place / "_tallies/epoch-000001.tally.parquet", entry.mechanism) == entry.mechanism.tally(sent)
    assert is_canonical(entry.mechanism, [found])
    assert sorted(map(bytes, entry.codec.encode(found))) == sorted(map(bytes, rows))
    assert kept(tmp_path) == []
    assert (place / "_collection.json").read_bytes() == entry.row.envelope
    assert (tmp_path / "inbox").stat().st_mode & 0o777 == tmp_path.stat().st_mode & 0o777 == 0o700
    for path in (tmp_path / "sealed", *(tmp_path / "sealed").rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o750 if path.is_dir() else 0o640)
    assert (tmp_path / "collector.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("memory", [1, 1 << 6, 1 << 27])
def test_duplicates_are_found_wherever_they_are(tmp_path: Path, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a plain loop; with so little memory that runs and batches cut through the reports of one id."""
    from discreet.collector import sealing
    from discreet.formats import sealing as canonical

    monkeypatch.setattr(canonical, "LEAST_ROWS", 7)
    monkeypatch.setattr(canonical, "LEAST_BLOCK", 3)
    entry = added(tmp_path)
    rng = np.random.default_rng(5)
    # Few ids, and in them few different bytes, so that halves of ids agree too.
    names = np.zeros((600, 16), dtype=np.uint8)
    names[:, 7], names[:, 15] = rng.integers(0, 12, 600), rng.integers(0, 12, 600)
    rows = records(entry, 600)
    put(tmp_path, entry, [(names[at : at + 3], rows[at : at + 3]) for at in range(0, 600, 3)])
    duplicates = conflicts = 0
    seen: dict[bytes, bytes] = {}
    for name, one in zip(names, rows, strict=True):
        if name.tobytes() not in seen:
            seen[name.tobytes()] = one.tobytes()
        elif seen[name.tobytes()] == one.tobytes():
            duplicates += 1
        else:
            conflicts += 1
    monkeypatch.setattr(sealing, "MEMORY", memory)
    row = seal(tmp_path, entry)
    assert row is not None
    assert (row.n, row.duplicates, row.conflicts) == (len(seen), duplicates, conflicts)
    found = read_reports(sealed_folder(DataFolder(tmp_path), entry) / "epoch-000001.parquet", entry.mechanism)
    assert sorted(map(bytes, entry.codec.encode(found))) == sorted(seen.values())
    assert kept(tmp_path) == []


def test_nothing_of_arrival_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same reports in two orders, in other frames, under other ids, at other times: the same bytes."""
    from discreet.collector import sealing
    from discreet.formats import sealing as canonical

    monkeypatch.setattr(canonical, "LEAST_ROWS", 16)
    found = []
    for seed, cut in ((1, 1), (2, 40)):
        folder = tmp_path / str(seed)
        entry = added(folder, epochs=current(start=1_700_000_000, count=10**6))
        rows = np.random.default_rng(seed).permutation(records(entry, 200))
        put(folder, entry, [(ids(len(rows[at : at + cut])), rows[at : at + cut]) for at in range(0, 200, cut)])
        monkeypatch.setattr(sealing, "MEMORY", 1)
        seal(folder, entry)
        place = sealed_folder(DataFolder(folder), entry)
        found.append([(place / "epoch-000001.parquet").read_bytes(), *place.glob("_tallies/*")])
        found[-1][1] = found[-1][1].read_bytes()
    assert found[0] == found[1]


def test_the_file_says_nothing_of_ids_order_or_times(tmp_path: Path) -> None:
    entry = added(tmp_path)
    names = ids(300)
    put(tmp_path, entry, [(names, records(entry, 300))])
    seal(tmp_path, entry)
    path = sealed_folder(DataFolder(tmp_path), entry) / "epoch-000001.parquet"
    data, file = path.read_bytes(), pq.ParquetFile(path)
    assert file.schema_arrow.names == ["clear", "symbol"]
    assert not any(name.tobytes() in data or name.tobytes()[:8] in data for name in names)
    stamp = json.loads(file.schema_arrow.metadata[b"discreet"])
    assert stamp == {
        "format": 1,
        "kind": "reports",
        "plan": entry.mechanism.fingerprint,
        "collection": entry.row.id.hex(),
        "epoch": 1,
        "sealed": True,
        "n": 300,
        "simulated": False,
    }
    assert set(file.metadata.metadata) == {b"discreet", b"ARROW:schema"}
    assert all(file.schema_arrow.field(at).metadata is None for at in range(2))
    now = int(time.time())
    written = [str(second).encode() for second in range(now - 30, now + 2)]
    written += [second.to_bytes(8, "little")[:4] for second in range(now - 30, now + 2)]
    assert not any(second in data for second in written)


def test_a_failure_leaves_the_inbox_and_opens_the_epoch_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever step fails, the reports are still there, others may come, and the next sealing is whole."""
    from discreet.collector import sealing

    entry = added(tmp_path)
    put(tmp_path, entry, [(ids(60), records(entry, 60))])

    def failing(*_: Any, **__: Any) -> Any:
        raise FailedStoreError("the disk is full")

    steps = [(sealing, "put_sealed"), (sealing, "write_tally"), (Store, "record_seal")]
    for place, name in steps:
        with monkeypatch.context() as patched:
            patched.setattr(place, name, failing)
            with pytest.raises(FailedStoreError):
                seal(tmp_path, entry)
        assert len(kept(tmp_path)) == 60
        with stored(tmp_path) as store:
            assert store.closed() == set()
    with serving(tmp_path) as served:
        assert served.client.post(frame(entry)).status == 202
    row = seal(tmp_path, entry)
    assert row is not None
    assert row.n == 61


def test_reports_that_cannot_be_unlinked_are_unlinked_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seal holds, and nothing is counted twice."""
    from discreet.collector.storage.inboxes import Inboxes

    entry = added(tmp_path)
    put(tmp_path, entry, [(ids(60), records(entry, 60))])

    def failing(*_: Any) -> None:
        raise OSError("no")

    with monkeypatch.context() as patched:
        patched.setattr(Inboxes, "remove", failing)
        with pytest.raises(OSError, match="no"):
            seal(tmp_path, entry)
    assert len(kept(tmp_path)) == 60
    with keeping(tmp_path) as keeper:
        assert [row.n for row in keeper.store.seals()] == [60]
        assert keeper.pending() == {}
    assert kept(tmp_path) == []


def test_an_epoch_of_few_different_reports_joins_the_next_one(tmp_path: Path) -> None:
    """Not only later, when the next one is sealed already: two batches would overlap."""
    entry, names = added(tmp_path, least=50), ids(40)
    put(tmp_path, entry, [(names, records(entry, 40))] * 2, 0)
    put(tmp_path, entry, [(ids(60), records(entry, 60))], 1)
    said = ask(DataFolder(tmp_path), "seal", name="habits", epochs=[1], version=None)["sealed"]
    assert [(row["epoch"], row["last"], row["n"], row["duplicates"]) for row in said] == [(0, 1, 100, 40)]


def test_an_open_epoch_between_few_reports_and_others_keeps_them_apart(tmp_path: Path) -> None:
    """It would be closed with them."""
    entry = added(tmp_path, least=50, epochs=current(count=9))
    for epoch, n in ((0, 10), (1, 60), (2, 60)):
        put(tmp_path, entry, [(ids(n), records(entry, n))], epoch)
    with keeping(tmp_path) as keeper:
        assert due_batches(keeper, entry, [2]) == [(2,)]


def test_the_last_reports_expire_where_they_stay_too_few(tmp_path: Path) -> None:
    entry = added(tmp_path, least=50, retention=2)
    put(tmp_path, entry, [(ids(10), records(entry, 10))], 0)
    with serving(tmp_path, sealing="auto") as served:
        end = entry.collection.window(2)[2]
        for days, there in ((1.9, True), (2.1, False)):
            served.app.keeper.clock = Clock(clock=lambda days=days: end + days * 86_400)
            served.app.housekeeper.look()
            assert bool(kept(tmp_path)) == there
    assert not list(tmp_path.rglob("epoch-*"))


def test_damaged_rows_are_not_sealed(tmp_path: Path) -> None:
    entry = added(tmp_path, least=1)
    bad = records(entry, 5)
    bad[3] = [1, 77]
    put(tmp_path, entry, [(ids(5), bad)])
    with pytest.raises(DataError, match="symbol outside"):
        seal(tmp_path, entry)
    assert len(kept(tmp_path)) == 5


def test_the_collector_seals_what_is_over(tmp_path: Path) -> None:
    """An epoch that ended long ago is sealed by itself, in a process of its own; the one that runs is not."""
    entry = added(tmp_path)
    for epoch in (0, 1):
        put(tmp_path, entry, [(ids(60), records(entry, 60))], epoch)
    with serving(tmp_path, sealing="auto") as served:
        wait_until(lambda: total(served.app.measures.sealed), 30)
    assert {row[1] for row in kept(tmp_path)} == {1}
    with stored(tmp_path) as store:
        ((key, epoch),) = [(row.collection, row.epoch) for row in store.seals()]
    assert (key, epoch) == (entry.key, 0)


def test_a_sealing_that_is_ended_with_the_collector_has_not_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    from discreet.collector.logs import write_logs

    entry = added(tmp_path)
    put(tmp_path, entry, [(ids(60), records(entry, 60))], 0)
    write_logs("debug")
    with serving(tmp_path, sealing="auto") as served:
        wait_until(lambda: served.app.workers.running)
    assert "sealing_failed" not in capfd.readouterr().err
    assert len(kept(tmp_path)) == 60
