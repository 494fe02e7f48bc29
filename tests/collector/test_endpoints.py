"""What is answered beside the path of reports: collections, estimates, facts, health, metrics; and who may see it."""

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from collectors import PLANS, Served, added, added_envelope, current, frame, ids, records, serving, stored, wait_until
from test_sealing import put, seal

from discreet.collector.catalogue import Entry
from discreet.collector.estimate_query import EstimateQuery
from discreet.collector.folder import DataFolder
from discreet.collector.pages import assets, survey
from discreet.collector.sealing import sealed_folder
from discreet.collector.store import FailedStoreError
from discreet.collector.tokens import new_token
from discreet.core.random import SeededRandom
from discreet.engines import gather, tally
from discreet.errors import ParameterError
from discreet.estimators import estimate
from discreet.io.frames import Frame
from discreet.io.signing import withdraw
from json_rows import columns
from signed import TRUST, envelope, key


@pytest.fixture
def token(tmp_path: Path) -> str:
    with stored(tmp_path) as store:
        return new_token(store, "ana", "analyst", days=None, actor="test")


def sealed(folder: Path, n: int, epoch: int = 1, **terms: Any) -> Entry:
    entry = added(folder, **terms)
    put(folder, entry, [(ids(n), records(entry, n))], epoch)
    seal(folder, entry, epoch)
    return entry


# Collections


def test_collections_are_open_to_all_and_cached(tmp_path: Path) -> None:
    entry = added(tmp_path)
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


def test_the_newest_version_is_served_and_a_withdrawal_too(tmp_path: Path) -> None:
    first = envelope(epochs=current())
    added_envelope(tmp_path, first)
    with serving(tmp_path) as served:
        notice = withdraw(first, [key()], trust=TRUST)
        added_envelope(tmp_path, notice)
        served.app.housekeeper.look()
        assert served.client.get("/v1/collections/habits").body == notice
        assert served.client.get("/v1/collections").json == {"collections": []}


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v1/collections/", "/v1/collections/a/b", "/v1/reports/", "/%2e%2e/x", "/static/../x"]
)
def test_there_is_nothing_elsewhere(tmp_path: Path, path: str) -> None:
    with serving(tmp_path) as served:
        answer = served.client.get(path)
        assert answer.status in {307, 404}
        assert served.client.request("POST", "/v1/collections", b"x").status == 405


# Tokens


def test_estimates_and_facts_need_a_token(tmp_path: Path, token: str) -> None:
    sealed(tmp_path, 60)
    with serving(tmp_path) as served:
        for path in ("/v1/collections/habits/estimates", "/v1/collections/habits/facts"):
            assert served.client.get(path).status == 401
            assert served.client.get(path, Authorization="Basic abc").status == 401
            assert served.client.get(path, Authorization=f"Bearer {token}x").status == 401
            assert served.client.get(path, Authorization=f"Bearer {token}").status == 200
        # An analyst is no operator, and who operates may see what analysts see.
        assert served.client.get("/metrics", Authorization=f"Bearer {token}").status == 403
        with stored(tmp_path) as store:
            operator = new_token(store, "op", "operator", days=1, actor="test")
        served.app.housekeeper.look()
        assert served.client.get("/metrics", Authorization=f"Bearer {operator}").status == 200
        assert served.client.get("/v1/collections/habits/facts", Authorization=f"Bearer {operator}").status == 200


def test_tokens_that_are_none_are_counted(tmp_path: Path, token: str) -> None:
    added(tmp_path)
    with serving(tmp_path) as served:
        path = "/v1/collections/habits/facts"
        found = [served.client.get(path, Authorization=f"Bearer dsc_{number}").status for number in range(8)]
        assert found == [401] * 5 + [429] * 3
        # Nobody can lock others out.
        assert served.client.get(path, Authorization=f"Bearer {token}").status == 200


def test_only_hashes_of_tokens_are_kept(tmp_path: Path, token: str) -> None:
    added(tmp_path)
    with stored(tmp_path) as store:
        store.checkpoint()
        assert token.encode() not in (tmp_path / "collector.db").read_bytes()
        (row,) = store.tokens()
        assert (row.name, row.role, len(row.digest)) == ("ana", "analyst", 32)
        with pytest.raises(ParameterError, match="in use already"):
            new_token(store, "ana", "operator", days=None, actor="test")


