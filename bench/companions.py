"""The packages that are measured beside this one, each in an environment of its own, asked in turns.

``make bench`` makes the environments. What does not install, start or know an answer is skipped, with the reason.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import IO, Any

SCRIPTS = Path(__file__).parent / "peers"
HOME = Path(__file__).parent.parent / ".venv-peers"
BESIDE = {
    "pure-ldp": "clients and servers of RR, unary encoding, local hashing, Hadamard response",
    "multi-freq-ldpy": "clients and servers of RR, unary encoding, local hashing, subset selection; IBU",
    "ldp-toolbox": "clients and servers of RR, unary encoding, local hashing, subset selection",
    "opendp": "clients of RR and of bits",
    "ldp-hierarchical-mechanism": "quantiles from trees of intervals",
    "qif": "iterative Bayesian update, Shannon capacity of a matrix",
    "duckdb": "GROUP BY over a Parquet file of reports",
}
"""Every package, and what of it is measured; each has its files in bench/peers."""

NAMES = tuple(BESIDE)
_BELOW = ("numpy", "numba")
_LONGEST_REASON = 160


@dataclass(frozen=True, slots=True)
class Peer:
    """One package that answers: its process, and the tasks that it knows."""

    process: subprocess.Popen[str]
    tasks: frozenset[str]

    def ask(self, task: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of the package: what it says, or how it failed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"task": task, **given}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"failed": "its process ended"}
        return answer


@dataclass(frozen=True, slots=True)
class Peers:
    """Everybody who answers, and why the others do not.

    Attributes:
        there: the packages that answer, by name.
        skipped: why a package does not, by name.
        failed: how a package failed at a task, by name and task; it is not asked again.
    """

    there: Mapping[str, Peer]
    skipped: Mapping[str, str]
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    def ask(self, task: str, among: Collection[str] | None = None, **given: Any) -> dict[str, Any]:
        """Return what each package (of those named) that knows ``task`` says of it, by name."""
        said = {}
        for name, peer in self.there.items():
            asked = among is None or name in among
            if asked and task in peer.tasks and (name, task) not in self.failed:
                answer = peer.ask(task, given)
                if "failed" in answer:
                    self.failed[name, task] = shortened(answer["failed"])
                else:
                    said[name] = answer["said"]
        return said

    def ways(self, task: str) -> dict[str, float]:
        """Return the nanoseconds per report of each way in which somebody does ``task``."""
        return {way: ns for said in self.ask(task).values() for way, ns in said.items()}

    @property
    def notes(self) -> list[str]:
        """Return who failed at what, a sentence each."""
        return [f"{name} failed at {task}: {reason}." for (name, task), reason in self.failed.items()]


@contextmanager
def peers(*names: str) -> Iterator[Peers]:
    """Start the packages named; all by default."""
    there, skipped = {}, {}
    with ExitStack() as stack:
        # All at once, because each of them takes a second or two.
        started = {name: _started(name, stack) for name in names or NAMES}
        for name, process in started.items():
            found = process if isinstance(process, str) else _greeted(*process, stack)
            if isinstance(found, Peer):
                there[name] = found
            else:
                skipped[name] = found
        yield Peers(there, skipped)


def _started(name: str, stack: ExitStack) -> tuple[subprocess.Popen[str], IO[str]] | str:
    if (absent := _absence(name)) is not None:
        return absent
    command = [str(HOME / name / "bin" / "python"), str(SCRIPTS / f"{name.replace('-', '_')}_tasks.py")]
    # Into a file, because a pipe that nobody reads fills up.
    errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
    stack.callback(errors.close)
    pipe = subprocess.PIPE
    process = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True))
    return process, errors


def _greeted(process: subprocess.Popen[str], errors: IO[str], stack: ExitStack) -> Peer | str:
    assert process.stdin is not None
    assert process.stdout is not None
    hello = process.stdout.readline()
    if not hello:
        errors.seek(0)
        return "does not start: " + shortened((errors.read().strip().splitlines() or ["it ended"])[-1])
    stack.callback(_closed, process.stdin)
    return Peer(process, frozenset(json.loads(hello)["tasks"]))


def _closed(stream: IO[str]) -> None:
    # What was asked of a process that has ended since is still to be written.
    with suppress(BrokenPipeError):
        stream.close()


def survey() -> dict[str, dict[str, Any]]:
    """Return of every package the versions of it and of what its speed hangs on, or why it is skipped."""
    return {name: _installed(name) for name in NAMES}


def _installed(name: str) -> dict[str, Any]:
    if (absent := _absence(name)) is not None:
        return {"skipped": absent}
    places = [str(place) for place in (HOME / name).glob("lib*/**/site-packages")]
    found = {one.name.lower().replace("_", "-"): one.version for one in distributions(path=places)}
    return {"versions": {package: found[package] for package in (name, *_BELOW) if package in found}}


def _absence(name: str) -> str | None:
    """Return why there is no environment; None if there is one."""
    if (HOME / f"{name}.ready").exists() and (HOME / name / "bin" / "python").exists():
        return None
    log = HOME / f"{name}.log"
    return reason_of(log.read_text(encoding="utf-8")) if log.exists() else "not installed; `make bench` does that"


def reason_of(log: str) -> str:
    """Return what the installer said in the end, in a line."""
    errors = [line.partition("ERROR:")[2].strip() for line in log.splitlines() if "ERROR:" in line]
    return "did not install" + (f": {shortened(errors[0])}" if errors else "")


def shortened(message: str) -> str:
    """Return a message in a line, without addresses, paths and what is beyond some length."""
    plain = re.sub(r"\S*://\S+", "(address)", " ".join(message.split()))
    plain = re.sub(r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s'\",;:)]+", "(path)", plain).rstrip(".")
    return plain if len(plain) <= _LONGEST_REASON else plain[:_LONGEST_REASON] + "..."
