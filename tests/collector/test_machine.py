"""A collector against a model in plain dictionaries: whatever is done in which order, every report counts once.

Hypothesis chooses the steps. The collector runs as an ASGI application in this process, with the checks of every frame,
the thread that writes, and the operations that verbs ask for. The model holds the first record under each id.
"""

import asyncio
import base64
import json
import os
import shutil
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from collectors import EASY, EPOCH, records
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from discreet import read_reports
from discreet.collector.app import Application
from discreet.collector.documents.signing import withdraw
from discreet.collector.invariants import check
from discreet.collector.operations import OPERATIONS
from discreet.collector.settings import Settings
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.clock import Clock
from discreet.collector.verbs.parameters import spelled_key
from discreet.device.protocol.collection import Epochs
from discreet.device.protocol.frames import MEDIA_TYPE
from discreet.errors import DiscreetError
from signed import PLAIN, PUBLIC, TRUST, envelope, key

NAMES = ("bread", "milk")
LEAST, LATE, DAY, EPOCHS = 6, EPOCH // 4, 86_400, 1000
BEGAN = int(time.time()) - 600
"""The model's time at hour 0, half past an epoch's start: no step is at the border of an epoch or of an expiry."""
FIRST = BEGAN - EPOCH // 2 - 2 * EPOCH
MEMORY = next((place for place in ("/dev/shm",) if Path(place).is_dir()), None)
"""A folder whose files are flushed at once, where the system has one: no step here is a kill."""
HARMS = ("cut", "long", "magic", "none", "many", "empty", "head", "stranger", "clear", "kind", "id twice")
FLAWED = b"\x02\x03"
"""A record that reports a protected value in clear."""


def signed(name: str, version: int) -> bytes:
    """Return a collection of epochs of an hour, of which the third runs at the beginning."""
    epochs = Epochs(FIRST, EPOCH, EPOCHS)
    return envelope(PLAIN, version=version, name=name, epochs=epochs, late=LATE, least=LEAST, retention=1)


