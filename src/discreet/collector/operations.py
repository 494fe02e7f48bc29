"""Operations on a collector's data, by name: verbs ask them of whoever holds the folder.

Verbs beside a running collector ask it at a socket in its folder; where none runs, they hold the folder themselves.
Nobody but one process at a time touches the data. A question is a line of JSON, and so is its answer. Backups while a
collector runs, and the check of every invariant, are operations too.
"""

import base64
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from discreet.collector.access import end_token, new_token
from discreet.collector.intake import LATE
from discreet.collector.keeper import Keeper, epochs_of
from discreet.collector.logs import log, place_of
from discreet.collector.sealing import (
    batch_name,
    due_batches,
    seal_batch,
    sealed_folder,
    sha256_of,
    tally_of,
)
from discreet.collector.settings import is_key
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.folder import DataFolder, HeldError, synchronize
from discreet.collector.storage.inboxes import At
from discreet.collector.storage.store import CollectionRow, FailedStoreError, SealRow
from discreet.device.protocol.collection import open_envelope
from discreet.device.protocol.envelope import EquivocationError, RollbackError
from discreet.errors import DataError, DiscreetError, OutputExistsError, ParameterError
from discreet.formats.reports import iterate_reports
from discreet.formats.sealing import is_canonical
from discreet.formats.tallies import read_tally

_DAY = 86_400
_PIECE = 1 << 24


