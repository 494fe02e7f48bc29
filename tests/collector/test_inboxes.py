"""Files of reports that are not sealed: what is acknowledged stays, what is torn is cut, what is damaged is said."""

import errno
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from collectors import groups

from discreet.collector.storage import inboxes as module
from discreet.collector.storage.inboxes import Inboxes, packed, rows_of
from discreet.errors import DataError

WIDTH = 18
AT = (1, 0)


def opened(folder: Path) -> Inboxes:
    return Inboxes(folder / "inbox", {1: WIDTH, 2: 20})


def rows(n: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(n * WIDTH)


def written(folder: Path, sizes: Sequence[int] = (1, 5, 300, 2)) -> tuple[Path, list[bytes]]:
    inboxes, sent = opened(folder), [rows(n, seed) for seed, n in enumerate(sizes)]
    for one in sent:
        assert inboxes.append({AT: [one]}) == set()
    inboxes.close()
    return folder / "inbox" / "1-0.log", sent


def test_what_is_acknowledged_is_there_again(tmp_path: Path) -> None:
    path, sent = written(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert groups(path) == sent
    again = opened(tmp_path)
    assert again.waiting() == {AT: 308}
    (part,) = again.parts(AT)
    assert list(rows_of(part.path, part.end, WIDTH)) == sent
    assert (list(again.check()), again.flaws) == ([], [])


def test_several_epochs_are_written_side_by_side(tmp_path: Path) -> None:
    inboxes = opened(tmp_path)
    sent = {(key, epoch): [bytes(width) * 2, bytes(width)] for key, width in ((1, 18), (2, 20)) for epoch in range(30)}
    for _ in range(2):
        assert inboxes.append(sent) == set()
    assert inboxes.waiting() == dict.fromkeys(sent, 6)
    assert len(list((tmp_path / "inbox").iterdir())) == 60
    inboxes.remove((1, 7))
    assert (1, 7) not in inboxes.waiting()
    assert opened(tmp_path).waiting() == dict.fromkeys(sent.keys() - {(1, 7)}, 6)


def test_a_torn_last_record_is_cut_wherever_it_is_torn(tmp_path: Path) -> None:
    """At each byte of the last record: nothing before it is lost, nothing is invented, and writing goes on."""
    path, sent = written(tmp_path, (3, 40, 4))
    whole = path.read_bytes()
    start = len(whole) - len(packed(sent[-1]))
    for cut in range(start, len(whole)):
        for tail in (b"", bytes(7), bytes(5000)):
            path.write_bytes(whole[:cut] + tail)
            inboxes = opened(tmp_path)
            assert (inboxes.waiting(), inboxes.flaws) == ({AT: 43}, [])
            assert path.stat().st_size == start
            inboxes.close()
    assert opened(tmp_path).append({AT: [sent[0]]}) == set()
    assert groups(path) == [*sent[:-1], sent[0]]


def test_one_bent_bit_is_told_wherever_it_is(tmp_path: Path) -> None:
    """Behind a bent record others are good: no torn tail. The epoch goes on in a new file, and is not sealed."""
    path, sent = written(tmp_path, (3, 40, 4))
    whole, chance = path.read_bytes(), random.Random(2)
    last = len(whole) - len(packed(sent[-1]))
    for _ in range(120):
        bent = bytearray(whole)
        place = chance.randrange(last * 8)
        bent[place // 8] ^= 1 << place % 8
        path.write_bytes(bent)
        inboxes = opened(tmp_path)
        (flaw,) = inboxes.flaws
        assert flaw.startswith("inbox/1-0.log is damaged at byte ")
        assert path.read_bytes() == bent
        with pytest.raises(DataError, match="is damaged at byte"):
            list(rows_of(path, len(bent), WIDTH))
        assert list(inboxes.check()) == [flaw]
        assert inboxes.append({AT: [sent[0]]}) == set()
        second = path.with_name("1-0.2.log")
        assert groups(second) == [sent[0]]
        inboxes.close()
        assert len(opened(tmp_path).parts(AT)) == 2
        second.unlink()


def test_a_file_far_longer_than_a_record_behind_a_bad_one_is_damaged(tmp_path: Path, monkeypatch: Any) -> None:
    path, _ = written(tmp_path, (3,))
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    path.write_bytes(path.read_bytes() + bytes(1009))
    assert "damaged at byte 62" in opened(tmp_path).flaws[0]
    path.write_bytes(path.read_bytes()[:-1])
    assert opened(tmp_path).flaws == []


def test_a_full_disk_keeps_what_was_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a record is written, then nothing: it is cut, refused, and there is room again without a start."""
    inboxes, real = opened(tmp_path), os.pwrite
    assert inboxes.append({AT: [rows(2)]}) == set()
    calls: list[int] = []

    def full(place: int, data: bytes, at: int) -> int:
        calls.append(at)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(place, data[: len(data) // 2], at)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        assert inboxes.append({AT: [rows(100)], (2, 0): [bytes(20)]}) == {AT, (2, 0)}
    path = tmp_path / "inbox" / "1-0.log"
    assert groups(path) == [rows(2)]
    assert path.stat().st_size == len(packed(rows(2)))
    assert inboxes.append({AT: [rows(3, 1)]}) == set()
    assert groups(path) == [rows(2), rows(3, 1)]


def test_a_file_that_failed_to_flush_is_never_written_to_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inboxes = opened(tmp_path)
    assert inboxes.append({AT: [rows(2)]}) == set()

    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", failing)
        assert inboxes.append({AT: [rows(3, 1)]}) == {AT}
    first = tmp_path / "inbox" / "1-0.log"
    before = first.read_bytes()
    assert inboxes.append({AT: [rows(4, 2)]}) == set()
    assert first.read_bytes() == before
    assert groups(tmp_path / "inbox" / "1-0.2.log") == [rows(4, 2)]
    assert inboxes.waiting() == {AT: 6}
    assert list(inboxes.check()) == []


def test_a_file_that_somebody_deletes_or_cuts_under_the_collector_is_told(tmp_path: Path) -> None:
    """The next group goes into a new file; nobody takes the loss for nothing."""
    for harm in ("delete", "cut", "replace"):
        folder = tmp_path / harm
        folder.mkdir()
        inboxes = opened(folder)
        assert inboxes.append({AT: [rows(2)]}) == set()
        path = folder / "inbox" / "1-0.log"
        if harm == "delete":
            path.unlink()
        else:
            path.write_bytes(b"" if harm == "cut" else packed(rows(2, 9))[:-1] + b"x")
        (said,) = inboxes.check()
        assert "1-0.log" in said
        if harm != "replace":
            assert inboxes.append({AT: [rows(2)]}) == {AT}
            assert len(inboxes.flaws) == 1
            assert inboxes.append({AT: [rows(2)]}) == set()
            assert groups(folder / "inbox" / "1-0.2.log") == [rows(2)]


def test_strange_files_are_named_and_left_alone(tmp_path: Path) -> None:
    inboxes = opened(tmp_path)
    inboxes.append({AT: [rows(2)]})
    for name in ("9-0.log", "notes.txt", ".1-0.part"):
        (tmp_path / "inbox" / name).write_bytes(packed(rows(1)))
    again = opened(tmp_path)
    assert sorted(again.strangers) == ["9-0.log", "notes.txt"]
    assert len(list(again.check())) == 2
    again.forget_strangers(frozenset({9}))
    assert sorted(path.name for path in (tmp_path / "inbox").iterdir()) == ["1-0.log", "notes.txt"]
