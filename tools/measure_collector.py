"""Measures a collector on this machine: throughput beside a bare application, kills, memory, sealing.

    python tools/measure_collector.py throughput [--seconds 5] [--rounds 5] [--clients 32]
    python tools/measure_collector.py kills [--kills 1000] [--work verbs | service | sealing | purging | backup]
    python tools/measure_collector.py sealing [--reports 10000000]
    python tools/measure_collector.py hostile [--frames 10000000] [--requests 100000]
    python tools/measure_collector.py soak [--seconds 600] [--clients 32] [--load 0.5]

Everything happens on loopback and in temporary folders, and ends by itself.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "collector")]

import collectors  # noqa: E402
import loads  # noqa: E402
from collector_load import Templates, answered, bare_command, cpu_seconds, in_a_thread, rate, rss_bytes  # noqa: E402

# Bytes of a report of the plan rr: its id and its record.
_ROW = 18


def throughput(options: argparse.Namespace) -> None:
    """Print requests a second of the collector and of a bare application, in turns."""
    plan = {"epsilon": 1.0, "domain": {"range": [0, 1000], "sensitive": list(range(100))}, "mechanism": {"name": "rr"}}
    for n in (1, 100, 1000):
        shares, rates, tails, costs = [], [], [], []
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            entry = collectors.added(folder, plan)
            sent = [collectors.frame(entry, n, seed=seed) for seed in range(20)]
            port, other = loads.free_port(), loads.free_port()
            with (
                loads.process(loads.collector_command(folder, port), port, env=loads.environment()) as ours,
                loads.process(bare_command(other), other) as theirs,
            ):
                for _ in range(options.rounds):
                    spent = [cpu_seconds(one.pid) for one in (theirs, ours)]
                    bare, bare_tail = rate(other, sent, options.seconds, options.clients)
                    found, tail = rate(port, sent, options.seconds, options.clients)
                    used = [cpu_seconds(one.pid) - before for one, before in zip((theirs, ours), spent, strict=True)]
                    costs.append((used[0] / bare) / (used[1] / found))
                    shares.append(found / bare)
                    rates.append(found)
                    tails.append(tail / bare_tail)
        print(
            f"n = {n}: {statistics.median(shares):.2f} of a bare application "
            f"({', '.join(f'{share:.2f}' for share in shares)}); {statistics.median(rates):,.0f} requests/s, "
            f"{statistics.median(rates) * n:,.0f} reports/s; p99 {statistics.median(tails):.1f} times; "
            f"by the server's processor time per request {statistics.median(costs):.2f}",
            flush=True,
        )


def kills(options: argparse.Namespace) -> None:
    """Print what is left after kills of a collector with verbs beside it, or of one kind of work."""
    if options.work in {"verbs", "service"}:
        globals()[options.work](options)
        return
    from killed_work import WORK

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        print(f"{options.kills} kills, every one held: {dict(WORK[options.work].killed(Path(name), options.kills))}")


def service(options: argparse.Namespace) -> None:
    """Print what a team's service with PostgreSQL keeps, which is killed again and again while clients send."""
    import test_mounted_intake as mounted

    from postgres_server import postgres_server

    chance, acknowledged, done, end = random.Random(1), dict[bytes, bytes](), 0, time.monotonic() + options.most_seconds
    with tempfile.TemporaryDirectory(dir=options.folder) as name, postgres_server() as database:
        folder = Path(name)
        entry = collectors.added(folder / "data", collectors=("http://127.0.0.1:8080",))
        (folder / "habits.json").write_bytes(entry.row.envelope)
        (folder / "service.py").write_text(mounted.block("mount_intake.md"))
        sent = [collectors.frame(entry, 20, seed=seed) for seed in range(20)]
        while done < options.kills and time.monotonic() < end:
            with mounted.service(folder, database) as (client, running):
                taken = in_a_thread(Acknowledged(client.port, sent, running, chance.uniform(0.02, 0.5)).taken())
            acknowledged |= taken
            done += 1
        kept = mounted.kept(database, entry)
    lost = len(acknowledged.items() - set(kept))
    print(f"{done} kills: {len(acknowledged):,} reports acknowledged, {lost} of them lost; {len(kept):,} rows")
    sys.exit(lost > 0)


class Acknowledged(Templates):
    """Clients of a service that is killed; reports of frames that were answered 202, by id.

    Args:
        port: of the service.
        frames: templates of 20 reports.
        running: the process of the service.
        seconds: after which it is killed.
    """

    def __init__(self, port: int, frames: list[bytes], running: "subprocess.Popen[bytes]", seconds: float) -> None:
        super().__init__(port, frames, clients=4, pause=0.0)
        self._running, self._seconds, self._taken = running, seconds, dict[bytes, bytes]()

    def next(self) -> bytes:
        """Return a frame whose reports all have new ids."""
        frame = bytearray(self._random.choice(self._frames))
        for start in range(44, len(frame), _ROW):
            frame[start : start + 16] = os.urandom(16)
        return bytes(frame)

    def answered(self, client: loads.Client, status: int, seconds: float) -> None:
        """Note the reports of a frame that was acknowledged."""
        del seconds
        if status == 202:
            rows = [client.sent[start : start + _ROW] for start in range(44, len(client.sent), _ROW)]
            self._taken |= {row[:16]: row[16:] for row in rows}
        client.sent = b""

    async def taken(self) -> dict[bytes, bytes]:
        """Send until the service is killed, and return the reports that it acknowledged."""
        sending = asyncio.create_task(self.until_ended())
        await asyncio.sleep(self._seconds)
        self._running.kill()
        self.running = False
        await sending
        return self._taken


