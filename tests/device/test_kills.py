"""A device that is killed at any moment: one report an epoch, no send before the charge. DISCREET_KILLS: how often."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = int(os.environ.get("DISCREET_KILLS", "20"))

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="devices are forked here.")


def ran(*command: str) -> dict[str, int]:
    """Return what a program found."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, timeout=120 + KILLS)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def test_devices_as_they_are_operated(tmp_path: Path) -> None:
    """Two in a process that copies their database, another one beside them, each killed again and again.

    The process that forks them has the device open too.
    """
    program = Path(__file__).with_name("operated_devices.py")
    found = ran(str(program), str(tmp_path), str(2 * KILLS), "90")
    assert found["killed"] >= 10
    assert min(found["charged"], found["recorded"], found["sent"]) >= 3
    assert found["charged"] >= found["recorded"]


FORKED = """
import json, os, sys
from pathlib import Path
from discreet.device import Device, Limits
def opened():
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(str(link.readlink()).startswith(sys.argv[1]) for link in links)
device = Device(sys.argv[1], [bytes(32)], Limits(2, 4, 20))
before, child = opened(), os.fork()
if not child:
    os._exit(opened())
print(json.dumps({"before": before, "in the child": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}))
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc.")
def test_no_connection_lives_through_a_fork(tmp_path: Path) -> None:
    """A lock that is inherited would hold nobody back."""
    found = ran("-c", FORKED, str(tmp_path / "device"))
    assert found["before"] >= 1
    assert found["in the child"] == 0
