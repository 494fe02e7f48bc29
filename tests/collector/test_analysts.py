"""Pages for analysts: who is signed in, numbers that are the estimates', and a browser that has nothing to say."""

import csv
import io
import re
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from collectors import PLANS, Answer, Served, added, frame, ids, keeping, put, records, serving, stored
from test_sealing import seal

from discreet import SeededRandom, Tally, estimate
from discreet.collector.analysts.panels import plausibility
from discreet.collector.analysts.sessions import Sessions
from discreet.collector.keeper import Entry, end_token, new_token
from discreet.collector.sealing import sealed_folder
from discreet.collector.storage.inboxes import DataFolder
from discreet.collector.storage.store import TokenRow
from discreet.engines import tally
from programs import packaged
from signed import plan_of

PEOPLE = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
PAGE = "/analyst/habits"
GRID = {
    "epsilon": 2.0,
    "domain": {"grid": {"lat": [0.0, 2.0], "lon": [0.0, 2.0], "rows": 2, "cols": 2}},
    "mechanism": {"name": "rr"},
}


def batches(folder: Path, plan: Any = "unary", n: int = 80) -> Entry:
    entry = added(folder, plan)
    for epoch in (0, 1):
        put(folder, entry, [(ids(n), records(entry, n, seed=epoch))], epoch)
        seal(folder, entry, epoch)
    return entry


def token_of(folder: Path, name: str = "ana") -> str:
    with stored(folder) as store:
        return new_token(store, name, "analyst", days=None, actor="test")


def posted(served: Served, origin: str = "", **form: str) -> Answer:
    said = origin or f"http://127.0.0.1:{served.client.port}"
    body, kind = urlencode(form).encode(), "application/x-www-form-urlencoded"
    return served.client.request("POST", "/analyst", body, Origin=said, Content_Type=kind)


def signed_in(served: Served, token: str) -> str:
    answer = posted(served, token=token, to="habits")
    assert (answer.status, answer.headers["location"]) == (303, PAGE)
    cookie, *said = answer.headers["set-cookie"].split("; ")
    assert said == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert token not in cookie
    return cookie


def test_a_token_signs_in_and_the_cookie_ends(tmp_path: Path) -> None:
    batches(tmp_path)
    token = token_of(tmp_path)
    with serving(tmp_path) as served:
        asked = served.client.get(PAGE, Accept=PEOPLE)
        assert (asked.status, asked.headers["location"]) == (303, "/analyst?to=habits")
        form = served.client.get("/analyst?to=habits%22", Accept=PEOPLE)
        assert (form.status, 'value="habits&#34;"' in form.body.decode()) == (200, True)
        assert served.client.get(f"{PAGE}/shares.csv").status == 401
        assert posted(served, origin="https://elsewhere.example", token=token).status == 403
        assert posted(served, origin="null", token=token).status == 403
        assert posted(served, token="x" * 5000).status == 413
        cookie = signed_in(served, token)
        # Only to what is there, wherever a form wants to lead.
        assert posted(served, token=token, to="//elsewhere.example").headers["location"] == "/analyst"
        assert "ana" in (listed := served.client.get("/analyst", Cookie=cookie).body.decode())
        assert f'href="{PAGE}"' in listed
        assert served.client.get(PAGE, Cookie=cookie).status == 200
        assert served.client.get(PAGE, Cookie=f"{cookie}x").status == 303
        own = f"http://127.0.0.1:{served.client.port}"
        gone = served.client.request("POST", "/analyst", b"", Origin=own, Cookie=cookie)
        assert (gone.status, "Max-Age=0" in gone.headers["set-cookie"]) == (303, True)
        assert served.client.get(PAGE, Cookie=cookie).status == 303
        cookie = signed_in(served, token)
        with stored(tmp_path) as store:
            end_token(store, "ana", actor="test")
        assert served.client.get(PAGE, Cookie=cookie).status == 303
        # Five failures a minute.
        tried = [posted(served, token=f"dsc_{number}") for number in range(6)]
        assert [answer.status for answer in tried] == [401] * 5 + [429]
        assert tried[-1].headers["retry-after"] == "60"


def test_behind_tls_the_cookie_is_the_hosts_alone_and_ends_after_half_a_day() -> None:
    row, now = TokenRow("ana", "analyst", b"", 0, None), [0.0]
    sessions = Sessions(lambda: [row], secure=True, clock=lambda: now[0])
    header = sessions.begin(row)
    assert re.fullmatch(r"__Host-analyst=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Secure", header)
    cookie = header.split(";")[0]
    assert sessions.holder(f"a=b; {cookie}") == row
    assert sessions.holder("a=b") is sessions.holder("\x00;;=") is None
    now[0] = 12 * 3600
    assert sessions.holder(cookie) is None


