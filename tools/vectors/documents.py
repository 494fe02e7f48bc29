"""Vectors of collections: envelopes and what a device says to each; and the codes of values under plans.

Lines of ``envelopes.jsonl``: an ``envelope`` (its text, or bytes as ``base64``), the public keys that are ``trusted``
(hexadecimal digits; without them those of the first line), and what is expected: the ``id`` of the document, or the
code of the refusal (``error``). Instead of an envelope there may be an ``edit`` of the first line's document, [start,
stop, text] in bytes, and the ``signature`` of that by the first line's key, from which the envelope is put together.

Lines of ``encoders.jsonl``: a ``plan`` as a collection spells it out, ``values`` with their codes (null: refused), and
where the plan has cells or tags the ranges of ``sensitive`` codes, the number of ``bots``, and the bot of every code
(``cells``: -1 for a value that has none; null where the person's tags say it).
"""

import base64
import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.device.protocol.collection import code_of, domain_of, open_envelope, placeholders_of
from discreet.device.protocol.envelope import CollectionError, public_key
from discreet.device.protocol.envelope import signed as sealed
from discreet.errors import DataError
from vectors.devices import KEY, signed, survey_envelopes

_OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_TRUST = [public_key(KEY)]


def _document(envelope: bytes) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(base64.b64decode(json.loads(envelope)["document"]))
    return said


def _resigned(said: Mapping[str, Any] | bytes, *keys: Ed25519PrivateKey) -> bytes:
    written = said if isinstance(said, bytes) else json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    return sealed(written, keys or (KEY,))


def _line(envelope: bytes, expect: str, trust: list[bytes] = _TRUST) -> dict[str, Any]:
    """Return a line, if this library says what is expected."""
    try:
        found, said = "good", {"id": open_envelope(envelope, trust).id.hex()}
    except CollectionError as error:
        found, said = error.reason, {"error": error.reason}
    if found != expect:
        raise AssertionError(f"{expect} was expected, got {found}")
    try:
        written = {"envelope": envelope.decode()}
    except UnicodeDecodeError:
        written = {"base64": base64.b64encode(envelope).decode()}
    trusted = {} if trust == _TRUST and expect != "good" else {"trusted": [key.hex() for key in trust]}
    return {**written, **trusted, **said}


