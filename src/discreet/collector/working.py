"""Work in a process of its own: sealing and long estimates, so that intake neither waits nor grows, with a time limit.

A job is a function of this module; what it is given and what it answers are JSON.
"""

import json
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
        return json.loads(answer)

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
    """Seal an epoch; see `discreet.collector.sealing.Sealing`."""
    from discreet.collector.catalogue import Entry
    from discreet.collector.folder import DataFolder
    from discreet.collector.sealing import Sealing
    from discreet.collector.sqlite import SqliteStore

    folder = DataFolder(Path(given["folder"]), make=False)
    store = SqliteStore(folder.database)
    try:
        (row,) = [row for row in store.collections() if row.key == given["collection"]]
        sealed = Sealing(store, folder, Entry.of(row), given["epoch"]).run(given["actor"])
    finally:
        store.close()
    if sealed is None:
        return {}
    return {"n": sealed.n, "duplicates": sealed.duplicates, "conflicts": sealed.conflicts}


def estimate(given: dict[str, Any]) -> dict[str, Any]:
    """Estimate from sealed reports; see `discreet.collector.releases`."""
    from discreet.collector.releases import estimate_files

    return estimate_files(**given)


_JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"seal": seal, "estimate": estimate}


def _main() -> None:
    try:
        answer = _JOBS[sys.argv[1]](json.load(sys.stdin))
    except DiscreetError as error:
        print(json.dumps({"error": str(error)}))
        sys.exit(1)
    except OSError as error:
        print(json.dumps({"error": f"the system refused to read or write: {error.strerror or type(error).__name__}."}))
        sys.exit(1)
    print(json.dumps(answer))


if __name__ == "__main__":
    _main()
