"""Vectors: the committed files are what the tool writes, and Python, Node and Chromium agree with each of them."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import SeededRandom
from discreet.arrays import WordArray
from discreet.device.protocol.frames import Frame, FrameError
from discreet.device.protocol.sampler import Sampler, SamplerError
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.mechanisms.row_checks import FlawedRowsError
from programs import JS, node

ROOT = Path(__file__).resolve().parents[2]
VECTORS = JS / "vectors"
SAMPLERS = sorted(VECTORS.glob("sampler-*.jsonl"))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Replayed:
    """A source that returns exactly these words."""

    secure = False

    def __init__(self, words: str) -> None:
        self.left = np.frombuffer(bytes.fromhex(words), dtype="<u8")

    def words(self, n: int) -> WordArray:
        now, self.left = self.left[:n].copy(), self.left[n:]
        return now


def test_committed_vectors_are_what_the_tool_writes() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_vectors.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(path.stat().st_size for path in VECTORS.iterdir()) <= 700_000


def test_every_block_law_has_vectors() -> None:
    """A new law joins tools/vectors/samplers.py, sampler.js and promise.js."""
    kinds = {law.kind for mechanism in BLOCK_MECHANISMS.built_in.values() for law in mechanism.laws}
    assert {path.stem.removeprefix("sampler-").replace("-", " ") for path in SAMPLERS} == kinds


@pytest.mark.parametrize("path", SAMPLERS, ids=lambda path: path.stem)
def test_python_draws_these_records(path: Path) -> None:
    """The order of words is frozen here: whatever changes it changes the format."""
    count = 0
    for line in lines_of(path):
        if "sampler" in line:
            sampler = Sampler.parse(line["sampler"])
            assert sampler.realised == line["realised"]
            continue
        count += 1
        if "seed" in line:
            record = sampler.record(line["code"], SeededRandom(line["seed"]))
            assert hashlib.sha256(record).hexdigest() == line["sha256"]
            continue
        source = Replayed(line["words"])
        assert sampler.record(line["code"], source).hex() == line["record"]
        assert not len(source.left)
    assert count >= 200


def test_python_refuses_what_no_device_may_use() -> None:
    for line in lines_of(VECTORS / "refused.jsonl"):
        if line["why"] is None:
            assert Sampler.parse(line["sampler"]).realised > 0
            continue
        with pytest.raises(SamplerError):
            Sampler.parse(line["sampler"])


def test_python_packs_and_refuses_these_frames() -> None:
    for line in lines_of(VECTORS / "frames.jsonl"):
        data = bytes.fromhex(line["frame"])
        if "error" in line:
            with pytest.raises((FrameError, FlawedRowsError)) as caught:
                Frame.parse(data, line["width"])
            assert getattr(caught.value, "reason", "flawed") == line["error"]
            continue
        frame = Frame.parse(data, len(line["records"][0]) // 2)
        assert (frame.collection.hex(), frame.epoch) == (line["collection"], line["epoch"])
        assert [one.tobytes().hex() for one in frame.ids] == line["ids"]
        assert [one.tobytes().hex() for one in frame.records] == line["records"]
        assert frame.pack() == data


def test_node_agrees_and_sees_every_planted_fault() -> None:
    said = node("--test", "--test-reporter=tap", "tests/vectors.test.js", "tests/faults.test.js")
    passed = re.search(r"^# pass (\d+)$", said, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= len(SAMPLERS) + 3 + 50
    assert re.search(r"^# fail 0$", said, re.MULTILINE)
    assert re.search(r"^# skipped 0$", said, re.MULTILINE)


@pytest.mark.slow
def test_chromium_agrees(site: str, browser: Any) -> None:
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{site}/tests/vectors.html")
    page.wait_for_function("window.check !== undefined")
    names = [*(path.name for path in SAMPLERS), "refused.jsonl", "frames.jsonl", "reading.jsonl"]
    found = page.evaluate("names => window.check(names)", names)
    page.close()
    assert {name: found[name]["wrong"] for name in names} == {name: [] for name in names}
    assert all(found[path.name]["count"] >= 200 for path in SAMPLERS)
    assert all("favicon" in problem or "404" in problem for problem in problems), problems
