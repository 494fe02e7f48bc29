"""Work in a process of its own: sealing and checks, so that intake neither waits nor grows."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from discreet.errors import DiscreetError

_CONTEXT = multiprocessing.get_context("spawn")


class JobError(DiscreetError, RuntimeError):
    """A job that did not end well; its sentence is the job's own."""


class Workers:
    """Processes of jobs, which end when this one does."""

    def __init__(self) -> None:
        self.running: set[Any] = set()
        # A signal may come while this thread stops them already.
        self._lock = threading.RLock()
        self._stopped = False

    def run(self, job: Callable[..., Any], *args: Any) -> Any:
        """Return the answer of a job.

        Raises:
            JobError: if it fails, or is stopped.
        """
        ours, theirs = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(target=_work, args=(theirs, job, args))
        with self._lock:
            if self._stopped:
                raise JobError("job.stopped")
            process.start()
            self.running.add(process)
        theirs.close()
        try:
            answer, refusal = ours.recv()
        except EOFError:
            raise JobError("job.failed") from None
        finally:
            process.kill()
            process.join()
            ours.close()
            with self._lock:
                self.running.discard(process)
        if refusal:
            raise JobError("job.refused", reason=refusal)
        return answer

    def stop(self) -> None:
        """End all jobs; what they were at is begun anew the next time."""
        with self._lock:
            self._stopped = True
            for process in self.running:
                process.kill()


def _end_with_parent() -> None:
    """End this process when the process that started it has ended, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _work(answers: Connection, job: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Do a job, and send its answer; nothing that a library prints, or an error quotes, gets into a log."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        answers.send((job(*args), ""))
    except DiscreetError as error:
        answers.send((None, error.sentence()))
    except OSError as error:
        refusal = f"the system refused to read or write: {error.strerror or type(error).__name__}."
        answers.send((None, refusal))
