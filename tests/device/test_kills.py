"""A device that is killed at any moment: one report an epoch, no send before the charge. DISCREET_KILLS: how often."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = int(os.environ.get("DISCREET_KILLS", "20"))

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="devices are forked here.")


def _run(folder: Path, *arguments: str) -> dict[str, int | str]:
    command = [sys.executable, str(Path(__file__).with_name("sharing.py")), str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60 + KILLS)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    return dict(json.loads(done.stdout))


def test_devices_as_they_are_operated(tmp_path: Path) -> None:
    """Two in a process that copies their database, another one beside them, each killed again and again."""
    program = Path(__file__).with_name("operated_devices.py")
    command = [sys.executable, str(program), str(tmp_path), str(2 * KILLS), "90"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120 + KILLS)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    print(found)
    assert found["killed"] >= 10
    assert min(found["charged"], found["recorded"], found["sent"]) >= 3
    assert found["charged"] >= found["recorded"]


def test_a_device_that_is_open_when_a_process_forks(tmp_path: Path) -> None:
    found = _run(tmp_path, "--open", "3")
    assert found["recorded"] == found["charged"] >= 12


def test_processes_share_a_device(tmp_path: Path) -> None:
    found = _run(tmp_path, "--together", "3")
    assert found["recorded"] == found["charged"] >= 12


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc.")
def test_no_connection_lives_through_a_fork(tmp_path: Path) -> None:
    found = _run(tmp_path, "--inherited", "1")
    assert int(found["before"]) >= 1
    assert found["in the child"] == 0
