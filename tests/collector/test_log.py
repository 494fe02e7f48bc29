"""A collector's public log: all collections that were ever added, in order, signed; devices join by it."""

from pathlib import Path

import pytest
from collectors import added, added_envelope, current, serving

from discreet.collector.documents.signing import new_key, withdraw
from discreet.collector.verbs.parameters import spelled_key
from discreet.device import Device, Limits
from discreet.device.protocol.envelope import public_key
from discreet.device.protocol.public_log import LogHead, checked_log
from discreet.errors import ParameterError
from running import refusal, run, told
from signed import PUBLIC, TRUST, envelope, key

NONE = LogHead(0, b"")


def test_what_is_added_stays_in_the_log(tmp_path: Path) -> None:
    folder, log = tmp_path / "data", new_key(tmp_path / "log.pem")
    settings = {"log_key": str(tmp_path / "log.pem")}
    first = added(folder).row
    with serving(folder, **settings) as served:
        head = served.client.get("/v1/log").json["head"]
        assert served.client.get("/collections/habits").json["logged"] is True
        proof = served.client.get(f"/v1/log/{first.id.hex()}/0")
        seen = checked_log(proof.body, log, first.id, NONE)
        assert (seen.size, served.client.get(f"/v1/log/{first.id.hex()}/0").json["head"]) == (1, head)
        for wrong in (
            f"{first.id.hex()}/2",
            f"{bytes(32).hex()}/0",
            "x/0",
            f"{first.id.hex()}/x",
            f"{first.id.hex()}/-1",
        ):
            refused = served.client.get(f"/v1/log/{wrong}")
            assert (refused.status, refused.json["error"]) == (404, "log")
    second = added_envelope(folder, signed := envelope(version=2, epochs=current())).row
    third = added_envelope(folder, withdraw(signed, [key()], trust=TRUST)).row
    assert run("collector", "purge", "habits", "--yes", "--data", folder).exit_code == 0
    with serving(folder, **settings) as served:
        ids = [bytes.fromhex(one) for one in served.client.get("/v1/log/entries").json["ids"]]
        assert ids == [first.id, second.id, third.id]
        proof = served.client.get(f"/v1/log/{second.id.hex()}/{seen.size}")
        assert checked_log(proof.body, log, second.id, seen) == LogHead.of(ids)
    with serving(folder) as served:
        assert served.client.get("/v1/log").json["error"] == "log"
        assert served.client.get("/v1/log/entries").status == 404
    with pytest.raises(ParameterError, match="must be a private key"), serving(folder, log_key=str(tmp_path / "none")):
        pass


def test_a_device_joins_by_the_log(tmp_path: Path) -> None:
    log = spelled_key(new_key(tmp_path / "log.pem"))
    with serving(tmp_path / "data", log_key=str(tmp_path / "log.pem")) as served:
        origin = f"http://127.0.0.1:{served.client.port}"
        signed = envelope(epochs=current(), collectors=(origin,))
        (tmp_path / "habits.json").write_bytes(signed)
        join = ["device", "join", tmp_path / "habits.json", "--trust", spelled_key(PUBLIC), "--agree"]
        assert "404" in refusal(*join, "--log", log, "--store", tmp_path / "mine")
        told("collector", "add", tmp_path / "habits.json", "--trust", spelled_key(PUBLIC), "--data", tmp_path / "data")
        assert told(*join, "--log", log, "--store", tmp_path / "mine")["agreed"]
        assert "log.wrong-proof" in refusal(*join, "--log", spelled_key(PUBLIC), "--store", tmp_path / "other")
    with Device(tmp_path / "mine", TRUST, Limits(2, 4, 20), log=public_key(key())) as device:
        assert device.logged == 0