def verbs(options: argparse.Namespace) -> None:
    """Print what is left after kills of a collector beside which every verb is run, over many epochs."""
    from operated import VERBS, Operated

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        # What one client sends, the count afterwards reads in about the time that the kills took.
        operated = Operated(Path(name), clients=1)
        operated.operate(VERBS, kills=options.kills, rounds=1, seconds=options.most_seconds)
        operated.seal_and_search()
        print(operated.left)
        sys.exit(not operated.left.holds)


def sealing(options: argparse.Namespace) -> None:
    """Print seconds and memory of sealing single reports; and the memory of a collector that has them in its inbox."""
    plan = {"epsilon": 1.0, "domain": {"range": [0, 1000], "sensitive": list(range(100))}, "mechanism": {"name": "rr"}}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        entry = collectors.added(folder, plan)
        collectors.filled(folder, entry, options.reports)
        port = loads.free_port()
        with loads.process(
            loads.collector_command(folder, port), port, env=loads.environment(sealing="manual")
        ) as ours:
            rate(port, [collectors.frame(entry)], 3.0, options.clients)
            print(f"{rss_bytes(ours.pid, 'VmHWM') / 1e6:,.0f} MB with {options.reports:,} reports in the inbox")
        command = [sys.executable, "-c", _SEAL, name]
        said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        print(
            f"sealed {said['n']:,} in {said['wall']:.1f} s ({said['cpu']:.1f} s of the processor), {said['mb']:,.0f} MB"
        )


_SEAL = """
import json, sys, time
from pathlib import Path
from discreet.collector.control import ask
from discreet.collector.storage.folder import DataFolder
wall, cpu = time.perf_counter(), time.process_time()
((found,),) = [ask(DataFolder(Path(sys.argv[1])), "seal", name="habits", epochs=[1], version=None)["sealed"]]
most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
found |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "mb": int(most.split()[1]) / 1000}
print(json.dumps(found))
"""


def hostile(options: argparse.Namespace) -> None:
    """Print what the collector and the reference say of mutated frames, and the statuses of hostile requests."""
    from hostile import answers_of_requests, judged_by_reference, mutated

    from discreet.collector.intake import check_frames
    from discreet.collector.settings import ServiceLimits

    chance, done, good, different = random.Random(1), 0, 0, 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        entry = collectors.added(folder, "unary-clear-bits")
        end = time.monotonic() + options.most_seconds
        templates = [collectors.frame(entry, n, seed=n) for n in (1, 1, 2, 5)]
        while done < options.frames and time.monotonic() < end:
            frames = [mutated(chance.choice(templates), chance) for _ in range(400)]
            submitted = [one for one in (collectors.submission(entry, data) for data in frames) if one is not None]
            wanted = [judged_by_reference(entry, one.data) for one in submitted]
            different += sum((a is None) != b for a, b in zip(check_frames(entry, submitted), wanted, strict=True))
            done, good = done + len(submitted), good + sum(wanted)
        print(f"{done:,} frames, {good:,} of them good: {different} judged otherwise than by the reference")
        with collectors.serving(folder, limits=ServiceLimits(rate=0, burst=1)) as served:
            each, before = options.requests // options.clients, rss_bytes(os.getpid())
            with ThreadPoolExecutor(options.clients) as pool:
                counts = pool.map(
                    lambda seed: answers_of_requests(served.client.port, entry, each, seed=seed), range(options.clients)
                )
                print(dict(sum(counts, start=Counter())))
            print(f"{before / 1e6:.1f} MB before, {rss_bytes(os.getpid()) / 1e6:.1f} MB after, clients among them")


def soak(options: argparse.Namespace) -> None:
    """Print the memory of a collector under steady load, ten times from beginning to end, and what is there then."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder, clients = Path(name), options.clients
        # The epoch that runs must not end meanwhile.
        entry = collectors.added(folder, epochs=collectors.current(seconds=4 * collectors.EPOCH))
        port, sent = loads.free_port(), [collectors.frame(entry, epoch=0, seed=seed) for seed in range(9)]
        with loads.process(loads.collector_command(folder, port), port, env=loads.environment()) as ours:
            acknowledged, took, _ = answered(port, sent, 10, clients)
            most, part = acknowledged / took, options.seconds / 10
            print(
                f"{most:,.0f} requests/s as fast as it goes, {rss_bytes(ours.pid) / 1e6:.1f} MB",
                flush=True,
            )
            # As long as there are more clients than answers take, each sends once in a pause.
            pause = 0.0 if options.load >= 1 else clients / (most * options.load) - clients / most
            for turn in range(10):
                count, took, tail = answered(port, sent, part, clients, pause=pause, tail=0.95)
                acknowledged += count
                facts = f"{rss_bytes(ours.pid) / 1e6:.1f} MB, {count / took:,.0f} requests/s"
                print(f"{(turn + 1) * part:.0f} s: {facts}, p95 {1000 * tail:.1f} ms", flush=True)
        with collectors.keeping(folder) as keeper:
            there = sum(keeper.waiting(entry).values())
        print(f"{acknowledged:,} reports acknowledged, {there:,} there; every answer was 202")


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["throughput", "kills", "sealing", "hostile", "soak"])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--load", type=float, default=0.5, help="for soak: share of what it takes as fast as it goes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--work", choices=["verbs", "service", "sealing", "purging", "backup"], default="verbs")
    parser.add_argument("--reports", type=int, default=10_000_000)
    parser.add_argument("--frames", type=int, default=10_000_000)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--most-seconds", type=float, default=1e9, help="for kills and frames")
    parser.add_argument("--folder", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _parsed()
    globals()[chosen.what](chosen)
