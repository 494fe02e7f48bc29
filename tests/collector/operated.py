"""A collector as it is operated: a server, clients, every verb beside it in turn, and kills at random moments."""

import asyncio
import json
import os
import random
import shutil
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Set
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors import added_envelope
from independent_count import ID, RECORD, At, Reports, found_in, kept
from kills import forked, run_verb
from loads import Load, collector_command, environment, free_port, wait_for

from discreet.collector.verbs.parameters import spelled_key
from discreet.device.protocol.collection import Epochs
from signed import PUBLIC, envelope

PLAN = {"epsilon": 1.0, "domain": {"range": [0, 128]}, "mechanism": {"name": "unary"}}
EPOCH, LEAST = 60, 100
"""Seconds of the shortest epoch that may be signed; reports below which nothing is published."""
STAGGERED, FIRST_END, BETWEEN = 5, 3, 7
"""Collections whose epochs end one after the other; seconds to the first end, and between them."""
VERBS = (
    "add", "status", "check", "token add", "token list", "token end", "seal", "seal --epoch", "backup",
    "backup --sealed-only", "purge",
)  # fmt: skip
"""The verbs of ``discreet collector``, and their forms, each of which is run beside the server."""
NOTHING = "is-sealed]"
_HEAD = 44


class Senders(Load):
    """Clients that send reports with records of their own, send some again, and note what was acknowledged."""

    def __init__(self, port: int, *, clients: int, pause: float, seed: int) -> None:
        super().__init__(port, clients=clients, pause=pause)
        self._chance = random.Random(seed)
        self.targets: dict[bytes, tuple[str, int]] = {}
        self.sent, self.taken = Reports(), Reports()
        self._last: list[bytes] = []

    def next(self) -> bytes:
        """Return a frame that had no answer, or one that was taken, or a new one that repeats a report now and then."""
        while self._waiting:
            if self._at(waiting := self._waiting.pop()) is not None:
                return waiting
        if self._last and self._chance.random() < 0.05:
            return self._chance.choice(self._last)
        name, start = self.targets[id_ := self._chance.choice(list(self.targets))]
        # The one that runs, or the next one: clocks differ, and the collector takes it.
        epoch = int(time.time() - start) // EPOCH + (self._chance.random() < 0.2)
        rows = [os.urandom(ID) + b"\1" + os.urandom(RECORD - 1) for _ in range(self._chance.choice((1, 1, 1, 2, 20)))]
        before = next((frame for frame in self._last if self._at(frame) == (name, epoch)), None)
        if before is not None and self._chance.random() < 0.1:
            rows.append(before[_HEAD : _HEAD + ID + RECORD])
        frame = b"DSC1" + id_ + epoch.to_bytes(4, "little") + len(rows).to_bytes(4, "little") + b"".join(rows)
        self.sent.add((name, epoch), frame[_HEAD:])
        return frame

    def _at(self, frame: bytes) -> At | None:
        name, _ = self.targets.get(frame[4:36], (None, 0))
        return None if name is None else (name, int.from_bytes(frame[36:40], "little"))

    def answered(self, client: Any, status: int, seconds: float) -> None:
        """Note an answer; a frame that is refused for good is forgotten."""
        frame, at = client.sent, self._at(client.sent)
        client.sent = b""
        if status == 202 and at is not None:
            self.taken.add(at, frame[_HEAD:])
            self._last = [*self._last[-20:], frame]
        elif status in (429, 503):
            self._waiting.append(frame)


