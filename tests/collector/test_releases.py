"""Estimates of a collector: of sealed epochs alone, never of too few reports, made once, and in nobody's way."""

import csv
import io
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from collectors import PLANS, Served, added, frame, ids, put, records, serving, stored, wait_until
from test_sealing import seal

from discreet import SeededRandom, estimate
from discreet.collector.intake import Refused
from discreet.collector.keeper import Entry
from discreet.collector.releases import MOST_WAITING, covering
from discreet.collector.sealing import sealed_folder
from discreet.collector.storage.inboxes import DataFolder
from discreet.collector.storage.store import SealRow
from discreet.collector.working import JobError, Workers
from discreet.engines import LocalEngine, tally
from json_rows import columns

PATH = "/v1/collections/habits/estimates"


def sealed(folder: Path, n: int, epoch: int = 1, **terms: Any) -> Entry:
    entry = added(folder, **terms)
    put(folder, entry, [(ids(n), records(entry, n))], epoch)
    seal(folder, entry, epoch)
    return entry


# As asked


@pytest.mark.parametrize("method", ["linear", "threshold", "norm-sub", "projected", "mle"])
def test_an_estimate_is_that_of_the_sealed_folder(tmp_path: Path, method: str) -> None:
    """To the last digit; mle in a process of its own."""
    entry = added(tmp_path, "unary")
    for epoch in (0, 1):
        put(tmp_path, entry, [(ids(80), records(entry, 80, seed=epoch))], epoch)
        seal(tmp_path, entry, epoch)
    place = sealed_folder(DataFolder(tmp_path), entry)
    data = LocalEngine().evidence(entry.mechanism, place)[0] if method == "mle" else tally(entry.mechanism, place).tally
    wanted = estimate(entry.mechanism, data, method=method)
    with serving(tmp_path, demo=True) as served:
        path = f"/v1/collections/habits/estimates?method={method}"
        found = served.client.get(path)
        assert found.status == 200, found.body
        said = found.json
        assert columns(said)["frequency"] == wanted.frequencies.tolist()
        assert columns(said)["standard_error"] == wanted.standard_errors.tolist()
        assert (said["n"], said["epochs"]) == (160, "0-1")
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


REFUSED = ["method=best", "method=mle&method=em", "epochs=x", "epochs=3-1", "epochs=-1", "epochs=0-99999999", "level=1"]
REFUSED += ["level=nan", "noise=1", "epochs=1&epochs=2", "epochs="]


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, query: str) -> None:
    sealed(tmp_path, 60)
    with serving(tmp_path, demo=True) as served:
        answer = served.client.get(f"/v1/collections/habits/estimates?{query}")
    assert (answer.status, answer.json["error"]) == (400, "request")


def test_too_few_reports_are_not_estimated(tmp_path: Path) -> None:
    sealed(tmp_path, 60)
    with closing(sqlite3.connect(tmp_path / "collector.db")) as database, database:
        # As version 1 sealed them, whatever there was.
        database.execute("UPDATE seals SET n = 49")
    with serving(tmp_path, demo=True) as served:
        answer = served.client.get("/v1/collections/habits/estimates")
        assert (answer.status, answer.json["error"]) == (409, "least")
        assert (answer.json["n"], answer.json["least"]) == (49, 50)


def test_an_estimate_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed(tmp_path, 60, plan="unary")
    with serving(tmp_path, demo=True) as served:
        monkeypatch.setattr(served.app.releases, "seconds", 0.1)
        answer = served.client.get("/v1/collections/habits/estimates?method=mle")
        assert (answer.status, answer.json["error"]) == (503, "time")
        assert not served.app.workers.running
        assert served.client.get("/v1/collections/habits/estimates").status == 200


def test_estimates_outlive_the_reports_but_mle_does_not(tmp_path: Path) -> None:
    entry = sealed(tmp_path, 60, plan="unary")
    (sealed_folder(DataFolder(tmp_path), entry) / "epoch-000001.parquet").unlink()
    with serving(tmp_path, demo=True) as served:
        assert served.client.get("/v1/collections/habits/estimates").status == 200
        answer = served.client.get("/v1/collections/habits/estimates?method=mle")
        assert (answer.status, "deleted" in answer.json["message"]) == (400, True)


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_fakes_move_what_the_collector_shows_within_the_stated_influence(tmp_path: Path, plan: str) -> None:
    """A tenth of all reports is the record that raises the last value most, of some thousands that devices make."""
    honest, fakes, path = 900, 100, "/v1/collections/habits/estimates"
    entry = sealed(tmp_path, honest, 0, plan=plan)
    code = entry.mechanism.domain.size - 1
    made = entry.mechanism.obfuscate_codes(np.full(3000, code), random=SeededRandom(1))
    added = entry.mechanism.decoder.contributions(made)[:, code]
    worst = np.tile(entry.codec.encode(made)[added.argmax()], (fakes, 1))
    put(tmp_path, entry, [(ids(honest), records(entry, honest)), (ids(fakes), worst)], 1)
    seal(tmp_path, entry, 1)
    with serving(tmp_path, demo=True) as served:
        before = np.array(columns(served.client.get(f"{path}?epochs=0").json)["frequency"])
        after = np.array(columns(served.client.get(f"{path}?epochs=1").json)["frequency"])
        influence = served.client.get("/v1/collections/habits/facts").json["influence"]
    share, moved = fakes / (fakes + honest), after - before
    assert (moved <= share * (influence["largest_contribution_of_a_report"] - before) + 1e-9).all()
    assert (-moved <= share * (before - influence["least_contribution_of_a_report"]) + 1e-9).all()
    assert moved[code] == pytest.approx(share * (added.max() - before[code]))


