"""Work on a collector's data that is killed again and again: sealing, deleting, backing up.

Whenever the kill comes, the next start finds the old state or the new one, each whole, and every invariant holds. How
many kills found which state is returned: kills that all came too late would show nothing.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors import added, ids, keeping, kept, put, records
from kills import forked

from discreet.collector.backups import backup
from discreet.collector.invariants import check
from discreet.collector.sealing import seal_batch

_GROUPS, _IN_GROUP = 60, 400
_N, _LATER = _GROUPS * _IN_GROUP, 500
"""Reports of the epoch that is sealed, and of a later one."""

State = tuple[int, int, int]
"""Reports that wait, seals, and collections of a folder; a folder without data has none."""


def state(folder: Path) -> State:
    """Return the state of a folder as its files have it, once its next owner has done what was left half done."""
    if not (folder / "collector.db").exists():
        return 0, 0, 0
    with keeping(folder) as keeper:
        assert check(keeper) == []
        seals, collections = len(keeper.store.seals()), len(keeper.store.collections())
    # A sealing that was killed leaves files in the folder of its collection, which the next one removes.
    left = [path for path in folder.rglob(".*") if path.suffix != ".lock"]
    assert [path for path in left if path.parent.name not in {"v1", "_tallies", "_estimates"}] == []
    return len(kept(folder)), seals, collections


def _seal(folder: Path) -> None:
    with keeping(folder) as keeper:
        seal_batch(keeper, keeper.entry("habits"), (1,))


def _purge(folder: Path) -> None:
    with keeping(folder) as keeper:
        keeper.purge("habits")


def _back_up(folder: Path) -> None:
    with keeping(folder) as keeper:
        backup(keeper, folder.with_name("copy"))


@dataclass(frozen=True)
class Work:
    """A kind of work, on a folder with an epoch that waits, or with a sealed epoch and a later one.

    Attributes:
        do: the work; what it makes anew is a folder ``copy`` beside.
        is_sealed: whether the first epoch is sealed before.
        states: of the folder that is changed or made, before the work and after it.
    """

    do: Callable[[Path], None]
    is_sealed: bool
    states: tuple[State, State]

    def killed(self, folder: Path, kills: int) -> Counter[str]:
        """Kill the work so many times, each time on the same data; return how often which state was found."""
        kind, data, found, chance = folder / "kind", folder / "data", Counter[str](), random.Random(3)
        entry = added(kind)
        put(kind, entry, [(ids(_IN_GROUP), records(entry, _IN_GROUP, seed)) for seed in range(_GROUPS)])
        if self.is_sealed:
            _seal(kind)
            put(kind, entry, [(ids(_LATER), records(entry, _LATER))], 2)
        shutil.copytree(kind, data)
        changed = data if self.do in {_seal, _purge} else folder / "copy"
        seconds = 0.0
        for turn in range(kills + 1):
            shutil.rmtree(changed, ignore_errors=True)
            if changed == data:
                shutil.copytree(kind, data)
            began, process = time.monotonic(), _started(self.do, data)
            # The first one ends by itself, which shows how long the work takes.
            process.join(chance.uniform(0, seconds) if turn else None)
            process.kill()
            process.join()
            is_done = state(changed) == self.states[1]
            if not turn:
                assert is_done
                seconds = 1.1 * (time.monotonic() - began)
                continue
            if not is_done:
                # What the kill left is in nobody's way.
                assert state(changed) == self.states[0]
                self.do(data)
                assert state(changed) == self.states[1]
            found["done" if is_done else "not done"] += 1
            # A little earlier or later from now on: the machine may be busier than it was.
            seconds *= 0.85 if is_done else 1.1
        assert changed == data or state(data) == state(kind)
        return found


def _started(work: Callable[[Path], None], folder: Path) -> Any:
    """Return a process that is about to begin its work, however busy the machine is."""
    ours, theirs = forked().Pipe()
    process = forked().Process(target=_begun, args=(theirs, work, folder))
    process.start()
    assert ours.recv() == "begun"
    return process


def _begun(told: Any, work: Callable[[Path], None], folder: Path) -> None:
    told.send("begun")
    work(folder)


_WAITING, _SEALED, _NOTHING = (_N, 0, 1), (_LATER, 1, 1), (0, 0, 0)
WORK = {
    "sealing": Work(_seal, False, (_WAITING, (0, 1, 1))),
    "purging": Work(_purge, True, (_SEALED, _NOTHING)),
    "backup": Work(_back_up, True, (_NOTHING, _SEALED)),
}
"""What can be killed, by name."""
