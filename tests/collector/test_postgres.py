"""Data in PostgreSQL: the same as in a folder, and what several collectors owe each other."""

import inspect
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import test_sealing
import test_store
from click.testing import CliRunner
from collectors import added, current, frame, ids, keeping, kept, put, records, serving, submission, wait_until
from postgres_server import PostgresServer, postgres_server, rows_in_tables, server_of
from shared_kills import LEAST, Shared, added_at_once

from discreet.cli import main
from discreet.collector.intake import STORE, Writer
from discreet.collector.keeper import Entry
from discreet.collector.logs import Measures
from discreet.collector.operations import add, check
from discreet.collector.sealing import seal_batch
from discreet.collector.storage import postgres
from discreet.collector.storage.postgres import PostgresStore
from discreet.collector.storage.store import FailedStoreError
from discreet.collector.verbs.parameters import spelled_key
from discreet.device.protocol.public_log import LogHead, consistency
from discreet.errors import DataError, ParameterError
from signed import PLAIN, PUBLIC, envelope


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, server: PostgresServer) -> Iterator[Path]:
    """A folder of sealed files whose data are in PostgreSQL."""
    with server.serves(tmp_path):
        yield tmp_path


def asked(folder: Path, text: str) -> list[Any]:
    with psycopg.connect(server_of(folder), autocommit=True) as connection:
        answer = connection.execute(text)
        return answer.fetchall() if answer.description else []


def rows(entry: Entry, n: int) -> bytes:
    return frame(entry, n)[44:]


SAME: list[tuple[Callable[..., None], dict[str, Any]]] = [
    (test_store.test_a_failed_transaction_leaves_nothing, {}),
    (test_store.test_numbers_of_deleted_collections_are_never_used_again, {}),
    (test_store.test_a_deletion_that_was_killed_goes_on_with_the_next_start, {"step": "remove"}),
    (test_store.test_a_deletion_that_was_killed_goes_on_with_the_next_start, {"step": "end_purge"}),
    (test_sealing.test_the_first_report_of_an_id_wins, {}),
    (test_sealing.test_nothing_is_sealed_twice_and_nothing_comes_afterwards, {}),
    (test_sealing.test_a_failure_leaves_the_inbox_and_opens_the_epoch_again, {}),
    (test_sealing.test_few_reports_are_sealed_with_those_of_the_next_epoch, {}),
    (test_sealing.test_few_reports_of_an_open_epoch_are_not_closed, {}),
    (test_sealing.test_an_open_epoch_between_few_reports_and_others_keeps_them_apart, {}),
    (test_sealing.test_the_last_reports_expire_where_they_stay_too_few, {}),
    (test_sealing.test_reports_are_deleted_when_their_time_has_come_and_tallies_stay, {}),
]
"""Tests of data in a folder that hold of data in PostgreSQL too."""


