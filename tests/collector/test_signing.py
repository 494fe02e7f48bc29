"""Signing: what an operator may ask of people, and the next versions of it."""

import json
import stat
from base64 import b64encode
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet import Memo
from discreet.collector.documents.signing import new_key, plan_of, read_key, renew, sign, terms_of, withdraw
from discreet.device.protocol.collection import Epochs, open_envelope, rebuild
from discreet.device.protocol.envelope import RebuiltError, SignatureError, UntrustedError, public_key
from discreet.device.protocol.notice import notice
from discreet.errors import DiscreetError, OutputExistsError, ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS
from packing import each
from refusals import refused
from signed import EPOCH, PLAIN, PUBLIC, START, TRUST, altered, collection, document, envelope, key, terms
from signed import plan_of as plan_from

OPTIONS: dict[str, dict[str, Any]] = {
    "translates": {"modulus": 7, "base": [1, 2, 4]},
}


@pytest.mark.parametrize("name", BLOCK_MECHANISMS.built_in)
def test_every_mechanism_can_be_asked_under(name: str) -> None:
    plan = {**PLAIN, "mechanism": {"name": name, **OPTIONS.get(name, {})}}
    found = collection(plan)
    assert rebuild(found).name == name
    assert plan_of(found).mechanism() == rebuild(found)


