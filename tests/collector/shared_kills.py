"""Two collectors on one PostgreSQL: each is killed, or their server, or a verb, under load; then all is counted."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from collectors import added_envelope
from independent_count import asked
from kills import answers, forked
from loads import free_port
from operated import BETWEEN, EPOCH, FIRST_END, LEAST, NOTHING, PLAN, STAGGERED, Left, Senders
from postgres_server import PostgresServer, server_of

from discreet.device.protocol.collection import Epochs
from discreet.errors import DiscreetError
from signed import envelope

STEPS = ("collector", "server", "seal", "seal killed", "seal and collector", "seal and server", "purge", "check")
"""Kinds of what happens beside the load."""


def _serve(folder: str, database: str, port: int) -> None:
    from discreet.collector.serving import bound, serve
    from discreet.collector.settings import ServiceLimits, Settings

    limits, listen = ServiceLimits(rate=0, burst=1), f"127.0.0.1:{port}"
    settings = Settings(data=folder, database=database, listen=listen, limits=limits, log="error")
    with bound(settings) as sockets:
        serve(settings, sockets)


def _ask(told: Any, folder: str, database: str, operation: str, given: dict[str, Any]) -> None:
    from discreet.collector.operations import ask
    from discreet.collector.storage.inboxes import DataFolder

    try:
        told.send((ask(DataFolder(Path(folder), server=database), operation, **given), ""))
    except DiscreetError as error:
        told.send(({}, str(error)))


def _add_each(told: Any, turn: Any, folder: str, database: str, envelopes: list[bytes]) -> None:
    from discreet.collector.keeper import Keeper
    from discreet.collector.operations import add
    from discreet.collector.storage.inboxes import DataFolder
    from signed import PUBLIC

    with Keeper(DataFolder(Path(folder), server=database)) as keeper:
        for signed in envelopes:
            turn.wait(20)
            try:
                told.send("new" if add(keeper, signed, [PUBLIC], actor="test")[1] else "known")
            except DiscreetError as error:
                told.send(type(error).__name__)


def added_at_once(folder: Path, *envelopes: list[bytes]) -> list[tuple[str, ...]]:
    """Let a process for each list add its envelopes, each at the same moment as the others; return the answers."""
    context, pipes, processes = forked(), [], []
    turn = context.Barrier(len(envelopes))
    for some in envelopes:
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_add_each, args=(theirs, turn, str(folder), server_of(folder), some)))
        processes[-1].start()
        pipes.append(ours)
        theirs.close()
    answers = [tuple(pipe.recv() for pipe in pipes) for _ in envelopes[0]]
    for process in processes:
        process.join(20)
    return answers


class _Balanced(Senders):
    """Clients each of whose connections is to one of two collectors."""

    ports: tuple[int, ...] = ()

    @property
    def _port(self) -> int:
        return self._chance.choice(self.ports)

    @_port.setter
    def _port(self, port: int) -> None:
        self.ports = (*self.ports, port)


class Shared:
    """Two collectors, their server, clients and verbs.

    Args:
        folder: for the sealed files of both; the server has their data.
        server: of PostgreSQL.
        clients: connections at once.
        collections: whose epochs end one after the other.
        pause: seconds between an answer and the next request of a client.
        seed: of what is killed and when.
    """

    def __init__(
        self,
        folder: Path,
        server: PostgresServer,
        *,
        clients: int,
        collections: int = STAGGERED,
        pause: float = 0.0,
        seed: int = 1,
    ) -> None:
        self._folder, self._server, self.left = folder, server, Left()
        self._context, self._chance, self._extra = forked(), random.Random(seed), 0
        self._collectors: dict[int, Any] = dict.fromkeys((free_port(), free_port()))
        first, second = self._collectors
        self._senders = _Balanced(first, clients=clients, pause=pause, seed=seed)
        self._senders.ports = (first, second)
        for number in range(collections):
            self._add(f"c{number}", int(time.time()) - 3 * EPOCH + FIRST_END + number * BETWEEN)

    def _add(self, name: str, start: int) -> None:
        entry = added_envelope(self._folder, envelope(PLAN, name=name, epochs=Epochs(start, EPOCH, 100_000), late=0))
        self._senders.targets = {**self._senders.targets, entry.row.id: (name, start)}

    def _start(self) -> None:
        for port, process in self._collectors.items():
            if process is None or not process.is_alive():
                given = str(self._folder), server_of(self._folder), port
                self._collectors[port] = self._context.Process(target=_serve, args=given)
                self._collectors[port].start()
        for port, process in self._collectors.items():
            while not answers(port):
                assert process.is_alive(), "the collector did not start"
                time.sleep(0.01)

    def _kill(self, what: str) -> None:
        if what == "server":
            self._server.crash()
        else:
            process = self._chance.choice(list(self._collectors.values()))
            process.kill()
            process.join()
            self._start()
        self.left.kills += 1

    @contextmanager
    def _load(self) -> Iterator[None]:
        self._start()
        thread = threading.Thread(target=lambda: asyncio.run(self._senders.until_ended()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._senders.running = False
            thread.join(30)
            for process in self._collectors.values():
                process.terminate()
                process.join(20)
                self.left.failed.update([] if process.exitcode == 0 else [f"a collector ended with {process.exitcode}"])
                process.kill()

    def _verb(self, operation: str, kill: str = "", **given: Any) -> dict[str, Any]:
        """Ask for an operation in a process of its own, and kill that, or another, meanwhile; return the answer."""
        ours, theirs = self._context.Pipe()
        where = theirs, str(self._folder), server_of(self._folder)
        process = self._context.Process(target=_ask, args=(*where, operation, given))
        process.start()
        theirs.close()
        if kill:
            time.sleep(self._chance.uniform(0, 0.4))
        if kill == "killed":
            process.kill()
            self.left.kills += 1
        elif kill:
            self._kill(kill)
        try:
            answer, why = ours.recv()
        except EOFError:
            answer, why = {}, "it was ended"
        process.join()
        if not why:
            self.left.verbs[operation] += 1
        elif not (kill or NOTHING in why):
            self.left.failed[f"{operation}: {why}"] += 1
        return dict(answer)

    def _step(self, step: str) -> None:
        if step in ("collector", "server"):
            time.sleep(self._chance.uniform(0, 0.3))
            self._kill(step)
        elif step == "check":
            self.left.failed.update(self._verb("check").get("flaws", []))
        elif step == "purge":
            self._extra += 1
            self._add(f"x{self._extra}", int(time.time()) - 3 * EPOCH)
            time.sleep(0.2)
            targets = self._senders.targets.items()
            self._senders.targets = {id_: at for id_, at in targets if at[0] != f"x{self._extra}"}
            self._verb("purge", name=f"x{self._extra}")
        else:
            running = [(name, int(time.time() - start) // EPOCH) for name, start in self._senders.targets.values()]
            filled = [at for at in running if at in self._senders.taken.of]
            if filled:
                name, epoch = self._chance.choice(filled)
                kill = step.removeprefix("seal").removeprefix(" and").strip()
                self._verb("seal", kill, name=name, epochs=[epoch], version=None)

    def _count(self) -> None:
        names, taken = {name for name, _ in self._senders.targets.values()}, self._senders.taken.of
        wanted = {at: set(records.values()) for at, records in taken.items() if at[0] in names}
        self.left.acknowledged = sum(map(len, wanted.values()))
        self.left.count(self._folder, wanted, self._senders.sent)

    def operate(self, kills: int, seconds: float = 1e9) -> Left:
        """Go through every step once and on at random until so many kills, seal all that can be, and count."""
        end, steps = time.monotonic() + seconds, [*STEPS]
        with self._load():
            # Within three epochs of each collection, so that one of them at least can be sealed.
            while self._senders.taken.count() < 3 * LEAST * len(self._senders.targets):
                time.sleep(0.01)
            while steps or (self.left.kills < kills and time.monotonic() < end):
                self._step(steps.pop(0) if steps else self._chance.choice(STEPS))
        self._count()
        for row in self._verb("status")["epochs"]:
            if row["waiting"] >= LEAST:
                self._verb("seal", name=row["name"], epochs=[row["epoch"]], version=row["version"])
        self._count()
        self.left.failed.update(self._verb("check").get("flaws", []))
        self.left.sealed = sum(n for (n,) in asked(self._folder, "SELECT n FROM seals"))
        self.left.alone = len(
            asked(self._folder, "SELECT 1 FROM audit WHERE actor = 'collector' AND action = 'sealed'")
        )
        return self.left
