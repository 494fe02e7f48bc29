"""Verbs beside a running collector, and what is said where it cannot be asked."""

import base64
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest
from collectors import added, added_envelope, current, frame, ids, keeping, kept, put, records, serving

from discreet.collector import control, operations
from discreet.collector.control import ask
from discreet.collector.documents.signing import withdraw
from discreet.collector.keeper import Keeper
from discreet.collector.operations import OPERATIONS
from discreet.collector.storage.folder import DataFolder
from discreet.collector.verbs.parameters import spelled_key
from discreet.errors import DataError, OutputExistsError, ParameterError
from signed import PUBLIC, TRUST, envelope, key


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "WAIT_SECONDS", 0.3)


def test_the_collector_answers_as_the_verb_itself_would(tmp_path: Path) -> None:
    """Each operation that needs nothing else, with and without a collector; what it changes holds at once."""
    folder = DataFolder(tmp_path)
    entry = added(tmp_path)
    put(tmp_path, entry, [(ids(60), records(entry, 60))])
    alone = {name: ask(folder, name) for name in ("status", "token list", "check")}
    with serving(tmp_path) as served:
        assert {name: ask(folder, name) for name in alone} == alone
        token = ask(folder, "token add", name="ana", role="analyst", days=None)["token"]
        path = "/collections/habits/estimates"
        assert served.client.get(path, Authorization=f"Bearer {token}").status == 200
        assert ask(folder, "token end", name="ana") == {"name": "ana", "ended": True}
        assert served.client.get(path, Authorization=f"Bearer {token}").status == 401
        assert ask(folder, "seal", name="habits", epochs=[1], version=None)["sealed"][0]["n"] == 60
        assert served.client.post(frame(entry)).json["error"] == "late"
        assert (tmp_path / "collector.sock").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "collector.sock").exists()


def test_what_is_refused_is_refused_in_the_same_words(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    (tmp_path / "there").mkdir()
    added(folder.path)
    asked: list[tuple[str, dict[str, Any], type[Exception]]] = [
        ("purge", {"name": "nobody"}, ParameterError),
        ("seal", {"name": "habits", "epochs": [2], "version": None}, ParameterError),
        ("backup", {"target": str(tmp_path / "there"), "sealed_only": False}, OutputExistsError),
        ("add", {"envelope": "e30=", "trust": ["A" * 43 + "="]}, DataError),
    ]

    def said() -> list[str]:
        found = []
        for name, given, kind in asked:
            with pytest.raises(kind) as caught:
                ask(folder, name, **given)
            found.append(str(caught.value))
        return found

    alone = said()
    with serving(folder.path):
        assert said() == alone


def test_a_defect_is_told_without_what_was_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added(tmp_path)

    def broken(_: Keeper) -> dict[str, Any]:
        raise RuntimeError("secret of somebody")

    with serving(tmp_path):
        monkeypatch.setattr(operations, "OPERATIONS", {**OPERATIONS, "status": broken})
        with pytest.raises(DataError, match="this is a defect of the collector") as caught:
            ask(DataFolder(tmp_path), "status")
        assert "secret" not in str(caught.value)
        for question in (b"", b"{", b"[]", b'{"operation": 3}', b'{"operation": "none", "given": {}}'):
            with Client(str(tmp_path / "collector.sock"), "AF_UNIX") as connection:
                connection.send_bytes(question)
                assert json.loads(connection.recv_bytes())["kind"] == "DataError"


def test_many_verbs_at_once_are_all_answered(tmp_path: Path) -> None:
    """Beside frames that come in, and a sealing that holds the upkeep."""
    entry, folder = added(tmp_path), DataFolder(tmp_path)
    with serving(tmp_path) as served, ThreadPoolExecutor(12) as pool:
        made = [pool.submit(ask, folder, "token add", name=f"t{n}", role="analyst", days=1) for n in range(12)]
        sent = [pool.submit(served.client.post, frame(entry)) for _ in range(12)]
        assert [one.result().status for one in sent] == [202] * 12
        assert len({one.result()["token"] for one in made}) == 12
    assert len(kept(tmp_path)) == 12
    assert len(ask(folder, "token list")["tokens"]) == 12


def test_a_verb_waits_for_another_verb(tmp_path: Path) -> None:
    added(tmp_path)
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with keeping(tmp_path):
            held.set()
            go.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    threading.Timer(0.3, go.set).start()
    assert len(ask(DataFolder(tmp_path), "status")["collections"]) == 1
    thread.join()


@pytest.mark.usefixtures("impatient")
def test_a_socket_that_a_killed_collector_left_is_in_nobodys_way(tmp_path: Path) -> None:
    """A verb does the work itself; a collector takes the name; where somebody holds the folder, that is said."""
    added(tmp_path)
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(tmp_path / "collector.sock"))
    stale.close()
    assert len(ask(DataFolder(tmp_path), "status")["collections"]) == 1
    with keeping(tmp_path), pytest.raises(ParameterError, match=r"folder.busy"):
        ask(DataFolder(tmp_path), "status")
    with serving(tmp_path):
        assert len(ask(DataFolder(tmp_path), "status")["collections"]) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("case", ["long path", "not made"])
def test_without_a_socket_it_serves_and_verbs_say_why_they_cannot_ask(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 100 if case == "long path" else "data")
    entry = added(folder)
    why = {"long path": "path too long", "not made": "does not answer"}[case]
    with monkeypatch.context() as patched:
        if case == "not made":

            def refused(*_: Any) -> None:
                raise OSError(95, "Operation not supported")

            patched.setattr(control, "Listener", refused)
        with serving(folder) as served:
            assert served.client.post(frame(entry)).status == 202
            with pytest.raises(ParameterError, match=why) as caught:
                ask(DataFolder(folder), "status")
            assert caught.value.code == ("folder.busy" if case == "not made" else "socket.not-usable")
    assert len(kept(folder)) == 1


def test_a_file_system_or_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import sys

    def refused(*_: int) -> None:
        raise OSError(37, "No locks available")

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", refused)
        with pytest.raises(ParameterError, match=r"folder\.not-lockable"):
            ask(DataFolder(tmp_path), "status")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "fcntl", None)
        with pytest.raises(ParameterError, match=r"system.without-locks"):
            ask(DataFolder(tmp_path), "status")


def test_a_collector_that_ends_before_it_answers_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did is not known: nothing is done twice."""
    added(tmp_path)
    with keeping(tmp_path):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "collector.sock"))
        listener.listen()

        def end() -> None:
            listener.accept()[0].close()

        thread = threading.Thread(target=end)
        thread.start()
        with pytest.raises(ParameterError, match=r"collector.ended"):
            ask(DataFolder(tmp_path), "token add", name="a", role="analyst", days=None)
        thread.join()
        listener.close()


def test_a_withdrawal_waits_for_no_sealing(tmp_path: Path) -> None:
    """Nor for a backup: both may take minutes, and devices are to stop at once."""
    signed = envelope(epochs=current())
    entry = added_envelope(tmp_path, signed)
    with serving(tmp_path) as served:
        with served.app.keeper.upkeep, ThreadPoolExecutor(1) as pool:
            notice = base64.b64encode(withdraw(signed, [key()], trust=TRUST)).decode()
            asked = pool.submit(ask, DataFolder(tmp_path), "add", envelope=notice, trust=[spelled_key(PUBLIC)])
            assert asked.result(20)["state"] == "withdrawn"
        assert served.client.post(frame(entry)).json["error"] == "withdrawn"
