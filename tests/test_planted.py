"""What was planted of a person is found in all that tests print and log."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import planted

HERE = Path(__file__).parent
QUIET = "def test_quiet(): print('nothing')\n"
LOUD = {
    "printed": f"def test_loud(): print('got {planted.VALUE}')\n",
    "logged": f"import logging\ndef test_loud(): logging.getLogger('x').warning('from {planted.ADDRESS}')\n",
    "of a process": "import subprocess, sys\n"
    f"def test_loud(): subprocess.run([sys.executable, '-c', 'print(\"{planted.TAGGED}\")'], check=True)\n",
    "on the error stream": f"import sys\ndef test_loud(): print('{planted.ID.hex()}', file=sys.stderr)\n",
    "before the test": "import pytest\n@pytest.fixture\ndef loud(): print('" + planted.VALUE + "')\n"
    "def test_loud(loud): pass\n",
}


@pytest.mark.parametrize("how", LOUD)
def test_a_test_that_tells_fails(how: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "test_inner.py").write_text(QUIET + LOUD[how])
    options = ["-p", "no:cacheprovider", "-q", "-n0", "-c", os.devnull, "--rootdir", "."]
    environment = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "pytest", *options, "test_inner.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "test_loud printed or logged" in done.stdout
    assert "test_quiet printed" not in done.stdout


def test_files_are_looked_through(tmp_path: Path) -> None:
    (tmp_path / "some").write_bytes(b"\x00nothing")
    assert planted.clean_files(tmp_path) == 1
    (tmp_path / ".hidden").write_bytes(b"\x00" + planted.ID)
    with pytest.raises(AssertionError, match="holds an id"):
        planted.clean_files(tmp_path)
    for text in (f"x {planted.VALUE}", planted.ADDRESS.encode(), planted.ID.hex()):
        with pytest.raises(AssertionError):
            planted.clean(text)