@each(
    "plan, changes, words",
    [
        ({"domain": {"labels": ["a", "b"], "sensitive": [], "allow_unprotected": True}}, {}, "plan.protects-nobody"),
        ({}, {"lifetime": 0.99}, "lifetime.out-of-range"),
        ({}, {"lifetime": float("nan")}, "lifetime.out-of-range"),
        ({}, {"epochs": Epochs(START, 59, 1)}, "epoch.too-short"),
        ({}, {"answers": "fresh", "lifetime": None}, "lifetime.missing"),
        ({}, {"answers": "permanent", "lifetime": None}, "lifetime.missing"),
        ({}, {"answers": "permanent", "people": None}, "people.missing"),
        ({}, {"answers": "permanent", "people": 39}, "blocks.too-many"),
        ({"mechanism": {"name": "unary"}}, {"answers": "permanent", "people": 79}, "got 4"),
        ({"domain": {"range": [0, 100]}, "mechanism": {"name": "unary"}}, {"answers": "permanent"}, "about 2^100"),
        ({}, {"people": 10}, "people.without-permanent"),
        ({}, {"memo": 2.0}, "memo.without-permanent"),
        ({}, {"answers": "permanent", "memo": 1.0}, "memo.epsilon-too-small"),
        ({}, {"answers": "permanent", "memo": 4.5}, "lifetime"),
        ({}, {"linkable": True}, "people.without-permanent"),
        ({"domain": {"range": [0, 9_000_000]}, "mechanism": {"name": "unary"}}, {}, "record"),
        ({"domain": {"labels": [1, 1 << 60]}}, {}, "2^53"),
        ({"domain": {"labels": ["x" * 600_000, "y" * 600_000]}}, {}, "bytes"),
        ({}, {"name": "A survey"}, "name"),
        ({}, {"title": ""}, "title"),
        ({}, {"contact": "\ud800"}, "document.not-json"),
        ({}, {"answers": "twice"}, "answers"),
        ({}, {"spread": -1}, "spread"),
        ({}, {"least": 0}, "least"),
        ({}, {"collectors": ()}, "collectors"),
        ({}, {"collectors": ("http://collect.example.org",)}, "collectors"),
        ({}, {"epochs": Epochs(START, 60, 0)}, "epochs"),
    ],
)
def test_refusals(plan: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    made = plan_from({**PLAIN, **plan})
    message = refused(DiscreetError, lambda: sign(made, terms(**changes), [key()]))
    assert words in message


def test_a_promise_that_is_not_kept_is_not_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet import RandomizedResponse

    monkeypatch.setattr(RandomizedResponse, "threshold", 1 << 63)
    assert "promise" in refused(ParameterError, lambda: sign(plan_from(PLAIN), terms(), [key()]))


@pytest.mark.parametrize(("people", "linkable"), [(40, False), (None, True)])
def test_permanent_answers(people: int | None, linkable: bool) -> None:
    found = collection(answers="permanent", people=people, linkable=linkable)
    assert found.linkable is linkable
    assert ("may identify people" in " ".join(notice(found))) is linkable


def test_a_second_coin_is_signed() -> None:
    """The integer is that of the promise for all rounds; later versions keep it, and a notice of withdrawal too."""
    first = envelope(answers="permanent", memo=2.0, lifetime=None, epochs=Epochs(START, EPOCH, 4))
    found = open_envelope(first, TRUST)
    assert found.memo is not None
    assert (found.cost, found.epsilon, found.lifetime, collection().cost) == (2.0, 1.0, 8.0, 1.0)
    assert found.memo.truth == Memo(rebuild(found), 2.0).truth == found.truth
    assert found.sampler.realised_at(found.memo.truth) == pytest.approx(2, rel=1e-15)
    assert terms_of(open_envelope(renew(first, [key()], contact="b@example.org"), TRUST)).memo == 2.0
    assert open_envelope(withdraw(first, [key()]), TRUST).memo == found.memo
    less = {"epsilon": 2.0, "truth": str(found.memo.truth - 1)}
    refused(RebuiltError, lambda: rebuild(open_envelope(altered(first, memo=less), TRUST)))
    read = " ".join(notice(found))
    assert "after one report alone (epsilon = 1)" in read
    assert "(epsilon = 2)" in read
    assert "reports on the same answer are alike" in read


def test_next_versions() -> None:
    first = envelope(answers="permanent", people=40)
    second = renew(first, [key()], contact="new@example.org")
    found = open_envelope(second, TRUST)
    assert (found.version, found.contact, found.fingerprint) == (2, "new@example.org", collection().fingerprint)
    assert {**document(second), "version": 1, "contact": "habits@example.org"} == document(first)
    plan = plan_from({**PLAIN, "mechanism": {"name": "unary"}})
    third = open_envelope(renew(second, [key()], plan=plan, people=80), TRUST)
    assert (third.version, third.plan["mechanism"]["name"]) == (3, "unary")
    refused(ParameterError, lambda: renew(second, [key()], plan=plan, people=79))
    refused(ParameterError, lambda: renew(second, [key()], plan=plan))
    refused(ParameterError, lambda: renew(second, [key()], name="other"))
    notice_of = withdraw(second, [key()])
    gone = open_envelope(notice_of, TRUST)
    assert (gone.version, gone.state) == (3, "withdrawn")
    assert "withdrawn" in notice(gone)[0]
    assert {**document(notice_of), "version": 2, "state": "open"} == document(second)
    refused(ParameterError, lambda: renew(notice_of, [key()]))
    refused(ParameterError, lambda: withdraw(notice_of, [key()]))


def test_trusted_keys_are_bytes_or_their_base64() -> None:
    text = b64encode(PUBLIC).decode()
    assert open_envelope(envelope(), [text]).id == open_envelope(envelope(), [public_key(key("b")), text]).id
    for keys in ([], None, PUBLIC, text, [text[:-1]], [text + "="], [PUBLIC[:-1]], ["ключ"], [text, 7]):
        refused(ParameterError, lambda keys=keys: open_envelope(envelope(), keys))


def test_next_versions_follow_what_was_signed() -> None:
    others = public_key(key("b"))
    refused(UntrustedError, lambda: renew(envelope(), [key("b")]))
    assert open_envelope(renew(envelope(), [key("b")], trust=[PUBLIC]), [others]).version == 2
    assert open_envelope(withdraw(envelope(), [key("b")], trust=[PUBLIC]), [others]).version == 2
    signature = json.loads(envelope(contact="other@example.org"))["signatures"]
    bent = json.dumps({**json.loads(envelope()), "signatures": signature}).encode()
    refused(SignatureError, lambda: withdraw(bent, [key()]))


def test_keys_are_for_their_owner_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    public = new_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert public_key(read_key(path)) == public
    assert public.hex() not in path.read_text()
    before = path.read_bytes()
    refused(OutputExistsError, lambda: new_key(path))
    assert path.read_bytes() == before
    refused(ParameterError, lambda: new_key(tmp_path / "none" / "key.pem"))
    refused(ParameterError, lambda: read_key(tmp_path / "none.pem"))
    path.chmod(0o644)
    assert "chmod 600" in refused(ParameterError, lambda: read_key(path))
    for written in (b"", b"\xff", before[:60], before.replace(b"PRIVATE", b"PUBLIC")):
        other = tmp_path / "other.pem"
        other.write_bytes(written)
        other.chmod(0o600)
        refused(ParameterError, partial(read_key, other))
    assert {one.name for one in tmp_path.iterdir()} == {"key.pem", "other.pem"}
