"""Work in a process of its own: sealing and checks, so that intake neither waits nor grows.

A job is a function with its arguments. Both are pickled, and so is the answer. They go through pipes that only this
process and the process it started have.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from discreet.errors import DiscreetError


class JobError(DiscreetError, RuntimeError):
    """A job that did not end well; its sentence is the job's own."""


class Workers:
    """Processes of jobs, which end when this one does."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen[bytes]] = set()
        # A signal may come while this thread stops them already.
        self._lock = threading.RLock()
        self._stopped = False

    def run(self, job: Callable[..., Any], *args: Any) -> Any:
        """Return the answer of a job.

        Raises:
            JobError: if it fails, or is stopped.
        """
        with self._lock:
            if self._stopped:
                raise JobError("job.stopped")
            # Nobody writes to this pipe: it ends with this process, however that ends.
            theirs, ours = os.pipe()
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs],
            )
            os.close(theirs)
            self.running.add(process)
        try:
            written, _ = process.communicate(pickle.dumps((job, args)))
        finally:
            process.kill()
            process.communicate()
            os.close(ours)
            with self._lock:
                self.running.discard(process)
        if process.returncode:
            raise JobError("job.failed")
        answer, refusal = pickle.loads(written)
        if refusal:
            raise JobError("job.refused", reason=refusal)
        return answer

    def stop(self) -> None:
        """End all jobs; what they were at is begun anew the next time."""
        with self._lock:
            self._stopped = True
            for process in self.running:
                process.kill()


def _end_with(pipe: int) -> None:
    """End this process when the other end of a pipe is closed."""
    os.read(pipe, 1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=[int(sys.argv[1])], daemon=True).start()
    # What a library prints goes nowhere, and not into the answer.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    answer, refusal = None, ""
    try:
        job, args = pickle.load(sys.stdin.buffer)
        answer = job(*args)
    except DiscreetError as error:
        refusal = error.sentence()
    except OSError as error:
        refusal = f"the system refused to read or write: {error.strerror or type(error).__name__}."
    with os.fdopen(answers, "wb") as file:
        pickle.dump((answer, refusal), file)