def backup(keeper: Keeper, target: Path, *, sealed_only: bool = False) -> int:
    """Copy everything into a new folder, while reports come in; return how many files.

    The folder has its name when all of it is on disk, and not before. Reports that were acknowledged before are in it,
    unless `sealed_only` is true.

    Args:
        keeper: of the data.
        target: the new folder.
        sealed_only: whether reports of epochs that are not sealed are left out, ids and order of arrival with them.

    Raises:
        OutputExistsError: if there is something of that name.
        ParameterError: if it cannot be made, or is in the folder that is copied.
    """
    folder = keeper.folder
    # The identity of the data is in the name, so that what a killed backup has left is known as its own.
    mark = f"{keeper.store.identity()}.part"
    target = target.absolute()
    if target.resolve().is_relative_to(folder.path.resolve()):
        raise ParameterError("backup.within-data", target=target, path=folder.path)
    # Nothing is sealed or deleted meanwhile, so that every seal of the copy has its file.
    with keeper.upkeep:
        _check_free(target)
        for left in target.parent.glob(f".*.{mark}"):
            with suppress(BlockingIOError), _alone(left):
                shutil.rmtree(left)
        copy = DataFolder(target.with_name(f".{target.name}.{mark}"))
        with _alone(copy.path):
            try:
                files = _copied(keeper, copy, sealed_only=sealed_only)
                _check_free(target)
                copy.path.rename(target)
            except BaseException:
                shutil.rmtree(copy.path, ignore_errors=True)
                raise
        synchronize(target.parent)
    return files


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a folder that a backup is written into.

    Raises:
        BlockingIOError: if another backup is written into it.
    """
    import fcntl

    place = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(place)


def _check_free(target: Path) -> None:
    if os.path.lexists(target):
        raise OutputExistsError("folder.exists", path=target)


def _copied(keeper: Keeper, copy: DataFolder, *, sealed_only: bool) -> int:
    """Copy inboxes, database and sealed files, and return how many files are on disk then.

    Raises:
        DataError: if a file is missing in the copy, or has another size.
    """
    inboxes, wanted = keeper.inboxes, dict[Path, int]()
    if not sealed_only:
        with inboxes.turn:
            parts = [part for at in keeper.pending() for part in inboxes.parts(at)]
        copy.inbox.mkdir(mode=0o700)
        for part in parts:
            # As far as it was acknowledged.
            place = copy.inbox / part.path.name
            left = wanted[place] = part.end
            with part.path.open("rb") as source, place.open("xb") as target:
                os.fchmod(target.fileno(), 0o600)
                while left and (data := source.read(min(left, _PIECE))):
                    target.write(data)
                    left -= len(data)
    # Behind the inboxes: it knows the collections of all of them.
    keeper.store.copy(copy.database)
    wanted[copy.database] = copy.database.stat().st_size
    if (sealed := keeper.folder.sealed).is_dir():
        for path in sealed.rglob("[!.]*"):
            if path.is_file():
                wanted[copy.sealed / path.relative_to(sealed)] = path.stat().st_size
        shutil.copytree(sealed, copy.sealed, ignore=shutil.ignore_patterns(".*"))
    files = _synchronize_all(copy.path)
    wrong = sum(not path.is_file() or path.stat().st_size != size for path, size in wanted.items())
    if wrong or files != len(wanted):
        raise DataError("backup.incomplete", n=len(wanted), files=files, wrong=wrong)
    return files


def _synchronize_all(folder: Path) -> int:
    """Put everything below a folder on disk, and return how many files that is."""
    there = list(folder.rglob("*"))
    for path in (*there, folder):
        synchronize(path)
    return sum(path.is_file() for path in there)


def check(keeper: Keeper) -> list[str]:
    """Return a sentence for each invariant that does not hold; nothing is changed.

    The database is whole, and the audit has no gap. Every collection passes all checks again. The files of waiting
    reports are whole and known, and hold all acknowledged reports. Every seal has its file with the right bytes, unless
    the file has expired. Sealed files are canonical, and have the right number of reports of the plan. Each tally
    equals the tally of its file. No file is without a seal, except for epochs that wait to be sealed.
    """
    with keeper.upkeep:
        refused = keeper.catalogue.refused
        flaws = [*keeper.store.flaws(), *refused.values(), *keeper.inboxes.check()]
        rows = [row for row in keeper.store.collections() if row.id not in refused]
        args = keeper.folder, rows, keeper.store.seals(), set(keeper.pending()), keeper.clock.now()
        return [*flaws, *keeper.work(flaws_of_files, *args)]


def flaws_of_files(
    folder: DataFolder, rows: Sequence[CollectionRow], seals: Sequence[SealRow], pending: Set[At], now: float
) -> list[str]:
    """Return a sentence for each flaw of collections and sealed files; run in a process of its own."""
    entries = {row.key: Entry.of_row(row) for row in rows}
    flaws: list[str] = []
    for seal in seals:
        if seal.collection in entries:
            try:
                flaws += _flaws_of_seal(folder, entries[seal.collection], seal, now)
            except DiscreetError as error:
                flaws.append(f"{seal.file}: {error.sentence()}")
    return [*flaws, *_strays(folder, entries, {seal.file for seal in seals}, pending)]


def _flaws_of_seal(folder: DataFolder, entry: Entry, seal: SealRow, now: float) -> Iterator[str]:
    path = folder.sealed / seal.file
    tally = read_tally(tally_of(path), entry.mechanism)
    if tally.n != seal.n:
        yield f"{seal.file}: its tally has {tally.n} reports, and its seal says {seal.n}."
    if not path.exists():
        if now < seal.at + entry.collection.retention * _DAY:
            yield f"{seal.file} is missing, and its time is not over."
        return
    if sha256_of(path) != seal.sha256:
        yield f"{seal.file} has other bytes than its seal says."
    counted = entry.mechanism.empty_tally()
    for batch in iterate_reports(path, entry.mechanism):
        counted = counted + entry.mechanism.tally(batch)
    if counted != tally:
        yield f"{seal.file}: its tally differs from the tally of its reports."
    if not is_canonical(entry.mechanism, iterate_reports(path, entry.mechanism)):
        yield f"{seal.file} is not in canonical order."


def _strays(folder: DataFolder, entries: dict[int, Entry], sealed: set[str], pending: Set[At]) -> Iterator[str]:
    """Yield a sentence for each file of reports that no seal speaks of."""
    waiting = {
        f"{sealed_folder(folder, entries[key]).relative_to(folder.sealed)}/{batch_name(first, last)}.parquet"
        for key, first in pending
        for other, last in pending
        if key == other and first <= last and key in entries
    }
    for path in sorted(folder.sealed.rglob("epoch-*.parquet")):
        name = str(path.relative_to(folder.sealed))
        if path.parent.name != "_tallies" and name not in sealed | waiting:
            yield f"{name} belongs to no seal."


def trusted(keys: Sequence[str]) -> tuple[bytes, ...]:
    """Return public keys from base64.

    Raises:
        ParameterError: if there are no keys, or one of them is wrong.
    """
    if not keys or not all(map(is_key, keys)):
        raise ParameterError("trust.not-keys", argument="trust")
    return tuple(map(base64.b64decode, keys))


def add(keeper: Keeper, envelope: bytes, trust: Sequence[bytes]) -> tuple[CollectionRow, bool]:
    """Add a collection, or a higher version of one, or the notice that it is withdrawn.

    Args:
        keeper: of the data.
        envelope: as it came.
        trust: public keys that may have signed it.

    Returns:
        Its row, and whether it is new here.

    Raises:
        CollectionError: if a device would refuse it (`discreet.device.protocol`); also if a higher version is here,
            or another document of this version.
        ParameterError: if a collection of this name was deleted, and its files are still here.
    """
    collection = open_envelope(envelope, list(trust))
    now = int(time.time())
    row = CollectionRow(
        0, collection.id, collection.name, collection.version, collection.state, envelope, tuple(trust), now
    )
    Entry.of_row(row)
    store = keeper.store
    # Not behind the upkeep: a withdrawal waits for no sealing and no backup.
    with store.transaction():
        others = [other for other in store.collections() if other.name == row.name]
        if (known := next((other for other in others if other.id == row.id), None)) is not None:
            return known, False
        if row.name in store.purges().values():
            raise ParameterError("name.not-purged", name=row.name)
        highest = max((other.version for other in others), default=0)
        if row.version == highest:
            raise EquivocationError("version.other-document", version=row.version, name=row.name)
        if row.version < highest:
            raise RollbackError("version.not-newer", highest=highest, name=row.name, version=row.version)
        store.add_collection(row)
    keeper.load()
    return next(other for other in store.collections() if other.id == row.id), True


def _add(keeper: Keeper, *, envelope: str, trust: list[str]) -> dict[str, Any]:
    row, fresh = add(keeper, base64.b64decode(envelope), trusted(trust))
    return {**_named(row), "new": fresh}


def _named(row: CollectionRow) -> dict[str, Any]:
    return {"name": row.name, "version": row.version, "id": row.id.hex(), "state": row.state}


def _status(keeper: Keeper) -> dict[str, Any]:
    names = {row.key: (row.name, row.version) for row in keeper.store.collections()}
    none = {"waiting": 0, "sealed": 0, "duplicates": 0, "conflicts": 0}
    epochs = [
        {**_epoch(names, key, epoch, epoch), **none, "waiting": n}
        for (key, epoch), n in sorted(keeper.pending().items())
    ]
    for sealed in keeper.store.seals():
        counts = {"sealed": sealed.n, "duplicates": sealed.duplicates, "conflicts": sealed.conflicts}
        epochs.append({**_epoch(names, sealed.collection, sealed.epoch, sealed.last), **none, **counts})
    return {"epochs": epochs}


def _epoch(names: Mapping[int, tuple[str, int]], key: int, first: int, last: int) -> dict[str, Any]:
    name, version = names.get(key, ("?", 0))
    return {"name": name, "version": version, "epoch": first, "last": last}


def _seal(keeper: Keeper, *, name: str, epochs: list[int], version: int | None) -> dict[str, Any]:
    with keeper.upkeep:
        entry = keeper.entry(name, version)
        waiting = keeper.waiting(entry)
        sealed = {epoch for seal in keeper.seals(entry) for epoch in epochs_of(seal)}
        if missing := [epoch for epoch in epochs if epoch not in waiting]:
            code = "epoch.is-sealed" if missing[0] in sealed else "epoch.without-reports"
            raise ParameterError(code, epoch=missing[0], name=name)
        rows = list(_sealed(keeper, entry, epochs))
    done = {epoch for row in rows for epoch in epochs_of(row)}
    now = keeper.clock.now()
    over = [epoch for epoch in waiting if keeper.catalogue.is_closed(entry, epoch) or entry.when(epoch, now) == LATE]
    few = sorted(set(epochs or over) - done)
    return {"sealed": [_facts(row) for row in rows], "few": few, "least": entry.collection.least}


def _sealed(keeper: Keeper, entry: Entry, epochs: list[int]) -> Iterator[SealRow]:
    """Seal the batches that are due, and yield their seals; with named epochs only up to the last one.

    A batch that turns out to have too few different reports joins the next one. So they are listed anew each time, and
    none is left behind.
    """
    while batches := [b for b in due_batches(keeper, entry, epochs) if not epochs or b[0] <= max(epochs)]:
        row = seal_batch(keeper, entry, batches[0])
        if row is not None:
            yield row


def _facts(seal: SealRow) -> dict[str, Any]:
    return {name: getattr(seal, name) for name in ("epoch", "last", "file", "n", "duplicates", "conflicts")}


def _add_token(keeper: Keeper, *, name: str, role: str, days: int | None) -> dict[str, Any]:
    token = new_token(keeper.store, name, role, days=days)
    keeper.load()
    return {"name": name, "role": role, "token": token}


def _list_tokens(keeper: Keeper) -> dict[str, Any]:
    now = time.time()
    return {
        "tokens": [
            {"name": row.name, "role": row.role, "made": row.made, "ends": row.ends, "good": row.is_good(now)}
            for row in keeper.store.tokens()
        ]
    }


def _end_token(keeper: Keeper, *, name: str) -> dict[str, Any]:
    end_token(keeper.store, name)
    keeper.load()
    return {"name": name, "ended": True}


OPERATIONS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "add": _add,
    "list": lambda keeper: {"collections": [{**_named(row), "added": row.added} for row in keeper.store.collections()]},
    "status": _status,
    "seal": _seal,
    "token add": _add_token,
    "token list": _list_tokens,
    "token end": _end_token,
    "backup": lambda keeper, target, sealed_only: {
        "target": target,
        "files": backup(keeper, Path(target), sealed_only=sealed_only),
    },
    "check": lambda keeper: {"flaws": check(keeper)},
    "purge": lambda keeper, name: {"name": name, **keeper.purge(name)},
}
_FREEING = frozenset({"purge", "seal", "token add", "token end"})
"""Operations that a full disk must not prevent."""


def run(keeper: Keeper, operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of an operation; one that a full disk needs has the reserve.

    Raises:
        DiscreetError: if it is refused, or fails.
    """
    with keeper.room() if operation in _FREEING else nullcontext():
        return OPERATIONS[operation](keeper, **given)


