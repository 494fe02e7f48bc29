"""The verbs ``serve`` and ``collector``: every option, what they print, and what they refuse."""

import json
import shutil
import signal
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from collectors import added, added_envelope, current, frame, ids, kept, put, records, serving
from loads import collector_command, free_port, wait_for

from discreet.cli import main
from discreet.collector.documents.signing import withdraw
from discreet.collector.storage.inboxes import packed
from discreet.collector.verbs.parameters import spelled_key
from signed import PUBLIC, TRUST, envelope, key

TRUSTED = ["--trust", spelled_key(PUBLIC)]


def run(*arguments: Any, **given: Any) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **given)


def told(*arguments: Any) -> Any:
    """What a verb says as JSON."""
    result = run(*arguments, "--json")
    assert result.exit_code in {0, 1}, result.output
    return json.loads(result.stdout)


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    path = tmp_path / "habits.json"
    path.write_bytes(envelope(epochs=current(), least=50, late=900))
    return path


def test_adding_listing_and_withdrawing(tmp_path: Path, signed: Path) -> None:
    data = ["--data", tmp_path / "data"]
    first = told("collector", "add", signed, *TRUSTED, *data)
    assert (first["name"], first["version"], first["state"], first["new"]) == ("habits", 1, "open", True)
    assert not told("collector", "add", signed, *TRUSTED, *data)["new"]
    other = tmp_path / "other.json"
    other.write_bytes(envelope(epochs=current(), least=51))
    assert "version.other-document" in run("collector", "add", other, *TRUSTED, *data).stderr
    notice = tmp_path / "notice.json"
    notice.write_bytes(withdraw(signed.read_bytes(), [key()], trust=TRUST))
    assert told("collector", "add", notice, *TRUSTED, *data)["state"] == "withdrawn"
    assert "version.not-newer" in run("collector", "add", other, *TRUSTED, *data).stderr
    assert [(one["version"], one["state"]) for one in told("collector", "status", *data)["collections"]] == [
        (1, "open"),
        (2, "withdrawn"),
    ]
    assert "withdrawn" in run("collector", "status", *data).stdout
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_a_file_without_end_is_read_as_far_as_a_collection_goes(tmp_path: Path) -> None:
    """A file of zeros larger than the memory, of which the disk holds nothing."""
    endless = tmp_path / "endless.json"
    with endless.open("wb") as file:
        file.truncate(1 << 40)
    result = run("collector", "add", endless, *TRUSTED, "--data", tmp_path / "data")
    assert (result.exit_code, "envelope" in result.stderr) == (2, True), result.output


def test_status_and_sealing(tmp_path: Path) -> None:
    entry = added(tmp_path)
    data = ["--data", tmp_path]
    for epoch in (0, 1):
        put(tmp_path, entry, [(ids(60), records(entry, 60))], epoch)
    put(tmp_path, entry, [(ids(3), records(entry, 3))], 2)
    found = told("collector", "status", *data)["epochs"]
    assert [(one["epoch"], one["waiting"], one["sealed"]) for one in found] == [
        (0, 60, 0),
        (1, 60, 0),
        (2, None, 0),
    ]
    assert "habits" in run("collector", "status", *data).stdout
    assert [one["epoch"] for one in told("collector", "seal", "habits", *data)["sealed"]] == [0]
    assert "Nothing is to be sealed" in run("collector", "seal", "habits", *data).stdout
    assert told("collector", "seal", "habits", "--epoch", 1, "--version", 1, *data)["sealed"][0]["n"] == 60
    few = run("collector", "seal", "habits", "--epoch", 2, *data).stdout
    assert few.startswith("Not sealed: 2. There are fewer than 50 different reports;")
    assert "epoch.is-sealed" in run("collector", "seal", "habits", "--epoch", 0, *data).stderr
    assert "no reports" in run("collector", "seal", "habits", "--epoch", 7, *data).stderr
    assert run("collector", "seal", "habits", "--version", 2, *data).exit_code == 2
    assert run("collector", "seal", "nobody", *data).exit_code == 2
    found = told("collector", "status", *data)["epochs"]
    assert [(one["epoch"], one["waiting"], one["sealed"]) for one in found] == [(2, None, 0), (0, 0, 60), (1, 0, 60)]