@dataclass
class Left:
    """What is left after everything that was done.

    Attributes:
        kills: how often the server was killed.
        verbs: how often each verb ended well.
        failed: sentences of verbs that failed though nothing was killed beside them, and of `check`; how often each.
        acknowledged: different reports that were answered 202, of collections that were not purged.
        lost: of these, how many were missing at a count: after the last kill, after sealing, or in a backup.
        twice: records that were there more than once.
        invented: records that were there and had never been sent.
        sealed: reports in sealed files at the end.
        alone: epochs that the server sealed without being told.
        found: pieces of reports, by file, that were found where nothing of them may be.
    """

    kills: int = 0
    verbs: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    invented: int = 0
    sealed: int = 0
    alone: int = 0
    found: Counter[str] = field(default_factory=Counter)

    @property
    def holds(self) -> bool:
        """True if nothing was lost, doubled or invented, no verb failed, and nothing was found that had to be gone."""
        return not (self.lost or self.twice or self.invented or self.failed or self.found)

    def count(self, folder: Path, taken: dict[At, set[bytes]], sent: Reports) -> None:
        """Hold what a folder has against what was acknowledged and sent."""
        left = dict(taken)
        for (name, first, last), found in kept(folder).items():
            batch = [(name, epoch) for epoch in range(first, last + 1)]
            wanted = set[bytes]().union(*(left.pop(at, set()) for at in batch))
            self.lost += len(wanted - found.keys())
            self.twice += sum(count > 1 for count in found.values())
            self.invented += len(found.keys() - {record for at in batch for record in sent.of[at].copy().values()})
        self.lost += sum(map(len, left.values()))


