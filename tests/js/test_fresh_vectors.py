"""Vectors that nobody has seen before: Python makes them, Node checks them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from programs import program

ROOT = Path(__file__).resolve().parents[2]
EACH = 400


@pytest.mark.slow
def test_node_agrees_with_vectors_that_are_not_kept(tmp_path: Path) -> None:
    make = [sys.executable, str(ROOT / "tools" / "make_vectors.py"), "--fresh", str(EACH), "--seed", "20261122"]
    subprocess.run([*make, "-o", str(tmp_path)], capture_output=True, text=True, check=True, timeout=300)
    files = sorted(tmp_path.iterdir())
    command = [program("node"), str(ROOT / "js" / "tests" / "check.js"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in found if one["wrong"]] == []
    assert done.returncode == 0, done.stderr
    assert len(found) == len(files) >= 10
    assert all(one["count"] >= EACH for one in found)
