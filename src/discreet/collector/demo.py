"""The demonstration: simulated devices answer over the network.

Its collection is signed with a key of its own, and has epochs as short as may be.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from discreet.collector.documents.signing import Terms, new_key, read_key, sign
from discreet.collector.keeper import Keeper
from discreet.collector.logs import log, place_of
from discreet.collector.operations import add
from discreet.collector.simulated_devices import frames
from discreet.collector.storage.folder import DataFolder
from discreet.core.random import SeededRandom
from discreet.device.protocol.collection import SHORTEST_EPOCH, Collection, Epochs, open_envelope
from discreet.device.protocol.envelope import public_key
from discreet.device.sending import post
from discreet.errors import DataError, DiscreetError
from discreet.formats.plan import Plan, PlanDocument

DEVICES = 300

# Devices that send at a time.
_AT_ONCE = 8
# Sensitive answers are rarer than others.
_RARER = 5.0


class Crowd(threading.Thread):
    """Simulated devices that answer over the network.

    Args:
        collection: the simulated collection that they answer.
        say: a function that prints a sentence.
        devices: the number of devices.
    """

    def __init__(self, collection: Collection, say: Callable[[str], None], *, devices: int = DEVICES) -> None:
        super().__init__(name="crowd", daemon=True)
        self._collection, self._devices = collection, devices
        self._say = say
        self._ended = threading.Event()

    def stop(self) -> None:
        """End."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Answer, and say when the estimate follows. Its socket takes requests before the collector has started."""
        try:
            self._answer()
        except DiscreetError as error:
            log("demonstration_failed", level="error", reason=str(error))
        except Exception as error:
            log("defect", level="error", place=place_of(error))

    def _answer(self) -> None:
        """Let every device answer and send, unless the end comes first."""
        domain, epoch = self._collection.domain, self._collection.epoch_at(time.time())
        if epoch is None:
            raise DataError("demo.not-running")
        generator = np.random.default_rng()
        weights = np.where(self._collection.sensitive, 1.0, _RARER)
        people = generator.choice(domain.size, self._devices, p=weights / weights.sum())
        origin = self._collection.collectors[0]

        def send(frame: bytes) -> bool:
            return not self._ended.is_set() and post(origin, frame).is_taken

        packed = frames(self._collection, people, epoch, SeededRandom(int(generator.integers(1 << 62))), most=1)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            sent = sum(pool.map(send, packed))
        if sent and not self._ended.is_set():
            seconds = self._collection.window(epoch)[2] - time.time()
            self._say(
                f"{sent} of {self._devices} simulated devices have answered. The collector seals their reports in "
                f"{max(seconds, 0):.0f} seconds, and writes the estimate: {origin}/collections/{NAME}/estimates"
            )


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
    """Return the collection of a demonstration at an origin, a next version if the folder has one already."""
    place = folder.path / "demo-key.pem"
    key = public_key(read_key(place)) if place.exists() else new_key(place)
    with Keeper(folder) as keeper:
        before = max((row.version for row in keeper.store.collections() if row.name == NAME), default=0)
        envelope = _signed(place, origin, before + 1)
        add(keeper, envelope, [key])
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
