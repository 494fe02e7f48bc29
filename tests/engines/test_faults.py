"""What can go wrong with many reports, in real processes: a full disk and an impatient user."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Plan, Reports, write_reports
from discreet.mechanisms import BlockMechanism

PLAN = """
epsilon = 1.0
[domain]
range = [0, {size}]
[mechanism]
name = "{name}"
{options}
"""
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits are those of POSIX")


def planned(folder: Path, name: str = "unary", size: int = 64, *, options: str = "") -> Any:
    """Write a plan, and return its mechanism."""
    path = folder / "plan.toml"
    path.write_text(PLAN.format(name=name, size=size, options=options))
    return Plan.load(path).mechanism()


def made_up(mechanism: BlockMechanism, n: int) -> Reports:
    """Return reports that say nothing about anybody."""
    rng, blocks = np.random.default_rng(n), {}
    for column in mechanism.block_columns:
        shape = (n,) if column.width is None else (n, column.width)
        blocks[column.name] = rng.integers(1, column.bound or 256, shape, dtype=column.dtype)
    return Reports(mechanism.fingerprint, n, None, np.empty(0, np.uint8), blocks, simulated=True)


# The child stops where it is told to, says so, and naps: whatever it was doing, a signal meets it there.
CHILD = """
import contextlib, resource, sys, time
import discreet.cli.verbs.estimate as estimating
from discreet.cli import main

phase, limit, *arguments = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))

@contextlib.contextmanager
def told(text):
    def update(what, done, total):
        if phase != "-" and what.startswith(phase):
            print("reached", flush=True)
            time.sleep(100)
    yield update

estimating.progress_bar = told
main(arguments, prog_name="discreet")
"""


def child(folder: Path, *arguments: object, phase: str = "-", limit: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", CHILD, phase, str(limit), "estimate", *map(str, arguments)]
    environment = {**os.environ, "TMPDIR": str(folder), "DISCREET_THREADS": "2"}
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment, cwd=folder)


# A disk that is full


@pytest.mark.parametrize("size", [64, 32])
def test_a_limit_on_files_is_one_sentence(size: int, tmp_path: Path) -> None:
    """What does not fit are tiles of 8 bytes a report, or, where those have 4, the 8 bytes that the likelihood adds."""
    limit, n = 1 << 20, 200_000
    mechanism = planned(tmp_path, size=size)
    path, output = tmp_path / "a.parquet", tmp_path / "estimate.csv"
    write_reports(path, mechanism, made_up(mechanism, n))
    options = ("--method", "mle", "--memory", 0, "-o", output)
    full = child(tmp_path, "plan.toml", path, *options, limit=limit)
    out, sentence = full.communicate(timeout=120)
    assert (full.returncode, out) == (2, ""), sentence
    assert sentence == (
        f"Error: There is no room left in {tmp_path} for temporary files. Delete some files, or name another folder "
        "in the environment variable TMPDIR. [temporary.no-room]\n"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "plan.toml"]


# An interruption

HASHING = ("hashing", 50_000, "g = 2")
INTERRUPTED = {
    # Threads are busy for many seconds when it comes: every report has 25,000 values to go through.
    "tally": (HASHING, 200_000, "reading", ()),
    "passes": (("unary", 256, ""), 20_000, "pass", ("--method", "mle", "--memory", 0)),
}


@pytest.mark.parametrize("when", INTERRUPTED)
def test_an_interruption_ends_it_and_leaves_nothing(when: str, tmp_path: Path) -> None:
    (name, size, option), n, phase, options = INTERRUPTED[when]
    mechanism, folder, temporary = planned(tmp_path, name, size, options=option), tmp_path / "in", tmp_path / "temp"
    folder.mkdir()
    temporary.mkdir()
    for part in range(4):
        write_reports(folder / f"{part}.parquet", mechanism, made_up(mechanism, n // 4 - part))
    running = child(temporary, tmp_path / "plan.toml", folder, *options, "-o", tmp_path / "estimate.csv", phase=phase)
    assert running.stdout is not None
    assert running.stdout.readline() == "reached\n", running.communicate()
    running.send_signal(signal.SIGINT)
    # Less than the nap or the work would take.
    out, sentence = running.communicate(timeout=80)
    assert (running.returncode, out, sentence.strip()) == (130, "", "Interrupted.")
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "plan.toml", "temp"]
