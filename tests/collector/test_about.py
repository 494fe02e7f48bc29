"""The page for everybody on what a collection asks and protects, as it is served: the file that the verb writes."""

import base64
import hashlib
import html
import re
from pathlib import Path

from collectors import added, serving

from discreet.collector.documents.attestation import Attestation
from discreet.collector.documents.signing import plan_of
from signed import PUBLIC

KEY = base64.b64encode(PUBLIC).decode()
ABOUT = "/collections/habits/about"
HOSTILE = "<script>alert(1)</script>"


def test_everybody_reads_the_attestation_of_a_collection(tmp_path: Path) -> None:
    entry = added(tmp_path, title=HOSTILE)
    with serving(tmp_path) as served:
        page, again = served.client.get(ABOUT), served.client.get(ABOUT)
        front = served.client.get("/").body.decode()
        missing = served.client.get("/collections/nothing/about")
        refused = served.client.get("/v1/collections/nothing")
        assert served.client.request("POST", ABOUT, b"x").status == 405
    attested = Attestation(plan_of(entry.collection), entry.collection, (KEY,), "trusted by this collector")
    text = page.body.decode()
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert text == attested.page(base="") == again.body.decode()
    assert html.escape(HOSTILE) in text
    assert "<script" not in text
    assert 'href="/v1/collections/habits"' in text
    # The policy allows the style of this page, and nothing else.
    (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = page.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'")
    assert "style=" not in text
    assert "habits/about" not in front
    assert (missing.status, refused.status) == (404, 404)
    assert "There is no such page here" in missing.body.decode()
    assert refused.json["error"] == "collection"