def test_ended_tokens_are_none(tmp_path: Path, token: str) -> None:
    from discreet.collector.tokens import end_token

    added(tmp_path)
    with serving(tmp_path) as served:
        path = "/v1/collections/habits/facts"
        assert served.client.get(path, Authorization=f"Bearer {token}").status == 200
        with stored(tmp_path) as store:
            end_token(store, "ana", actor="test")
            with pytest.raises(ParameterError, match="no token"):
                end_token(store, "ana", actor="test")
        served.app.housekeeper.look()
        assert served.client.get(path, Authorization=f"Bearer {token}").status == 401


# Estimates


@pytest.mark.parametrize("method", ["linear", "threshold", "norm-sub", "projected", "mle"])
def test_an_estimate_is_that_of_the_sealed_folder(tmp_path: Path, method: str) -> None:
    """To the last digit; mle in a process of its own."""
    entry = added(tmp_path, "unary")
    for epoch in (0, 1):
        put(tmp_path, entry, [(ids(80), records(entry, 80, seed=epoch))], epoch)
        seal(tmp_path, entry, epoch)
    place = sealed_folder(DataFolder(tmp_path), entry)
    data = gather(entry.mechanism, place)[0] if method == "mle" else tally(entry.mechanism, place).tally
    wanted = estimate(entry.mechanism, data, method=method)
    with serving(tmp_path, demo=True) as served:
        path = f"/v1/collections/habits/estimates?method={method}"
        found = served.client.get(path)
        assert found.status == 200, found.body
        said = found.json
        assert columns(said)["frequency"] == wanted.frequencies.tolist()
        assert columns(said)["standard_error"] == wanted.standard_errors.tolist()
        assert (said["n"], said["epochs"], said["provisional"]) == (160, "0-1", False)
        assert said["plan"] == entry.mechanism.fingerprint
        assert len(columns(said)["noise_floor"]) == 4
        low, _ = wanted.interval(0.5)
        assert columns(served.client.get(f"{path}&level=0.5").json)["lower"] == low.tolist()
        as_csv = served.client.get(path, Accept="text/html, text/csv;q=0.9")
        rows = list(csv.DictReader(io.StringIO(as_csv.body.decode())))
        assert [float(row["frequency"]) for row in rows] == wanted.frequencies.tolist()
        as_parquet = served.client.get(path, Accept="application/vnd.apache.parquet")
        table = pq.read_table(io.BytesIO(as_parquet.body))
        assert table["frequency"].to_pylist() == wanted.frequencies.tolist()


def test_the_survey_page_and_its_scripts(tmp_path: Path) -> None:
    """The page of a collection, with the headers that its author wants; scripts are taken for nothing else.

    That of a withdrawn one is there too: its scripts erase what a browser kept.
    """
    entry = added(tmp_path)
    with serving(tmp_path) as served:
        page = served.client.get("/take/habits")
        assert (page.status, page.body.decode()) == (200, survey.page(entry.collection, entry.row.trust))
        assert survey.headers(entry.collection).items() <= page.headers.items()
        for script in ("index.js", "survey/take.js", "survey/take.css"):
            found = served.client.get(f"/static/{script}")
            assert (found.status, found.headers["x-content-type-options"]) == (200, "nosniff")
            assert found.body == (assets.scripts() / script).read_bytes()  # type: ignore[operator]
        assert served.client.get("/take/unknown").status == 404
        added_envelope(tmp_path, withdraw(entry.row.envelope, [key()]))
        wait_until(lambda: b"is withdrawn" in served.client.get("/take/habits").body)


REFUSED = ["method=best", "method=mle&method=em", "epochs=x", "epochs=3-1", "epochs=-1", "epochs=0-99999999", "level=1"]
REFUSED += ["level=nan", "noise=1", "epochs=1&epochs=2", "epochs="]


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, query: str) -> None:
    sealed(tmp_path, 60)
    with serving(tmp_path, demo=True) as served:
        answer = served.client.get(f"/v1/collections/habits/estimates?{query}")
    assert (answer.status, answer.json["error"]) == (400, "request")