def test_numbers_are_those_of_the_sealed_folder(tmp_path: Path) -> None:
    """To the last digit; a look is a line of the audit, and what is saved from it is the same look."""
    entry, method = batches(tmp_path), "norm-sub"
    wanted = estimate(
        entry.mechanism, tally(entry.mechanism, sealed_folder(DataFolder(tmp_path), entry)).tally, method=method
    )
    with serving(tmp_path, demo=True) as served:
        asked = f"?method={method}&level=0.9&points=0,5"
        answer = served.client.get(PAGE + asked)
        assert answer.status == 200, answer.body
        found = served.client.get(f"{PAGE}/shares.csv{asked}")
        with keeping(tmp_path) as keeper:
            looks = [row for row in keeper.store.audit() if row.action.startswith("saw")]
        assert [(row.actor, row.action, row.detail) for row in looks] == [
            ("demo", "saw page", f"habits version 1 epochs 0-1 {method} n=160")
        ]
        served.client.get(PAGE + asked)
        epochs = list(csv.DictReader(io.StringIO(served.client.get(f"{PAGE}/epochs.csv{asked}").body.decode())))
        api = served.client.get("/v1/collections/habits/estimates?epochs=0&level=0.9").json
        with keeping(tmp_path) as keeper:
            assert [row.action for row in keeper.store.audit()].count("saw page") == 2
    rows = list(csv.DictReader(io.StringIO(found.body.decode())))
    assert [float(row["frequency"]) for row in rows] == wanted.frequencies.tolist()
    assert [float(row["lower"]) for row in rows] == wanted.interval(0.9)[0].tolist()
    text = answer.body.decode()
    assert all(f">{cell}<" in text for row in wanted.table(0.9).cells()[1:] for cell in row)
    first = next(row for row in epochs if row["epochs"] == "0")
    shown = next(value for value in api["values"] if value["value"] == first["name"])
    assert float(first["share"]) == shown["frequency"]
    assert float(first["upper"]) == shown["upper"]
    assert "an error of 0.5% takes" in text
    for name in ("shares", "epochs", "precision", "protection", "fakes", "intake", "audit"):
        assert f'<section id="{name}"' in text


def test_nothing_is_shown_of_too_few_and_unknown_questions_are_refused(tmp_path: Path) -> None:
    entry = added(tmp_path)
    with serving(tmp_path, demo=True) as served:
        served.client.post(frame(entry, 3, epoch=1))
        page = served.client.get(PAGE)
        text = page.body.decode()
        assert (page.status, "There is no estimate" in text, "3 wait" in text) == (200, True, True)
        assert '<section id="shares"' not in text
        assert served.client.get(f"{PAGE}/shares.csv").status == 404
        for query in ("noise=1", "points=0", "points=x", "points=1&points=2", "method=best", "epochs=x"):
            assert served.client.get(f"{PAGE}?{query}").status == 400
        assert served.client.get("/analyst/nothing", Accept=PEOPLE).status == 404
        assert served.client.get(f"{PAGE}/intake.exe").status == served.client.get(f"{PAGE}?version=2").status == 404
        assert served.client.request("PUT", "/analyst", b"").status == 405


def tally_of(plan: str, n: int) -> tuple[Any, Tally]:
    mechanism = plan_of(PLANS[plan]).mechanism()
    codes = np.arange(n) % mechanism.domain.size
    return mechanism, mechanism.tally(mechanism.obfuscate_codes(codes, random=SeededRandom(7)))


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_honest_reports_are_plausible_and_fakes_are_not(plan: str) -> None:
    mechanism, honest = tally_of(plan, 3000)
    assert [seen for seen, _, fits in plausibility(mechanism, honest) if not fits] == []
    if plan.startswith("unary"):
        # One report in twenty has all bits set.
        support = np.minimum(honest.support + 150, honest.n)
        faked = Tally(honest.fingerprint, honest.n, support, honest.clear)
        failed = [seen for seen, _, fits in plausibility(mechanism, faked) if not fits]
        assert len(failed) == 1
        assert failed[0].startswith("the shares add up to")


def keeps_the_rules(page: Any) -> None:
    """Check a page by the rules of WCAG 2.2 AA that a program can check."""
    packaged("axe_playwright_python")
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"]}
    found = page.evaluate("(rules) => axe.run(document, rules)", rules)
    assert [(rule["id"], node["html"]) for rule in found["violations"] for node in rule["nodes"]] == []


def test_a_browser_has_nothing_to_say(tmp_path: Path, browser: Any) -> None:
    """On a phone in the dark and on a desk; pictures are drawn, once, and the map among them."""
    batches(tmp_path, GRID)
    token = token_of(tmp_path)
    with serving(tmp_path) as served:
        page, said = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark"), []
        try:
            page.on("console", lambda message: said.append(message.text))
            page.add_init_script(
                "addEventListener('securitypolicyviolation', (e) => console.error(e.violatedDirective))"
            )
            page.set_default_timeout(120_000)
            # What is there without a session is a form, and no message.
            page.goto(f"http://127.0.0.1:{served.client.port}{PAGE}")
            page.get_by_label("Token").fill(token)
            keeps_the_rules(page)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(f"**{PAGE}")
            drawn = page.evaluate("[...document.images].map((image) => image.naturalWidth > 0)")
            assert drawn == [True] * 7
            assert page.evaluate("document.documentElement.scrollWidth") == 360
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(28, 25, 23)"
            assert page.locator("section h2").count() == 8
            keeps_the_rules(page)
            page.set_viewport_size({"width": 1280, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == 1280
            (cookie,) = page.context.cookies()
            assert (cookie["httpOnly"], cookie["sameSite"], cookie["expires"]) == (True, "Strict", -1)
            cookies = {"Cookie": f"{cookie['name']}={cookie['value']}"}
            picture = served.client.get(f"{PAGE}/map.svg", **cookies)
            assert picture.headers["content-type"] == "image/svg+xml"
            assert picture.headers["content-security-policy"].startswith("default-src 'none'")
            assert b"<script" not in picture.body
            assert served.client.get(f"{PAGE}/map.png", **cookies).body[1:4] == b"PNG"
            assert served.client.get(f"{PAGE}/audit.svg", **cookies).status == 404
            page.get_by_role("button", name="Sign out").click()
            page.get_by_label("Token").wait_for()
        finally:
            page.close()
    assert said == []
