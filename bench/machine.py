"""What was measured on, as far as a reader must know it: processor, cores, memory, versions, and how busy it was."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# What the measured code runs on, and what stands beside it without an environment of its own.
PACKAGES = ("discreet", "numpy", "numba", "cryptography", "pyarrow", "pandas")


def processor() -> str:
    """Return the model of the processor."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_gb() -> float | None:
    """Return the size of the memory, in 1e9 bytes; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (ValueError, OSError, AttributeError):
        return None


def described() -> str:
    """Return all three in a line."""
    memory = memory_gb()
    size = "" if memory is None else f", {memory:.0f} GB of memory"
    return f"{processor()}, {cores()} cores{size}"


def load() -> float | None:
    """Return how many processes wanted a core in the last minute; None where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def today() -> str:
    """Return the date."""
    return datetime.now(UTC).date().isoformat()


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of what is installed of ``packages``, and of Python."""
    found = {"Python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def taken() -> tuple[int, int] | None:
    """Return the time that other guests took from our processors, and all time, in ticks; None if not told."""
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    except OSError:
        return None
    ticks = [int(field) for field in fields]
    return (ticks[7], sum(ticks)) if len(ticks) > 7 else None


def share_taken(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    """Return the share that other guests took between two calls of `taken`."""
    if before is None or after is None or after[1] == before[1]:
        return None
    return (after[0] - before[0]) / (after[1] - before[1])
