"""The verb ``collection simulate``: frames of simulated devices, sent to a collector or written to a folder."""

from pathlib import Path

import pytest
from asking import TERMS, prepare

from collector_double import Double, collector
from discreet.device.protocol.frames import head
from running import done, refusal, told


def test_a_signed_collection_is_not_verified_as_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    assert "`discreet attest`" in refusal("verify", "habits.json")
    assert done("attest", "habits.json", "-o", "page.html", "--draws", "0")


def test_simulated_devices_send_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    with collector() as double:
        sent_and_written(double)


def sent_and_written(double: Double) -> None:
    terms = [word.replace("https://collect.example.org", double.origin) for word in TERMS]
    done("collection", "sign", "plan.toml", *terms, "-o", "asked.json", "--simulated")
    double.says = [(202, {}, b"")]
    facts = told("collection", "simulate", "asked.json", "plain.csv", "--devices", "1e4", "--epoch", "2")
    assert (facts["devices"], facts["frames"], facts["simulated"]) == (10_000, 3, True)
    heads = [head(frame) for frame in double.frames]
    assert [n for _, _, n in heads] == [4096, 4096, 1808]
    assert {epoch for _, epoch, _ in heads} == {2}
    told("collection", "simulate", "asked.json", "plain.csv", "--devices", "1e4", "--epoch", "2", "-o", "frames")
    assert [path.read_bytes() for path in sorted(Path("frames").iterdir())] == double.frames
    simulate = ["collection", "simulate", "asked.json", "plain.csv", "--epoch", "2", "-o"]
    for name, seed in (("first", 1), ("second", 1), ("third", 2)):
        done(*simulate, name, "--seed", str(seed))
    first, second, third = (next(Path(name).iterdir()).read_bytes() for name in ("first", "second", "third"))
    assert first == second != third
    Path("upper.csv").write_text(Path("plain.csv").read_text(encoding="utf-8").upper(), encoding="utf-8")
    asked = ["collection", "simulate", "asked.json", "upper.csv", "-o", "read"]
    assert "--as-read" in refusal(*asked)
    assert told(*asked, "--as-read")["devices"] == 120
    tagged = ["collection", "simulate", "tags.json", "values.csv", "--column", "habit", "-o", "tagged"]
    assert "--tags" in refusal(*tagged, "--user", "who")
    assert told(*tagged, "--user", "who", "--tags", "secret.csv")["devices"] == 120
    double.says = [(422, {}, b"")]
    assert "422" in refusal("collection", "simulate", "asked.json", "plain.csv", "--epoch", "2")
