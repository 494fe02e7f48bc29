"""The demonstration: simulated devices answer over the network, and it is shown what each party saw of them.

Its collection is signed with a key of its own, and has epochs as short as may be.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, TypeAlias
from urllib.request import ProxyHandler, build_opener

import msgspec
import numpy as np

from discreet.arrays import IntArray
from discreet.collector.documents.signing import Terms, new_key, read_key, sign
from discreet.collector.keeper import Keeper
from discreet.collector.logs import log, place_of
from discreet.collector.operations import add, ask
from discreet.collector.sealing import sha256_of, tally_of
from discreet.collector.simulated_devices import frames
from discreet.collector.storage.folder import DataFolder
from discreet.core.random import SeededRandom
from discreet.core.result_table import ResultColumn, ResultTable, text_column
from discreet.core.tally import Tally
from discreet.device.protocol.collection import OPEN, SHORTEST_EPOCH, Collection, Epochs, open_envelope, rebuild
from discreet.device.protocol.envelope import public_key
from discreet.device.protocol.frames import HEAD_BYTES, ID_BYTES
from discreet.device.sending import post
from discreet.errors import DataError, DiscreetError
from discreet.estimators import estimate
from discreet.formats.plan import Plan, PlanDocument
from discreet.formats.tallies import read_tally
from discreet.privacy.publication import Publication
from discreet.results.estimate import Estimate

DEVICES = 300

_READY_SECONDS, _LOOK_SECONDS, _SEAL_SECONDS = 30.0, 0.25, 30.0
# Devices that send at a time.
_AT_ONCE = 8
# Sensitive answers are rarer than others.
_RARER = 5.0

Say: TypeAlias = Callable[[str | ResultTable], None]


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """The answers of simulated people.

    Attributes:
        counts: ``(|X|,)`` people by answer.
        epoch: in which they answered.
        frame: what left the first device.
        waiting: reports that could not be sent.
    """

    counts: IntArray
    epoch: int
    frame: bytes
    waiting: int


class Crowd(threading.Thread):
    """Simulated devices that answer over the network, and show what came of it.

    Args:
        collection: that they answer, a simulated one.
        folder: of the collector's data.
        say: what shows a sentence or a table.
        devices: how many.
    """

    def __init__(self, collection: Collection, folder: DataFolder, say: Say, *, devices: int = DEVICES) -> None:
        super().__init__(name="crowd", daemon=True)
        self._collection, self._folder, self._devices = collection, folder, devices
        self._say = say
        self._ended = threading.Event()

    def stop(self) -> None:
        """End."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Answer when the collector is ready, wait for the seal, and show what each party saw."""
        try:
            if not self._until(self._is_ready, _READY_SECONDS) and not self._ended.is_set():
                raise DataError("collector.not-ready", seconds=_READY_SECONDS)
            if (answers := self._answer()) is not None:
                self._say_answered(answers)
                # Too little is not sealed by then, and waits for others in vain; enough is, on a busy machine later.
                closed, sent = self._collection.window(answers.epoch)[2], self._devices - answers.waiting
                late = inf if sent >= self._collection.least else closed + _SEAL_SECONDS
                if self._until(lambda: bool(self._files(answers)) or time.time() > late):
                    self._tell(answers)
        except DiscreetError as error:
            log("demonstration_failed", level="error", reason=str(error))
        except Exception as error:
            log("defect", level="error", place=place_of(error))

    def _until(self, holds: Callable[[], bool], seconds: float = inf) -> bool:
        """Wait until something holds; return False if the end or the deadline came first."""
        deadline = time.monotonic() + seconds
        while not holds():
            if self._ended.wait(_LOOK_SECONDS) or time.monotonic() > deadline:
                return False
        return True

    def _is_ready(self) -> bool:
        # No proxy knows this machine by that name.
        opened, address = build_opener(ProxyHandler({})), f"{self._collection.collectors[0]}/health/ready"
        with suppress(OSError), opened.open(address, timeout=1) as answer:
            return bool(answer.status == 200)
        return False

    def _answer(self) -> _Answers | None:
        """Let every device answer and send; None if the end came first, or nobody is there."""
        domain, epoch, generator = (
            self._collection.domain,
            self._collection.epoch_at(time.time()),
            np.random.default_rng(),
        )
        if epoch is None:
            raise DataError("demo.not-running")
        weights = np.where(self._collection.sensitive, 1.0, _RARER)
        people = generator.choice(domain.size, self._devices, p=weights / weights.sum())
        origin = self._collection.collectors[0]

        def send(frame: bytes) -> bool:
            return not self._ended.is_set() and post(origin, frame).is_taken

        packed = list(frames(self._collection, people, epoch, SeededRandom(int(generator.integers(1 << 62))), most=1))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            accepted = list(pool.map(send, packed))
        if self._ended.is_set() or not self._devices:
            return None
        return _Answers(np.bincount(people, minlength=domain.size), epoch, packed[0], accepted.count(False))

    def _files(self, answers: _Answers) -> list[Path]:
        """Return the sealed files of the epoch that was answered in."""
        seals: list[dict[str, Any]] = ask(self._folder, "seals", id=self._collection.id.hex())["seals"]
        ours = (seal for seal in seals if seal["epoch"] <= answers.epoch <= seal["last"])
        return [self._folder.sealed / seal["file"] for seal in ours]

    # What is shown

    def _say_answered(self, answers: _Answers) -> None:
        seconds = self._collection.window(answers.epoch)[2] - time.time()
        late = f" ({answers.waiting} could not send)" if answers.waiting else ""
        self._say(
            f"{self._devices} simulated devices have answered{late}. What they sent is sealed in {max(seconds, 0):.0f} "
            "seconds; then its estimate follows."
        )

    def _tell(self, answers: _Answers) -> None:
        mechanism, files = rebuild(self._collection), self._files(answers)
        if not files:
            self._say(f"There are fewer than {self._collection.least} reports, so that nothing of them is published.")
            return
        tallies = [read_tally(tally_of(file), mechanism) for file in files]
        tally = sum(tallies, start=mechanism.empty_tally())
        self._show_parties(answers, tally, files)
        self._show_estimate(answers, estimate(mechanism, tally))
        self._say(
            f"No report makes a protected answer more than e^{self._collection.sampler.realised:.3g} times likelier to "
            "have caused it than any other answer; answers that are not protected may be sent as they are."
        )
        publication = Publication(
            mechanism, tuple(part.n for part in tallies), "once", shown="what is sealed and estimated"
        )
        sentences = publication.person()
        self._say(f"Were these answers of people: {sentences[0][0].lower()}{' '.join(sentences)[1:]}")

    def _show_parties(self, answers: _Answers, tally: Tally, files: Sequence[Path]) -> None:
        size, record = len(answers.frame), answers.frame[HEAD_BYTES + ID_BYTES :]
        names = ", ".join(f"{file.name} (sha256 {sha256_of(file)[:8]}...)" for file in files)
        rows = [
            ("a device", f"its own answer; what it sent of it is the record {record.hex()}"),
            ("the network", f"{tally.n} requests of {size} bytes, all of one length; elsewhere TLS hides the bytes"),
            ("the collector", f"{tally.n} such records, each under a random id; ids and arrival went with the seal"),
            ("the analyst", f"{names}: {tally.clear_total} answers in clear, none of them a protected one, and "
             f"{tally.n - tally.clear_total} that may be noise, sorted"),
        ]  # fmt: skip
        self._say(ResultTable.of("What each party saw", ["party", "saw"], rows, left=2))

    def _show_estimate(self, answers: _Answers, result: Estimate) -> None:
        low, high = result.interval()
        shares = {"answered": answers.counts / answers.counts.sum(), "estimated": result.frequencies}
        shares |= {"95% from": low, "to": high}
        columns = [
            text_column("answer", self._collection.domain.names(np.arange(len(low)))),
            ResultColumn("protected", self._collection.sensitive, "mark"),
            *(ResultColumn(name, 100 * share, format=".1f") for name, share in shares.items()),
        ]
        title = f"Estimate from {result.n} reports beside what {self._devices} simulated people answered, in percent"
        self._say(ResultTable(title, columns))