@dataclass
class Waiting:
    """The reports of an epoch that is not sealed: the first record under each id, and the rest by kind."""

    records: dict[bytes, bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """The number of reports, those that came again among them."""
        return len(self.records) + self.counts.total()

    def add(self, rows: list[bytes]) -> None:
        """Note reports that were acknowledged."""
        for row in rows:
            if row[:16] not in self.records:
                self.records[row[:16]] = row[16:]
            else:
                self.counts["duplicates" if self.records[row[:16]] == row[16:] else "conflicts"] += 1


@dataclass
class Batch:
    """A sealed batch."""

    last: int
    records: Counter[bytes]
    counts: Counter[str]
    expired: bool = False


@dataclass
class Version:
    """A version of a collection, as the model knows it."""

    entry: Entry
    waiting: dict[int, Waiting] = field(default_factory=lambda: defaultdict(Waiting))
    closed: set[int] = field(default_factory=set)
    sealed: dict[int, Batch] = field(default_factory=dict)


class Collector(RuleBasedStateMachine):
    """A collector, and the model of what it must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder, self.loop = Path(tempfile.mkdtemp(prefix="discreet-", dir=MEMORY)), asyncio.new_event_loop()
        # In a thread of its own: another test's browser may have left a loop running in this one.
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.hours, self.keys = 0, set[int]()
        self.versions: dict[tuple[str, int], Version] = {}
        self.withdrawn: dict[str, int] = {}
        self.tokens: dict[str, bool] = {}
        self.roles: dict[str, str] = {}
        self.sent: list[tuple[tuple[str, int], int, list[bytes]]] = []
        self.start()

    def start(self) -> None:
        """Start the collector on its folder, without the thread that would look after it by itself."""
        self.app = Application(Settings(data=str(self.folder), limits=EASY, sealing="manual", gather_ms=0))
        self.keeper = self.app.keeper
        self.keeper.clock = self.keeper.catalogue.clock = Clock(
            clock=lambda: BEGAN + self.hours * EPOCH, passed=lambda: self.hours * EPOCH
        )
        # Long work is done in this process, which has imported everything.
        self.app.workers.run = lambda job, *args, **_: job(*args)  # type: ignore[method-assign]
        self.wait_for(self.began())

    async def began(self) -> None:
        self.app.intake.start()

    def wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the collector's loop."""
        asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def teardown(self) -> None:
        try:
            assert check(self.keeper) == []
            for version in self.versions.values():
                for first, batch in version.sealed.items():
                    self.compare_file(version, first, batch)
        finally:
            self.app.close()
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop.close()
            shutil.rmtree(self.folder)

    # What is asked

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [*pairs, (b"content-length", b"%d" % len(body))], "client": ("192.0.2.1", 1),
        }  # fmt: skip
        answer: list[Any] = []

        # In two pieces, as any server of ASGI may hand a body over.
        parts = [
            {"type": "http.request", "body": body[:50], "more_body": True},
            {"type": "http.request", "body": body[50:]},
        ]

        async def receive() -> Any:
            return {"type": "http.request", **parts.pop(0)}

        async def send(message: Any) -> None:
            answer.append(message)

        self.wait_for(self.app(scope, receive, send))
        return answer[0]["status"], b"".join(part.get("body", b"") for part in answer[1:])

    def verb(self, operation: str, **given: Any) -> dict[str, Any]:
        """Return what an operation answers a verb, which is written as JSON."""
        return json.loads(json.dumps(OPERATIONS[operation](self.keeper, **given)))

    def refused(self, operation: str, **given: Any) -> str:
        """Return the code with which an operation is refused."""
        with pytest.raises(DiscreetError) as caught:
            self.verb(operation, **given)
        return caught.value.code

    def post(self, data: bytes) -> tuple[int, str]:
        """Return the status of a frame, and the code of its refusal."""
        status, body = self.request("POST", "/v1/reports", data, content_type=MEDIA_TYPE)
        return status, "" if status == 202 else json.loads(body)["error"]

    # What the model says

    @property
    def epoch(self) -> int:
        """The epoch that runs."""
        return self.hours + 2

    def expected(self, at: tuple[str, int], epoch: int) -> tuple[int, str]:
        """Return the answer to a good frame."""
        if at[0] in self.withdrawn:
            return 409, "withdrawn"
        if epoch in self.versions[at].closed or epoch < self.epoch or epoch >= EPOCHS:
            return 409, "late"
        return (503, "early") if epoch > self.epoch else (202, "")

    def frame(self, at: tuple[str, int], epoch: int, rows: list[bytes]) -> bytes:
        """Return the bytes of a frame."""
        head = b"DSC1" + self.versions[at].entry.row.id
        return head + epoch.to_bytes(4, "little") + len(rows).to_bytes(4, "little") + b"".join(rows)

    def send(self, at: tuple[str, int], epoch: int, rows: list[bytes]) -> None:
        """Send a good frame, and note what it was answered."""
        wanted = self.expected(at, epoch)
        assert self.post(self.frame(at, epoch, rows)) == wanted
        if wanted[0] == 202:
            self.versions[at].waiting[epoch].add(rows)
            self.sent.append((at, epoch, rows))

    def of(self, name: str) -> dict[tuple[str, int], Version]:
        """Return the versions of a name."""
        return {at: version for at, version in self.versions.items() if at[0] == name}

    @property
    def filled(self) -> list[tuple[str, int]]:
        """The versions with reports that wait."""
        return [at for at, version in sorted(self.versions.items()) if any(p.n for p in version.waiting.values())]

    def newest(self, name: str) -> int:
        """Return the highest version of a name; 0 for none."""
        return max([self.withdrawn.get(name, 0), *(at[1] for at in self.of(name))])

    # Steps

    @initialize()
    def two_collections(self) -> None:
        for name in NAMES:
            self.add(name)

    @rule(name=st.sampled_from(NAMES), what=st.sampled_from(["renew", "renew", "withdraw", "purge"]))
    def change(self, name: str, what: str) -> None:
        """Renew, withdraw or delete a collection; a deleted one is added anew."""
        if what == "purge" or name in self.withdrawn:
            self.purge(name)
            self.add(name)
        elif what == "withdraw":
            self.withdraw(name)
        elif self.newest(name) < 3:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a collection, or its next version; lower ones are known, and another document is refused."""
        trust, version = [spelled_key(PUBLIC)], self.newest(name) + 1
        for known in range(1, version):
            assert not self.verb("add", envelope=_base64(signed(name, known)), trust=trust)["new"]
        assert self.verb("add", envelope=_base64(signed(name, version)), trust=trust)["new"]
        other = envelope(PLAIN, version=version, name=name, title="Other")
        assert self.refused("add", envelope=_base64(other), trust=trust) == "version.other-document"
        entry = self.keeper.entry(name, version)
        # A number is never used again: a file that was overlooked would be another collection's.
        assert entry.key not in self.keys
        self.keys.add(entry.key)
        self.versions[name, version] = Version(entry)

    def withdraw(self, name: str) -> None:
        """Withdraw a collection: no report is accepted from then on, and what came before is sealed."""
        version = self.newest(name)
        notice = withdraw(signed(name, version), [key()], trust=TRUST)
        assert self.verb("add", envelope=_base64(notice), trust=[spelled_key(PUBLIC)])["state"] == "withdrawn"
        self.withdrawn[name] = version + 1

    @rule(
        data=st.data(),
        n=st.integers(2, 7),
        more=st.sampled_from(["", "", "again", "other"]),
        epoch=st.sampled_from([0, 0, 0, 0, 0, -1, 1, 2 * EPOCHS]),
    )
    def report(self, data: Any, n: int, more: str, epoch: int) -> None:
        """Send new reports to an epoch; then some of them again, or another record under one of their ids."""
        at = data.draw(st.sampled_from(sorted(self.versions)))
        made = records(self.versions[at].entry, n, seed=len(self.sent))
        rows = [os.urandom(16) + one.tobytes() for one in made]
        self.send(at, self.epoch + epoch, rows)
        if more:
            record = b"\x01\x00" if rows[0][16:] != b"\x01\x00" else b"\x01\x01"
            self.send(at, self.epoch + epoch, rows if more == "again" else [rows[0][:16] + record])

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def repeat(self, data: Any) -> None:
        """Send a frame again after other steps."""
        at, epoch, rows = data.draw(st.sampled_from(self.sent[-8:]))
        if at in self.versions:
            self.send(at, epoch, rows)

    @rule(data=st.data(), harm=st.sampled_from(HARMS))
    def harm(self, data: Any, harm: str) -> None:
        """Send what no device sends: nothing of it is stored."""
        at = data.draw(st.sampled_from(sorted(self.versions)))
        rows = [os.urandom(16) + b"\x01\x00" for _ in range(3)]
        rows[1] = rows[1][:16] + {"clear": FLAWED, "kind": b"\x07\x00"}.get(harm, b"\x01\x00")
        good = self.frame(at, self.epoch, [rows[0], rows[0]] if harm == "id twice" else rows)
        bad = {
            "cut": good[:-1],
            "long": good + b"\0",
            "magic": b"DSC2" + good[4:],
            "none": good[:40] + bytes(4) + good[44:],
            "many": good[:40] + (4097).to_bytes(4, "little") + good[44:],
            "empty": b"",
            "head": good[:43],
            "stranger": good[:4] + bytes(32) + good[36:],
        }.get(harm, good)
        wanted = self.expected(at, self.epoch)
        if harm in {"magic", "none", "many", "empty", "head"} or (wanted[0] == 202 and harm in {"cut", "long"}):
            wanted = 400, "frame"
        elif harm == "stranger":
            wanted = 404, "collection"
        elif wanted[0] == 202:
            wanted = 422, "reports"
        assert self.post(bad) == wanted

    @precondition(lambda self: self.filled)
    @rule(data=st.data(), running=st.booleans())
    def seal(self, data: Any, running: bool) -> None:
        """Seal what is over, or the epoch that runs, which is closed then."""
        at = data.draw(st.sampled_from(self.filled))
        version, running = self.versions[at], running and self.versions[at].waiting[self.epoch].n > 0
        given: dict[str, Any] = {"name": at[0], "version": at[1]}
        said = self.verb("seal", epochs=[self.epoch] if running else [], **given)
        for batch in said["sealed"]:
            epochs = range(batch["epoch"], batch["last"] + 1)
            parts = [version.waiting.pop(epoch, Waiting()) for epoch in epochs]
            wanted = Counter(record for part in parts for record in part.records.values())
            counts: Counter[str] = sum((part.counts for part in parts), Counter())
            assert (batch["n"], batch["duplicates"], batch["conflicts"]) == (
                wanted.total(), counts["duplicates"], counts["conflicts"],
            )  # fmt: skip
            assert wanted.total() >= LEAST
            assert max(epochs) < self.epoch + running
            version.closed |= set(epochs)
            version.sealed[batch["epoch"]] = Batch(batch["last"], wanted, counts)
            self.compare_file(version, batch["epoch"], version.sealed[batch["epoch"]])
            assert self.refused("seal", epochs=[epochs[0]], **given) == "epoch.is-sealed"
        waiting = {epoch: part for epoch, part in version.waiting.items() if part.n}
        # What is over and has enough different reports does not wait, and few reports join those of the next epoch.
        assert running or not [e for e, part in waiting.items() if e < self.epoch and len(part.records) >= LEAST]
        assert not (waiting and version.sealed) or min(waiting) > max(batch.last for batch in version.sealed.values())
        # Nobody was closed for nothing, and nothing comes behind a seal.
        self.send(at, self.epoch, [os.urandom(16) + b"\x01\x00"])

    @precondition(lambda self: self.hours < 60)
    @rule(hours=st.sampled_from([1, 1, 1, 30]))
    def wait(self, hours: int) -> None:
        """Let time pass, and the collector look after itself: what was sealed a day ago expires."""
        self.hours += hours
        self.app.housekeeper.look()
        for version in self.versions.values():
            for batch in version.sealed.values():
                batch.expired |= self.hours * EPOCH > DAY
            for first, batch in version.sealed.items():
                self.compare_file(version, first, batch)

    def purge(self, name: str) -> None:
        """Delete a collection: its numbers are said, and no file has anything of it."""
        versions = self.of(name)
        said = self.verb("purge", name=name)
        waiting = [part for version in versions.values() for part in version.waiting.values()]
        sealed = sum(b.records.total() for version in versions.values() for b in version.sealed.values())
        assert said == {
            "name": name, "versions": self.newest(name), "reports": sum(part.n for part in waiting), "sealed": sealed,
        }  # fmt: skip
        assert self.refused("purge", name=name) == "collection.unknown"
        assert not (self.folder / "sealed" / name).exists()
        left = b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
        assert not any(id_ in left for part in waiting for id_ in part.records)
        self.withdrawn.pop(name, None)
        self.versions = {at: version for at, version in self.versions.items() if at[0] != name}

    @rule()
    def restart(self) -> None:
        """End the collector, and start it again."""
        self.app.close()
        self.start()

    @rule(data=st.data(), role=st.sampled_from(["analyst", "operator"]), ends=st.booleans())
    def look(self, data: Any, role: str, ends: bool) -> None:
        """Make a token, and end it perhaps; ask for the estimate of what is sealed with any token, or without."""
        new = {"name": f"t{len(self.tokens)}", "role": role, "days": None}
        made = self.verb("token add", **new)["token"]
        assert self.refused("token add", **new) == "token.name-in-use"
        if ends:
            self.verb("token end", name=new["name"])
            assert self.refused("token end", name=new["name"]) == "token.unknown"
        self.tokens[made], self.roles[made] = not ends, role
        name, number = data.draw(st.sampled_from(sorted(self.versions)))
        version, token = self.versions[name, number], data.draw(st.sampled_from(["", *self.tokens, made, made]))
        good = self.tokens.get(token, False)
        given = {"authorization": f"Bearer {token}"} if token else {}
        status, body = self.request("GET", f"/collections/{name}/estimates.json?version={number}", **given)
        if not good:
            # Five wrong tokens a minute.
            assert status in {401, 429}
        elif self.roles[token] == "operator":
            assert status == 403
        else:
            batches = {row["epoch"]: row["n"] for row in json.loads(body)["batches"]}
            assert (status, batches) == (200, {first: b.records.total() for first, b in version.sealed.items()})

    # What always holds

    @invariant()
    def counts(self) -> None:
        """Compare the numbers of waiting and sealed reports."""
        status = self.verb("status")
        rows = {
            (row["name"], row["version"], row["epoch"], row["last"]): (
                row["waiting"], row["sealed"], row["duplicates"], row["conflicts"],
            )
            for row in status["epochs"]
        }  # fmt: skip
        wanted = {}
        for at, version in self.versions.items():
            wanted |= {
                (*at, epoch, epoch): (part.n if part.n >= LEAST else None, 0, 0, 0)
                for epoch, part in version.waiting.items()
                if part.n
            }
            for first, batch in version.sealed.items():
                counts = batch.counts["duplicates"], batch.counts["conflicts"]
                wanted[*at, first, batch.last] = (0, batch.records.total(), *counts)
        assert rows == wanted

    def compare_file(self, version: Version, first: int, batch: Batch) -> None:
        """Compare a sealed file with the model; after its time the file is gone."""
        place = self.folder / "sealed" / version.entry.row.name / f"v{version.entry.row.version}"
        which = f"{first:06d}" if first == batch.last else f"{first:06d}-{batch.last:06d}"
        path = place / f"epoch-{which}.parquet"
        assert path.exists() != batch.expired
        if not batch.expired:
            reports = read_reports(path, version.entry.mechanism)
            assert Counter(map(bytes, version.entry.codec.encode(reports))) == batch.records
            facts = json.loads(pq.read_schema(path).metadata[b"discreet"])
            epochs = {"epoch": first} if first == batch.last else {"epochs": [first, batch.last]}
            assert {name: facts[name] for name in ("epoch", "epochs") if name in facts} == epochs


def _base64(data: bytes) -> str:

    return base64.b64encode(data).decode()


TestCollector = Collector.TestCase
# A failure is not made smaller: that would take minutes.
TestCollector.settings = settings(max_examples=30, stateful_step_count=40, phases=[Phase.generate])