# Sealed epochs


def test_nothing_is_estimated_of_an_epoch_that_is_not_sealed(tmp_path: Path) -> None:
    """Neither alone nor beside others, by no method; its reports are counted, and that is all that is shown of them."""
    entry = sealed(tmp_path, 60, 0)
    with serving(tmp_path, demo=True) as served:
        assert served.client.post(frame(entry, 60)).status == 202
        for asked in ("epochs=1", "epochs=0-1", "epochs=1&method=mle", "epochs=2"):
            answer = served.client.get(f"{PATH}?{asked}")
            assert (answer.status, answer.json["error"]) == (409, "open")
            assert answer.json["message"].endswith(f"epoch {2 if '2' in asked else 1} is not sealed.")
        assert served.client.get(PATH).json["n"] == 60
        assert served.client.get("/v1/collections/habits/facts").json["reports"]["waiting"] == 60
    with stored(tmp_path) as store:
        seen = [line.detail for line in store.audit() if line.action == "saw estimate"]
    assert seen == ["habits version 1 epochs 0 linear n=60"]


def test_epochs_that_were_sealed_together_are_estimated_together(tmp_path: Path) -> None:
    rows = [SealRow(1, first, last, "", "", 60, 0, 0, 0) for first, last in ((0, 0), (1, 3), (4, 4))]
    assert covering(rows, None) == rows
    assert covering(rows, (2,)) == covering(rows, (1, 3)) == [rows[1]]
    assert covering(rows, (4, 2)) == rows[1:]
    with pytest.raises(Refused, match="epoch 5 is not sealed"):
        covering(rows, (1, 5))
    entry = added(tmp_path)
    for epoch, n in ((0, 20), (1, 40)):
        put(tmp_path, entry, [(ids(n), records(entry, n))], epoch)
    seal(tmp_path, entry, 0, 1)
    with serving(tmp_path, demo=True) as served:
        whole = served.client.get("/v1/collections/habits/estimates").json
        assert (whole["n"], whole["epochs"]) == (60, "0-1")
        assert served.client.get("/v1/collections/habits/estimates?epochs=0").json == whole
        mle = served.client.get("/v1/collections/habits/estimates?epochs=1&method=mle").json
        assert (mle["n"], mle["epochs"]) == (60, "0-1")


# In nobody's way


@contextmanager
def held_jobs(served: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Hold all jobs until the body ends; yields how many run at once, whenever one begins."""
    running, lock, go = [0], threading.Lock(), threading.Event()
    seen: list[int] = []

    def held(*_: Any, **__: Any) -> Any:
        with lock:
            running[0] += 1
            seen.append(running[0])
        go.wait(30)
        with lock:
            running[0] -= 1
        raise JobError("it was held.")

    monkeypatch.setattr(served.app.workers, "run", held)
    try:
        yield seen
    finally:
        go.set()


def test_health_answers_at_once_while_estimates_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty wait for jobs, two of which run; more than may wait are told to come again; other pages go on."""
    entry = sealed(tmp_path, 60, 0)
    put(tmp_path, entry, [(ids(60), records(entry, 60))], 1)
    seal(tmp_path, entry, 1)
    queries = [f"{PATH}?method={method}&epochs={epochs}" for method in ("mle", "em") for epochs in ("0", "1", "0-1")]
    with serving(tmp_path, demo=True) as served, ThreadPoolExecutor(MOST_WAITING + 1) as clients:
        with held_jobs(served, monkeypatch) as jobs:
            asked = [clients.submit(served.client.get, queries[place % 6]) for place in range(50)]
            wait_until(lambda: served.app.releases.waiting == 50 and len(jobs) == 2)
            # The jobs end after these.
            assert served.client.get("/health/live").status == 200
            assert served.client.get("/v1/collections").status == 200
            assert served.client.get(f"{PATH}?method=linear").status == 200
            asked += [clients.submit(served.client.get, queries[0]) for _ in range(MOST_WAITING - 50)]
            wait_until(lambda: served.app.releases.waiting == MOST_WAITING)
            refused = served.client.get(f"{PATH}?method=linear")
            assert (refused.status, refused.json["error"], refused.headers["retry-after"]) == (503, "time", "60")
            assert "waiting already" in refused.json["message"]
        assert Counter(one.result().status for one in asked) == {503: MOST_WAITING}
        # A job for each query, and again for who came when the first had failed; two at once.
        assert len(jobs) >= len(queries)
        assert max(jobs) == 2


def test_what_several_ask_for_at_once_is_worked_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed(tmp_path, 60)
    calls, real = [], Workers.run

    def slow(self: Workers, *given: Any, **named: Any) -> Any:
        calls.append(given)
        time.sleep(0.2)
        return real(self, *given, **named)

    monkeypatch.setattr(Workers, "run", slow)
    with serving(tmp_path, demo=True) as served, ThreadPoolExecutor(8) as clients:
        found = list(clients.map(lambda _: served.client.get(f"{PATH}?method=mle").json, range(8)))
        assert served.client.get(f"{PATH}?method=mle&level=0.5").json["n"] == 60
    assert all(one == found[0] for one in found)
    assert found[0]["method"] == "mle"
    assert len(calls) == 1