NAME = "demo"
_EPOCHS = 7 * 24 * 60
_LATE = 5
_LEAST = 50
_PLAN = {
    "title": "How did you come here today?",
    "epsilon": 1.0,
    "domain": {
        "labels": ["on foot", "bicycle", "bus", "train", "car", "in an ambulance", "in a police car"],
        "sensitive": ["in an ambulance", "in a police car"],
    },
    "mechanism": {"name": "rr"},
}


@dataclass(frozen=True)
class Demo:
    """A demonstration.

    Attributes:
        collection: that is asked for.
        key: the public key that signed it.
    """

    collection: Collection
    key: bytes


def prepare(folder: DataFolder, origin: str) -> Demo:
    """Return the collection of a demonstration at an origin; the one of before, if it still runs there."""
    place = folder.path / "demo-key.pem"
    key = public_key(read_key(place)) if place.exists() else new_key(place)
    with Keeper(folder) as keeper:
        rows = [row for row in keeper.store.collections() if row.name == NAME]
        newest = max(rows, key=lambda row: row.version, default=None)
        if newest is not None:
            known = open_envelope(newest.envelope, newest.trust)
            if (
                known.state == OPEN
                and known.listed
                and known.collectors == (origin,)
                and known.epochs.end > time.time() + SHORTEST_EPOCH
            ):
                return Demo(known, key)
        envelope = _signed(place, origin, 1 if newest is None else newest.version + 1)
        add(keeper, envelope, [key], actor="demo")
        return Demo(open_envelope(envelope, [key]), key)


def _signed(key: Path, origin: str, version: int) -> bytes:
    terms = Terms(
        name=NAME,
        title="How did you come here today?",
        purpose="To show how a collection works; nothing is done with it.",
        contact="whoever started this demonstration",
        answers="once",
        epochs=Epochs(int(time.time()), SHORTEST_EPOCH, _EPOCHS),
        collectors=(origin,),
        lifetime=20.0,
        late=_LATE,
        least=_LEAST,
        simulated=True,
        listed=True,
    )
    return sign(Plan(msgspec.convert(_PLAN, PlanDocument)), terms, [read_key(key)], version=version)