class Operated:
    """A collector that is operated: a folder, a server, senders, and verbs beside them.

    Args:
        folder: for the data, backups and signed collections.
        clients: connections at once.
        pause: seconds between an answer and the next request of a client.
        seed: of the kills, and of what is sent to whom.
    """

    def __init__(self, folder: Path, *, clients: int = 4, pause: float = 0.0, seed: int = 1) -> None:
        self.folder, self.data, self.port = folder, folder / "data", free_port()
        self.left, self.senders = Left(), Senders(self.port, clients=clients, pause=pause, seed=seed)
        self._chance, self._made = random.Random(seed), 0
        self._server: Any = None
        self._extra: list[str] = []
        self._purged: list[bytes] = []
        self._tokens: list[str] = []
        for number in range(STAGGERED):
            name, start = f"c{number}", int(time.time()) - 3 * EPOCH + FIRST_END + number * BETWEEN
            entry = added_envelope(self.data, self._signed(name, start))
            self.senders.targets[entry.row.id] = (name, start)

    # The server

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        _, _, *words = collector_command(self.data, self.port)[1:]
        log = self.folder / "server.log"
        self._server = self._started(words, log, log)
        wait_for(self.port, self._server)

    @staticmethod
    def _started(words: list[str], shown: Path, errors: Path) -> Any:
        """Return a process of its own, which has imported everything already: most of a verb's time is for that."""
        process = forked().Process(target=run_verb, args=(words, shown, errors, environment()))
        process.start()
        return process

    def kill(self) -> None:
        """Kill the server."""
        self._server.kill()
        self._server.join()
        self.left.kills += 1

    def stop(self) -> None:
        """End the server as operators do."""
        self._server.terminate()
        try:
            self._server.join(20)
            assert self._server.exitcode == 0
        finally:
            self._server.kill()

    def look_in(self) -> None:
        """Open and close the database as another program does, a shell of SQLite or a tool for backups."""
        with (
            closing(sqlite3.connect(self.data / "collector.db", timeout=0)) as opened,
            suppress(sqlite3.OperationalError),
        ):
            opened.execute("SELECT count(*) FROM collections").fetchall()

    @contextmanager
    def served(self) -> Iterator[None]:
        """Let the server run, and clients send, until the body ends; a server that was killed has ended already."""
        self.start()
        thread = threading.Thread(target=lambda: asyncio.run(self.senders.until_ended()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.senders.running = False
            thread.join(30)
            if self._server.is_alive():
                self.stop()
            assert not thread.is_alive()

    # Verbs

    @staticmethod
    def _signed(name: str, start: int) -> bytes:
        return envelope(PLAN, name=name, epochs=Epochs(start, EPOCH, 100_000), late=0)

    def _added(self, name: str, seconds: int, *, kill: bool = False) -> bool:
        """Add a collection whose first epoch began so long ago; clients send to it from now on."""
        start, file = int(time.time()) - seconds, self.folder / f"{name}.json"
        file.write_bytes(self._signed(name, start))
        words = [str(file), "--trust", spelled_key(PUBLIC)]
        said = self._tried("add", words, kill=kill)
        if said is not None:
            self.senders.targets = {**self.senders.targets, bytes.fromhex(said["id"]): (name, start)}
        return said is not None

    def _tried(
        self, verb: str, words: list[str], *, data: Path | None = None, kill: bool = False, form: str | None = None
    ) -> Any:
        """Run a verb, beside a kill of the server perhaps; return what it says as JSON, or None if it failed."""
        at = ["--data", str(data or self.data), "--json"]
        shown, errors = (self.folder / f"verb.{stream}" for stream in ("out", "err"))
        for file in (shown, errors):
            file.write_bytes(b"")
        running = self._started(["collector", *verb.split(), *words, *at], shown, errors)
        if kill:
            time.sleep(self._chance.uniform(0, 1.5))
            self.kill()
        running.join(120)
        said, why = shown.read_text(), errors.read_text()
        if kill:
            self.start()
        if running.exitcode == 0:
            self.left.verbs[form or verb] += 1
            return json.loads(said)
        # A kill may end the verb too, which says so in a sentence even then; and the server may have sealed before it.
        if not (kill or NOTHING in why) or "Traceback" in why:
            self.left.failed[f"{form or verb}: {why.strip() or said.strip()}"] += 1
        return None

    def run(self, verb: str, *, kill: bool = False) -> None:
        """Run a verb, and what belongs to it; the server may be killed meanwhile."""
        self._made += 1
        own = getattr(self, "_" + verb.replace(" --", "_").replace("-", "_").replace(" ", "_"), None)
        if own is None:
            self._tried(verb, [], kill=kill)
        else:
            own(f"x{self._made}", kill)

    def _add(self, name: str, kill: bool) -> None:
        if self._added(name, 3 * EPOCH + self._chance.randrange(EPOCH), kill=kill):
            self._extra.append(name)

    def _token_add(self, name: str, kill: bool) -> None:
        if self._tried("token add", [name, "--role", self._chance.choice(["analyst", "operator"])], kill=kill):
            self._tokens.append(name)

    def _token_end(self, _: str, kill: bool) -> None:
        if self._tokens:
            self._tried("token end", [self._tokens.pop()], kill=kill)

    def _seal(self, _: str, kill: bool) -> None:
        self._tried("seal", [f"c{self._chance.randrange(STAGGERED)}"], kill=kill)

    def _seal_epoch(self, _: str, kill: bool) -> None:
        """Seal an epoch that runs and has reports."""
        running = [(name, int(time.time() - start) // EPOCH) for name, start in self.senders.targets.values()]
        filled = [at for at in running if at in self.senders.taken.of]
        if filled:
            name, epoch = self._chance.choice(filled)
            self._tried("seal", [name, "--epoch", str(epoch)], kill=kill, form="seal --epoch")

    def _backup(self, name: str, kill: bool) -> None:
        """Back up: the copy, opened as data, has all that was acknowledged before."""
        before, target = self._taken(), self.folder / name
        if self._tried("backup", [str(target)], kill=kill):
            self._tried("check", [], data=target)
            names = {name for name, _ in self.senders.targets.values()}
            self.left.count(target, {at: rows for at, rows in before.items() if at[0] in names}, self.senders.sent)
            shutil.rmtree(target)

    def _backup_sealed_only(self, name: str, kill: bool) -> None:
        """Back up what is sealed: all of it is there, and no id."""
        target = self.folder / name
        if self._tried("backup", [str(target), "--sealed-only"], kill=kill, form="backup --sealed-only"):
            sealed = {(name, epoch) for name, first, last in kept(target) for epoch in range(first, last + 1)}
            here = {at: records for at, records in self._taken().items() if at in sealed}
            self.left.count(target, here, self.senders.sent)
            self.left.found.update(found_in(target, self._ids()))
            shutil.rmtree(target)

    def _purge(self, _: str, kill: bool) -> None:
        """Purge a collection, to which nothing is sent any more; again if the first was killed."""
        if not self._extra:
            return
        name, targets = self._extra.pop(), self.senders.targets
        self.senders.targets = {id_: (other, start) for id_, (other, start) in targets.items() if other != name}
        done = self._tried("purge", [name, "--yes"], kill=kill) is not None or not kill
        if not done and name in {one["name"] for one in self._tried("status", [])["collections"]}:
            self._tried("purge", [name, "--yes"])
        for at in [at for at in list(self.senders.sent.of) if at[0] == name]:
            rows = self.senders.sent.of[at].copy()
            self._purged += [*rows, *(record[1:] for record in rows.values())]

    def _taken(self) -> dict[At, set[bytes]]:
        """Return what was acknowledged until now, of collections that are there."""
        names, taken = {name for name, _ in self.senders.targets.values()}, self.senders.taken.of
        return {at: set(taken[at].copy().values()) for at in list(taken) if at[0] in names}

    def _ids(self, but: Set[At] = frozenset()) -> list[bytes]:
        """Return the ids of all reports that were sent, but for those of some epochs."""
        return [id_ for at in list(self.senders.sent.of) if at not in but for id_ in list(self.senders.sent.of[at])]

    # All of it

    def operate(self, verbs: tuple[str, ...], *, kills: int, rounds: int, seconds: float = 1e9) -> None:
        """Run every verb beside the server, so many rounds of them and until so many kills, if there is time."""
        end = time.monotonic() + seconds
        with self.served():
            while (rounds > 0 or self.left.kills < kills) and time.monotonic() < end:
                for verb in verbs:
                    # A verb alone, a kill within it, or a kill behind it.
                    how = self._chance.random() if self.left.kills < kills else 0.0
                    self.look_in()
                    before = self.left.verbs[verb]
                    self.run(verb, kill=how > 2 / 3)
                    if how > 2 / 3 and self.left.verbs[verb] == before:
                        self.run(verb)
                    if 1 / 3 < how <= 2 / 3:
                        time.sleep(self._chance.uniform(0, 0.3))
                        self.kill()
                        self.start()
                rounds -= 1
            # Until the server has sealed by itself: of few reports, as a busy machine takes in, it seals nothing.
            latest = min(end, time.monotonic() + 120)
            while not self._sealed_alone() and time.monotonic() < latest:
                time.sleep(0.2)
            self.kill()
        self.left.acknowledged = sum(map(len, self._taken().values()))
        self.left.count(self.data, self._taken(), self.senders.sent)

    def _sealed_alone(self) -> int:
        """Return the number of epochs that the server sealed without being told."""
        return (self.folder / "server.log").read_text().count('"event": "sealed"')

    def _waiting(self) -> dict[str, list[str]]:
        """Return the options that name epochs with enough reports to be sealed, by collection."""
        found: dict[str, list[str]] = {}
        for row in self._tried("status", [])["epochs"]:
            if (row["waiting"] or 0) >= LEAST:
                found.setdefault(row["name"], []).extend(["--epoch", str(row["epoch"])])
        return found

    def seal_and_search(self) -> None:
        """Seal what waits, purge and back up beside the server: then sealed files hold what is left, and no id."""
        self.start()
        try:
            for _ in range(3):
                # Again for what the server sealed by itself meanwhile, beside which a verb that names it is refused.
                for name, epochs in self._waiting().items():
                    self._tried("seal", [name, *epochs], form="seal --epoch")
            while self._extra:
                self._purge("", kill=False)
            self._tried("backup", [str(self.folder / "last")])
            epochs = self._tried("status", [])["epochs"]
            # Those with fewer reports than may be published wait for more.
            waiting = {(row["name"], row["epoch"]) for row in epochs if row["waiting"] != 0}
            few = {at for at in waiting if len(self.senders.sent.of[at]) < LEAST}
            self._tried("check", [])
        finally:
            self.stop()
        self.left.count(self.data, self._taken(), self.senders.sent)
        self.left.sealed = sum(counts.total() for counts in kept(self.data).values())
        self.left.alone = self._sealed_alone()
        sent = self.senders.sent.of
        kept_records = [record[1:] for at in sent if at not in few for record in sent[at].values()]
        for folder in (self.data, self.folder / "last"):
            self.left.found.update(found_in(folder, [*self._ids(few), *self._purged]))
            outside = found_in(folder, kept_records)
            self.left.found.update({name: n for name, n in outside.items() if not name.startswith("sealed/")})
        self._tried("check", [])
