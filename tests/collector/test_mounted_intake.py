"""The intake in a team's own service, and sealing of what the team keeps: the pages of the documents run."""

import asyncio
import base64
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from collectors import Client, Entry, added, frame, ids, put, records
from loads import free_port, process
from test_sealing import seal

from discreet.collector.intake import OpenCollection, intake
from discreet.collector.sealing import sealed_folder
from discreet.collector.storage.folder import DataFolder
from discreet.device import Device, Limits
from discreet.device.protocol.frames import MEDIA_TYPE
from postgres_server import PostgresServer, postgres_server
from running import refusal, told
from signed import PUBLIC, TRUST

PAGES = Path(__file__).parents[2] / "docs" / "howto"


def block(page: str) -> str:
    """Return the block of Python of a page."""
    (found,) = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    return found


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    """A collection, whose signed file and service lie in a folder."""
    made = added(tmp_path / "data", collectors=("http://127.0.0.1:8080",))
    (tmp_path / "habits.json").write_bytes(made.row.envelope)
    (tmp_path / "service.py").write_text(block("mount_intake.md"))
    return made


@contextmanager
def service(folder: Path, database: PostgresServer) -> Iterator[tuple[Client, Any]]:
    """Run the service of the page in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "error"]
    given = {**os.environ, "KEY": base64.b64encode(PUBLIC).decode(), "DATABASE": database.url}
    with process(command, port, env=given, cwd=folder) as running:
        yield Client(port), running


def kept(database: PostgresServer, entry: Entry, epoch: int = 1) -> list[tuple[bytes, bytes]]:
    """Return ids and records of a table."""
    with psycopg.connect(database.url) as connection:
        rows = connection.execute(f"SELECT id, record FROM reports_{entry.row.id.hex()[:16]}_{epoch}").fetchall()
    return [(bytes(id_), bytes(record)) for id_, record in rows]


def test_the_service_of_the_page_keeps_what_it_acknowledges_under_kills(
    tmp_path: Path, entry: Entry, database: PostgresServer
) -> None:
    acknowledged: dict[bytes, bytes] = {}
    for _ in range(3):
        with service(tmp_path, database) as (client, running):
            assert client.get("/").body == b"Our own service."
            assert client.get("/v1/collections/habits").body == entry.row.envelope
            for seed in range(10):
                sent = frame(entry, 20, seed=seed)
                if client.post(sent).status == 202:
                    acknowledged |= {sent[at : at + 16]: sent[at + 16 : at + 18] for at in range(44, len(sent), 18)}
            answers = [client.post(body).status for body in (sent, sent[:-1], frame(entry, 1, epoch=0))]
            running.kill()
        assert answers == [202, 400, 409]
    assert len(acknowledged) == 600
    assert acknowledged.items() <= dict(kept(database, entry)).items()
    with psycopg.connect(database.url) as connection:
        connection.execute("ANALYZE")
        assert connection.execute("SELECT count(*) FROM pg_stats WHERE tablename LIKE 'reports_%'").fetchone() == (0,)


def test_a_device_answers_a_service(tmp_path: Path, database: PostgresServer) -> None:
    (tmp_path / "service.py").write_text(block("mount_intake.md"))
    with pytest.MonkeyPatch.context() as patched:
        port = free_port()
        patched.setattr(f"{__name__}.free_port", lambda: port)
        made = added(tmp_path / "data", collectors=(f"http://127.0.0.1:{port}",))
        (tmp_path / "habits.json").write_bytes(made.row.envelope)
        with (
            service(tmp_path, database) as (client, _),
            Device(tmp_path / "device", [PUBLIC], Limits(2, 4, 8)) as device,
        ):
            collection = device.accept(client.get("/v1/collections/habits").body)
            device.agree(collection)
            device.answer(collection, "often")
            assert device.send().sent == 1
            (report,) = device.log()
    assert [record for _, record in kept(database, made)] == [report.record]


def test_what_a_team_keeps_is_sealed_as_the_collector_seals_it(tmp_path: Path, entry: Entry) -> None:
    """Folders of frames and of Parquet files, and Arrow from DuckDB as on the page: of each id the first report."""
    names, made = ids(70), records(entry, 70)
    parts = [(names, made), (names[:5], made[:5]), (names[5:6], made[6:7] if (made[6] != made[5]).any() else made[7:8])]
    put(tmp_path / "data", entry, parts)
    row = seal(tmp_path / "data", entry)
    assert row is not None
    assert (row.n, row.duplicates, row.conflicts) == (70, 5, 1)
    frames, tables = tmp_path / "frames", tmp_path / "reports"
    frames.mkdir()
    tables.mkdir()
    for number, (some, rows) in enumerate(parts):
        head = b"DSC1" + entry.row.id + (1).to_bytes(4, "little") + len(some).to_bytes(4, "little")
        body = b"".join(id_.tobytes() + record.tobytes() for id_, record in zip(some, rows, strict=True))
        (frames / f"frame-{number}.bin").write_bytes(head + body)
        columns = {
            "id": [one.tobytes() for one in some],
            "record": [one.tobytes() for one in rows],
            "more": [1] * len(some),
        }
        pq.write_table(pa.table({**columns, "more": [1] * len(some)}), tables / f"part-{number}.parquet")
    (wanted,) = sealed_folder(DataFolder(tmp_path / "data"), entry).glob("*.parquet")
    verb = ["collector", "seal", tmp_path / "habits.json", "--epoch", 1, "--trust", base64.b64encode(PUBLIC).decode()]
    for source in (frames, tables):
        output = tmp_path / f"{source.name}.parquet"
        facts = told(*verb, "--from", source, "-o", output)
        assert (
            (facts["n"], facts["duplicates"], facts["conflicts"])
            == (row.n, row.duplicates, row.conflicts)
            == (70, 5, 1)
        )
        assert output.read_bytes() == wanted.read_bytes()
    assert "exists" in refusal(*verb, "--from", tables, "-o", output)
    assert "seal.incomplete" in refusal(*verb, "--from", tables)
    script = block("seal_your_own.md").replace("epochs=[3]", "epochs=[1]")
    given = {**os.environ, "KEY": base64.b64encode(PUBLIC).decode()}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=given, capture_output=True, text=True, check=True
    )
    assert done.stdout == "70 reports, 5 duplicates\n"
    assert (tmp_path / "batch.parquet").read_bytes() == wanted.read_bytes()


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"id": [b"x" * 16] * 60}, "source.without-columns"),
        ({"id": [b"x" * 15] * 60, "record": [b"\1\0"] * 60}, "source.wrong-length"),
        ({"id": [b"x" * 16] * 60, "record": [b"\1\0"] * 60}, "reports.too-few"),
        ({"id": [bytes([n]) * 16 for n in range(60)], "record": [b"\2\3"] * 60}, "clear"),
    ],
)
def test_what_cannot_be_sealed_is_refused(tmp_path: Path, entry: Entry, columns: dict[str, Any], code: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    verb = ["collector", "seal", tmp_path / "habits.json", "--from", tmp_path / "r.parquet", "--epoch", 1]
    assert code in refusal(*verb, "-o", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_an_append_that_fails_is_answered_with_503_so_that_the_device_sends_again(entry: Entry) -> None:
    async def append(collection: bytes, epoch: int, rows: bytes) -> None:
        raise OSError(len(rows))

    answers: list[Any] = []
    body = frame(entry, 2)

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        answers.append(message)

    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", b"%d" % len(body))]
    scope = {"type": "http", "method": "POST", "path": "/team/v1/reports", "root_path": "/team", "headers": headers}
    app = intake([OpenCollection.of(entry.row.envelope, TRUST)], append)
    # A thread of its own: browser tests leave a loop that runs in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    assert answers[0]["status"] == 503
    assert (b"retry-after", b"10") in answers[0]["headers"]
