"""What is answered beside the path of reports: collections, pages, health, metrics; and who may see it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from collectors import Served, added, added_envelope, frame, serving, stored, wait_until

from discreet.collector import served_pages
from discreet.collector.access import new_token
from discreet.collector.documents.signing import withdraw
from discreet.collector.storage.folder import DataFolder
from discreet.collector.storage.store import FailedStoreError
from discreet.collector.verbs.parameters import spelled_key
from discreet.collector.writer import Writer
from discreet.errors import ParameterError
from signed import PUBLIC, key


@pytest.fixture
def token(tmp_path: Path) -> str:
    with stored(tmp_path) as store:
        return new_token(store, "ana", "analyst", days=None)


# Collections


def test_collections_are_open_to_all_and_cached(tmp_path: Path) -> None:
    entry = added(tmp_path, listed=True)
    with serving(tmp_path) as served:
        listed = served.client.get("/v1/collections")
        (one,) = listed.json["collections"]
        assert (one["name"], one["version"], one["id"], one["epoch"]) == ("habits", 1, entry.row.id.hex(), 1)
        found = served.client.get("/v1/collections/habits", Cookie="a=b")
        assert found.body == entry.row.envelope
        assert found.headers["content-type"] == "application/vnd.discreet.collection+json"
        assert found.headers["access-control-allow-origin"] == "*"
        assert "max-age" in found.headers["cache-control"]
        assert "set-cookie" not in found.headers
        again = served.client.get("/v1/collections/habits", If_None_Match=found.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        assert served.client.get("/v1/collections/habits", If_None_Match='"other"').status == 200
        assert served.client.get("/v1/collections/other").status == 404


def test_only_what_its_author_marks_as_public_is_listed(tmp_path: Path) -> None:
    """A survey for one person must not be found by everybody, and is still found by its name."""
    added(tmp_path, name="for-all", listed=True)
    entry = added(tmp_path, name="for-some")
    with serving(tmp_path) as served:
        assert [one["name"] for one in served.client.get("/v1/collections").json["collections"]] == ["for-all"]
        assert served.client.get("/v1/collections/for-some").body == entry.row.envelope
        assert served.client.get("/take/for-some").status == 200


# Tokens


def test_only_hashes_of_tokens_are_kept(tmp_path: Path, token: str) -> None:
    added(tmp_path)
    with stored(tmp_path) as store:
        assert token.encode() not in (tmp_path / "collector.db").read_bytes()
        (row,) = store.tokens()
        assert (row.name, row.role, len(row.digest)) == ("ana", "analyst", 32)
        with pytest.raises(ParameterError, match="in use already"):
            new_token(store, "ana", "operator", days=None)


# Pages


def test_the_survey_page_and_its_scripts(tmp_path: Path) -> None:
    """The page of a collection, with the headers that its author wants; scripts are taken for nothing else.

    That of a withdrawn one is there too: its scripts erase what a browser kept.
    """
    entry = added(tmp_path)
    with serving(tmp_path) as served:
        page = served.client.get("/take/habits")
        assert (page.status, page.body.decode()) == (200, served_pages.survey_page(entry.collection, entry.row.trust))
        assert served_pages.survey_headers(entry.collection).items() <= page.headers.items()
        for script in ("index.js", "survey/take.js", "survey/take.css"):
            found = served.client.get(f"/static/{script}")
            assert (found.status, found.headers["x-content-type-options"]) == (200, "nosniff")
            assert found.body == (served_pages.scripts() / script).read_bytes()  # type: ignore[operator]
        assert served.client.get("/take/unknown").status == served.client.get("/embed/habits").status == 404
        added_envelope(tmp_path, withdraw(entry.row.envelope, [key()]))
        wait_until(lambda: b"was withdrawn" in served.client.get("/take/habits").body)


def test_an_example_of_a_page_has_the_survey_in_it(tmp_path: Path) -> None:
    added(tmp_path)
    with serving(tmp_path, demo=True) as served:
        assert f'key="{spelled_key(PUBLIC)}">' in served.client.get("/embed/habits").body.decode()


def test_health_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added(tmp_path)
    with serving(tmp_path) as served:
        assert served.client.get("/health/live").json == {"live": True}
        assert served.client.get("/health/ready").json == {"store": True, "clock": True, "disk": True, "queue": True}
        with monkeypatch.context() as patched:
            patched.setattr(DataFolder, "free_bytes", 5)
            served.app.housekeeper.look()
            assert served.client.get("/health/ready").status == 503
        served.app.housekeeper.look()
        assert served.client.get("/health/ready").status == 200
        monkeypatch.setattr(Writer, "waiting", 2048)
        answer = served.client.get("/health/ready")
        assert (answer.status, answer.json["queue"]) == (503, False)
        monkeypatch.undo()


def metrics(served: Served) -> dict[str, float]:
    text = served.client.get("/metrics").body.decode()
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(number) for name, _, number in lines}


def test_metrics_count_reports_and_nobody(tmp_path: Path) -> None:
    entry = added(tmp_path)
    with serving(tmp_path, demo=True) as served:
        sent = frame(entry, 7)
        for _ in range(2):
            served.client.post(sent)
        served.client.post(b"nothing")
        served.client.post(frame(entry, epoch=0))
        found = metrics(served)
        text = served.client.get("/metrics").body
    assert found["discreet_reports_total"] == 14
    assert found["discreet_frames_total"] == 2
    assert found['discreet_requests_total{status="202"}'] == 2
    assert found['discreet_requests_total{status="400"}'] == 1
    assert found['discreet_refused_total{reason="late"}'] == 1
    assert found["discreet_group_seconds_count"] >= 2
    assert found["discreet_open_collections"] == 1
    assert found["discreet_free_bytes"] > 0
    assert b"127.0.0.1" not in text
    assert entry.row.id.hex().encode() not in text


def test_a_defect_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture) -> None:
    from discreet.collector import endpoints
    from discreet.collector.logs import write_logs

    added(tmp_path)
    write_logs("info")

    def broken(*_: Any) -> Any:
        raise ValueError("the secret of somebody")

    with serving(tmp_path, demo=True) as served:
        monkeypatch.setattr(endpoints, "attestation_page", broken)
        answer = served.client.get("/collections/habits/about")
    assert (answer.status, answer.json["error"]) == (500, "defect")
    printed = "".join(capfd.readouterr())
    assert "secret" not in printed + answer.body.decode()
    (line,) = [json.loads(one) for one in printed.splitlines() if '"defect"' in one]
    assert line["place"].startswith("ValueError at test_endpoints.py")


def test_logs_hold_nothing_of_requests(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    from discreet.collector.logs import log, write_logs

    entry = added(tmp_path)
    write_logs("debug")
    with serving(tmp_path) as served:
        served.client.post(frame(entry), User_Agent="planted-agent")
        served.client.get("/v1/collections/planted-path?planted=query")
        served.client.request("POST", "/v1/reports", b"planted-body", Content_Type="planted/type")
    printed = "".join(capfd.readouterr())
    assert "planted" not in printed
    assert "127.0.0.1:" not in printed.replace('"listen": "127.0.0.1:0"', "")
    lines = [json.loads(one) for one in printed.splitlines()]
    assert {"started", "stopped"} <= {one["event"] for one in lines}
    with pytest.raises(ValueError, match="no more than"):
        log("event", address="1.2.3.4")


def test_what_housekeeping_cannot_do_is_logged_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    from discreet.collector.logs import write_logs

    added(tmp_path)
    write_logs("info")
    with serving(tmp_path) as served:
        keeper, failed = served.app.housekeeper, []

        def failing() -> None:
            failed.append(1)
            raise FailedStoreError("the disk is gone.")

        with monkeypatch.context() as patched:
            patched.setattr(keeper, "look", failing)
            end = time.monotonic() + 10
            while len(failed) < 2 and time.monotonic() < end:
                time.sleep(0.05)
        assert keeper.is_alive()
    assert "housekeeping_failed" in capfd.readouterr().err
