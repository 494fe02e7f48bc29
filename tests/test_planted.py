"""What was planted of a person is found in all that tests print and log."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import planted

HERE = Path(__file__).parent
QUIET = "def test_quiet(): print('nothing')\n"
# How something of a person is told, and a test that does.
LOUD = {
    "printed": f"def test_loud(): print('got {planted.VALUE}')\n",
    "logged": f"import logging\ndef test_loud(): logging.getLogger('x').warning('from {planted.ADDRESS}')\n",
    "of a process": "import subprocess, sys\n"
    f"def test_loud(): subprocess.run([sys.executable, '-c', 'print(\"{planted.TAGGED}\")'], check=True)\n",
    "on the error stream": f"import sys\ndef test_loud(): print('{planted.ID.hex()}', file=sys.stderr)\n",
    "before the test": "import pytest\n@pytest.fixture\ndef loud(): print('" + planted.VALUE + "')\n"
    "def test_loud(loud): pass\n",
}


def test_a_test_that_tells_fails(tmp_path: Path) -> None:
    """All in one process: each in a file of its own, beside a test that tells nothing."""
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    names = {f"test_{place}.py": text for place, text in enumerate(LOUD.values())}
    for name, text in names.items():
        (tmp_path / name).write_text(QUIET + text)
    options = ["-p", "no:cacheprovider", "-q", "-n0", "-c", os.devnull, "--rootdir", "."]
    environment = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "pytest", *options, *names]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert all(f"{name}::test_loud printed or logged" in done.stdout for name in names), done.stdout
    assert "test_quiet printed" not in done.stdout
    assert f" {len(LOUD)} passed" in done.stdout


def test_files_are_looked_through(tmp_path: Path) -> None:
    (tmp_path / "some").write_bytes(b"\x00nothing")
    assert planted.clean_files(tmp_path) == 1
    (tmp_path / ".hidden").write_bytes(b"\x00" + planted.ID)
    with pytest.raises(AssertionError, match="holds an id"):
        planted.clean_files(tmp_path)
    for text in (f"x {planted.VALUE}", planted.ADDRESS.encode(), planted.ID.hex()):
        with pytest.raises(AssertionError):
            planted.clean(text)
