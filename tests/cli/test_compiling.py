"""Compiling takes seconds, so who looks is told; who does not look, and who finds it compiled, is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from running import Files

RUN = """
import sys
from discreet.cli import commands, main
import numba
commands.sys.stderr.isatty = lambda: sys.argv[1] == "looked at"
main(sys.argv[2:])
"""


def errors(files: Files, kept: Path, looked_at: str) -> str:
    command = [sys.executable, "-c", RUN, looked_at, "estimate", files.plan, files.reports, "--json"]
    # Compiled with less care, kernels that use others cannot be kept.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kept)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("{")
    return result.stderr


@pytest.mark.slow
def test_who_looks_is_told_once_that_kernels_are_compiled(tmp_path: Path) -> None:
    files, kept = Files(tmp_path, "hashing"), tmp_path / "kept"
    kept.mkdir(mode=0o700)
    files.obfuscated()
    first = errors(files, kept, "looked at")
    assert first.count("Note: compiling for this machine") == 1
    assert "compiling" not in errors(files, kept, "looked at")
    # One kernel less, which is compiled again: all of them would take seconds.
    for file in kept.rglob("hashing._count_by_group-*"):
        file.unlink()
    assert errors(files, kept, "not looked at") == ""
    assert len(list(kept.rglob("hashing._count_by_group-*"))) == 2
