"""The way of a traces file to its figures: few moves between rooms."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def walked(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "walk.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_traces_file_moves_between_few_rooms() -> None:
    done = walked("--list")
    assert done.returncode == 0, done.stdout + done.stderr
    *listed, last = done.stdout.splitlines()
    moves, climbs, *_ = [int(word) for word in last.split() if word.isdigit()]
    assert moves == len(listed)
    # Reading, splitting, attacking, scoring and showing are in rooms of their own: fewer would be a walk not made.
    assert 10 <= moves <= 57
    assert climbs <= 27
    rooms = {line.split("/")[0] for line in listed}
    assert {"cli", "tables", "core", "risk", "kernels"} <= rooms