@pytest.mark.parametrize(("case", "given"), SAME, ids=[case.__name__ for case, _ in SAME])
def test_it_is_as_in_a_folder(
    folder: Path, case: Callable[..., None], given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    has = {"tmp_path": folder, "monkeypatch": monkeypatch, **given}
    case(**{name: has[name] for name in inspect.signature(case).parameters})
    with keeping(folder) as keeper:
        assert [flaw for flaw in check(keeper) if "is missing, and its time" not in flaw] == []
    assert not list(folder.glob("collector.*"))
    assert not (folder / "inbox").exists()


def test_what_is_acknowledged_is_there_and_goes_as_a_whole(folder: Path) -> None:
    """Several epochs are one commit; sealing or removing drops a table, and the counts with it."""
    entry = added(folder)
    sent = {epoch: [rows(entry, 3), rows(entry, 1)] for epoch in range(4)}
    with keeping(folder) as keeper, keeping(folder) as other:
        for inboxes in (keeper.inboxes, other.inboxes):
            assert inboxes.append({(entry.key, epoch): sent[epoch] for epoch in sent}) == set()
        assert keeper.pending() == {(entry.key, epoch): 8 for epoch in sent}
        (part,) = keeper.inboxes.parts((entry.key, 2))
        assert list(part.rows(entry.width)) == [b"".join(sent[2])] * 2
        assert "postgresql" not in repr(part)
        keeper.inboxes.remove((entry.key, 2))
        assert (keeper.inboxes.parts((entry.key, 2)), list(keeper.inboxes.check())) == ([], [])
        assert {epoch for _, epoch in other.pending()} == {0, 1, 3}
    assert {at for _, at, _ in rows_in_tables(server_of(folder))} == {0, 1, 3}


def test_commits_are_flushed_whatever_is_usual_there(folder: Path) -> None:
    url = server_of(folder) + "%20-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
    with postgres.connected(url) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        assert connection.execute("SHOW default_transaction_isolation").fetchone() == ("read committed",)
    asked(folder, "ALTER SYSTEM SET fsync = off")
    asked(folder, "SELECT pg_reload_conf()")
    wait_until(lambda: asked(folder, "SHOW fsync") == [("off",)])
    try:
        with pytest.raises(ParameterError, match="must have fsync = on"):
            PostgresStore(server_of(folder))
    finally:
        asked(folder, "ALTER SYSTEM RESET fsync")
        asked(folder, "SELECT pg_reload_conf()")
        wait_until(lambda: asked(folder, "SHOW fsync") == [("on",)])


def test_an_epoch_is_closed_behind_every_group_and_before_the_next(folder: Path) -> None:
    """One collector is within a group while the other seals: the group is sealed, and the next one is refused."""
    entry, told = added(folder, least=1), []
    with keeping(folder) as keeper, keeping(folder) as other:
        assert not keeper.inboxes.append({(entry.key, 1): [rows(entry, 2)]})
        sealer = threading.Thread(target=lambda: told.append(seal_batch(keeper, entry, (1,), "test")))
        with other.writing():
            sealer.start()
            waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            wait_until(lambda: asked(folder, waits))
            assert other.inboxes.append({(entry.key, 1): [rows(entry, 5)]}) == set()
        sealer.join()
        assert told[0].n == 7
        assert not other.catalogue.is_closed(entry, 1)
        writer = Writer(other, Measures(), answer=told.extend)
        sent = submission(entry, frame(entry))
        assert sent is not None
        assert writer.submit(sent)
        writer.start()
        writer.stop()
        assert told[1][1].code == "late"
        assert other.catalogue.is_closed(entry, 1)
    assert kept(folder) == []


def test_one_seals_at_a_time_and_the_others_go_on(folder: Path) -> None:
    entry = added(folder)
    put(folder, entry, [(ids(60), records(entry, 60))], 0)
    with keeping(folder) as keeper, serving(folder, sealing="auto") as served:
        with keeper.upkeep:
            assert not served.app.keeper.upkeep.acquire(blocking=False)
            assert served.client.post(frame(entry)).status == 202
            served.app.housekeeper.look()
            assert served.app.keeper.store.seals() == []
        wait_until(keeper.store.seals)
        # What one learns of tokens and collections, the other knows a second later.
        add(keeper, envelope(PLAIN, version=2, epochs=current()), [PUBLIC], actor="test")
        wait_until(lambda: served.app.catalogue.newest["habits"].row.version == 2)
    assert len(kept(folder)) == 1


def test_what_two_add_at_once_is_there_once_and_the_public_log_only_grows(folder: Path) -> None:
    """Of one document the second is known, of two of one version the second is refused; every log seen goes on."""
    with keeping(folder) as keeper:
        seen, ended = [keeper.store.logged()], threading.Event()

        def watch() -> None:
            while not ended.wait(0.002):
                seen.append(keeper.store.logged())

        watcher = threading.Thread(target=watch)
        watcher.start()
        both = [
            [envelope(PLAIN, name=f"n{turn}{who if turn < 4 else ''}", title=f"{who if turn < 8 else ''} t")
             for turn in range(12)]
            for who in "ab"
        ]  # fmt: skip
        answers = added_at_once(folder, *both)
        ended.set()
        watcher.join()
        ids = keeper.store.logged()
    assert answers[:4] == [("new", "new")] * 4
    assert set(map(frozenset, answers[4:8])) == {frozenset({"new", "EquivocationError"})}
    assert set(map(frozenset, answers[8:])) == {frozenset({"new", "known"})}
    assert len(set(ids)) == len(ids) == 16
    assert all(before == ids[: len(before)] for before in seen)
    sizes = sorted({len(before) for before in seen})
    assert len(sizes) > 2
    for size in sizes:
        assert LogHead.of(ids).continues(LogHead.of(ids[:size]), consistency(ids, size))


def test_a_verb_that_waits_is_next(folder: Path) -> None:
    """However soon a collector that has much to seal asks for the lock again."""
    added(folder)
    with keeping(folder) as keeper, keeping(folder) as verb:
        keeper.upkeep.acquire()
        waiting = threading.Thread(target=lambda: (verb.upkeep.acquire(), verb.store.collections()))
        waiting.start()
        wait_until(lambda: asked(folder, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
        keeper.upkeep.release()
        assert not keeper.upkeep.acquire(blocking=False)
        waiting.join()


def test_a_connection_that_is_lost_takes_its_lock_and_nothing_else_along(folder: Path) -> None:
    """Whoever sealed under it records nothing, and whoever wrote is refused once; both begin anew."""
    entry = added(folder)
    others = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'discreet'"
    with keeping(folder) as keeper:
        at = entry.key, 1
        assert not keeper.inboxes.append({at: [rows(entry, 60)]})
        keeper.upkeep.acquire()
        asked(folder, others)
        for _ in range(2):
            with pytest.raises(FailedStoreError):
                seal_batch(keeper, entry, (1,), "test")
        # Others of this process read on meanwhile.
        assert keeper.store.collections()
        keeper.upkeep.release()
        assert keeper.inboxes.append({at: [rows(entry, 1)]}) == {at}
        assert keeper.inboxes.append({at: [rows(entry, 1)]}) == set()
        assert keeper.inboxes.probe()
        row = seal_batch(keeper, entry, (1,), "test")
    assert row is not None
    assert row.n == 61


def test_a_collector_that_hangs_within_a_group_is_cut_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that is cut off from the server: its epoch is sealed without it, and nothing of its group is kept."""
    entry = added(folder)
    put(folder, entry, [(ids(60), records(entry, 60))])
    monkeypatch.setattr(postgres, "SETTINGS", postgres.SETTINGS.replace("'5s'", "'300ms'"))
    with keeping(folder) as keeper, keeping(folder) as other:
        with other.writing():
            row = seal_batch(keeper, entry, (1,), "test")
            assert other.inboxes.append({(entry.key, 1): [rows(entry, 5)]}) == {(entry.key, 1)}
        with other.writing():
            assert other.catalogue.is_closed(entry, 1)
    assert row is not None
    assert (row.n, kept(folder)) == (60, [])


def test_a_server_that_is_away_refuses_frames_and_comes_back(folder: Path, server: PostgresServer) -> None:
    entry = added(folder)
    with serving(folder) as served:
        assert served.client.post(frame(entry)).status == 202
        server.stop("immediate")
        # Seen by the housekeeping, before anybody sends.
        wait_until(lambda: served.client.get("/health/ready").status == 503)
        answer = served.client.post(frame(entry))
        assert (answer.status, answer.json["error"]) == (503, STORE.code)
        assert not served.app.keeper.inboxes.probe()
        server.start()
        wait_until(lambda: served.client.post(frame(entry)).status == 202)
        assert served.client.get("/health/ready").json["store"]
    with pytest.raises(FailedStoreError, match=r"could not be reached \(.*/nowhere"):
        PostgresStore("postgresql://discreet@/postgres?host=/nowhere")


def test_a_table_that_somebody_copies_is_dropped_later(folder: Path) -> None:
    """As by pg_dump: its epoch is sealed, others take reports, and the table goes when it is free."""
    entry = added(folder)
    put(folder, entry, [(ids(60), records(entry, 60))])
    with keeping(folder) as keeper, psycopg.connect(server_of(folder)) as dump:
        dump.execute(f"LOCK TABLE inbox_{entry.key}_1 IN ACCESS SHARE MODE")
        assert seal_batch(keeper, entry, (1,), "test") is not None
        assert not keeper.inboxes.append({(entry.key, 2): [rows(entry, 1)]})
        assert len(kept(folder)) == 61
        dump.rollback()
        keeper.tidy()
        assert len(kept(folder)) == 1


HARM = {
    "UPDATE inbox_{key}_0 SET rows = set_byte(rows, 9, 255 - get_byte(rows, 9)) WHERE seq = 2": (
        "Table inbox_{key}_0 is damaged after 60 reports. Restore the last backup."
    ),
    "DELETE FROM inbox_{key}_1 WHERE seq = 1": "the table inbox_{key}_1 holds 1 reports, and 61 were acknowledged.",
    "DROP TABLE inbox_{key}_2": "the table inbox_{key}_2 is missing, and 61 reports with it.",
    "CREATE TABLE inbox_77_0 ()": "the table inbox_77_0 belongs to no epoch that waits.",
    "DROP TRIGGER announced ON closed": "1 triggers of the database are missing",
    "ALTER TABLE audit DISABLE TRIGGER USER; UPDATE audit SET seq = seq + 1; ALTER TABLE audit ENABLE TRIGGER USER": (
        "1 lines of the audit are missing"
    ),
}


def test_the_check_names_what_is_not_as_it_was_written(folder: Path) -> None:
    entry = added(folder)
    for epoch in range(3):
        put(folder, entry, [(ids(60), records(entry, 60)), (ids(1), records(entry, 1))], epoch)
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        asked(folder, "DELETE FROM audit")
    for harm in HARM:
        asked(folder, harm.format(key=entry.key))
    with keeping(folder) as keeper:
        assert sorted(check(keeper)) == sorted(said.format(key=entry.key) for said in HARM.values())


def test_reports_that_were_bent_are_not_sealed(folder: Path) -> None:
    entry = added(folder)
    put(folder, entry, [(ids(60), records(entry, 60))])
    asked(folder, f"UPDATE inbox_{entry.key}_1 SET rows = set_byte(rows, 30, 255 - get_byte(rows, 30))")
    with keeping(folder) as keeper, pytest.raises(DataError, match=r"table.damaged"):
        seal_batch(keeper, entry, (1,), "test")
    assert len(kept(folder)) == 60


def test_every_verb_works_or_says_what_to_do_instead(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_COLLECTOR_DATABASE", server_of(folder))

    def ran(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, ["collector", *words, "--data", str(folder)], catch_exceptions=False)
        assert done.exit_code == code, done.output
        return done.output

    (folder / "habits.json").write_bytes(envelope(least=50))
    assert "is open" in ran("add", str(folder / "habits.json"), "--trust", spelled_key(PUBLIC))
    with keeping(folder) as keeper:
        entry = keeper.entry("habits")
    put(folder, entry, [(ids(60), records(entry, 60))], 0)
    assert "habits" in ran("list")
    assert "60" in ran("status")
    assert ran("token", "add", "ana", "--role", "analyst").startswith("dsc_")
    assert "ana" in ran("token", "list")
    ran("token", "end", "ana")
    assert "60 reports sealed" in ran("seal", "habits", "--epoch", "0")
    assert "Everything holds" in ran("check")
    assert "pg_dump" in ran("backup", str(folder / "copy"), code=2)
    assert "habits is deleted" in ran("purge", "habits", "--yes")
    assert not (folder / "copy").exists()
    assert asked(folder, "SELECT count(*) FROM seals") == [(0,)]


def test_a_url_that_is_none_is_refused_and_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="must be a URL of PostgreSQL") as refused:
        PostgresStore("anna:hush@db/x")
    assert "hush" not in str(refused.value)


def test_a_dump_brings_everything_back(folder: Path, server: PostgresServer, tmp_path_factory: Any) -> None:
    """By the tools of PostgreSQL, into another database: reports that wait, seals and counts."""
    entry = added(folder)
    for epoch in (0, 1):
        put(folder, entry, [(ids(60), records(entry, 60))], epoch)
    with keeping(folder) as keeper:
        seal_batch(keeper, entry, (0,), "test")
    schema = server_of(folder).rpartition("%3D")[2]
    dumped = subprocess.run(
        [server.tool("pg_dump"), "-n", schema, server.url()], capture_output=True, check=True, text=True
    ).stdout
    before, waiting = kept(folder), asked(folder, "SELECT * FROM waiting")
    asked(folder, f"DROP SCHEMA {schema} CASCADE")
    subprocess.run([server.tool("psql"), "-q", server.url()], input=dumped, check=True, text=True, capture_output=True)
    assert (kept(folder), asked(folder, "SELECT * FROM waiting")) == (before, waiting)
    with keeping(folder) as keeper:
        assert check(keeper) == []
        assert seal_batch(keeper, entry, (1,), "test") is not None


def test_kills_of_two_collectors_their_server_and_verbs_lose_nothing(folder: Path, server: PostgresServer) -> None:
    left = Shared(folder, server, clients=2, collections=1, pause=0.1).operate(kills=6)
    assert left.holds, left
    assert left.kills >= 6
    assert left.acknowledged >= left.sealed >= LEAST
    assert {name for name in ("seal", "check", "purge", "status") if not left.verbs[name]} == set(), left.verbs
