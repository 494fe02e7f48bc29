"""Work in a process of its own: sealing and long estimates, so that intake neither waits nor grows, with a time limit.

A job is a function of this module. What it is given is JSON; what it answers is an object of Python, pickled: it comes
through a pipe of which the other end is in no other hands than those of the process that was started here.
"""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError


class JobError(DiscreetError, RuntimeError):
    """A job that did not end well; its sentence is the job's own."""


class Workers:
    """Processes of jobs, which end when this one does."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, job: str, given: dict[str, Any], *, seconds: float | None = None) -> Any:
        """Return the answer of a job.

        Raises:
            JobError: if it fails, takes too long, or is stopped.
        """
        command = [sys.executable, "-m", __name__, job]
        with self._lock:
            if self._stopped:
                raise JobError("the collector is shutting down.")
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._running.add(process)
        try:
            answer, _ = process.communicate(json.dumps(given).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise JobError(f"the job was ended after {seconds:g} seconds.") from None
        finally:
            process.kill()
            process.communicate()
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            raise JobError(_sentence(answer))
        return pickle.loads(answer)

    def stop(self) -> None:
        """End all jobs; what they were at is begun anew the next time."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.kill()


def _sentence(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"])
    except (ValueError, KeyError, TypeError):
        return "the job broke down."


def seal(given: dict[str, Any]) -> dict[str, Any]:
    """Write the sealed file of a batch; see `discreet.collector.sealing.BatchFile`."""
    import msgspec

    from discreet.collector.inboxes import DataFolder
    from discreet.collector.sealing import BatchFile
    from discreet.collector.store import CollectionRow

    row = msgspec.convert(given["row"], CollectionRow)
    return BatchFile(DataFolder(Path(given["folder"]), make=False), row, given["batch"], given["parts"]).write()


def check(given: dict[str, Any]) -> dict[str, Any]:
    """Check sealed files; see `discreet.collector.operations.flaws_of_files`."""
    from discreet.collector.operations import flaws_of_files

    return {"flaws": flaws_of_files(**given)}


def estimate(given: dict[str, Any]) -> Any:
    """Estimate from sealed reports; see `discreet.collector.releases`."""
    from discreet.collector.releases import estimate_files

    return estimate_files(**given)


JOBS: dict[str, Callable[[dict[str, Any]], Any]] = {"seal": seal, "check": check, "estimate": estimate}


def _main() -> None:
    # What a library prints goes nowhere, and not into the answer.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    failed = ""
    try:
        answer = pickle.dumps(JOBS[sys.argv[1]](json.load(sys.stdin)))
    except DiscreetError as error:
        failed = str(error)
    except OSError as error:
        failed = f"the system refused to read or write: {error.strerror or type(error).__name__}."
    with os.fdopen(answers, "wb") as file:
        file.write(json.dumps({"error": failed}).encode() if failed else answer)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    _main()
