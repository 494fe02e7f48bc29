"""Devices as they are operated: two in a process that copies their database, others beside, kills at random.

python operated_devices.py FOLDER KILLS SECONDS   ends with 1 if a promise was broken; prints what was found as JSON

What was found is counted by SQLite and offsets alone, from the closed database, the wire, and what each device said.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from discreet.device import Device, Limits
from discreet.device.protocol.collection import Epochs
from discreet.device.sending import Answer
from signed import PUBLIC, START, collection

EPOCHS = Epochs(START, 60, 1_000_000)
VALUES = ["never", "rarely", "often", "daily"]
FRESH = collection(answers="fresh", name="fresh", epochs=EPOCHS, lifetime=1e6, late=10**8)
ONCE = [collection(answers="once", name=f"once-{number}", epochs=EPOCHS, late=10**8) for number in range(12)]
LIMITS = Limits(2, 1e9, 1e9)
# An epoch of a minute lasts as long here as two or three answers take, so that devices meet in it.
_REAL_EPOCH = 0.012
_BETWEEN_COPIES = 0.02
_KINDS = 2
LEAST = 3
"""Collections and epochs of which reports are sent, before it is enough."""


class Place:
    """The folder of a run: the device, what was posted, and what devices said that they recorded."""

    def __init__(self, folder: Path) -> None:
        self.device, self.copy = folder / "device", folder / "copy.db"
        self.wire, self.said = folder / "wire", folder / "said"
        self.began = time.monotonic()

    def now(self) -> float:
        """Return the time, the same in all processes."""
        return START + (time.monotonic() - self.began) / _REAL_EPOCH * EPOCHS.seconds


def written(path: Path) -> Callable[[bytes], int]:
    """Return a function that appends to a file at once."""
    target = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    return lambda line: os.write(target, line)


def live(place: Place, chance: random.Random, reopens: bool) -> None:
    """Answer and send without end, and say what was recorded."""
    wire, said, seen = written(place.wire), written(place.said), [0.0]

    def clock() -> float:
        seen[0] = place.now()
        return seen[0]

    def post(_: str, frame: bytes) -> Answer:
        wire(len(frame).to_bytes(4, "little") + frame)
        return Answer(chance.choice([202, 202, 503]))

    while True:
        with Device(place.device, [PUBLIC], LIMITS, clock=clock, post=post) as device:
            for _ in range(chance.randrange(1, 12) if reopens else 1 << 40):
                asked = FRESH if chance.random() < 0.7 else chance.choice(ONCE)
                if device.answer(asked, chance.choice(VALUES)) == "recorded":
                    said(f"{asked.name} {asked.epoch_at(seen[0]) if asked is FRESH else 0}\n".encode())
                if chance.random() < 0.3:
                    device.send()


def copying(place: Place) -> None:
    """Copy the database as an application does that backs its folder up."""
    while True:
        shutil.copyfile(place.device / "device.db", place.copy)
        time.sleep(_BETWEEN_COPIES)


def ending(work: Callable[[], None]) -> Callable[[], None]:
    """Return work whose failure ends the process."""

    def run() -> None:
        try:
            work()
        finally:
            traceback.print_exc()
            os._exit(1)

    return run


def started(place: Place, kind: int, seed: int) -> int:
    """Fork two devices and a copier (kind 0), or a device that is opened and closed (1); return the process."""
    process = os.fork()
    if process:
        return process
    chances = [random.Random(f"{seed} {number}") for number in range(2)]
    works = [
        ending(lambda chance=chance: live(place, chance, kind == 1)) for chance in chances[: 2 if kind == 0 else 1]
    ]
    if kind == 0:
        works.append(ending(lambda: copying(place)))
    for work in works[1:]:
        threading.Thread(target=work).start()
    works[0]()
    return 0


def operate(place: Place, kills: int, seconds: float) -> dict[str, int]:
    """Let devices live and kill one of them again and again; return how often, and how many had ended by themselves."""
    chance, found = random.Random(kills), Counter[str]()
    device = Device(place.device, [PUBLIC], LIMITS, clock=place.now)
    for asked in (FRESH, *ONCE):
        device.agree(device.accept(asked.envelope))
    end = time.monotonic() + seconds
    running = [started(place, kind, kind) for kind in range(_KINDS)]
    # However busy the machine is, something was sent that could have been wrong.
    while (found["killed"] < kills or len(sent_from(place)) < LEAST) and time.monotonic() < end:
        time.sleep(0.01 + chance.random() ** 2 * 0.2)
        # It is open when the next process is forked, and closed while others use theirs.
        device.close()
        device.budget()
        number = chance.randrange(_KINDS)
        found[ended(running[number])] += 1
        running[number] = started(place, number, _KINDS + found["killed"])
    for process in running:
        found[ended(process)] += 1
    device.close()
    return dict(found)


def ended(process: int) -> str:
    """Kill a process; return whether it lived until then."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return "killed" if os.WIFSIGNALED(status) else "ended by itself"


def sent_from(place: Place) -> dict[tuple[bytes, int], set[bytes]]:
    """Return the frames that were posted, by collection and epoch."""
    sent: dict[tuple[bytes, int], set[bytes]] = {}
    data = place.wire.read_bytes()
    while data:
        size = int.from_bytes(data[:4], "little")
        frame, data = data[4 : 4 + size], data[4 + size :]
        sent.setdefault((frame[4:36], int.from_bytes(frame[36:40], "little")), set()).add(frame)
    return sent


def counted(place: Place) -> dict[str, int | str]:
    """Count what was recorded, charged and sent, and what must never be."""
    with closing(sqlite3.connect(place.device / "device.db")) as database:
        sound = "; ".join(row[0] for row in database.execute("PRAGMA integrity_check"))
        rows = database.execute(
            "SELECT versions.id, name, ledger.epoch, record FROM ledger JOIN versions ON key = ledger.version "
            "LEFT JOIN reports USING (version, epoch)"
        ).fetchall()
    said = Counter(tuple(line.split()) for line in place.said.read_text().splitlines())
    charged = {(name, str(epoch) if name == "fresh" else "0") for _, name, epoch, _ in rows}
    stored = {(bytes(id_), epoch): record for id_, _, epoch, record in rows}
    sent = sent_from(place)
    return {
        "charged": len(rows),
        "recorded": sum(said.values()),
        "sent": len(sent),
        "recorded twice": sum(count - 1 for count in said.values()),
        "recorded and lost": len(set(said) - charged),
        "charged without a report": sum(record is None for record in stored.values()),
        "two reports of one": sum(len(frames) > 1 for frames in sent.values()),
        "sent and not what is stored": sum(
            {one[60:] for one in frames} != {stored.get(key)} for key, frames in sent.items()
        ),
        "integrity": sound,
    }


BROKEN = ("recorded twice", "recorded and lost", "charged without a report", "two reports of one")
WRONG = (*BROKEN, "sent and not what is stored", "ended by itself")


def main() -> int:
    """Operate, count and print."""
    place = Place(Path(sys.argv[1]))
    place.wire.touch()
    found = {**operate(place, int(sys.argv[2]), float(sys.argv[3])), **counted(place)}
    print(json.dumps(found))
    return 1 if found["integrity"] != "ok" or any(found.get(name) for name in WRONG) else 0


if __name__ == "__main__":
    sys.exit(main())
