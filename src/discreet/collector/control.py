"""The socket in a collector's folder, at which verbs ask the collector that runs.

Nobody but one process at a time touches the data: a verb holds the folder itself where no collector runs. A question is
JSON, and so is its answer.
"""

import json
import time
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from threading import Thread
from typing import Any

from discreet.collector.keeper import Keeper
from discreet.collector.logs import log, place_of
from discreet.collector.operations import run
from discreet.collector.storage.folder import DataFolder, HeldError
from discreet.collector.storage.store import FailedStoreError
from discreet.errors import DataError, DiscreetError, OutputExistsError, ParameterError

_LONGEST_QUESTION = 1 << 22
_WAITING_VERBS = 64
WAIT_SECONDS, _PAUSE_SECONDS = 10.0, 0.05
_ERRORS = {kind.__name__: kind for kind in (ParameterError, DataError, OutputExistsError, FailedStoreError)}


def ask(folder: DataFolder, operation: str, **given: Any) -> dict[str, Any]:
    """Return the answer of an operation: of the collector that holds the folder, or of this process if none does.

    Args:
        folder: of the data.
        operation: one of `discreet.collector.operations.OPERATIONS`.
        given: its arguments, built-ins.

    Raises:
        DiscreetError: if it is refused, or fails.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with Keeper(folder) as keeper:
                return run(keeper, operation, given)
        except HeldError:
            if (answer := _asked(folder, {"operation": operation, "given": given})) is not None:
                return answer
        if time.monotonic() > deadline:
            raise ParameterError("folder.busy", path=folder.path)
        time.sleep(_PAUSE_SECONDS)


def _asked(folder: DataFolder, question: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer of whoever serves the folder; None if nobody answers at its socket now."""
    try:
        connection = Client(str(folder.socket), "AF_UNIX")
    except (ConnectionError, FileNotFoundError):
        return None
    except OSError as error:
        raise ParameterError("socket.not-usable", path=folder.path, reason=error.strerror or error) from None
    with connection:
        try:
            connection.send_bytes(json.dumps(question).encode())
            answer = json.loads(connection.recv_bytes())
        except (EOFError, ConnectionError):
            raise ParameterError("collector.ended") from None
    if "error" in answer:
        refused = _ERRORS.get(answer["kind"], ParameterError)(answer["error"])
        refused.code = answer.get("code", "")
        raise refused
    facts: dict[str, Any] = answer["answer"]
    return facts


class Control(Thread):
    """The socket of a collector, and the thread that answers at it.

    Without one the collector serves all the same, and verbs beside it are refused in one sentence.

    Args:
        keeper: of the data.
    """

    def __init__(self, keeper: Keeper) -> None:
        super().__init__(name="control", daemon=True)
        self._keeper, self._path, self._ended = keeper, keeper.folder.socket, False
        self._listener: Listener | None = None
        try:
            # Of a collector that was killed: whoever holds the folder owns its name.
            self._path.unlink(missing_ok=True)
            self._listener = Listener(str(self._path), "AF_UNIX", _WAITING_VERBS)
            # The folder lets nobody else in, either.
            self._path.chmod(0o600)
        except OSError as error:
            log("no_control_socket", level="warning", reason=error.strerror or str(error))

    def run(self) -> None:
        """Answer until the end, each question in a thread of its own."""
        while self._listener is not None:
            connection = self._listener.accept()
            if self._ended:
                connection.close()
                return
            Thread(target=self._answer, args=(connection,), daemon=True, name="verb").start()

    def stop(self) -> None:
        """Take no more questions."""
        self._ended = True
        if self._listener is not None:
            if self.is_alive():
                # It waits for a question: this is the last one.
                with suppress(OSError):
                    Client(str(self._path), "AF_UNIX").close()
                self.join()
            self._listener.close()

    def _answer(self, connection: Connection) -> None:
        with connection, suppress(OSError, EOFError):
            question = connection.recv_bytes(_LONGEST_QUESTION)
            connection.send_bytes(json.dumps(self._answered(question)).encode())

    def _answered(self, question: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(question)
            log("verb", verb=asked["operation"])
            return {"answer": run(self._keeper, asked["operation"], asked["given"])}
        except DiscreetError as error:
            kind = next((name for name, of in _ERRORS.items() if isinstance(error, of)), "ParameterError")
            return {"error": error.sentence(), "kind": kind, "code": error.code}
        except OSError as error:
            why = f"the system refused the collector to read or write: {error.strerror or type(error).__name__}."
            return {"error": why, "kind": "FailedStoreError"}
        except Exception as error:
            log("defect", level="error", place=place_of(error))
            return {"error": "this is a defect of the collector; its log says where.", "kind": "DataError"}
