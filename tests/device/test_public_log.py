"""The public log of collections: RFC 9162's tree and proofs, and devices that take nothing which is not in it."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from discreet.collector.documents.signing import withdraw
from discreet.device import Device, Limits
from discreet.device.protocol.collection import open_envelope
from discreet.device.protocol.envelope import UnloggedError, public_key
from discreet.device.protocol.public_log import LogHead, checked_log, consistency, inclusion, log_answer
from discreet.errors import ParameterError
from signed import TRUST, envelope, key

LOG = key("log")
PINNED = public_key(LOG)
NONE = LogHead(0, b"")
IDS = [bytes([place]) * 32 for place in range(17)]
# Of the first leaves of the tests of Certificate Transparency.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def test_roots_are_those_that_everybody_gets() -> None:
    leaves = list(map(bytes.fromhex, LEAVES))
    assert {size: LogHead.of(leaves[:size]).root.hex() for size in ROOTS} == ROOTS


@pytest.mark.parametrize("size", range(1, 18))
def test_every_proof_holds_and_no_other_does(size: int) -> None:
    ids, head = IDS[:size], LogHead.of(IDS[:size])
    for place in range(size):
        path = inclusion(ids, place)
        assert head.includes(ids[place], place, path)
        others = [(IDS[place - 1], place, path), (ids[place], place + 1, path), (ids[place], place, [*path, IDS[0]])]
        others += [(ids[place], place, path[:-1])] if path else []
        # In a log of one any place but the first is none.
        assert not any(head.includes(*other) for other in others if other[0] != ids[place] or size > 1 or other[1])
    for earlier in range(size + 1):
        before, path = LogHead.of(IDS[:earlier]), consistency(ids, earlier)
        assert head.continues(before, path)
        assert not head.continues(before, [*path, IDS[0]])
        assert earlier < 2 or not head.continues(LogHead.of([*IDS[1:earlier], IDS[0]]), path)
        if path:
            assert not head.continues(before, path[:-1])
            assert not head.continues(before, [IDS[0], *path[1:]])
    assert not head.continues(LogHead.of(IDS[: size + 1]) if size < 17 else LogHead(18, bytes(32)), [])


def test_a_log_that_lost_or_changed_an_id_continues_none_before() -> None:
    """Whatever proof is handed in: those of all sizes are tried."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        size, earlier = (int(one) for one in np.sort(rng.integers(2, 17, 2))[::-1])
        changed = list(IDS[:size])
        changed[int(rng.integers(earlier))] = bytes(32 * [99])
        paths = [consistency(ids, one) for ids in (changed, IDS[:size]) for one in range(size + 1)]
        assert not any(LogHead.of(changed).continues(LogHead.of(IDS[:earlier]), path) for path in paths)


def test_answers_are_believed_under_the_key_alone() -> None:
    answer = log_answer(IDS, LOG, IDS[5], 3)
    head = checked_log(answer, PINNED, IDS[5], LogHead.of(IDS[:3]))
    assert head == LogHead.of(IDS) == checked_log(log_answer(IDS, LOG, IDS[5]), PINNED, IDS[5], NONE)
    said = json.loads(answer)
    envelope_of_head = json.loads(said["head"])
    document = json.loads(base64.b64decode(envelope_of_head["document"]))
    forged = base64.b64encode(json.dumps({**document, "size": 16}).encode()).decode()
    wrong = [
        b"",
        b"[]",
        b"{" * 70_000,
        json.dumps({**said, "more": 1}),
        json.dumps({**said, "index": 4}),
        json.dumps({**said, "index": True}),
        json.dumps({**said, "index": -1}),
        json.dumps({**said, "inclusion": [*said["inclusion"], "00" * 32]}),
        json.dumps({**said, "inclusion": [one.upper() for one in said["inclusion"]]}),
        json.dumps({**said, "inclusion": ["00" * 32] * 65}),
        json.dumps({**said, "consistency": []}),
        json.dumps({**said, "head": 1}),
        json.dumps({**said, "head": json.dumps({**envelope_of_head, "document": forged})}),
        log_answer(IDS, key("another"), IDS[5], 3),
        log_answer(IDS[:2], LOG, IDS[1], 0),
    ]
    for one in wrong:
        with pytest.raises(UnloggedError) as refused:
            checked_log(one if isinstance(one, bytes) else one.encode(), PINNED, IDS[5], LogHead.of(IDS[:3]))
        assert refused.value.reason == "log"
    for unknown in ((IDS[:5], IDS[9], 0), (IDS[:5], IDS[0], 6), (IDS[:5], IDS[0], -1)):
        with pytest.raises(ValueError, match=r"list|smaller"):
            log_answer(unknown[0], LOG, unknown[1], unknown[2])


def test_a_device_with_the_key_of_a_log_takes_what_is_in_it(tmp_path: Path) -> None:
    signed, again = envelope(), envelope(version=2)
    ids = [open_envelope(one, TRUST).id for one in (signed, again)]
    over = withdraw(again, [key()], trust=TRUST)
    with Device(tmp_path, TRUST, Limits(2, 4, 20), log=PINNED) as device:
        for proof, why in (
            (None, r"log.no-proof"),
            (log_answer([IDS[0]], LOG, IDS[0]), r"log.not-included"),
            (log_answer([*IDS, ids[1]], LOG, ids[1]), r"log.not-included"),
        ):
            with pytest.raises(UnloggedError, match=why):
                device.accept(signed, proof=proof)
        assert device.logged == 0
        with pytest.raises(ParameterError, match=r"collection.unknown-name"):
            device.collection("habits")
        device.accept(signed, proof=log_answer([*IDS, ids[0]], LOG, ids[0], device.logged))
        assert device.logged == 18
    with Device(tmp_path, TRUST, Limits(2, 4, 20), log=PINNED) as device:
        # A log that was made for this person alone is another than before.
        with pytest.raises(UnloggedError, match=r"log.not-continued"):
            device.accept(again, proof=log_answer([ids[0], *IDS, ids[1]], LOG, ids[1], device.logged))
        with pytest.raises(UnloggedError, match=r"log.not-continued"):
            device.accept(again, proof=log_answer([ids[1]], LOG, ids[1]))
        assert (device.logged, device.collection("habits").version) == (18, 1)
        device.accept(again, proof=log_answer([*IDS, *ids], LOG, ids[1], device.logged))
        assert (device.logged, device.collection("habits").version) == (19, 2)
        assert device.accept(over).state == "withdrawn"
    with Device(tmp_path, TRUST, Limits(2, 4, 20)) as device, pytest.raises(ParameterError, match=r"proof.without-log"):
        device.accept(over, proof=b"{}")
