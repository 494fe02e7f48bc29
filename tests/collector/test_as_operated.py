"""A collector as it is operated: processes beside each other, counted by a reader that shares no code with them."""

import os
import sqlite3
import struct
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from collectors import Client, added, current
from independent_count import Reports, asked, found_in, kept, rows_in_log
from loads import collector_command, environment, free_port, process
from operated import PLAN, STAGGERED, VERBS, Left, Operated


def verb(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "discreet", "collector", *words, "--data", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("words", [("token", "add", "x", "--role", "analyst"), ("status",)], ids=lambda words: words[0])
def test_a_verb_beside_the_server_takes_no_report_away(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The server opens its files, another process opens and closes them, reports come, and the server is killed."""
    entry, port, taken = added(tmp_path, PLAN, epochs=current()), free_port(), Reports()
    with process(collector_command(tmp_path, port), port, env=environment()) as running:
        client = Client(port)
        verb(tmp_path, *words)
        for _ in range(200):
            row = new_row()
            assert client.post(b"DSC1" + entry.row.id + struct.pack("<II", 1, 1) + row).status == 202
            taken.add((entry.row.name, 1), row)
        running.kill()
        running.wait()
    records = set(taken.of[entry.row.name, 1].values())
    found = kept(tmp_path).get((entry.row.name, 1, 1), {})
    assert (len(records), len(records - found.keys())) == (200, 0)
    assert set(found.values()) == {1}


def test_verbs_and_kills_in_turn_lose_nothing_and_leave_no_id(tmp_path: Path) -> None:
    operated = Operated(tmp_path, clients=2)
    operated.operate(VERBS, kills=3, rounds=1)
    operated.seal_and_search()
    left = operated.left
    assert left.holds, left
    assert {name for name in VERBS if left.verbs[name] < 1} == set(), left.verbs
    assert left.kills > 3
    assert min(left.acknowledged, left.sealed) > 200
    assert left.alone >= 1


def test_what_verbs_wrote_outlives_another_program_of_sqlite_and_a_kill(tmp_path: Path) -> None:
    """Whoever closes a database as the last one deletes its log: the server must be known to have it open."""
    operated = Operated(tmp_path)
    with operated.served():
        for verb in ("token add", "add", "token add"):
            operated.look_in()
            operated.run(verb)
        operated.look_in()
        operated.kill()
    left = operated.left
    assert (left.failed, left.verbs["token add"], left.verbs["add"]) == (Counter(), 2, 1)
    assert len(asked(operated.data, "SELECT * FROM tokens")) == 2
    assert len(asked(operated.data, "SELECT * FROM collections")) == STAGGERED + 1


# The check of the check


def test_logs_are_read_up_to_what_is_torn(tmp_path: Path) -> None:
    rows = [new_row() for _ in range(5)]
    groups = [rows[0] + rows[1], rows[2], rows[3] + rows[4]]
    log = b"".join(group_of(group) for group in groups)
    assert rows_in_log(log) == b"".join(rows)
    assert rows_in_log(b"") == b""
    for cut in range(1, len(group_of(groups[-1]))):
        assert rows_in_log(log[:-cut]) == b"".join(rows[:3])
    bent = bytearray(log)
    bent[len(group_of(groups[0])) + 10] ^= 1
    assert rows_in_log(bytes(bent)) == b"".join(rows[:2])


def test_lost_doubled_and_invented_reports_are_counted(tmp_path: Path) -> None:
    """Over a folder made by hand: an epoch sealed, with a log that a kill left, and one open in two parts."""
    lost, twice, invented, *good = (new_row() for _ in range(9))
    (tmp_path / "inbox").mkdir()
    (tmp_path / "sealed" / "a").mkdir(parents=True)
    bits = pa.array([row[17:] for row in (good[0], twice, twice, invented)], pa.binary(16))
    pq.write_table(pa.table({"bits": bits}), tmp_path / "sealed" / "a" / "0.parquet")
    for name, rows in {"1-0": [good[0]], "1-1": [good[1], good[2]], "1-1.2": [good[2], good[3]]}.items():
        (tmp_path / "inbox" / f"{name}.log").write_bytes(group_of(b"".join(rows)))
    with closing(sqlite3.connect(tmp_path / "collector.db")) as made:
        made.executescript("CREATE TABLE collections (key, name); CREATE TABLE seals (collection, epoch, last, file)")
        made.execute("INSERT INTO collections VALUES (1, 'a')")
        made.execute("INSERT INTO seals VALUES (1, 0, 0, 'a/0.parquet')")
        made.commit()
    taken, sent, left = Reports(), Reports(), Left()
    for epoch, rows in enumerate(([good[0], twice], [good[1], good[2], good[3], lost])):
        taken.add(("a", epoch), b"".join(rows))
        sent.add(("a", epoch), b"".join(rows))
    left.count(tmp_path, {at: set(rows.values()) for at, rows in taken.of.items()}, sent)
    assert (left.lost, left.twice, left.invented, left.holds) == (1, 1, 1, False)
    assert found_in(tmp_path, [lost, good[3]]) == {"inbox/1-1.2.log": 1}


def new_row() -> bytes:
    return os.urandom(16) + b"\1" + os.urandom(16)


def group_of(rows: bytes) -> bytes:
    length = struct.pack("<I", len(rows))
    return length + struct.pack("<I", zlib.crc32(length + rows)) + rows


def test_pieces_are_found_at_every_place_of_every_file(tmp_path: Path) -> None:
    pieces = [os.urandom(16) for _ in range(20)]
    (tmp_path / "sub").mkdir()
    for offset in range(8):
        (tmp_path / "sub" / f".hidden{offset}").write_bytes(bytes(offset) + b"".join(pieces[:3]) + b"x")
    (tmp_path / "clean").write_bytes(os.urandom(5000))
    (tmp_path / "short").write_bytes(b"abc")
    assert found_in(tmp_path, pieces) == {f"sub/.hidden{offset}": 3 for offset in range(8)}