def _sealed(folder: Path) -> Any:
    entry = added(folder)
    put(folder, entry, [(ids(60), records(entry, 60))], 0)
    for _ in range(2):
        put(folder, entry, [(ids(5), records(entry, 5))], 1)
    assert run("collector", "seal", "habits", "--data", folder).exit_code == 0
    return entry


def test_a_backup_is_taken_while_reports_come_in_and_can_be_restored(tmp_path: Path) -> None:
    source = tmp_path / "source"
    entry = _sealed(source)
    with serving(source) as served:
        assert served.client.post(frame(entry)).status == 202
        assert told("collector", "backup", tmp_path / "copy", "--data", source)["files"] == 9
        assert served.client.post(frame(entry)).status == 202
    assert run("collector", "backup", tmp_path / "copy", "--data", source).exit_code == 2
    shutil.copytree(tmp_path / "copy", tmp_path / "back")
    assert told("collector", "check", "--data", tmp_path / "back") == {"holds": True, "flaws": []}
    assert (len(kept(source)), len(kept(tmp_path / "back"))) == (12, 11)
    with serving(tmp_path / "back", demo=True) as served:
        assert served.client.post(frame(entry)).status == 202
        assert served.client.get("/collections/habits/estimates.json").json["batches"][0]["n"] == 60


def test_a_backup_of_what_is_sealed_holds_nothing_else(tmp_path: Path) -> None:
    """No id and no report that waits; restored, their epoch is open, and takes them when they are sent again."""
    source, copy, back = (tmp_path / name for name in ("source", "copy", "back"))
    entry = _sealed(source)
    waiting = [row for _, _, row in kept(source)]
    assert told("collector", "backup", "--sealed-only", copy, "--data", source)["files"] == 8
    assert not any(row[:16] in path.read_bytes() for path in copy.rglob("*") if path.is_file() for row in waiting)
    shutil.copytree(copy, back)
    assert told("collector", "check", "--data", back)["holds"]
    assert kept(back) == []
    with serving(back) as served:
        assert served.client.post(frame(entry)).status == 202


def test_a_collection_that_passes_no_more_is_left_alone_and_can_be_purged(tmp_path: Path) -> None:
    """As after an update that refuses more: others are served, its reports stay, and nothing of it is taken."""
    entry = _sealed(tmp_path)
    _sql("UPDATE collections SET envelope = x'7b7d'")(tmp_path)
    other = added_envelope(tmp_path, envelope(epochs=current(), name="others"))
    before = len(kept(tmp_path))
    with serving(tmp_path) as served:
        assert served.client.post(frame(other)).status == 202
        assert served.client.post(frame(entry)).json["error"] == "store"
    assert len(kept(tmp_path)) == before + 1
    assert run("collector", "purge", "habits", "--yes", "--data", tmp_path).exit_code == 0
    assert [path.name for path in (tmp_path / "inbox").iterdir()] == [f"{other.key}-1.log"]
    assert told("collector", "check", "--data", tmp_path)["holds"]


def _bend(path: Path, at: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    path.write_bytes(data)


def _sql(text: str) -> Any:
    def change(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "collector.db")) as database:
            database.executescript(text)

    return change


def _append(name: str, data: bytes) -> Any:
    def change(folder: Path) -> None:
        path = folder / "inbox" / name
        path.write_bytes((path.read_bytes() if path.exists() else b"") + data)

    return change