def test_epochs_are_numbers_and_ranges() -> None:
    assert EstimateQuery.of([("epochs", "0-3,7,5-5")]).epochs == (0, 1, 2, 3, 5, 7)
    assert EstimateQuery.of([]).epochs is None


def test_too_few_reports_are_not_estimated(tmp_path: Path) -> None:
    sealed(tmp_path, 49)
    with serving(tmp_path, demo=True) as served:
        answer = served.client.get("/v1/collections/habits/estimates")
        assert (answer.status, answer.json["error"]) == (409, "least")
        assert (answer.json["n"], answer.json["least"]) == (49, 50)
        none = served.client.get("/v1/collections/habits/estimates?epochs=0")
        assert (none.status, none.json["n"]) == (409, 0)


def test_an_open_epoch_is_estimated_again_only_after_enough_further_reports(tmp_path: Path) -> None:
    entry = added(tmp_path)
    path = "/v1/collections/habits/estimates?epochs=1"
    with serving(tmp_path, demo=True) as served:

        def send(n: int) -> None:
            assert served.client.post(frame(entry, n, seed=n)).status == 202

        send(49)
        assert served.client.get(path).status == 409
        send(11)
        first = served.client.get(path).json
        assert (first["n"], first["provisional"]) == (60, True)
        assert served.client.get(f"{path}&method=mle").status == 400
        send(49)
        assert served.client.get(path).json == first
        # Another method would show the same few reports.
        assert served.client.get(f"{path}&method=projected").status == 409
        send(1)
        second = served.client.get(path).json
        assert second["n"] == 110
        assert served.client.get(f"{path}&method=projected").json["n"] == 110
        send(1)
    # Also after a restart, which forgets what was made.
    with serving(tmp_path, demo=True) as served:
        again = served.client.get(path)
        assert (again.status, again.json["error"]) == (409, "least")
    with stored(tmp_path) as store:
        seen = [line.detail for line in store.audit() if line.action == "saw estimate"]
    assert len(seen) == 4
    assert seen[0] == "habits version 1 epochs 1 linear n=60"


def test_an_estimate_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.collector import releases

    sealed(tmp_path, 60)
    calls = []
    real = releases.estimate
    monkeypatch.setattr(releases, "estimate", lambda *given, **named: calls.append(1) or real(*given, **named))
    with serving(tmp_path, demo=True) as served:
        found = [served.client.get("/v1/collections/habits/estimates").json for _ in range(3)]
    assert found[0] == found[1] == found[2]
    assert len(calls) == 1


def test_an_estimate_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed(tmp_path, 60, plan="unary")
    with serving(tmp_path, demo=True) as served:
        monkeypatch.setattr(served.app.releases, "_seconds", 0.1)
        answer = served.client.get("/v1/collections/habits/estimates?method=mle")
        assert (answer.status, answer.json["error"]) == (503, "time")
        assert not served.app.workers._running
        assert served.client.get("/v1/collections/habits/estimates").status == 200


def test_estimates_outlive_the_reports_but_mle_does_not(tmp_path: Path) -> None:
    entry = sealed(tmp_path, 60, plan="unary")
    (sealed_folder(DataFolder(tmp_path), entry) / "epoch-000001.parquet").unlink()
    with serving(tmp_path, demo=True) as served:
        assert served.client.get("/v1/collections/habits/estimates").status == 200
        answer = served.client.get("/v1/collections/habits/estimates?method=mle")
        assert (answer.status, "deleted" in answer.json["message"]) == (400, True)


