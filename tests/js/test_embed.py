"""<discreet-survey> in a page of somebody else's, in Chromium: what it sends and tells, and who may have it."""

import json
import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from collectors import Served, added, current, kept, serving
from test_accessibility import keeps_the_rules
from test_survey import PHONE, press

from collector_double import served
from discreet.collector.verbs.parameters import spelled_key
from discreet.device.protocol.envelope import public_key
from programs import JS
from signed import PUBLIC, key

# Written by init scripts, which no policy of a page holds for.
HEARD = """window.heard = [];
for (const name of ["answered", "declined", "failed"]) {
  addEventListener(`discreet-${name}`, ({ type, detail }) => heard.push([type, detail]));
}
addEventListener("securitypolicyviolation", (event) => heard.push([event.violatedDirective]));"""
PLAN = {"epsilon": 1.0, "domain": {"labels": ["a", "b", "c"], "sensitive": ["c"]}, "mechanism": {"name": "rr"}}
SHOWN = """() => {
  const root = document.querySelector("discreet-survey").shadowRoot.querySelector(".survey");
  return [root.lang, root.dir, getComputedStyle(root.querySelector(".title")).fontSize,
    document.title, document.documentElement.lang, location.hash];
}"""


@dataclass
class Host:
    """A site that has a survey in its page.

    Attributes:
        collector: that serves it.
        port: of the site, which the collector knows as localhost, and as no other.
        pages: by path, with their policies.
    """

    collector: Served
    port: int
    pages: dict[str, tuple[str, str]]

    @property
    def origin(self) -> str:
        """The origin that has permission."""
        return f"http://localhost:{self.port}"

    @contextmanager
    def visit(
        self, browser: Any, pinned: bytes = PUBLIC, more: str = "", at: str = "", own: bool = False, **looks: Any
    ) -> Iterator[Any]:
        """Visit a page that allows nothing but the collector's scripts, or its own, and to ask and tell that one."""
        origin = f"http://127.0.0.1:{self.collector.client.port}"
        scripts, allowed = ("/js", "'self'") if own else (f"{origin}/static", origin)
        attributes = f'src="{origin}/collections/habits" key="{spelled_key(pinned)}" {more}'
        self.pages["/"] = (
            f"""<!doctype html><html lang="en"><title>Ours</title><link rel="icon" href="data:,">
            <script type="module" src="{scripts}/survey/embed.js"></script>
            <h1>Ours</h1><discreet-survey {attributes}>Elsewhere</discreet-survey>""",
            f"default-src 'none'; img-src data:; script-src {allowed}; connect-src {origin} {allowed}; "
            "require-trusted-types-for 'script'",
        )
        context = browser.new_context(**{"viewport": PHONE, "locale": "en-US", **looks})
        context.add_init_script(HEARD)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.goto(f"{at or self.origin}/")
        yield page
        context.close()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder, pages = tmp_path_factory.mktemp("embedded"), dict[str, tuple[str, str]]()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            body, policy = pages.get(self.path) or ((JS.parent / self.path[1:]).read_text(), "")
            self.send_response(200)
            self.send_header("content-type", mimetypes.guess_type(self.path)[0] or "text/html")
            self.send_header("content-security-policy", policy)
            self.end_headers()
            self.wfile.write(body.encode())

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server,
        served(server),
        serving(folder, embed_origins=(f"http://localhost:{server.server_port}",)) as collector,
    ):
        origin = f"http://127.0.0.1:{collector.client.port}"
        for name in ("habits", "others"):
            added(folder, PLAN, name=name, epochs=current(), collectors=(origin,))
        yield Host(collector, server.server_port, pages)


