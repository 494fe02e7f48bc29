"""Measures a collector on this machine: throughput beside a bare application, kills, memory, sealing, slow clients.

    python tools/measure_collector.py throughput [--seconds 5] [--rounds 5] [--clients 32]
    python tools/measure_collector.py kills [--kills 1000]
    python tools/measure_collector.py sealing [--reports 10000000]
    python tools/measure_collector.py slow [--sockets 1000]
    python tools/measure_collector.py hostile [--requests 10000000]

Everything happens on loopback and in temporary folders, and ends by itself.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "collector")]

import collectors  # noqa: E402
import loads  # noqa: E402


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
                loads.process(loads.bare_command(other), other) as theirs,
            ):
                for _ in range(options.rounds):
                    spent = [loads.cpu_seconds(one.pid) for one in (theirs, ours)]
                    bare, bare_tail = loads.rate(other, sent, options.seconds, options.clients)
                    found, tail = loads.rate(port, sent, options.seconds, options.clients)
                    used = [
                        loads.cpu_seconds(one.pid) - before for one, before in zip((theirs, ours), spent, strict=True)
                    ]
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


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["throughput"])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--folder", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _parsed()
    globals()[chosen.what](chosen)
