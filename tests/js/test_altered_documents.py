"""Signed documents, altered at random: the device in JavaScript says of each what the one in Python says.

DISCREET_DOCUMENTS says how many; 2,000 take ten seconds.
"""

import base64
import copy
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from survey_site import SurveySite

from discreet.device.protocol.collection import open_envelope
from discreet.device.protocol.envelope import CollectionError, public_key, signed
from programs import node

DOCUMENTS = int(os.environ.get("DISCREET_DOCUMENTS", "2000"))
KEY = Ed25519PrivateKey.generate()
TRUST = public_key(KEY)

ODD: list[Any] = [
    0,
    1,
    -1,
    2,
    5,
    59,
    60,
    1.0,
    1.5,
    -0.0,
    1e2,
    1e300,
    2**31,
    2**53 - 1,
    2**53,
    2**64,
    "",
    "a",
    "1",
    "01",
]
ODD += [" ", "\x85", "\ufeff", "\u2028", False, None, [], {}, [1], [[0, 1]], {"a": 1}, "open", "once", "1e3", "+1"]
ODD += [
    "https://a.b",
    "http://localhost:1",
    "https://[::1]",
    "https://A.b",
    "https://a.b:443",
    "http://a.b",
    "https://256.1.1.1",
    "https://1.2.3",
    "https://a.1",
    "https://[0:0:0:0:0:0:0:1]",
    "https://[::ffff:102:304]",
    "https://a..b",
    "https://0x7f.1",
    "https://a.b.",
    "https://a_b.c",
    str(2**64),
]
NAMES = ["x", "__proto__", "constructor", "levels", "1"]
TYPOS = ['"', "\\", "\\u", "\\ud800", "\\udc00\\ud800", "\\ud83d\\ude00", "\t", "\0", "[", "}", ",", "E5", ".0", "NaN"]


