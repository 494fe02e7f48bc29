"""Audits the device in JavaScript: lower bounds on epsilon from reports that sampler.js draws in Node, for every law.

    python tools/audit_device.py [--draws 1000000] [--seed S] [--node PATH]

Without a seed words come from the operating system. Prints a table; exits with 1 if a bound is above its promise.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.domain import Domain
from discreet.core.random import RandomSource
from discreet.core.reports import Reports
from discreet.device.protocol.sampler import Sampler
from discreet.formats.records import RecordCodec
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, UnaryEncoding
from discreet.mechanisms.law import LawMechanism
from discreet.privacy.audit import Audit, audit

ROOT = Path(__file__).resolve().parent.parent
DRAWS = ROOT / "js" / "tests" / "draws.js"
DOMAIN = Domain(range(11), sensitive=[0, 1, 4, 5, 6, 9])
EPSILON = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class DrawnByNode(LawMechanism):
    """A block mechanism whose reports another process draws.

    Attributes:
        process: Node with draws.js.
        seed: of its words; None for secure ones.
    """

    process: Any = field(default=None)
    seed: int | None = None

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Return the reports, value by value; words are the other process's, from a seed if `random` is seeded."""
        if random is not None and not random.secure:
            self.process.stdin.write(json.dumps({"seed": str(random.words(1)[0])}).encode() + b"\n")
        codec, codes = RecordCodec.of(self), np.asarray(codes)
        records = np.empty((len(codes), codec.width), dtype=np.uint8)
        for code in np.unique(codes).tolist():
            n = int(np.count_nonzero(codes == code))
            self.process.stdin.write(json.dumps({"code": code, "n": n}).encode() + b"\n")
            self.process.stdin.flush()
            drawn = self.process.stdout.read(n * codec.width)
            records[codes == code] = np.frombuffer(drawn, dtype=np.uint8).reshape(-1, codec.width)
        return codec.reports(self, records, simulated=self.seed is not None or not (random is None or random.secure))


def mechanisms() -> dict[str, BlockMechanism]:
    """Return a mechanism of every block law, by the law's name; and one whose reports in clear carry blocks."""
    sensitive, found = DOMAIN.sensitive_codes, {}
    for made in BLOCK_MECHANISMS.built_in.values():
        options: dict[str, Any] = {"modulus": 13, "base": [0, 1, 3, 9]} if made.name == "translates" else {}
        mechanism = made(DOMAIN, EPSILON, **options)
        found.setdefault(mechanism.law.describe()["law"], mechanism)
    # The optimum draws two sizes of blocks at some masses only.
    for mass in np.linspace(0.05, 0.95, 19):
        mechanism = BLOCK_MECHANISMS["design"](DOMAIN, EPSILON, sensitive_mass=float(mass))
        found.setdefault(mechanism.law.describe()["law"], mechanism)
    missing = {law.kind for made in BLOCK_MECHANISMS.built_in.values() for law in made.laws} - set(found)
    assert not missing, f"no mechanism of {missing} over {len(sensitive)} sensitive values"
    return {**found, "bits beside values in clear": UnaryEncoding(DOMAIN, EPSILON, clear_bits=True)}


@contextmanager
def drawn_by_node(mechanism: BlockMechanism, node: str, seed: int | None) -> Iterator[DrawnByNode]:
    """Yield a mechanism whose reports Node draws, as long as it runs."""
    with subprocess.Popen([node, str(DRAWS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        first = json.dumps({"sampler": Sampler.of(mechanism).document(), "seed": seed})
        process.stdin.write(first.encode() + b"\n")
        parts = mechanism.domain, mechanism.epsilon, mechanism.law, mechanism.clear_blocks
        yield DrawnByNode(*parts, process, seed)
        process.stdin.close()


def audited(draws: int, node: str, seed: int | None) -> Iterator[tuple[str, Audit]]:
    """Yield the name of each law with the audit of its reports."""
    for name, mechanism in mechanisms().items():
        with drawn_by_node(mechanism, node, seed) as device:
            yield name, audit(device, draws=draws)


def main() -> int:
    """Print a line for each law."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=1_000_000, help="reports per law")
    parser.add_argument("--seed", type=int, default=None, help="of the words; for tests")
    parser.add_argument("--node", default="node", help="the program")
    chosen, broken, start = parser.parse_args(), 0, time.monotonic()
    print(f"{'law':28} {'promised':>8} {'at least':>9}  {'draws':>9}")
    for name, found in audited(chosen.draws, chosen.node, chosen.seed):
        broken += not found.holds
        mark = "" if found.holds else "  BROKEN"
        print(f"{name:28} {found.promised:8.4f} {found.lower_bound:9.4f}  {found.draws:9,}{mark}", flush=True)
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
