"""Signed collections: what a device believes, and each way in which it refuses."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from discreet import Domain, Personalized
from discreet.device.protocol.collection import CHECKS, OPTIONAL, Collection, is_origin, open_envelope, rebuild
from discreet.device.protocol.envelope import (
    MOST_BYTES,
    REFUSALS,
    CollectionError,
    EnvelopeError,
    FieldError,
    PlanError,
    PromiseError,
    RebuiltError,
    SignatureError,
    SizeError,
    UntrustedError,
    document_bytes,
    opened,
)
from discreet.device.protocol.notice import notice
from discreet.errors import ParameterError
from refusals import refused
from signed import EPOCH, PLAIN, START, TRUST, altered, collection, document, envelope, resigned

GRID = {
    "epsilon": 2.0,
    "domain": {"grid": {"lat": [40, 41], "lon": [-74, -73], "rows": 6, "cols": 5}, "sensitive": [[40.05, -73.95]]},
    "mechanism": {"name": "hadamard"},
}
PRODUCT = {
    "epsilon": 1.0,
    "domain": {"product": {"home": ["flat", "house", "other"], "age": ["20s", "30s"]}, "sensitive": [{"age": "30s"}]},
    "mechanism": {"name": "unary"},
}
PLANS: dict[str, Any] = {
    "labels": PLAIN,
    "range": {**PLAIN, "domain": {"range": [-3, 40], "sensitive": [1, 2, 3]}},
    "integers": {**PLAIN, "domain": {"labels": [5, 3, 900]}},
    "product": PRODUCT,
    "grid": GRID,
    "tags": {**PLAIN, "tags": ["home"], "mechanism": {"name": "unary"}},
    "tags alone": {**PLAIN, "tags": ["home"], "others": False},
    "cells": {**GRID, "cells": {"rows": 2, "cols": 3}},
}


def test_every_field_is_checked() -> None:
    assert {"format", *CHECKS} == set(document(envelope()))
    assert set(CHECKS) | set(OPTIONAL) == set(Collection.__dataclass_fields__) - {"id", "envelope"}
    assert len({kind.reason for kind in REFUSALS}) == len(REFUSALS)
    assert set(REFUSALS) == set(CollectionError.__subclasses__())


@pytest.mark.parametrize("name", PLANS)
def test_a_collection_is_what_was_signed(name: str) -> None:
    written = envelope(PLANS[name])
    found = open_envelope(written, TRUST)
    assert found.id == hashlib.sha256(opened(written, TRUST)).digest()
    assert found.envelope == written
    mechanism = rebuild(found)
    assert mechanism.fingerprint == found.fingerprint
    assert found.epsilon == PLANS[name]["epsilon"]
    assert found.sampler.realised <= found.epsilon
    assert found.sensitive.tolist() == mechanism.domain.sensitive[: found.domain.size].tolist()
    assert found.sensitive_count == np.count_nonzero(found.sensitive)
    said = " ".join(notice(found))
    assert f"epsilon = {found.epsilon:g}" in said
    assert repr(found).startswith("Collection('habits', version 1, open")


def test_documents_are_canonical() -> None:
    written = opened(envelope(), TRUST)
    assert written == json.dumps(json.loads(written), sort_keys=True, separators=(",", ":")).encode()
    assert document_bytes({"b": "é", "a": [1, True]}) == '{"a":[1,true],"b":"é"}'.encode()
    for said in ({"a": float("nan")}, {"a": [1 << 53]}, {"a": "\ud800"}, {"a": "x" * MOST_BYTES}):
        with pytest.raises(ParameterError):
            document_bytes(said)
    assert document_bytes({"a": (1 << 53) - 1})


@pytest.mark.parametrize("name", ["tags", "tags alone", "cells"])
def test_bots_are_those_of_the_library(name: str) -> None:
    found = collection(PLANS[name])
    domain = Domain.grid(lat=(40, 41), lon=(-74, -73), rows=6, cols=5, sensitive=[(40.05, -73.95)])
    if name == "cells":
        wanted = Personalized.cells(domain, 2.0, rows=2, cols=3, mechanism="hadamard")
        assert found.placeholders.cell_of.tolist() == wanted.cell_of.tolist()
    else:
        plain = Domain(PLAIN["domain"]["labels"], sensitive=["often", "daily"])
        wanted = Personalized(plain, 1.0, ["home"], others=name == "tags", mechanism=PLANS[name]["mechanism"]["name"])
        assert found.placeholders.cell_of is None
    assert found.placeholders.tags == wanted.tags
    assert found.fingerprint == wanted.fingerprint
    assert found.sampler.size == wanted.domain.size + len(wanted.tags)


def test_epochs() -> None:
    found = collection(late=60)
    assert [found.epoch_at(START + seconds) for seconds in (-1, 0, EPOCH - 1, EPOCH, 24 * EPOCH - 1, 24 * EPOCH)] == [
        None,
        0,
        0,
        1,
        23,
        None,
    ]
    assert found.window(2) == (START + 2 * EPOCH, START + 3 * EPOCH, START + 3 * EPOCH + 60)
    assert collection().late == EPOCH


# Refusals, in the order of the checks


def test_a_bent_byte_at_any_position() -> None:
    """Every position of an envelope, bent in turn in one bit, in the highest bit, or into a byte of another kind."""
    written = envelope()
    for place, byte in enumerate(written):
        other = (byte ^ 1, byte ^ 0x80, byte ^ 0x20)[place % 3]
        bent = written[:place] + bytes([other]) + written[place + 1 :]
        with pytest.raises((EnvelopeError, SignatureError, UntrustedError)) as caught:
            open_envelope(bent, TRUST)
        assert "often" not in str(caught.value)


def test_size() -> None:
    refused(SizeError, lambda: open_envelope(b" " * (3 << 19) + b" ", TRUST))
    large = json.dumps({"padding": "x" * MOST_BYTES}).encode()
    refused(SizeError, lambda: open_envelope(resigned(large), TRUST))


@pytest.mark.parametrize("trust", [[], b"x" * 32, ["x" * 32], [b"x"], None])
def test_trust_must_be_keys(trust: Any) -> None:
    refused(ParameterError, lambda: open_envelope(envelope(), trust))


@pytest.mark.parametrize(
    ("origin", "fits"),
    [
        ("https://a.example", True),
        ("https://a.example:8443", True),
        ("https://[2001:db8::1]:8443", True),
        ("http://127.0.0.1:8000", True),
        ("http://localhost", True),
        ("http://[::1]:80", False),
        ("https://a.example:443", False),
        ("https://a.example/", False),
        ("https://A.example", False),
        ("https://me@a.example", False),
        ("https://a.example?x", False),
        ("https://a.example:x", False),
        ("https://a example", False),
        ("https://", False),
        ("http://a.example", False),
        ("http://127.0.0.1.a.example", False),
        ("ftp://a.example", False),
        ("//a.example", False),
    ],
)
def test_origins(origin: str, fits: bool) -> None:
    assert is_origin(origin) is fits


def _sampler(**changes: Any) -> dict[str, Any]:
    return {**document(envelope())["sampler"], **changes}


@pytest.mark.parametrize("name", PLANS)
def test_a_truth_that_is_too_large(name: str) -> None:
    """S is the largest that keeps the promise: one more breaks it by less than a double shows, a millionth by more."""
    said = document(envelope(PLANS[name]))
    truth = int(said["sampler"]["truth"])
    more = {**said["sampler"], "truth": str(truth + (truth >> 20))}
    refused(PromiseError, lambda: open_envelope(resigned({**said, "sampler": more}), TRUST))
    one_more = open_envelope(resigned({**said, "sampler": {**more, "truth": str(truth + 1)}}), TRUST)
    refused(RebuiltError, lambda: rebuild(one_more))


def test_bots_that_the_coin_does_not_look_at() -> None:
    said = document(envelope(PLANS["tags"]))
    sampler = {**said["sampler"], "sensitive": [[1, 5]]}
    refused(PlanError, lambda: open_envelope(resigned({**said, "sampler": sampler}), TRUST))


@pytest.mark.parametrize(
    "changes",
    [
        {"fingerprint": "0" * 32},
        {"sampler": {**_sampler(), "sensitive": [[0, 2]]}},
        {"plan": {**PLAIN, "domain": {**PLAIN["domain"], "sensitive": ["never", "daily"]}}},
        {"plan": {**PLAIN, "domain": {**PLAIN["domain"], "sensitive": []}}},
    ],
    ids=str,
)
def test_a_rebuilt_mechanism_must_be_the_same(changes: dict[str, Any]) -> None:
    found = open_envelope(altered(envelope(), **changes), TRUST)
    refused(RebuiltError, lambda: rebuild(found))


@pytest.mark.parametrize(
    "mechanism",
    [{"name": "unheard-of"}, {}, {"name": "rr", "more": 1}, {"name": ["rr"]}, {"name": "unary", "theta": 7}],
)
def test_plans_without_a_mechanism(mechanism: dict[str, Any]) -> None:
    found = open_envelope(altered(envelope(), plan={**PLAIN, "mechanism": mechanism}), TRUST)
    refused(PlanError, lambda: rebuild(found))


def test_what_is_protected_is_named_from_the_sampler() -> None:
    """The plan says that two values are sensitive; the coin looks at two others."""
    sampler = {**_sampler(), "sensitive": [[0, 2]]}
    found = open_envelope(altered(envelope(), sampler=sampler), TRUST)
    assert "never; rarely." in " ".join(notice(found))
    assert "2 other values" in " ".join(notice(found))
    many = collection({**PLAIN, "domain": {"range": [0, 100], "sensitive": list(range(10, 60))}})
    assert "10; 11; 12; 13; 14; 15; and 44 more." in " ".join(notice(many))
    assert "All 100 values." in " ".join(notice(collection({**PLAIN, "domain": {"range": [0, 100]}})))


def test_what_was_accepted_before_is_read_all_the_same() -> None:
    """A collector goes on with a collection that it took in when such texts were allowed; devices do not."""
    old = altered(envelope(), title="Hab\u202eits")
    refused(FieldError, lambda: open_envelope(old, TRUST))
    assert open_envelope(old, TRUST, is_known=True).title == "Hab\u202eits"
    assert open_envelope(altered(old, state="withdrawn"), TRUST).state == "withdrawn"