def test_facts(tmp_path: Path) -> None:
    entry = sealed(tmp_path, 60, 0)
    with serving(tmp_path, demo=True) as served:
        assert served.client.post(frame(entry, 3, epoch=2)).status == 409
        assert served.client.post(frame(entry, 3)).status == 202
        said = served.client.get("/v1/collections/habits/facts").json
    assert said["guarantee"]["realised"] <= said["guarantee"]["epsilon"] == 1.0
    assert said["budgets"] == {"answers": "once", "per_answer": 1.0, "lifetime": 4.0, "answers_in_lifetime": 1}
    assert said["precision"]["n"] == 63
    linear = entry.mechanism.decoder.mse(63, np.full(4, 0.25))
    assert said["precision"]["standard_error"] == pytest.approx(np.sqrt(linear / 4))
    assert said["reports"] == {
        "sealed": 60,
        "waiting": 3,
        "duplicates": 0,
        "conflicts": 0,
        "epochs": [{"epoch": 0, "n": 60}],
    }
    inside, outside, silent = entry.mechanism.decoder.numbers.worth
    assert said["influence"] == {
        "largest_worth_of_a_report": pytest.approx(max(inside, 1 / entry.mechanism.decoder.numbers.truth)),
        "least_worth_of_a_report": pytest.approx(min(outside, silent)),
        "large": False,
    }
    assert said["identification"][0]["probability_at_most"] > said["identification"][0]["by_guessing"]


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_fakes_move_what_the_collector_shows_within_the_stated_influence(tmp_path: Path, plan: str) -> None:
    """A tenth of all reports is the record that raises the last value most, of some thousands that devices make."""
    entry, honest, fakes, path = added(tmp_path, plan), 900, 100, "/v1/collections/habits/estimates?epochs=1"
    code = entry.mechanism.domain.size - 1
    made = entry.mechanism.obfuscate_codes(np.full(3000, code), random=SeededRandom(1))
    worths = entry.mechanism.decoder.worth(made)[:, code]
    worst = np.tile(entry.codec.encode(made)[worths.argmax()], (fakes, 1))
    with serving(tmp_path, demo=True) as served:
        assert served.client.post(frame(entry, honest)).status == 202
        before = np.array(columns(served.client.get(path).json)["frequency"])
        assert served.client.post(Frame(entry.row.id, 1, ids(fakes), worst).pack()).status == 202
        after = np.array(columns(served.client.get(path).json)["frequency"])
        influence = served.client.get("/v1/collections/habits/facts").json["influence"]
    share, moved = fakes / (fakes + honest), after - before
    assert (moved <= share * (influence["largest_worth_of_a_report"] - before) + 1e-9).all()
    assert (-moved <= share * (before - influence["least_worth_of_a_report"]) + 1e-9).all()
    assert moved[code] == pytest.approx(share * (worths.max() - before[code]))


# Health


def test_health_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added(tmp_path)
    with serving(tmp_path) as served:
        assert served.client.get("/health/live").json == {"live": True}
        assert served.client.get("/health/ready").json == {"store": True, "disk": True, "queue": True}
        served.app.housekeeper._folder = type("Full", (), {"free_bytes": 5})()
        served.app.housekeeper.free_bytes = 5
        assert served.client.get("/health/ready").status == 503
        served.app.housekeeper.free_bytes = 1 << 40
        assert served.client.get("/health/ready").status == 200
        monkeypatch.setattr(served.app.intake.writer, "_queue", [None] * 2048)
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
        found = metrics(served)
        text = served.client.get("/metrics").body
    assert found["discreet_reports_total"] == 14
    assert (found["discreet_frames_total"], found["discreet_repeated_frames_total"]) == (2, 1)
    assert found['discreet_requests_total{status="202"}'] == 2
    assert found['discreet_requests_total{status="400"}'] == 1
    assert found["discreet_group_seconds_count"] >= 2
    assert found["discreet_open_collections"] == 1
    assert found["discreet_free_bytes"] > 0
    assert b"127.0.0.1" not in text
    assert entry.row.id.hex().encode() not in text


def test_a_defect_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture) -> None:
    from discreet.collector.logs import write_logs
    from discreet.collector.pages import endpoints

    added(tmp_path)
    write_logs("info")

    def broken(*_: Any) -> Any:
        raise ValueError("the secret of somebody")

    with serving(tmp_path, demo=True) as served:
        monkeypatch.setattr(endpoints, "facts_of", broken)
        answer = served.client.get("/v1/collections/habits/facts")
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
