"""Work on a collector's data that is killed again and again: sealing, deleting, backing up.

Whenever the kill comes, the next start finds the old state or the new one, each whole, and every invariant holds. How
many kills found which state is returned: kills that all came too late would show nothing.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collectors import added, ids, keeping, kept, put, records
from kills import forked

from discreet.collector.keeper import Entry
from discreet.collector.operations import backup, check, restore
from discreet.collector.sealing import seal_batch
from discreet.collector.storage.inboxes import DataFolder

_GROUPS, _IN_GROUP = 60, 400
_N = _GROUPS * _IN_GROUP


class _Killer:
    """Kills of one piece of work, at times between its beginning and a little after its end."""

    def __init__(self, work: Callable[..., None], *given: Any, seconds: float = 0.0) -> None:
        self._work, self._given, self._seconds = work, given, seconds
        self._context, self._chance = forked(), random.Random(3)

    def _started(self) -> Any:
        """Return a process that is about to begin its work, however busy the machine is."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_begun, args=(theirs, self._work, *self._given))
        process.start()
        assert ours.recv() == "begun"
        return process

    def whole(self) -> None:
        """Let the work end; kills come within the time that it took."""
        process, began = self._started(), time.monotonic()
        process.join()
        assert process.exitcode == 0
        self._seconds = 1.1 * (time.monotonic() - began)

    def kill(self) -> None:
        """Kill the work at some time."""
        process = self._started()
        process.join(self._chance.uniform(0, self._seconds))
        process.kill()
        process.join()

    def learn(self, *, late: bool) -> None:
        """Kill a little earlier or later from now on: the machine may be busier than it was."""
        self._seconds *= 0.85 if late else 1.1


def _begun(told: Any, work: Callable[..., None], *given: Any) -> None:
    told.send("begun")
    work(*given)


def _filled(folder: Path, epoch: int = 1) -> Entry:
    """Return a collection whose inbox has some hundred kilobytes of reports."""
    entry = added(folder)
    put(folder, entry, [(ids(_IN_GROUP), records(entry, _IN_GROUP, seed)) for seed in range(_GROUPS)], epoch)
    return entry


def _holds(folder: Path) -> None:
    with keeping(folder) as keeper:
        assert check(keeper) == []
    # A sealing that was killed leaves files in the folder of its collection, which the next one removes.
    sealing = ("v1", "_tallies")
    assert [path for path in folder.rglob(".*") if path.suffix != ".lock" and path.parent.name not in sealing] == []


def _seal(folder: str) -> None:
    with keeping(Path(folder)) as keeper:
        seal_batch(keeper, keeper.entry("habits"), (1,), "test")


def killed_sealing(folder: Path, kills: int) -> Counter[str]:
    """Kill a sealing so many times, and begin with the same reports again where it came to its end."""
    data, kind, found = folder / "data", folder / "kind", Counter[str]()
    _filled(kind)
    killer = _begin(kind, data, _seal)
    for _ in range(kills):
        killer.kill()
        at_hand = len(kept(data))
        with keeping(data) as keeper:
            waiting, sealed = keeper.pending(), [row.n for row in keeper.store.seals()]
        # Either the reports or the seal, and either whole; what is sealed was unlinked by the start.
        assert (list(waiting.values()), sealed, at_hand in (0, _N)) in (([_N], [], True), ([], [_N], True))
        assert len(kept(data)) == (0 if sealed else _N)
        _holds(data)
        found[("unlinked" if not at_hand else "sealed") if sealed else "inbox"] += 1
        killer.learn(late=bool(sealed))
        _again(kind, data)
    killer.whole()
    _holds(data)
    assert [path for path in data.rglob(".*") if path.suffix != ".lock"] == []
    return found


def _begin(kind: Path, data: Path, work: Callable[..., None], *given: Any) -> _Killer:
    """Return the killer of work on a copy of a folder, which was done once, to learn how long it takes."""
    _again(kind, data)
    killer = _Killer(work, str(data), *given)
    killer.whole()
    _again(kind, data)
    return killer


def _again(kind: Path, data: Path) -> None:
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(kind, data)


def _purge(folder: str) -> None:
    with keeping(Path(folder)) as keeper:
        keeper.purge("habits", "test")


def killed_purging(folder: Path, kills: int) -> Counter[str]:
    """Kill a deletion so many times: all is there, or the next start deletes the rest."""
    data, kind, found = folder / "data", folder / "kind", Counter[str]()
    _filled(kind)
    _seal(str(kind))
    put(kind, _entry(kind), [(ids(500), records(_entry(kind), 500))], 2)
    killer = _begin(kind, data, _purge)
    for _ in range(kills):
        killer.kill()
        left = len(kept(data)), len(list(data.rglob("epoch-*")))
        with keeping(data) as keeper:
            gone = not keeper.store.collections()
        assert (len(kept(data)), len(list(data.rglob("epoch-*")))) == ((0, 0) if gone else (500, 2))
        assert gone or left == (500, 2)
        _holds(data)
        found[("gone" if left == (0, 0) else "begun") if gone else "there"] += 1
        killer.learn(late=gone)
        _again(kind, data)
    return found


def _entry(folder: Path) -> Entry:
    with keeping(folder) as keeper:
        return keeper.entry("habits")


def _back_up(folder: str, target: str) -> None:
    with keeping(Path(folder)) as keeper:
        backup(keeper, Path(target))


def killed_backing_up(folder: Path, kills: int) -> Counter[str]:
    """Kill a backup so many times."""
    source, target, found = folder / "data", folder / "copy", Counter[str]()
    entry = _filled(source)
    _seal(str(source))
    put(source, entry, [(ids(3000), records(entry, 3000))], 2)
    reports = kept(source)
    killer = _Killer(_back_up, str(source), str(target))
    killer.whole()
    for _ in range(kills):
        if target.exists():
            shutil.rmtree(target)
        killer.kill()
        if target.exists():
            assert kept(target) == reports
            _holds(target)
        found["a backup" if target.exists() else "none"] += 1
        killer.learn(late=target.exists())
        _holds(source)
    if target.exists():
        shutil.rmtree(target)
    killer.whole()
    assert sorted(path.name for path in folder.iterdir()) == ["copy", "data"]
    return found


def _restore(folder: str, source: str) -> None:
    assert restore(DataFolder(Path(source)), DataFolder(Path(folder))) == []


def killed_restoring(folder: Path, kills: int) -> Counter[str]:
    """Kill a restoring so many times: it is begun anew, or it is there."""
    source, copy, data, found = folder / "source", folder / "copy", folder / "data", Counter[str]()
    _filled(source)
    _back_up(str(source), str(copy))
    killer = _Killer(_restore, str(data), str(copy))
    killer.whole()
    for _ in range(kills):
        shutil.rmtree(data)
        killer.kill()
        whole = (data / "collector.db").exists()
        if whole:
            assert kept(data) == kept(source)
            _holds(data)
        else:
            # Whatever of it is there, it is in nobody's way.
            shutil.rmtree(data, ignore_errors=True)
            _restore(str(data), str(copy))
        found["restored" if whole else "none"] += 1
        killer.learn(late=whole)
    return found


WORK = {
    "sealing": killed_sealing,
    "purging": killed_purging,
    "backup": killed_backing_up,
    "restore": killed_restoring,
}
"""What can be killed, by name; each is called with a folder and the number of kills."""
