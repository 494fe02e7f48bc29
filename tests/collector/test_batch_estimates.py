"""The estimate of a sealed batch: page, JSON and CSV, for analysts alone, equal to `discreet estimate`."""

import base64
import csv
import io
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collectors import PLANS, added, ids, put, records, serving, stored
from test_publications import sealed
from test_sealing import seal

from discreet import SeededRandom, estimate
from discreet.collector import batch_estimates
from discreet.collector.access import new_token
from discreet.collector.sealing import sealed_folder
from discreet.collector.storage.folder import DataFolder
from discreet.engines import tally
from json_rows import columns

PATH = "/collections/habits/estimates"


def test_page_json_and_csv_agree_with_the_sealed_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="discreet.collector")
    entry = sealed(tmp_path, 80, plan="unary")
    (file,) = sealed_folder(DataFolder(tmp_path), entry).glob("*.parquet")
    wanted = estimate(entry.mechanism, tally(entry.mechanism, file).tally)
    with serving(tmp_path, demo=True) as served:
        answer = served.client.get(f"{PATH}/1.json")
        (row,) = served.client.get(f"{PATH}.json").json["batches"]
        written = served.client.get(f"{PATH}/1.csv").body.decode()
        page = served.client.get(f"{PATH}/1.html")
        listed = served.client.get(PATH).body.decode()
        missing = [
            served.client.get(f"{PATH}/{name}").status for name in ("2.html", "1.png", "x.html", "1.html?version=2")
        ]
    assert columns(answer.json)["frequency"] == wanted.frequencies.tolist()
    assert (answer.json["n"], answer.json["epochs"], row["epoch"], row["n"]) == (80, [1, 1], 1, 80)
    assert [float(line["lower"]) for line in csv.DictReader(io.StringIO(written))] == wanted.interval()[0].tolist()
    assert f'href="{PATH}/1.html?version=1"' in listed
    assert "sha256-" in page.headers["content-security-policy"]
    assert "<script" not in page.body.decode()
    assert missing == [404, 404, 404, 404]
    looks = [record.facts for record in caplog.records if record.getMessage() == "estimate_read"]
    assert looks == [{"collection": 1, "epoch": 1, "holder": "demo"}] * 3


def test_estimates_are_for_analysts_and_a_browser_sends_the_token_as_a_password(tmp_path: Path) -> None:
    sealed(tmp_path, 60)
    with stored(tmp_path) as store:
        tokens = {role: new_token(store, role, role, days=None) for role in ("analyst", "operator")}
    with serving(tmp_path) as served:

        def status(path: str, authorization: str) -> int:
            return served.client.get(path, Authorization=authorization).status

        for path in (PATH, f"{PATH}/1.html"):
            asked = served.client.get(path)
            assert (asked.status, asked.headers["www-authenticate"][:5]) == (401, "Basic")
            password = base64.b64encode(b"anybody:" + tokens["analyst"].encode()).decode()
            assert status(path, f"Basic {password}") == status(path, f"Bearer {tokens['analyst']}") == 200
            assert status(path, f"Bearer {tokens['operator']}") == 403
            assert status(path, "Basic %%%") == status(path, "Bearer") == 401
        assert status("/metrics", f"Bearer {tokens['analyst']}") == 403
        assert status("/metrics", f"Bearer {tokens['operator']}") == 200


class Cells(HTMLParser):
    """The cells of a page's table, by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, _: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_no_estimate_is_shown_outside_its_own_interval(tmp_path: Path) -> None:
    entry = added(tmp_path, "subset")
    made = entry.mechanism.obfuscate_codes(np.zeros(60, dtype=np.int64), random=SeededRandom(1))
    put(tmp_path, entry, [(ids(60), entry.codec.encode(made))])
    seal(tmp_path, entry, 1)
    with serving(tmp_path, demo=True) as served:
        cells = Cells()
        cells.feed(served.client.get(f"{PATH}/1.html").body.decode())
        numbers = columns(served.client.get(f"{PATH}/1.json").json)
    rows = [[cell.strip() for cell in row] for row in cells.rows if row]
    below = [row for row in rows if row[1] == "below 0"]
    assert len(below) == sum(share < 0 for share in numbers["frequency"]) > 5
    for _, share, lower, upper in rows:
        low, high = float(lower[:-1]), float(upper[:-1])
        known = {"below 0": low == 0, "above 100%": high == 100}
        assert known[share] if share in known else low <= float(share[:-1]) <= high


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_fakes_raise_a_share_at_most_as_the_page_says(tmp_path: Path, plan: str) -> None:
    """A tenth of all reports is the record that raises the last value most, of some thousands that devices make."""
    entry = sealed(tmp_path, 900, 0, plan=plan)
    mechanism, code = entry.mechanism, entry.mechanism.domain.size - 1
    made = mechanism.obfuscate_codes(np.full(3000, code), random=SeededRandom(1))
    worst = entry.codec.encode(made)[mechanism.decoder.contributions(made)[:, code].argmax()]
    put(tmp_path, entry, [(ids(900), records(entry, 900)), (ids(100), np.tile(worst, (100, 1)))])
    seal(tmp_path, entry, 1)
    honest, faked = (
        estimate(mechanism, tally(mechanism, path).tally)
        for path in sorted(sealed_folder(DataFolder(tmp_path), entry).glob("*.parquet"))
    )
    raised = faked.frequencies[code] - honest.frequencies[code]
    assert 0.02 < raised <= batch_estimates.influence(mechanism, faked, 0.1) + 1e-9


def test_a_collection_with_too_many_values_is_sealed_without_an_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_estimates, "MOST_VALUES", 3)
    sealed(tmp_path, 60)
    with serving(tmp_path, demo=True) as served:
        answer = served.client.get(f"{PATH}/1.html")
    assert (answer.status, "too many values" in answer.body.decode()) == (404, True)


def test_each_estimate_states_all_batches_that_were_sealed_before_it(tmp_path: Path) -> None:
    entry = sealed(tmp_path, 60, 0, least=20)
    sealed(tmp_path, 45, 1, entry=entry)
    with serving(tmp_path, demo=True) as served:
        first, second = (served.client.get(f"{PATH}/{epoch}.json").json["publication"] for epoch in (0, 1))
    assert (first["n"], first["batches"], second["n"], second["batches"]) == (60, 1, 45, 2)
