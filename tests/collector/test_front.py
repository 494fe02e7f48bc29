"""Pages for people who came without a program: what a collector is, and that there is nothing where they looked."""

import html
from pathlib import Path

from collectors import added_envelope, current, serving

from discreet.collector.documents.signing import withdraw
from signed import TRUST, envelope, key


def signed(name: str, title: str, *, listed: bool = True) -> bytes:
    return envelope(name=name, title=title, listed=listed, epochs=current())


def test_the_front_page_says_what_this_is_and_lists_what_is_listed(tmp_path: Path) -> None:
    added_envelope(tmp_path, signed("habits", "Habits & <b>holidays</b>"))
    added_envelope(tmp_path, signed("hidden", "Of some people", listed=False))
    added_envelope(tmp_path, over := signed("over", "Of last year"))
    added_envelope(tmp_path, withdraw(over, [key()], trust=TRUST))
    with serving(tmp_path) as served:
        page = served.client.get("/")
        assert served.client.request("POST", "/", b"x").status == 405
    text = page.body.decode()
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f'<a href="/take/habits">{html.escape("Habits & <b>holidays</b>")}</a>' in text
    assert "obfuscated on your device" in text
    assert "Of some people" not in text
    assert "Of last year" not in text
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; ")
    assert "script" not in text + page.headers["content-security-policy"]
    assert (page.headers["x-content-type-options"], page.headers["referrer-policy"]) == ("nosniff", "no-referrer")