def test_an_answer_reaches_the_collector_and_the_page_hears_that_there_was_one(browser: Any, host: Host) -> None:
    with host.visit(browser) as page:
        page.get_by_role("button", name="I agree").wait_for()
        said = page.inner_text(".survey")
        assert f"This survey is part of a page of localhost:{host.port}: the scripts of that page can read" in said
        assert "Results use at least 50 answers." in said
        keeps_the_rules(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        press(page, "I agree")
        page.get_by_label("b", exact=True).check()
        press(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
        assert page.evaluate("heard") == [["discreet-answered", None]]
        # The page's own title, language and address are its own; the style is there, as no policy forbids it.
        assert page.evaluate(SHOWN) == ["en", "ltr", "25.6px", "Ours", "en", ""]
        assert page.evaluate("indexedDB.databases().then((all) => all.map(({ name }) => name))") == ["discreet"]
        page.reload()
        page.get_by_text("You answered this survey between").wait_for()
        # What is put into the page anew begins anew.
        page.evaluate("document.body.append(document.querySelector('discreet-survey'))")
        page.get_by_text("This survey asks only once.").wait_for()
        assert page.evaluate("heard") == []
    assert len(kept(Path(host.collector.app.settings.data))) == 1


def test_declining_is_heard_and_the_language_is_the_elements(browser: Any, host: Host) -> None:
    with host.visit(browser, more='lang="ar-EG"', color_scheme="dark") as page:
        press(page, "لا، شكرًا")
        page.wait_for_function("heard.length")
        assert page.evaluate("heard") == [["discreet-declined", None]]
        assert page.evaluate(SHOWN) == ["ar", "rtl", "25.6px", "Ours", "en", ""]
        keeps_the_rules(page)
        # The check looks into shadow roots.
        page.locator(".languages label span").evaluate("one => one.remove()")
        with pytest.raises(AssertionError, match="select-name"):
            keeps_the_rules(page)


@pytest.mark.parametrize(
    ("given", "code", "sentence"),
    [
        ({"pinned": public_key(key("b"))}, "untrusted", "(untrusted) Nothing can be answered here."),
        ({"pinned": PUBLIC[:31]}, "argument", "(argument)"),
        ({"more": "simulated"}, "simulated", "(simulated)"),
    ],
)
def test_what_is_not_as_the_page_says_is_refused(
    browser: Any, host: Host, given: dict[str, Any], code: str, sentence: str
) -> None:
    with host.visit(browser, **given) as page:
        page.get_by_text(sentence).wait_for()
        assert page.get_by_role("button").count() == 0
        assert page.evaluate("heard") == [["discreet-failed", {"code": code}]]


def test_another_survey_of_the_same_key_is_refused(browser: Any, host: Host) -> None:
    with host.visit(browser) as page:
        other = host.collector.client.get("/v1/collections/others").body
        allowed = {"access-control-allow-origin": "*"}
        page.context.route("**/v1/collections/habits", lambda route: route.fulfill(body=other, headers=allowed))
        page.reload()
        page.get_by_text("not here any more").wait_for()
        assert page.evaluate("heard") == [["discreet-failed", {"code": "gone"}]]


def test_a_page_without_permission_gets_nothing_but_what_it_says_itself(browser: Any, host: Host) -> None:
    asked = []
    with host.visit(browser, at=f"http://127.0.0.1:{host.port}") as page:
        page.on("requestfailed", lambda request: asked.append((request.url.rpartition("/")[2], request.failure)))
        page.reload()
        assert page.inner_text("discreet-survey") == "Elsewhere"
        assert page.evaluate("customElements.get('discreet-survey')") is None
    assert asked == [("embed.js", "net::ERR_FAILED")]


def test_scripts_may_be_the_pages_own_and_permission_is_needed_all_the_same(browser: Any, host: Host) -> None:
    with host.visit(browser, own=True) as page:
        page.get_by_role("button", name="I agree").wait_for()
        page.goto(page.url.replace("localhost", "127.0.0.1"))
        page.get_by_text("its collector cannot be reached").wait_for()
        assert page.get_by_role("button").count() == 0


def test_only_pages_that_are_named_may_read_what_an_element_needs(host: Host) -> None:
    for path in ("/static/survey/embed.js", "/static/languages/de.json", "/collections/habits"):
        for origin, allowed in ((host.origin, host.origin), ("https://example.org", None), ("null", None)):
            answer = host.collector.client.get(path, Origin=origin)
            assert answer.status == 200
            assert answer.headers.get("access-control-allow-origin") == allowed
            assert answer.headers["vary"] == "origin"
    page = host.collector.client.get("/take/habits", Origin=host.origin)
    assert "access-control-allow-origin" not in page.headers
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert host.collector.client.get("/collections/none").status == 404
    word = json.loads(host.collector.client.get("/collections/habits").body)
    assert word["published"][1] == ["published.least", {"least": 50}]