# Of an address, on Linux; elsewhere it is four less.
_LONGEST_PATH = 103
_LONGEST_QUESTION = 1 << 22
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
    if why := _socket_problem(folder):
        raise ParameterError("socket.missing", path=folder.path, reason=why)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(folder.socket))
        except (ConnectionError, FileNotFoundError):
            return None
        except PermissionError:
            raise ParameterError("socket.other-user", path=folder.socket) from None
        line = b""
        with suppress(ConnectionError):
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as file:
                line = file.read()
    if not line:
        raise ParameterError("collector.ended")
    answer = json.loads(line)
    if "error" in answer:
        error = _ERRORS.get(answer["kind"], ParameterError)(answer["error"])
        error.code = answer.get("code", "")
        raise error
    facts: dict[str, Any] = answer["answer"]
    return facts


def _socket_problem(folder: DataFolder) -> str:
    """Return why a Unix socket cannot be used; empty if it can."""
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
        path, why = keeper.folder.socket, _socket_problem(keeper.folder)
        try:
            # Of a collector that was killed: whoever holds the folder owns its name.
            path.unlink(missing_ok=True)
            if not why:
                self._socket = listening_socket(str(path))
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
                log("verb", verb=question["operation"])
                answer = {"answer": run(self._keeper, question["operation"], question["given"])}
            except DiscreetError as error:
                kind = next((name for name, of in _ERRORS.items() if isinstance(error, of)), "ParameterError")
                answer = {"error": error.sentence(), "kind": kind, "code": error.code}
            except OSError as error:
                why = f"the system refused the collector to read or write: {error.strerror or type(error).__name__}."
                answer = {"error": why, "kind": "FailedStoreError"}
            except Exception as error:
                log("defect", level="error", place=place_of(error))
                answer = {"error": "this is a defect of the collector; its log says where.", "kind": "DataError"}
            connection.sendall(json.dumps(answer).encode())


def listening_socket(path: str) -> socket.socket:
    """Return a socket that has an address in a folder, for its owner alone."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        # The folder lets nobody else in, either.
        Path(path).chmod(0o600)
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener
