"""The maker of this folder: files as version 1 wrote them, by its verbs, its HTTP interface and its two devices.

Run once, at commit 391206ddc5c8, and kept: later versions must read these files, so nothing here is made anew. Whoever
needs to know how they came about reads on; run elsewhere, it writes files of the version that is installed.

    python tests/data/version1/make.py NEW-FOLDER
"""

import http.client
import json
import random
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "collector")]

from loads import environment, free_port, wait_for  # noqa: E402

from discreet.collector.documents.signing import withdraw  # noqa: E402
from discreet.device import Device, Limits  # noqa: E402
from discreet.device.protocol.collection import Epochs  # noqa: E402
from discreet.device.protocol.envelope import public_key  # noqa: E402
from discreet.device.sending import Answer  # noqa: E402
from signed import EPOCH, PLAIN, PUBLIC, START, TRUST, envelope, key  # noqa: E402
from version1_files import facts_of  # noqa: E402

N = 60
HABITS = {"labels": ["never", "rarely", "often", "daily"], "sensitive": ["often", "daily"]}
SENSITIVE = {"range": [0, 40]}
PLANS: dict[str, dict[str, Any]] = {
    "rr.toml": {"domain": HABITS, "mechanism": {"name": "rr"}},
    "unary.json": {"domain": HABITS, "mechanism": {"name": "unary"}},
    "unary-clear-bits.toml": {"domain": HABITS, "mechanism": {"name": "unary", "clear_bits": True}},
    "subset.toml": {"domain": SENSITIVE, "mechanism": {"name": "subset", "k": 7}},
    "hashing.json": {"domain": SENSITIVE, "mechanism": {"name": "hashing"}},
    "hashing-pool.toml": {"domain": SENSITIVE, "mechanism": {"name": "hashing-pool", "functions": 8}},
    "hadamard.toml": {"domain": SENSITIVE, "mechanism": {"name": "hadamard"}},
    "paley.json": {"domain": SENSITIVE, "mechanism": {"name": "paley"}},
    "design.toml": {"domain": SENSITIVE, "mechanism": {"name": "design"}},
    "personal.json": {"domain": HABITS, "mechanism": {"name": "unary"}, "tags": ["home", "workplace"]},
}
ALWAYS = 10**10
"""Seconds after an epoch in which its reports are taken: its reports are open for as long as these files are kept."""
CELLS = {"epsilon": 1.0, "domain": {"range": [0, 128]}, "mechanism": {"name": "unary"}}


def discreet(*words: Any) -> str:
    """Run a verb; return what it prints."""
    command = [sys.executable, "-m", "discreet", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make_tables(to: Path) -> None:
    """Write plans, reports in every format, tallies, estimates, sealed files and a folder with its manifest."""
    import discreet as dc

    for name in ("plans", "reports", "tallies", "estimates", "sealed", "folder"):
        (to / name).mkdir(parents=True)
    for name, said in PLANS.items():
        written = to / "plans" / f"written-{Path(name).stem}.json"
        written.write_text(json.dumps({"epsilon": 1.0, "title": f"Version 1: {name}", **said}))
        dc.Plan.load(written).save(to / "plans" / name)
        written.unlink()
        values, plan = to / "values.csv", to / "plans" / name
        labels = said["domain"].get("labels") or list(range(*said["domain"]["range"]))
        lines = [
            f"{place},{labels[place * place % len(labels)]},{'ab'[place % 2]},{1 + place % 3}" for place in range(N)
        ]
        values.write_text("person,value,region,w\n" + "\n".join(lines) + "\n")
        more = ["--column", "value", "--seed", 7]
        if "tags" in said:
            secrets = to / "secrets.csv"
            secrets.write_text("person,value,tag\n" + "".join(f"{place},never,home\n" for place in range(0, N, 5)))
            more += ["--user", "person", "--tags", secrets]
        stem = Path(name).stem
        formats = (
            ["parquet", "arrow", "feather", "ipc", "jsonl", "jsonl.gz"] if stem in {"rr", "unary"} else ["parquet"]
        )
        for ending in formats:
            discreet("obfuscate", plan, values, *more, "-o", to / "reports" / f"{stem}.{ending}")
        if stem == "rr":
            for place, ending in enumerate(("parquet", "jsonl")):
                drawn = to / "folder" / f"real-{place}.{ending}"
                discreet("obfuscate", plan, values, "--column", "value", "-o", drawn)
            grouped = ["--keep", "region", "--keep", "w", "-o", to / "reports" / "grouped.parquet"]
            discreet("obfuscate", plan, values, *more, *grouped)
        report, tally = to / "reports" / f"{stem}.parquet", to / "tallies" / f"{stem}.tally.parquet"
        discreet("estimate", plan, report, "--tally", tally)
        if stem in {"rr", "unary", "personal"}:
            discreet("estimate", plan, report, "-o", to / "estimates" / f"{stem}.json")
        if stem in {"rr", "unary", "subset", "personal", "hashing-pool"}:
            discreet("seal", plan, report, "-o", to / "sealed" / f"{stem}.parquet")
    values.unlink()
    secrets.unlink()
    plan, report = to / "plans" / "rr.toml", to / "reports" / "rr.parquet"
    for ending in ("csv", "parquet", "arrow"):
        discreet("estimate", plan, report, "-o", to / "estimates" / f"rr.{ending}")
    discreet("estimate", plan, report, "--method", "mle", "-o", to / "estimates" / "rr-mle.json")
    discreet("estimate", plan, report, "--tally", to / "tallies" / "rr.tally.arrow")
    for place, ending in enumerate(("json", "csv", "parquet")):
        columns = [["--by", "region"], ["--weights", "w"], ["--by", "region", "--weights", "w"]][place]
        grouped = to / "reports" / "grouped.parquet"
        discreet("estimate", plan, grouped, *columns, "-o", to / "estimates" / f"grouped-{place}.{ending}")
    discreet("manifest", to / "folder")
    unstamped(to / "reports")


def unstamped(folder: Path) -> None:
    """Write reports as other tools leave them: without a stamp, and with a column of the plan."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "rr.parquet")
    said = json.loads(table.schema.metadata[b"discreet"])
    bare = table.replace_schema_metadata(None)
    pq.write_table(bare, folder / "rr-unstamped.parquet")
    wide = bare.append_column("plan", pa.array([said["plan"]] * len(bare)))
    pq.write_table(wide.append_column("simulated", pa.array([True] * len(bare))), folder / "rr-marked.parquet")


class Sender:
    """A client that sends frames to a collector, and keeps what it sent."""

    def __init__(self, port: int, seed: int) -> None:
        self._port, self._random = port, random.Random(seed)
        self.ids: dict[str, list[str]] = {}

    def post(self, frame: bytes) -> int:
        """Send a frame; return the status."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request("POST", "/v1/reports", frame, {"Content-Type": "application/vnd.discreet.reports"})
        status = connection.getresponse().status
        connection.close()
        return status

    def record(self, *, rr: bool) -> bytes:
        """Return a record that a device can send."""
        if rr:
            return self._random.choice([b"\1\0", b"\1\1", b"\2\0", b"\2\1"])
        return b"\1" + self._random.randbytes(16)

    def send(self, collection: bytes, epoch: int, rows: list[bytes]) -> bytes:
        """Send rows in a frame, which must be taken; return the frame."""
        frame = b"DSC1" + collection + struct.pack("<II", epoch, len(rows)) + b"".join(rows)
        assert self.post(frame) == 202
        self.ids.setdefault(f"{collection.hex()[:8]}/{epoch}", []).extend(row[:8].hex() for row in rows)
        return frame

    def fill(self, collection: bytes, epoch: int, *, rr: bool, sizes: tuple[int, ...]) -> None:
        """Send frames of these sizes; then a frame again, a report again in another frame, and one under its id."""
        rows: list[bytes] = []
        for size in sizes:
            fresh = [self._random.randbytes(16) + self.record(rr=rr) for _ in range(size)]
            frame = self.send(collection, epoch, fresh)
            rows += fresh
        assert self.post(frame) == 202
        other = next(record for record in iter(lambda: self.record(rr=rr), b"") if record != rows[0][16:])
        self.send(collection, epoch, [rows[1], self._random.randbytes(16) + self.record(rr=rr)])
        self.send(collection, epoch, [rows[0][:16] + other])
        self.send(collection, epoch, [rows[0][:16] + other])


def running(folder: Path) -> tuple["subprocess.Popen[bytes]", int]:
    """Start a collector that seals nothing by itself."""
    port = free_port()
    command = [sys.executable, "-m", "discreet", "serve", "--data", str(folder), "--listen", f"127.0.0.1:{port}"]
    started = subprocess.Popen(
        command, env=environment(sealing="manual"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(port, started)
    return started, port


def make_collector(to: Path) -> dict[str, list[str]]:
    """Write a collector's folder as a kill leaves it: epochs sealed, closed and open, some reports in the log alone.

    Returns:
        halves of the ids of what was sent, by the beginning of the collection's id and the epoch.
    """
    from discreet.cli.options import spelled_key

    folder, signed = to / "collector", to / "signed.json"
    common = {"epochs": Epochs(1_700_000_000, 60, 24), "late": ALWAYS, "retention": 10**6, "least": 5}
    entries = []
    for name, plan in (("habits", PLAIN), ("cells", CELLS)):
        signed.write_bytes(envelope(plan, name=name, **common))
        said = discreet(*("collector", "add", signed, "--trust", spelled_key(PUBLIC), "--data", folder, "--json"))
        entries.append(bytes.fromhex(json.loads(said)["id"]))
    signed.unlink()
    habits, cells = entries
    server, port = running(folder)
    sender = Sender(port, 27)
    for epoch, sizes in enumerate(((1, 1, 1, 7, 20, 60, 60, 60, 60, 60), (5, 1, 1), (1, 2, 3))):
        sender.fill(habits, epoch, rr=True, sizes=sizes)
    for epoch, sizes in enumerate(((1, 9, 12), (1, 1, 5))):
        sender.fill(cells, epoch, rr=False, sizes=sizes)
    assert sender.post(b"DSC1" + bytes(32) + struct.pack("<II", 0, 1) + bytes(18)) == 404
    assert sender.post(b"DSC1" + habits + struct.pack("<II", 0, 1) + bytes(16) + b"\1\7") == 422
    assert sender.post(b"DSC1" + habits + struct.pack("<II", 99, 1) + bytes(16) + b"\1\1") == 409
    server.terminate()
    assert server.wait(20) == 0
    for name, role in (("ana", "analyst"), ("otto", "operator")):
        discreet("collector", "token", "add", name, "--role", role, "--data", folder)
    discreet("collector", "token", "end", "otto", "--data", folder)
    for name in ("habits", "cells"):
        discreet("collector", "seal", name, "--epoch", 0, "--data", folder)
    # A file cannot take a folder's name: the epoch is closed by then, and stays so without a seal.
    obstacle = folder / "sealed" / "habits" / "v1" / "epoch-000001.parquet"
    (obstacle / "in-the-way").mkdir(parents=True)
    failed = [sys.executable, "-m", "discreet", "collector", "seal", "habits", "--epoch", "1", "--data", str(folder)]
    assert subprocess.run(failed, check=False, capture_output=True).returncode
    shutil.rmtree(obstacle)
    server, port = running(folder)
    second = Sender(port, 28)
    second.fill(habits, 3, rr=True, sizes=(1, 4))
    server.kill()
    server.wait()
    (folder / "collector.db-shm").unlink()
    for lock in folder.glob(".*.lock"):
        lock.unlink()
    return {at: sorted(set(ids)) for at, ids in (sender.ids | second.ids).items()}


def make_devices(to: Path) -> None:
    """Write the memories of both devices: answers sent, waiting and dropped, a permanent one, and a secret place."""
    hourly = {"epochs": Epochs(START, EPOCH, 24), "lifetime": 30.0}
    labels = {**PLAIN["domain"], "labels": [*PLAIN["domain"]["labels"], "elsewhere"]}
    asked = {
        "fresh": envelope(answers="fresh", name="fresh", **hourly),
        "permanent": envelope(answers="permanent", name="permanent", **hourly),
        "tagged": envelope({**PLAIN, "domain": labels, "tags": ["home"]}, answers="once", name="tagged"),
        "left": envelope(answers="once", name="left"),
    }
    asked["gone"] = withdraw(envelope(answers="once", name="gone"), [key()], trust=TRUST)
    (to / "devices").mkdir()
    (to / "devices" / "envelopes.json").write_text(
        json.dumps({name: json.loads(said) for name, said in asked.items()} | {"trust": public_key(key()).hex()})
    )
    now, status = [float(START + 10)], [202]
    posting = {"clock": lambda: now[0], "post": lambda *_: Answer(status[0])}
    limits, copied = Limits(2.0, 8.0, 50.0), to / "devices" / "python"
    with Device(to / "devices" / "open", TRUST, limits, **posting) as device:
        for name, said in asked.items():
            device.accept(said)
            if name != "gone":
                device.agree(name)
        device.tag("tagged", {"home": ["elsewhere"]})
        for name, value in (("fresh", "daily"), ("permanent", "often"), ("tagged", "elsewhere"), ("left", "never")):
            assert device.answer(name, value) == "recorded"
        device.send()
        now[0], status[0] = START + 10.0 + EPOCH, 422
        assert device.answer("fresh", "rarely") == "recorded"
        device.send()
        device.decline("left")
    with Device(to / "devices" / "open", TRUST, limits, **posting) as device:
        now[0], status[0] = START + 10.0 + 2 * EPOCH, 503
        assert device.answer("fresh", "rarely") == "recorded"
        assert device.answer("permanent", "daily") == "recorded"
        device.send()
        # As a kill leaves it: the last answers in the log alone.
        shutil.copytree(to / "devices" / "open", copied, ignore=shutil.ignore_patterns("*-shm"))
    shutil.rmtree(to / "devices" / "open")
    node = [shutil.which("node") or "node", "--no-warnings", str(HERE / "device.mjs"), "write"]
    subprocess.run([*node, str(to / "devices" / "javascript"), str(to / "devices" / "envelopes.json")], check=True)


def main() -> None:
    """Make all of it, and write down what an independent reader finds."""
    to = Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=False)
    made = time.time()
    make_tables(to)
    sent = make_collector(to)
    make_devices(to)
    found = {**facts_of(to), "sent": sent}
    lines = [f"{json.dumps(name)}: {json.dumps(said, sort_keys=True)}" for name, said in found.items()]
    (to / "facts.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    size = sum(path.stat().st_size for path in to.rglob("*") if path.is_file())
    print(f"{size} bytes in {time.time() - made:.0f} s")


if __name__ == "__main__":
    main()
