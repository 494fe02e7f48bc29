"""Processes that share a device: a program, because it forks.

python sharing.py FOLDER --together 3  three processes answer at once; ends with 1 if a promise was broken
python sharing.py FOLDER --open 3      the same, while the process that forks them has the device open
python sharing.py FOLDER --inherited 1 what a process has open of the device when it forks, and its child
"""

import json
import os
import random
import sqlite3
import sys
import time
import traceback
from collections import Counter
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from discreet.device import Device, Limits
from discreet.device.protocol.collection import Epochs
from discreet.device.protocol.frames import head
from discreet.device.sending import Answer
from signed import PUBLIC, START, collection

EPOCHS = Epochs(START, 60, 1_000_000)
VALUES = ["never", "rarely", "often", "daily"]
ASKED = collection(answers="fresh", name="fresh", epochs=EPOCHS, lifetime=1e6)
ROUNDS = 12


def live(folder: Path, wire: Path) -> list[str]:
    """Answer and send, epoch by epoch, from the last one that was answered on; return the outcomes."""
    asked, chance, now = ASKED, random.Random(os.getpid()), [float(START)]
    target = os.open(wire, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def post(_: str, frame: bytes) -> Answer:
        os.write(target, len(frame).to_bytes(4, "little") + frame)
        return Answer(chance.choice([202, 202, 503, 0]))

    outcomes = []
    with Device(folder, [PUBLIC], Limits(2, 1e9, 1e9), clock=lambda: now[0], post=post) as device:
        device.accept(asked.envelope)
        device.agree(asked)
        epoch = max((entry.epoch for entry in device.log() if entry.name == asked.name), default=0)
        for _ in range(ROUNDS):
            now[0] = max(now[0], START + 60.0 * epoch + 1)
            outcomes.append(f"{epoch} {device.answer(asked, chance.choice(VALUES))}")
            if chance.random() < 0.7:
                device.send()
            now[0] += 20
            epoch += 1
    return outcomes


def forked(folder: Path, wire: Path) -> int:
    """Fork a device; return its process."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        (folder.parent / f"outcomes-{os.getpid()}").write_text(" ".join(live(folder, wire)))
        code = 0
    except BaseException:
        # The test shows what this program says on standard error.
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def posted(wire: Path) -> list[bytes]:
    """Return the frames that were sent."""
    data, frames = wire.read_bytes(), []
    while data:
        size = int.from_bytes(data[:4], "little")
        frames.append(data[4 : 4 + size])
        data = data[4 + size :]
    return frames


def examine(folder: Path, wire: Path) -> dict[str, int | str]:
    """Count what was charged and sent, and what must never be."""
    frames = posted(wire)
    with closing(sqlite3.connect(folder / "device.db")) as database, database:
        rows = database.execute(
            "SELECT versions.id, ledger.epoch, record FROM ledger JOIN versions ON key = ledger.version "
            "LEFT JOIN reports USING (version, epoch)"
        ).fetchall()
        sound = database.execute("PRAGMA integrity_check").fetchone()[0]
    charged = {(bytes(id_), epoch): record for id_, epoch, record in rows}
    by_epoch: dict[tuple[bytes, int], set[bytes]] = {}
    for frame in frames:
        by_epoch.setdefault(head(frame)[:2], set()).add(frame)
    return {
        "charged": len(charged),
        "charged without a report": sum(record is None for record in charged.values()),
        "frames": len(frames),
        "sent again": len(frames) - len(by_epoch),
        "different reports of one epoch": sum(len(found) > 1 for found in by_epoch.values()),
        "sent without a charge": sum(epoch not in charged for epoch in by_epoch),
        "sent and not what is stored": sum(frame[60:] != charged.get(head(frame)[:2]) for frame in frames),
        "integrity": sound,
    }


def ended_beside(mine: Device | None, children: list[int]) -> list[int]:
    """Wait for children, and open and close the device meanwhile; return how they ended."""
    running, ended = set(children), []
    while running:
        if mine is not None:
            # Whoever closes as the last one takes the log that is written ahead away.
            mine.close()
            mine.budget()
        time.sleep(0.005)
        for one in list(running):
            process, status = os.waitpid(one, os.WNOHANG)
            if process:
                running.remove(one)
                ended.append(os.waitstatus_to_exitcode(status))
    if mine is not None:
        mine.close()
    return ended


def files_of(folder: Path) -> int:
    """Return how many files of a device this process has open."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(str(link.readlink()).startswith(str(folder)) for link in links)


def inherited(folder: Path) -> dict[str, int]:
    """Count the files of an open device before a fork, and in the child: a lock that is inherited holds nobody back."""
    device = Device(folder, [PUBLIC], Limits(2, 1e9, 1e9))
    before = files_of(folder)
    child = os.fork()
    if not child:
        os._exit(files_of(folder))
    _, status = os.waitpid(child, 0)
    device.close()
    return {"before": before, "in the child": os.waitstatus_to_exitcode(status)}


def main() -> int:
    """Run, examine and print."""
    folder, wire = Path(sys.argv[1]) / "device", Path(sys.argv[1]) / "wire"
    wire.touch()
    if sys.argv[2] == "--inherited":
        print(json.dumps(inherited(folder)))
        return 0
    mine = Device(folder, [PUBLIC], Limits(2, 1e9, 1e9)) if sys.argv[2] == "--open" else None
    children = [forked(folder, wire) for _ in range(int(sys.argv[3]))]
    ended = ended_beside(mine, children)
    if any(ended):
        sys.exit(f"of {len(children)} processes that share a device, these ended with: {ended}")
    said = " ".join((folder.parent / f"outcomes-{one}").read_text() for one in children).split()
    recorded = Counter(epoch for epoch, outcome in zip(said[::2], said[1::2], strict=True) if outcome == "recorded")
    found = {**examine(folder, wire), "recorded": len(recorded)}
    found["recorded twice"] = sum(count > 1 for count in recorded.values())
    print(json.dumps(found))
    wrong = [name for name in found if name.startswith(("different", "sent w", "sent and", "charged w", "recorded t"))]
    return 1 if found["integrity"] != "ok" or any(found[name] for name in wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
