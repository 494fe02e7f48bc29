"""A collector that is killed again and again under load, and what is left of what it acknowledged."""

import asyncio
import hashlib
import multiprocessing
import random
import signal
import socket
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors import EPOCH, added, current, frame
from loads import Load, free_port


@dataclass(frozen=True)
class Left:
    """What is left after all kills.

    Attributes:
        kills: how often.
        acknowledged: different frames that were answered 202.
        lost: of these, how many are not there.
        twice: frames that are there more than once.
        integrity: what SQLite says of the file.
    """

    kills: int
    acknowledged: int
    answers: int
    lost: int
    twice: int
    integrity: str


def _serve(folder: str, port: int) -> None:
    from discreet.collector.serving import serve
    from discreet.collector.settings import Limits, Settings

    serve(Settings(data=folder, listen=f"127.0.0.1:{port}", limits=Limits(rate=0, burst=1), log="error"))


def _forked() -> Any:
    """Return a way to start processes that have imported everything already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["discreet.collector.serving", "discreet.collector.sealing", "collectors"])
    return context


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


async def _killed(folder: Path, kills: int, load: Load, port: int) -> None:
    context, chance = _forked(), random.Random(7)
    running = asyncio.create_task(load.run(10.0**9))
    try:
        for _ in range(kills):
            process = context.Process(target=_serve, args=(str(folder), port))
            process.start()
            while not _answers(port):
                assert process.is_alive(), "the collector did not start"
                await asyncio.sleep(0.01)
            await asyncio.sleep(chance.uniform(0.0, 0.35))
            process.kill()
            while process.is_alive():
                await asyncio.sleep(0.002)
            process.join()
            assert process.exitcode == -signal.SIGKILL
    finally:
        load.running = False
        running.cancel()


def killed(folder: Path, kills: int, *, clients: int = 32, again: float = 0.05) -> Left:
    """Kill a collector so many times while clients send, some frames again; then count."""
    entry = added(folder, epochs=current(seconds=100 * EPOCH, start=int(time.time()) - 100))
    port = free_port()
    templates = [frame(entry, n, epoch=0, seed=n) for n in (1, 1, 1, 7, 100)]
    load = Load(port, templates, clients=clients, again=again, keep=True)
    asyncio.run(_killed(folder, kills, load, port))
    sent = {hashlib.sha256(one).digest()[:16] for one in load.seen.acknowledged}
    connection = sqlite3.connect(folder / "collector.db")
    try:
        rows = connection.execute("SELECT digest, reports FROM inbox").fetchall()
        ((integrity,),) = connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()
    there = Counter(hashlib.sha256(reports).digest() for _, reports in rows)
    lost = len(sent - {digest for digest, _ in rows})
    twice = sum(count > 1 for count in there.values())
    return Left(kills, len(sent), load.seen.statuses.get(202, 0), lost, twice, integrity)