FAULTS: dict[str, tuple[Any, str]] = {
    "file bent": (lambda folder: _bend(next(folder.rglob("epoch-000000.parquet"))), "other bytes"),
    "file gone": (lambda folder: next(folder.rglob("epoch-000000.parquet")).unlink(), "is missing"),
    "tally gone": (lambda folder: next(folder.rglob("*.tally.parquet")).unlink(), "does not exist"),
    "stray": (lambda folder: (folder / "sealed/habits/v1/epoch-000009.parquet").write_text("x"), "belongs to no seal"),
    "not closed": (_sql("DELETE FROM closed"), "not closed"),
    "orphans": (_append("9-1.log", packed(bytes(18))), "9-1.log belongs to no collection"),
    "reports bent": (lambda folder: _bend(folder / "inbox" / "1-1.log", 20), "1-1.log is damaged at byte 0"),
    "overlap": (
        _sql("INSERT INTO seals SELECT 1, 1, 1, file, sha256, n, 0, 0, at FROM seals; UPDATE seals SET last = 1"),
        "batches overlap",
    ),
    "seal": (_sql("UPDATE seals SET n = 61"), "its seal says 61"),
    "envelope": (_sql("UPDATE collections SET envelope = x'7b7d'"), "habits version 1"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_check_finds_what_does_not_hold(tmp_path: Path, fault: str) -> None:
    _sealed(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    good = run("collector", "check", "--data", tmp_path)
    assert (good.exit_code, good.stdout) == (0, "Everything holds.\n")
    assert before == {path: path.read_bytes() for path in before}
    change, said = FAULTS[fault]
    change(tmp_path)
    result = run("collector", "check", "--data", tmp_path)
    assert (result.exit_code, said in result.stdout.replace("\n", " ")) == (1, True), result.output


def test_purging_asks_first(tmp_path: Path) -> None:
    _sealed(tmp_path)
    assert run("collector", "purge", "habits", "--data", tmp_path, input="n\n").exit_code == 130
    gone = told("collector", "purge", "habits", "--yes", "--data", tmp_path)
    assert (gone["versions"], gone["reports"], gone["sealed"]) == (1, 10, 60)
    assert told("collector", "check", "--data", tmp_path)["holds"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "192.0.2.1:8080", "--insecure"], "of this machine"),
        (["--listen", "0.0.0.0:80"], "there is behind_proxy"),
        (["--listen", "0.0.0.0:80", "--demo"], "there is behind_proxy"),
        (["--listen", "0.0.0.0:80", "--insecure", "--demo"], "on this machine only"),
        (["--behind-proxy", "--demo"], "on this machine only"),
        (["--devices", "5"], "Add --demo"),
        (["--listen", "nowhere"], "HOST:PORT"),
        (["--config", "none.toml"], "does not exist"),
        (["--config", "trust.toml"], "44 letters"),
    ],
)
def test_what_serve_refuses(options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trust.toml").write_text("trust = ['abc']")
    result = run("serve", *options)
    assert (result.exit_code, said in result.stderr) == (2, True), result.output
    assert len(result.stderr.strip().splitlines()) == 1


def test_sigterm_ends_it_with_all_on_disk(tmp_path: Path) -> None:
    """Exit 0 within ten seconds, also while somebody is slow; the log is whole, and nothing is left to checkpoint."""
    import socket

    entry = added(tmp_path)
    port = free_port()
    command = [*collector_command(tmp_path, port), "--log", "debug"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(port, running)
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/reports", frame(entry), {"Content-Type": "application/vnd.discreet.reports"}
        )
        assert urllib.request.urlopen(request).status == 202
        slow = socket.create_connection(("127.0.0.1", port))
        slow.sendall(b"POST /v1/reports HTTP/1.1\r\n")
        began = time.monotonic()
        running.send_signal(signal.SIGTERM)
        _, log = running.communicate(timeout=15)
        slow.close()
    finally:
        running.kill()
    assert running.returncode == 0
    assert time.monotonic() - began < 10
    assert [json.loads(line)["event"] for line in log.splitlines()] == ["started", "stopped"]
    assert len(kept(tmp_path)) == 1
