"""Faults of the machine and of who sends: kills, full and failing disks, slow and hostile clients; small numbers here.

The same code runs with large ones by `tools/measure_collector.py`.
"""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from collectors import added, frame, kept, serving, submission
from hostile import answers_of_requests, judged_by_reference, mutated
from killed_work import WORK
from loads import collector_command, environment, free_port, process

from discreet.collector.intake import check_frames
from discreet.collector.settings import ServiceLimits
from programs import program


@pytest.mark.parametrize("work", sorted(WORK))
def test_kills_of_work_leave_the_old_state_or_the_new(tmp_path: Path, work: str) -> None:
    assert WORK[work].killed(tmp_path, 3).total() == 3


def full_disk(folder: Path) -> bool:
    """Mount a small file system, if this user may."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    return shutil.which("mount") is not None and subprocess.run(mount, check=False).returncode == 0


def test_a_full_disk_is_answered_with_503_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if not full_disk(disk):
        pytest.skip("only root may mount a small disk")
    try:
        entry = added(disk)
        with serving(disk) as served:
            statuses = []
            sent: list[bytes] = []
            while 503 not in statuses and len(statuses) < 400:
                sent.append(frame(entry, 1000, seed=len(statuses) % 5))
                statuses.append(served.client.post(sent[-1]).status)
            assert set(statuses) == {202, 503}
            assert served.client.get("/health/ready").status == 503
            good = [one for one, status in zip(sent, statuses, strict=True) if status == 202]
            assert b"".join(row for _, _, row in kept(disk)) == b"".join(one[44:] for one in good)
            # There is room again: nothing is started anew.
            assert subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=False).returncode == 0
            assert served.client.post(sent[-1]).status == 202
            assert served.client.get("/health/ready").json["store"]
        assert b"".join(row for _, _, row in kept(disk)) == b"".join(one[44:] for one in [*good, sent[-1]])
    finally:
        subprocess.run(["umount", str(disk)], check=False)


_SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int failing(void) { const char *flag = getenv("FAILING_SYNC"); return flag && access(flag, F_OK) == 0; }
int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    if (failing()) { errno = EIO; return -1; }
    return real(fd);
}
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    if (failing()) { errno = EIO; return -1; }
    return real(fd);
}
"""


def test_a_disk_that_cannot_synchronize_is_answered_with_503(tmp_path: Path) -> None:
    from collectors import Client

    (tmp_path / "shim.c").write_text(_SHIM)
    shim, flag, folder = tmp_path / "shim.so", tmp_path / "failing", tmp_path / "data"
    subprocess.run([program("cc"), "-shared", "-fPIC", "-o", shim, tmp_path / "shim.c", "-ldl"], check=True)
    entry, port = added(folder), free_port()
    given = {**environment(), "LD_PRELOAD": str(shim), "FAILING_SYNC": str(flag)}
    acknowledged = []
    with process(collector_command(folder, port), port, env=given) as running:
        client = Client(port)
        for failing in (False, True, False, True, False):
            flag.touch() if failing else flag.unlink(missing_ok=True)
            for _ in range(3):
                sent = frame(entry, 5)
                status = client.post(sent).status
                assert status == (503 if failing else 202)
                acknowledged += [sent[44:]] if status == 202 else []
        assert client.get("/health/ready").status == 200
        running.kill()
    # What was not flushed may be there too: it was not acknowledged, and comes again.
    assert {row for one in acknowledged for row in _rows(one)} <= {row for _, _, row in kept(folder)}


def _rows(reports: bytes) -> list[bytes]:
    return [reports[at : at + 18] for at in range(0, len(reports), 18)]


def test_a_folder_that_cannot_be_written_to_is_said_to_be_so(tmp_path: Path) -> None:
    from discreet.collector.storage.store import FailedStoreError, Store

    added(tmp_path)
    with pytest.raises(FailedStoreError, match="could not be opened"):
        Store(tmp_path / "missing" / "collector.db")


@pytest.mark.parametrize("plan", ["rr", "unary-clear-bits", "subset", "hashing"])
def test_mutated_frames_are_judged_as_the_reference_judges_them(tmp_path: Path, plan: str) -> None:
    """In groups, as they come; the reference checks each report by itself."""
    entry, chance = added(tmp_path, plan), random.Random(5)
    frames = [mutated(frame(entry, chance.choice((1, 2, 5)), seed=place % 50), chance) for place in range(600)]
    submitted = [one for one in (submission(entry, data) for data in frames) if one is not None]
    outcomes = check_frames(entry, submitted)
    wanted = [judged_by_reference(entry, one.data) for one in submitted]
    assert [outcome is None for outcome in outcomes] == wanted
    assert 50 < sum(wanted) < len(wanted) - 50


def test_hostile_requests_get_an_answer_or_none_but_never_500(tmp_path: Path) -> None:
    entry = added(tmp_path)
    with serving(tmp_path, limits=ServiceLimits(rate=0, burst=1)) as served:
        counts = answers_of_requests(served.client.port, entry, 300, seed=3)
        assert not {status for status in counts if status >= 500 and status != 503}, counts
        assert counts[202] > 15
        assert counts[400] > 15
        assert served.client.post(frame(entry)).status == 202
        assert served.app.intake.writer.is_alive()
