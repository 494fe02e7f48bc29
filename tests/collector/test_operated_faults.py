"""Faults of operation, with real processes: a wrong clock, a full disk, two backups, kills within work."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from collectors import Client, added, current, filled, frame, ids, kept, put, records, stored, wait_until
from loads import collector_command, environment, free_port, process
from test_sealing import seal

from discreet.collector.storage.catalogue import Entry
from discreet.device import Device, Limits
from programs import program
from signed import PUBLIC

DAY = 86_400
_SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(which, now);
    FILE *file = which == CLOCK_REALTIME ? fopen(getenv("CLOCK_OFFSET"), "r") : NULL;
    if (file) { long offset = 0; if (fscanf(file, "%ld", &offset) == 1) now->tv_sec += offset; fclose(file); }
    return code;
}
"""


def verb(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "discreet", "collector", *words, "--data", str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_a_collector_whose_clock_is_behind_destroys_no_answer(tmp_path: Path) -> None:
    """It says so at `/health/ready`, the device's only answer waits, and is taken when the clock is right again."""
    (tmp_path / "shim.c").write_text(_SHIM)
    shim, offset, folder, port = tmp_path / "shim.so", tmp_path / "offset", tmp_path / "data", free_port()
    subprocess.run([program("cc"), "-shared", "-fPIC", "-o", shim, tmp_path / "shim.c", "-ldl"], check=True)
    entry = added(folder, collectors=(f"http://127.0.0.1:{port}",))
    with stored(folder) as store, store.transaction():
        store.see_clock(int(time.time()))
    offset.write_text(f"-{DAY}")
    given, ahead = {**environment(), "LD_PRELOAD": str(shim), "CLOCK_OFFSET": str(offset)}, 0.0
    with (
        process(collector_command(folder, port), port, env=given),
        Device(tmp_path / "device", [PUBLIC], Limits(2, 4, 8), clock=lambda: time.time() + ahead) as device,
    ):
        ready = Client(port).get("/health/ready")
        assert (ready.status, ready.json["clock"]) == (503, False)
        collection = device.accept(entry.row.envelope)
        device.agree(collection)
        device.answer(collection, "often")
        sent = device.send()
        assert (sent.sent, sent.dropped, sent.waiting) == (0, 0, 1)
        answer = Client(port).post(frame(entry))
        assert (answer.status, answer.json["error"], answer.headers["retry-after"]) == (503, "early", "60")
        offset.write_text("0")
        # The device waits a minute, or a little longer.
        ahead = 120.0
        assert device.send().sent == 1
    assert len(kept(folder)) == 1


@contextmanager
def disks(folder: Path, *sizes: str) -> Iterator[list[Path]]:
    """Mount small file systems, if this user may."""
    mounted: list[Path] = []
    try:
        for size in sizes:
            place = folder / f"disk{len(mounted)}"
            place.mkdir()
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
            if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
                pytest.skip("only root may mount a small disk")
            mounted.append(place)
        yield mounted
    finally:
        for place in mounted:
            subprocess.run(["umount", str(place)], check=False)


def full(port: int, entry: Entry) -> int:
    """Send until the disk is full; return how many reports were taken."""
    client, taken = Client(port), 0
    while (status := client.post(frame(entry, 4000, seed=taken % 7)).status) == 202:
        taken += 4000
    assert status == 503
    return taken


@pytest.mark.parametrize("is_served", [True, False])
def test_a_full_disk_can_be_emptied(tmp_path: Path, is_served: bool) -> None:
    """A token ends, an epoch is sealed, a collection is purged, beside the collector or without one."""
    with disks(tmp_path, "28m") as (disk,):
        entry, other, port = added(disk), added(disk, name="other"), free_port()
        assert verb(disk, "token", "add", "ana", "--role", "analyst").returncode == 0
        command = collector_command(disk, port)
        with (tmp_path / "log").open("w") as log, process(command, port, env=environment(), stderr=log):
            taken = full(port, entry)
            for _ in range(20):
                assert Client(port).post(frame(entry, 4000)).status == 503
            if is_served:
                _emptied(disk, taken)
                assert Client(port).post(frame(other, 4000)).status == 202
        if not is_served:
            _emptied(disk, taken)
        lines = [line for line in (tmp_path / "log").read_text().splitlines() if '"store_failed"' in line]
        assert len(lines) <= 3, lines


def _emptied(disk: Path, taken: int) -> None:
    # Nothing at all is left.
    with suppress(OSError), (disk / "rest").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    done = verb(disk, "token", "end", "ana")
    assert done.returncode == 0, done.stderr
    done = verb(disk, "seal", "habits", "--epoch", "1")
    assert (done.returncode, f"{taken:,} reports sealed" in done.stdout) == (0, True), done.stderr
    done = verb(disk, "purge", "habits", "--yes")
    assert done.returncode == 0, done.stderr
    assert not list((disk / "inbox").glob("1-*"))


def test_two_collectors_back_up_into_one_folder_and_nothing_is_missing(tmp_path: Path) -> None:
    """Roots of file systems may have one inode number: what another collector writes is not the rest of a kill."""
    with disks(tmp_path, "80m", "80m") as folders:
        for folder in folders:
            entry = added(folder)
            put(folder, entry, [(ids(60), records(entry, 60))])
            seal(folder, entry, 1)
            for number in range(1500):
                (folder / "sealed" / "habits" / f"file-{number:05}").write_bytes(b"x")
        assert len({folder.stat().st_ino for folder in folders}) == 1
        command = [sys.executable, "-m", "discreet", "collector", "backup"]
        targets = [tmp_path / "copies" / str(number) for number in range(2)]
        targets[0].parent.mkdir()
        running = [
            subprocess.Popen([*command, str(target), "--data", str(folder)])
            for target, folder in zip(targets, folders, strict=True)
        ]
        assert [one.wait(120) for one in running] == [0, 0]
        assert [sum(path.is_file() for path in target.rglob("*")) for target in targets] == [1508, 1508]
        assert not list(targets[0].parent.glob(".*"))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def test_nothing_comes_back_that_was_purged_while_a_killed_collector_sealed_it(tmp_path: Path) -> None:
    entry, port = added(tmp_path, epochs=current(start=int(time.time()) - 7200), late=0), free_port()
    filled(tmp_path, entry, 400_000, epoch=0)
    with process(collector_command(tmp_path, port), port, env=environment()) as running:
        workers: list[int] = []
        wait_until(lambda: workers.extend(children(running.pid)) or workers)
        running.kill()
        wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    assert not list((tmp_path / "sealed").rglob("*.parquet"))
    assert verb(tmp_path, "purge", "habits", "--yes").returncode == 0
    assert not (tmp_path / "sealed" / "habits").exists()
    assert not list((tmp_path / "inbox").iterdir())