def _edited(good: bytes, changed: Mapping[str, Any], expect: str) -> dict[str, Any]:
    """Return a line with a changed document, as an edit of the good one."""
    old, new = (json.dumps(said, sort_keys=True, separators=(",", ":")) for said in (_document(good), changed))
    line = _line(_resigned(changed), expect)
    start = _alike(old, new)
    end = min(_alike(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    signature = json.loads(line.pop("envelope"))["signatures"][0]["signature"]
    return {"edit": [start, len(old) - end, new[start : len(new) - end]], "signature": signature, **line}


def _alike(one: str, other: str) -> int:
    """Return the length of what two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _envelopes() -> list[dict[str, Any]]:
    good = signed()
    return [
        _line(good, "good"),
        _line(signed(answers="permanent", linkable=True, people=None, version=7), "good"),
        _line(_resigned(_document(good), _OTHER, KEY), "good"),
        _line(json.dumps(json.loads(good), indent=1).encode(), "good"),
        *_bad_envelopes(good),
        *_bad_signatures(good),
        *_bad_fields(good),
        *_bad_promises(good),
        *_alike_labels(good),
    ]


def _bad_envelopes(good: bytes) -> list[dict[str, Any]]:
    whole = json.loads(good)
    signature = whole["signatures"][0]
    cases: list[Any] = [
        {"document": whole["document"]},
        {**whole, "more": 1},
        {**whole, "signatures": []},
        {**whole, "signatures": [{**signature, "more": 1}]},
        {**whole, "signatures": [{**signature, "key": "AA=="}]},
        {**whole, "signatures": [{**signature, "signature": signature["signature"][:-4]}]},
        {**whole, "document": whole["document"] + " "},
        {**whole, "document": "YR=="},
        {**whole, "document": "YQ"},
        {**whole, "document": 1},
        [],
        None,
    ]
    written = [json.dumps(case, separators=(",", ":")).encode() for case in cases]
    repeated = good[:-1] + b',"document":""}'
    return [_line(case, "envelope") for case in (*written, b"", b"\xff", good[:100], good + b"x", repeated)]


def _bad_signatures(good: bytes) -> list[dict[str, Any]]:
    whole, other = json.loads(good), json.loads(signed(contact="other@example.org"))
    mixed = json.dumps({**whole, "signatures": other["signatures"]}, separators=(",", ":")).encode()
    forged = {**whole["signatures"][0], "signature": base64.b64encode(bytes(64)).decode()}
    one_bad = json.dumps({**whole, "signatures": [*whole["signatures"], forged]}, separators=(",", ":")).encode()
    return [
        _line(good, "untrusted", [public_key(_OTHER)]),
        _line(_resigned(_document(good), _OTHER), "untrusted"),
        _line(mixed, "signature"),
        _line(one_bad, "signature"),
        _line(_resigned(_document(good), KEY, _OTHER), "good", [public_key(_OTHER)]),
        *(
            _line(_resigned(bad), "format")
            for bad in (b"", b"[]", b"{}", b'{"format":"discreet collection 2"}', b"\xff")
        ),
        _line(_resigned(b'{"format":"discreet collection 1","format":"discreet collection 1"}'), "format"),
        _line(_resigned(b'{"format":"discreet collection 1","name":"\\ud800"}'), "format"),
        _line(_resigned(b'{"format":"discreet collection 1","\\ud800":1}'), "format"),
    ]


def _bad_fields(good: bytes) -> list[dict[str, Any]]:
    said = _document(good)
    epochs = said["epochs"]
    changes: list[dict[str, Any]] = [
        {"more": 1},
        {"name": "A"},
        {"name": "x" * 65},
        {"version": 0},
        {"version": 1.5},
        {"version": "1"},
        {"state": "closed"},
        {"title": ""},
        {"purpose": None},
        {"contact": 3},
        {"plan": []},
        {"simulated": 0},
        {"linkable": None},
        {"fingerprint": "0" * 31},
        {"sampler": None},
        {"answers": "twice"},
        {"epsilon": 0},
        {"epsilon": "1"},
        {"lifetime": 0.5},
        {"epochs": {**epochs, "more": 1}},
        {"epochs": {**epochs, "seconds": 59}},
        {"epochs": {**epochs, "start": -1}},
        {"epochs": {**epochs, "count": 1 << 32}},
        {"late": -1},
        {"spread": True},
        {"least": 0},
        {"retention": 0},
        {"collectors": []},
        {"collectors": ["http://collect.example.org"]},
        {"collectors": ["https://collect.example.org/"]},
    ]
    missing = [{name: part for name, part in said.items() if name != gone} for gone in ("name", "linkable")]
    return [
        *(_edited(good, case, "field") for case in (*missing, *({**said, **change} for change in changes))),
        *_marks_and_texts(good),
        *_in_languages(good),
        *_second_coins(),
        *_surveys(survey_envelopes()["survey, 1"]),
    ]


def _second_coins() -> list[dict[str, Any]]:
    """Return lines on terms of permanent answers with a second coin."""
    good = signed(answers="permanent", memo=2.0)
    document = _document(good)
    memo, truth = document["memo"], int(document["memo"]["truth"])
    fields: list[Any] = [
        {**memo, "more": 1},
        {"truth": memo["truth"]},
        {**memo, "truth": truth},
        {**memo, "truth": f"0{truth}"},
        {**memo, "epsilon": "2"},
        {**memo, "epsilon": 1.0},
        None,
    ]
    integers = [document["sampler"]["truth"], str(truth + (truth >> 20)), str(1 << 64)]
    return [
        _line(good, "good"),
        *(_line(_resigned({**document, "memo": bad}), "field") for bad in fields),
        *(_line(_resigned({**document, **bad}), "field") for bad in ({"lifetime": 1.9}, {"answers": "fresh"})),
        *(_line(_resigned({**document, "memo": {**memo, "truth": bad}}), "promise") for bad in integers),
    ]


def _surveys(good: bytes) -> list[dict[str, Any]]:
    """Return lines on the questions of a survey, of which a collection is one."""
    document = _document(good)
    survey = document["survey"]
    first, *others = survey["questions"]
    fields: list[Any] = [
        None,
        {**survey, "more": 1},
        {**survey, "name": "A"},
        {**survey, "answers": 3},
        {**survey, "answers": 2.0},
        {**survey, "epsilon": 0.5},
        {**survey, "epsilon": "2"},
        {**survey, "questions": {}},
        {**survey, "questions": others},
        {**survey, "questions": [[first[0], f"0{first[1]}"], *others]},
        {**survey, "questions": [[first[0], int(first[1])], *others]},
        {**survey, "questions": [first, others[0], [others[0][0], others[1][1]]]},
        {**survey, "questions": [[first[0], str(1 << 65)], *others]},
        {**survey, "questions": [["another", first[1]], *others]},
    ]
    return [_line(good, "good"), *(_line(_resigned({**document, "survey": bad}), "field") for bad in fields)]


def _marks_and_texts(good: bytes) -> list[dict[str, Any]]:
    """Return lines on the mark of public collections, and on characters that nobody sees."""
    said = _document(good)
    plan = said["plan"]
    labels = plan["domain"]["labels"]
    hidden = [
        "\u202e",
        "\u2066",
        "\u200f",
        "\u061c",
        "\u200b",
        "\xad",
        "\ufeff",
        "\x1b",
        "\U000e0041",
        "a\u200d",
        "\u3164",
    ]
    changes: list[dict[str, Any]] = [
        *({"title": f"Habits{one}"} for one in hidden),
        {"purpose": "Why\u2069"},
        {"contact": "\u202aa@example.org"},
        {"plan": {**plan, "title": "\u200eHabits"}},
        {"plan": {**plan, "domain": {**plan["domain"], "labels": [f"{labels[0]}\u202c", *labels[1:]]}}},
        {"plan": {**plan, "\u200b": 1}},
        *({"listed": one} for one in (False, None, 1, "true")),
    ]
    seen = (
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645, \U0001f469\u200d\U0001f33e\ufe0f,\n\t\xe9 \u05d0\u05d1"
    )
    return [
        *(_edited(good, {**said, **change}, "field") for change in changes),
        _edited(good, {**said, "title": seen}, "good"),
        _edited(good, {**said, "title": "\u202ehabits", "state": "withdrawn"}, "good"),
        _edited(good, {**said, "listed": True}, "good"),
    ]


def _in_languages(good: bytes) -> list[dict[str, Any]]:
    """Return lines on what people read in other languages."""
    document = _document(good)
    labels = document["plan"]["domain"]["labels"]
    words = {label: label[::-1] for label in labels}
    texts = {"title": "T", "purpose": "P", "labels": words}
    bad_words = [{}, {**words, labels[0]: words[labels[1]]}]
    return [
        _edited(good, {**document, "languages": {"en": texts}}, "field"),
        _edited(good, {**document, "languages": {"de": {**texts, "question": "Q"}}}, "field"),
        *(_edited(good, {**document, "languages": {"de": {**texts, "labels": bad}}}, "plan") for bad in bad_words),
        _edited(good, {**document, "languages": {"de": texts}}, "good"),
    ]


def _bad_promises(good: bytes) -> list[dict[str, Any]]:
    said = _document(good)
    sampler, truth = said["sampler"], int(said["sampler"]["truth"])
    samplers: list[dict[str, Any]] = [
        {"truth": str(truth + (truth >> 20))},
        {"truth": str(1 << 64)},
        {"truth": "0"},
        {"sensitive": [[0, 5]]},
        {"law": {"law": "singletons", "size": 3}},
        {"law": {"law": "hashing", "size": 2, "buckets": 2, "prime": 9}},
        {"more": 1},
    ]
    promises = [{"sampler": {**sampler, **change}} for change in samplers]
    plans = [
        {"epsilon": 2.0},
        {"more": 1},
        {"domain": {"labels": ["a", "b", "c"]}},
        {"domain": {"labels": ["a", "a", "b", "c"]}},
        {"domain": {}},
        {"tags": ["home"]},
        {"cells": {"rows": 1, "cols": 1}},
    ]
    return [
        *(_edited(good, {**said, **change}, "promise") for change in (*promises, {"epsilon": 0.999})),
        _edited(good, {**said, "sampler": {**sampler, "law": {"law": "of tomorrow", "size": 2}}}, "law"),
        *(_edited(good, {**said, "plan": {**said["plan"], **change}}, "plan") for change in plans),
        _edited(good, {**said, "sampler": {**sampler, "truth": str(truth + 1)}}, "good"),
        _edited(good, {**said, **_wide(said, 1 << 18)}, "good"),
        _edited(good, {**said, **_wide(said, (1 << 18) + 1)}, "plan"),
    ]


# Two labels each that read alike, and so are refused where one of them alone is protected.
_ALIKE = (
    *(("krank", "Krank "), ("krank", "\u00a0KRANK"), ("Stra\u00dfe", "STRASSE"), ("m\u00b2", "m2"), ("\u00bd", "1/2")),
    *(("\u1f40\u03b4\u03cc\u03c2", "\u1f48\u0394\u038c\u03a3"), ("\uff11\uff12", "12"), ("\ufb01t", "FIT")),
    *(("\u0130stanbul", "istanbul"), ("\u0131l\u0131k", "ILIK"), ("18\u201339", "18-39"), ("l\u2019eau", "l'eau")),
    *(("\u2764\ufe0f", "\u2764"), ("\u0643\u0640\u0640\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"), ("", " ")),
)
_APART = (("C++", "C"), ("<18", "< 18"), ("a", "\u0430"))


def _alike_labels(good: bytes) -> Iterator[dict[str, Any]]:
    """Yield lines on labels that read alike, on labels that are not composed, and on ``exact``."""
    said = _document(good)

    def edited(expect: str, *labels: str, sampler: Mapping[str, Any] = said["sampler"], **more: Any) -> dict[str, Any]:
        table = {"labels": [*labels, "often", "daily"][:4], "sensitive": ["often", "daily"]} if labels else {}
        domain, plan = {"domain": {**said["plan"]["domain"], **table, **more.pop("domain", {})}}, more.pop("plan", {})
        return _edited(good, {**said, "plan": {**said["plan"], **domain, **plan}, "sampler": sampler, **more}, expect)

    yield from (edited("plan", "never", one, other) for one, other in _ALIKE)
    yield from (edited("good", one, other) for one, other in (*_ALIKE, *_APART))
    yield from (edited("good", "never", one, other) for one, other in _APART)
    yield edited("good", "never", *_ALIKE[0], domain={"exact": True})
    yield from (edited("plan", "never", *_ALIKE[0], domain={"exact": exact}) for exact in (False, None, 1, "true"))
    yield from (edited("plan", "never", "rarely", domain={"exact": exact}) for exact in (None, 0, "false"))
    yield edited("good", "never", "rarely", domain={"exact": False})
    yield from (edited("plan", domain=more) for more in ({"more": 1}, {"more": None}, {"Exact": True}))
    # Accents that follow their letters.
    yield edited("plan", "e\u0301", "rarely")
    yield edited("plan", "e\u0301", "rarely", domain={"exact": True})
    yield edited("plan", domain={"attribute": "e\u0301"})
    yield edited("good", domain={"attribute": "\u00e9"})
    # A notice of withdrawal asks nobody.
    yield edited("good", "e\u0301", *_ALIKE[0], state="withdrawn")
    yield edited("plan", domain={"exact": 1}, state="withdrawn")
    # Combinations are alike if the labels of each attribute are.
    pairs = [["x", ["a", "A"]], ["y", ["b", "c"]]]
    for product, expect in ((pairs, "plan"), (pairs[::-1], "good"), ([["e\u0301", ["a", "b"]], pairs[1]], "plan")):
        yield edited(expect, domain={"labels": None, "product": product, "sensitive": []})
    # People read the words of their language.
    words = dict(zip(said["plan"]["domain"]["labels"], ("nie", "selten", "oft", "Selten"), strict=True))
    languages = {"de": {"title": "T", "purpose": "P", "labels": words}}
    yield edited("plan", languages=languages)
    yield edited("good", languages=languages, domain={"exact": True})
    # Numbers have no labels.
    numbers = {"labels": None, "number": {"low": 0, "high": 1, "bins": 4}, "sensitive": [[0.5, 0.8]]}
    yield edited("good", domain=numbers)
    yield edited("plan", domain={**numbers, "number": {"low": 0, "high": 1, "bins": 4, "more": 1}})
    # Under tags a person may protect one of two, whatever is protected for everybody.
    law, tagged = {"law": "singletons", "size": 3}, {"tags": ["home"], "others": False}
    sampler = {**said["sampler"], "size": 5, "sensitive": [[2, 5]], "truth": str(1 << 60), "law": law}
    yield edited("plan", *_ALIKE[0], plan=tagged, sampler=sampler)
    yield edited("good", *_ALIKE[0], plan=tagged, sampler=sampler, domain={"exact": True})
    yield edited("good", "never", "rarely", *_ALIKE[0], plan=tagged, sampler=sampler)
    yield edited("plan", plan={**tagged, "tags": ["e\u0301"]}, sampler=sampler)
    yield edited("good", plan={**tagged, "tags": ["\u00e9"]}, sampler=sampler)


def _wide(said: Mapping[str, Any], cols: int) -> dict[str, Any]:
    """Return plan and sampler of a personalized grid of one row."""
    domain, size = {"grid": {**_GRID, "rows": 1, "cols": cols}}, cols + 3
    sensitive, law = [[0, 1], [cols, size]], {"law": "singletons", "size": 4}
    return {
        "plan": {**said["plan"], "domain": domain, "cells": {"rows": 1, "cols": 3}},
        "sampler": {**said["sampler"], "size": size, "sensitive": sensitive, "truth": str(1 << 60), "law": law},
    }


_GRID: dict[str, Any] = {"lat": [40.4774, 40.9176], "lon": [-74.2591, -73.7004], "rows": 7, "cols": 9}


def _encoder(domain: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    plan = {"epsilon": 1.0, "domain": domain, "mechanism": {"name": "rr"}}
    return {"plan": plan, "values": [[value, _code(plan, value)] for value in values]}


def _code(plan: dict[str, Any], value: Any) -> int | None:
    try:
        return code_of(domain_of(plan), value)
    except DataError:
        return None


def _borders() -> list[Any]:
    """Return points on the borders of a grid's cells, beside them and outside."""
    steps = [
        (name, low, high, count) for (name, (low, high), count) in (("lat", _GRID["lat"], 7), ("lon", _GRID["lon"], 9))
    ]
    (_, south, north, rows), (_, west, east, cols) = steps
    points: list[Any] = []
    for row in range(rows + 1):
        for col in range(cols + 1):
            lat, lon = south + row * (north - south) / rows, west + col * (east - west) / cols
            points += [[lat, lon], [lat - 1e-13, lon + 1e-13]]
    return [*points, {"lat": 40.7, "lon": -74.0}, [40.7], [91, 0], ["40.7", -74.0], {"lat": 40.7}, None, 3]


def _numbers() -> Iterator[dict[str, Any]]:
    """Yield encoders of numbers: on borders, beside them and outside; of logarithms only away from borders."""
    strange: list[Any] = [-1, 101, 1e300, "5", None, True, [5]]
    linear = {"low": -0.5, "high": 100, "bins": 7}
    borders = np.linspace(-0.5, 100, 8)
    beside = [float(each) for each in (*borders, *np.nextafter(borders, -np.inf), *np.nextafter(borders, np.inf))]
    yield _encoder({"number": linear}, [*beside, 3, *strange])
    yield _encoder({"number": {**linear, "clip": True}}, [*beside, *strange])
    apart = [0, 5.5, 1234, 77_000.25, 999_999, 1_000_000]
    yield _encoder({"number": {"low": 0, "high": 1_000_000, "bins": 256, "scale": "log1p"}}, [*apart, *strange])


def _borders_as_written() -> Iterator[dict[str, Any]]:
    """Yield encoders of numbers that are borders as people write them, such as 0.3 of ten bins from 0 to 1."""
    for low, high, bins in ((0, 1, 10), (36, 42, 60), (0, 100, 7), (0, 1, 1000)):
        borders = [float(low + Fraction((high - low) * place, bins)) for place in range(0, bins + 1, -(-bins // 60))]
        yield _encoder({"number": {"low": low, "high": high, "bins": bins}}, borders)
    yield _encoder({"number": {"low": 0, "high": 99, "bins": 2, "scale": "log1p"}}, [8.999999, 9, 9.000001, 99])


def _bots(domain: dict[str, Any], ranges: list[list[int]], **plan: Any) -> dict[str, Any]:
    said = {"epsilon": 1.0, "domain": domain, "mechanism": {"name": "rr"}, **plan}
    mask = domain_of(said).sensitive.copy()
    mask[:] = False
    for start, stop in ranges:
        mask[start:stop] = True
    found = placeholders_of(said, mask)
    assert found is not None
    cells = None if found.cell_of is None else found.cell_of.tolist()
    return {"plan": said, "sensitive": ranges, "bots": len(found.tags), "cells": cells, "values": []}


def _encoders() -> list[dict[str, Any]]:
    texts = ["", "a", "A", "\u00e9", "01", "1", "\U0001f600", "a\0", "__proto__", "constructor", "toString"]
    labels, marked = {"labels": texts}, {"labels": texts, "exact": True}
    product = {"product": [["sex", ["f", "m"]], ["2019", [3, 1, 2]], ["age", ["<40", "40+"]]]}
    grid = {"grid": _GRID}
    return [
        _encoder(labels, [*texts, "e\u0301", "b", "a ", 1, 1.5, None, True, ["a"], {"a": 1}, "hasOwnProperty"]),
        _encoder({"labels": [5, -3, 900]}, [5, -3, 900, 4, "5", None, 5.5]),
        _encoder({"range": [-3, 70_000]}, [-3, 0, 69_999, 70_000, -4, "0", 0.5, None, True]),
        _encoder(
            product,
            [
                *([a, b, c] for a in ("f", "m") for b in (3, 1, 2) for c in ("<40", "40+")),
                {"sex": "m", "2019": 2, "age": "<40"},
                {"sex": "m", "2019": 2},
                {"sex": "m", "2019": 2, "age": "<40", "more": 1},
                {"sex": "m", "2019": "2", "age": "<40"},
                ["m", 2],
                "m",
                None,
            ],
        ),
        _encoder(grid, _borders()),
        *_numbers(),
        _bots(grid, [[0, 1], [5, 20], [62, 63]], cells={"rows": 3, "cols": 2}),
        _bots(grid, [[0, 32]], cells={"rows": 7, "cols": 9}),
        _bots(grid, [[9, 27]], cells={"rows": 1, "cols": 1}),
        _bots(marked, [[0, 2]], tags=["home", "work"]),
        _bots(marked, [[0, 2]], tags=["home", "others"]),
        _bots(marked, [[0, 2]], tags=["home"], others=False),
        *_borders_as_written(),
        _encoder(
            {"product": [["\u00e9", ["\u00e9", "e"]], ["x", [1, 2]]]},
            [["e\u0301", 2], {"\u00e9": "e\u0301", "x": 1}, ["e", 1], ["E\u0301", 1], ["\u00c9", 1]],
        ),
    ]


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the files, by their names."""
    return {"envelopes.jsonl": _envelopes(), "encoders.jsonl": _encoders()}