def places(said: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document but its top."""
    inside = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    for name, one in inside:
        yield (*at, name)
        yield from places(one, (*at, name))


def altered(said: Any, chance: random.Random) -> Any:
    said = copy.deepcopy(said)
    *way, name = chance.choice(list(places(said)))
    holder = said
    for step in way:
        holder = holder[step]
    one, kind = holder[name], chance.random()
    is_number = isinstance(one, int | float) and not isinstance(one, bool)
    if kind < 0.15:
        del holder[name]
    elif kind < 0.35 and is_number:
        holder[name] = one + chance.choice([1, -1, 0.5, 1e-12, 2**32])
    elif kind < 0.45 and isinstance(one, str) and one.isdecimal():
        holder[name] = str(max(0, int(one) + chance.choice([1, -1, 2**40, -(2**40)])))
    elif kind < 0.55 and isinstance(holder, dict):
        holder[chance.choice(NAMES)] = chance.choice(ODD)
    elif kind < 0.65 and is_number:
        holder[name] = float(one)
    else:
        holder[name] = copy.deepcopy(chance.choice(ODD))
    return said


def written(said: Any, chance: random.Random) -> bytes:
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=chance.random() < 0.5)
    kind, at = chance.random(), chance.randrange(len(text))
    if kind < 0.05:
        text = text[:at] + chance.choice(TYPOS) + text[at:]
    elif kind < 0.08:
        text = text[:at] + text[at + 1 :]
    elif kind < 0.1:
        text = text.replace('"late":', '"late":1,"late":', 1)
    elif kind < 0.13:
        text = text.replace('":1', '":1.0', chance.randrange(1, 4))
    return text.encode()


def documents() -> list[Any]:
    """Return a document of every kind of domain."""
    site = SurveySite(origin="https://collect.example.org")
    site.make()
    return [json.loads(base64.b64decode(json.loads(one)["document"])) for one in site.envelopes.values()]


def compared(written_documents: list[bytes], folder: Path) -> Counter[str]:
    """Expect the refusals of Python from JavaScript; return how often there was each."""
    counts, lines = Counter[str](), []
    for document in written_documents:
        envelope = signed(document, [KEY])
        try:
            expected = {"id": open_envelope(envelope, [TRUST]).id.hex()}
        except CollectionError as error:
            expected = {"error": error.reason}
        counts[expected.get("error", "good")] += 1
        lines.append(json.dumps({"envelope": envelope.decode(), "trusted": [TRUST.hex()], **expected}))
    (folder / "envelopes.jsonl").write_text("\n".join(lines))
    assert json.loads(node("tests/envelopes.js", folder / "envelopes.jsonl")) == {"count": len(lines), "wrong": []}
    return counts


def test_both_devices_say_the_same(tmp_path: Path) -> None:
    chance, known = random.Random(12), documents()
    counts = compared([written(altered(chance.choice(known), chance), chance) for _ in range(DOCUMENTS)], tmp_path)
    assert min(counts[code] for code in ("good", "format", "field", "promise", "plan")) >= DOCUMENTS // 100


def test_both_devices_refuse_what_only_one_refused_before(tmp_path: Path) -> None:
    """Origins that a browser writes otherwise, junk where no tags are, labels that are no texts, laws beside a flaw."""
    (plain,) = (said for said in documents() if said["name"] == "labels")
    changed: list[dict[str, Any]] = [{"collectors": [one]} for one in ODD if isinstance(one, str) and ":" in one]
    changed += [{"plan": {**plain["plan"], "others": one}} for one in (None, 1, "a", {}, [], 1e300)]
    domain = plain["plan"]["domain"]
    changed += [
        {"plan": {**plain["plan"], "domain": {**domain, "labels": [*domain["labels"][:3], one]}}} for one in (1, False)
    ]
    law = {**plain["sampler"]["law"], "law": "singletos"}
    changed += [{"sampler": {**plain["sampler"], "law": law, "sensitive": one}} for one in ([[0, 2]], -1, [[2, 1]])]
    counts = compared([json.dumps({**plain, **one}).encode() for one in changed], tmp_path)
    assert min(counts[code] for code in ("good", "field", "plan", "law", "promise")) >= 1


WORDS = (
    "krank",
    "Krank",
    "krank ",
    "KRANK",
    "\u00e9",
    "\u00c9",
    "e\u0301",
    "stra\u00dfe",
    "STRASSE",
    "1/2",
    "\u00bd",
    "a",
    "b",
)
WORDS += (
    "18-39",
    "18\u201339",
    "m\u00b2",
    "m2",
    "\ufb01t",
    "fit",
    "\u0130",
    "i",
    "\u0131",
    "\u0663",
    "3",
    "c",
    "\u1f40\u03b4\u03cc\u03c2",
    " ",
    "d",
)


def relabelled(said: Any, chance: random.Random) -> Any:
    """Return a document with other labels, or other words for them."""
    said = copy.deepcopy(said)
    domain, languages = said["plan"]["domain"], said.get("languages", {}).values()

    def words(labels: list[Any]) -> list[str]:
        return chance.sample(WORDS, len(labels))

    if languages and chance.random() < 0.7:
        for texts in languages:
            texts["labels"] = dict(zip(texts["labels"], words(list(texts["labels"])), strict=True))
    elif "product" in domain:
        domain["product"] = [[name, words(labels)] for name, labels in domain["product"]]
    else:
        names = words(domain["labels"])
        for texts in languages:
            texts["labels"] = dict(zip(names, texts["labels"].values(), strict=True))
        domain["labels"] = names
    if chance.random() < 0.2:
        domain["exact"] = chance.choice([True, True, True, False, 1])
    return said


def test_both_devices_read_labels_alike(tmp_path: Path) -> None:
    chance, known = random.Random(13), {said["name"]: said for said in documents()}
    chosen = [known[name] for name in ("labels", "product", "tags", "languages")]
    texts = [json.dumps(relabelled(chance.choice(chosen), chance)).encode() for _ in range(DOCUMENTS)]
    counts = compared(texts, tmp_path)
    # No word of a language may be empty.
    assert set(counts) <= {"good", "plan", "field"}
    assert min(counts[code] for code in ("good", "plan")) >= DOCUMENTS // 5
