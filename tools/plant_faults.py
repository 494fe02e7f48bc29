"""Plants known faults, one at a time, in a copy of the sources, and asks the tests to find them.

    python tools/plant_faults.py [words that the fault's name must contain ...]

Prints a table of faults and of the first test that caught each; exits with 1 if one was not caught, or if a fault no
longer fits the sources. The faults lie in tools/faults, a file per room. A test suite that has never seen a fault may
be unable to see any.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import cache_from_source
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any

from faults import FAULTS, ROOMS, ROOT, Fault

__all__ = ["FAULTS", "ROOMS", "ROOT", "Copy", "Fault", "main"]


class Copy:
    """The package and its tests in a folder of their own: faults meet the same ones, whoever edits the sources."""

    def __init__(self, folder: Path) -> None:
        for name in ("src", "papers", "tests", "docs", "js", "tools", "examples"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        self._folder = folder
        self._variables = {**os.environ, "PYTHONPATH": str(folder / "src")}
        self._variables.pop("PYTHONDONTWRITEBYTECODE", None)
        where = [sys.executable, "-c", "import discreet.core.random as module; print(module.__file__)"]
        given: dict[str, Any] = {"env": self._variables, "cwd": folder, "capture_output": True, "text": True}
        imported = subprocess.run(where, check=True, **given).stdout.strip()
        if not Path(imported).resolve().is_relative_to(folder.resolve()):
            raise SystemExit(f"the copy is not what gets imported: {imported}")
        self._given = given

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests until the first failure; return pytest's exit code and the failing test."""
        options = ["--no-header", "-p", "no:randomly", "--maxfail=1", "-rfE", "--tb=no", "-n", "0"]
        done = subprocess.run([sys.executable, "-m", "pytest", *options, *tests], check=False, **self._given)
        failed = re.findall(r"^FAILED (.+?)(?: - |$)", done.stdout, flags=re.MULTILINE)
        return done.returncode, failed[0] if failed else ""

    def caught(self, fault: Fault) -> tuple[bool, str]:
        """Plant one fault, run its tests, take it out again; return whether they saw it, and which one did."""
        path = self._folder / "src" / "discreet" / fault.file
        text = path.read_text()
        try:
            self._write(path, fault.planted(text))
        except LookupError as error:
            return False, str(error)
        try:
            code, test = self.run(fault.suites)
        finally:
            self._write(path, text)
        # 1 is "tests failed", 2 is "stopped at the first failure"; what cannot be imported fails no test.
        seen = code in {1, 2} and "::" in test
        return seen, test if seen else f"NOT CAUGHT (pytest ended with {code})"

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Write a source, and drop what was compiled of it: that is recognized by whole seconds and by its size."""
        path.write_text(text)
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def main(wanted: list[str]) -> int:
    """Plant every fault whose name contains all of ``wanted``; then see that what caught them passes without any."""
    chosen = [fault for fault in FAULTS if all(word in fault.name for word in wanted)]
    with ExitStack() as folders:
        copies: Queue[Copy] = Queue()
        for _ in range(min(len(chosen), os.cpu_count() or 1)):
            copies.put(Copy(Path(folders.enter_context(TemporaryDirectory()))))

        def tried(fault: Fault) -> tuple[bool, str]:
            copy = copies.get()
            try:
                return copy.caught(fault)
            finally:
                copies.put(copy)

        good, caught_by = bool(chosen), []
        with ThreadPoolExecutor(max(1, copies.qsize())) as pool:
            for fault, (seen, said) in zip(chosen, pool.map(tried, chosen), strict=True):
                good &= seen
                caught_by += [said] if seen else []
                print(f"{'ok ' if seen else 'BAD'} | {fault.name:<60} | {said}", flush=True)
        code, test = copies.get().run(caught_by) if caught_by else (0, "")
        print(f"{'BAD' if code else 'ok '} | {'(no fault)':<60} | {test or 'all of these tests pass'}", flush=True)
    return 0 if good and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
