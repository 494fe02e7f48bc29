"""Verbs beside a running collector: they ask it at a socket in its folder; where none runs, they hold the folder.

A question is a line of JSON, and so is its answer. Nobody but one process at a time touches the data.
"""

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from discreet.collector.folder import DataFolder, HeldError
from discreet.collector.keeper import Keeper
from discreet.collector.logs import log, place_of
from discreet.collector.operations import OPERATIONS
from discreet.collector.store import FailedStoreError
from discreet.errors import DataError, DiscreetError, OutputExistsError, ParameterError

# Of an address, on Linux; elsewhere it is four less.
_LONGEST_PATH = 103
_LONGEST_QUESTION = 1 << 22
_WAIT_SECONDS, _PAUSE_SECONDS = 10.0, 0.05
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
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            with Keeper(folder) as keeper:
                return OPERATIONS[operation](keeper, **given)
        except HeldError:
            if (answer := _asked(folder, {"operation": operation, "given": given})) is not None:
                return answer
        if time.monotonic() > deadline:
            raise ParameterError(
                f"{folder.path} is held by a collector or a verb that does not answer; stop the server first, or wait "
                "until the other verb has ended."
            )
        time.sleep(_PAUSE_SECONDS)


def _asked(folder: DataFolder, question: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer of whoever serves the folder; None if nobody answers at its socket now."""
    if why := _why_none(folder):
        raise ParameterError(f"a collector serves {folder.path} and cannot be asked, as {why}; stop the server first.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(folder.socket))
        except (ConnectionError, FileNotFoundError):
            return None
        except PermissionError:
            raise ParameterError(f"{folder.socket} is for the user of the collector alone; act as that user.") from None
        said = b""
        with suppress(ConnectionError):
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as file:
                said = file.read()
    if not said:
        raise ParameterError("the collector was ended before it answered; look what was done, and ask again.")
    answer = json.loads(said)
    if "error" in answer:
        raise _ERRORS.get(answer["kind"], ParameterError)(answer["error"])
    found: dict[str, Any] = answer["answer"]
    return found


def _why_none(folder: DataFolder) -> str:
    """Return the reason for which there can be no socket; empty if there can."""
    if not hasattr(socket, "AF_UNIX"):
        return "this system has no Unix sockets"
    if len(os.fsencode(folder.socket)) > _LONGEST_PATH:
        return f"the path of its socket has more than {_LONGEST_PATH} bytes"
    return ""


class Control(Thread):
    """The socket of a collector, and the thread that answers at it.

    Without one the collector serves all the same, and verbs beside it are refused in one sentence.

    Args:
        keeper: of the data.
    """

    def __init__(self, keeper: Keeper) -> None:
        super().__init__(name="control", daemon=True)
        self._keeper = keeper
        self._socket: socket.socket | None = None
        path, why = keeper.folder.socket, _why_none(keeper.folder)
        try:
            # Of a collector that was killed: whoever holds the folder owns its name.
            path.unlink(missing_ok=True)
            if not why:
                self._socket = _listening(str(path))
        except OSError as error:
            why = error.strerror or type(error).__name__
        if why:
            log("no_control_socket", level="warning", reason=why)

    def run(self) -> None:
        """Answer until the socket is closed, each question in a thread of its own."""
        while self._socket is not None:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            Thread(target=self._answer, args=(connection,), daemon=True, name="verb").start()

    def stop(self) -> None:
        """Take no more questions."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            with suppress(OSError):
                self._keeper.folder.socket.unlink(missing_ok=True)
        if self.is_alive():
            self.join()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            with connection.makefile("rb") as file:
                line = file.readline(_LONGEST_QUESTION)
            answer: dict[str, Any]
            try:
                question = json.loads(line)
                answer = {"answer": OPERATIONS[question["operation"]](self._keeper, **question["given"])}
            except DiscreetError as error:
                kind = next((name for name, of in _ERRORS.items() if isinstance(error, of)), "ParameterError")
                answer = {"error": str(error), "kind": kind}
            except OSError as error:
                why = f"the system refused the collector to read or write: {error.strerror or type(error).__name__}."
                answer = {"error": why, "kind": "FailedStoreError"}
            except Exception as error:
                log("defect", level="error", place=place_of(error))
                answer = {"error": "this is a defect of the collector; its log says where.", "kind": "DataError"}
            connection.sendall(json.dumps(answer).encode())


def _listening(path: str) -> socket.socket:
    """Return a socket that has an address in a folder, for its owner alone."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(path)
        # The folder lets nobody else in, either.
        Path(path).chmod(0o600)
        made.listen()
    except OSError:
        made.close()
        raise
    return made
