"""A collector that is killed again and again under load, and what is left of what it acknowledged."""

import asyncio
import multiprocessing
import os
import random
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors import EPOCH, added, current, frame, keeping, kept
from loads import Load, free_port, in_a_thread

from discreet.collector.sealing import seal_batch


@dataclass(frozen=True)
class Left:
    """What is left after all kills.

    Attributes:
        kills: how often.
        acknowledged: different frames that were answered 202.
        answers: 202, those to frames that were sent again among them.
        lost: ids of acknowledged reports that are not there.
        twice: reports that are sealed beyond one for each id that is there.
    """

    kills: int
    acknowledged: int
    answers: int
    lost: int
    twice: int


def _serve(folder: str, port: int) -> None:
    from discreet.collector.serving import bound, serve
    from discreet.collector.settings import ServiceLimits, Settings

    settings = Settings(data=folder, listen=f"127.0.0.1:{port}", limits=ServiceLimits(rate=0, burst=1), log="error")
    with bound(settings) as sockets:
        serve(settings, sockets)


def forked() -> Any:
    """Return a way to start processes that have imported everything already."""
    context = multiprocessing.get_context("forkserver")
    verbs = ["discreet.collector.verbs.collector", "discreet.collector.operations"]
    context.set_forkserver_preload(["discreet.collector.serving", "discreet.collector.sealing", "collectors", *verbs])
    return context


def run_verb(words: list[str], shown: Path, errors: Path, variables: dict[str, str]) -> None:
    """Run a verb as a process does that was started for it: what it prints goes to files, and its end is its code."""
    from discreet.cli import main

    os.environ.update(variables)
    for stream, path in ((1, shown), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    main(words, prog_name="discreet")


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


async def _killed(folder: Path, kills: int, load: Load, port: int, seconds: float) -> int:
    """Kill a collector so many times, but not after so many seconds, and return how often."""
    context, chance = forked(), random.Random(7)
    end, done = time.monotonic() + seconds, 0
    running = asyncio.create_task(load.run(10.0**9))
    try:
        while done < kills and time.monotonic() < end:
            process = context.Process(target=_serve, args=(str(folder), port))
            process.start()
            while not answers(port):
                assert process.is_alive(), "the collector did not start"
                await asyncio.sleep(0.01)
            while not load.seen.acknowledged:
                # However busy the machine is, there is something to be lost.
                await asyncio.sleep(0.01)
            await asyncio.sleep(chance.uniform(0.0, 0.35))
            process.kill()
            while process.is_alive():
                await asyncio.sleep(0.002)
            process.join()
            assert process.exitcode == -signal.SIGKILL
            done += 1
    finally:
        load.running = False
        running.cancel()
    return done


def killed(folder: Path, kills: int, *, clients: int = 32, again: float = 0.05, seconds: float = 1e9) -> Left:
    """Kill a collector so many times while clients send, some frames again; then count.

    Args:
        folder: of the collector.
        kills: how often.
        clients: connections at once.
        again: share of requests that send an acknowledged frame again.
        seconds: after which no more kills follow.
    """
    entry = added(folder, epochs=current(seconds=100 * EPOCH, start=int(time.time()) - 100), least=1)
    port = free_port()
    templates = [frame(entry, n, epoch=0, seed=n) for n in (1, 1, 1, 7, 100)]
    load = Load(port, templates, clients=clients, again=again, keep=True)
    done = in_a_thread(_killed(folder, kills, load, port, seconds))
    sent = {one[44 + at : 60 + at] for one in load.seen.acknowledged for at in range(0, len(one) - 44, 18)}
    there = {row[:16] for _, _, row in kept(folder)}
    with keeping(folder) as keeper:
        row = seal_batch(keeper, entry, (0,), "test")
    twice = 0 if row is None else row.n - len(there)
    return Left(done, len(load.seen.acknowledged), load.seen.statuses.get(202, 0), len(sent - there), twice)
