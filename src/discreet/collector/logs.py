"""The collector's log and its measures.

Logs as JSON lines: events, collections, counts and durations; never an address, a header, a path or a body.

The measures that a collector takes of itself, and the text in which Prometheus reads them.
"""

import json
import logging
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

_LOGGER = logging.getLogger("discreet.collector")
# A verb has its own words; only a server writes events.
_LOGGER.addHandler(logging.NullHandler())
FACTS = frozenset(
    (
        "collection",
        "collections",
        "conflicts",
        "duplicates",
        "epoch",
        "frames",
        "listen",
        "n",
        "place",
        "reason",
        "seconds",
    )
)
"""What an event may say of itself."""


def log(event: str, *, level: str = "info", **facts: Any) -> None:
    """Write an event.

    Raises:
        ValueError: if it says what no event may.
    """
    if not facts.keys() <= FACTS:
        raise ValueError(f"events must say no more than {', '.join(sorted(FACTS))}.")
    _LOGGER.log(getattr(logging, level.upper()), event, extra={"facts": facts})


def place_of(error: BaseException) -> str:
    """Return type and place of an error; its message may hold what somebody sent."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


class _Lines(logging.Formatter):
    """One JSON object a line; of the server's own records no more than where they come from."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        facts: Mapping[str, Any] = getattr(record, "facts", {})
        # What others log may quote what was sent; where it comes from suffices.
        event = record.msg if hasattr(record, "facts") else record.name
        if record.exc_info and record.exc_info[1] is not None:
            facts = {**facts, "place": place_of(record.exc_info[1])}
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        return json.dumps({"at": moment, "level": record.levelname.lower(), "event": event, **facts})


def write_logs(level: str) -> None:
    """Write logs to the error stream, from this level on; those of the server only where it fails."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name, least in (("discreet.collector", level.upper()), ("uvicorn", "ERROR"), ("asyncio", "ERROR")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(least)


_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Measures:
    """Counts since the start; nothing of persons, addresses or values.

    Attributes:
        store_ok: whether the last writing succeeded.
        reports: acknowledged reports.
        frames: acknowledged frames.
        requests: by status.
        sealed: sealed epochs.
    """

    def __init__(self) -> None:
        self.store_ok = True
        self.reports = self.frames = self.sealed = 0
        self.requests: Counter[int] = Counter()
        self.connections_refused = self.connections_ended = 0
        self._seconds: Counter[float] = Counter()
        self._sum, self._groups = 0.0, 0
        self._lock = threading.Lock()

    def stored(self, *, store_ok: bool) -> None:
        """Note whether writing succeeded."""
        self.store_ok = store_ok

    def group(self, frames: int, reports: int, seconds: float) -> None:
        """Count a group that was written."""
        with self._lock:
            self.frames += frames
            self.reports += reports
            self._groups += 1
            self._sum += seconds
            self._seconds[next((bound for bound in _BUCKETS if seconds <= bound), float("inf"))] += 1

    def histogram(self) -> tuple[list[tuple[str, float]], float]:
        """Return the number of groups that took at most so many seconds, by bound, and the sum of their seconds."""
        with self._lock:
            counts, total = [], 0
            for bound in (*_BUCKETS, float("inf")):
                total += self._seconds[bound]
                counts.append(("+Inf" if bound == float("inf") else str(bound), float(total)))
            return counts, self._sum


class Exposed:
    """The measures as Prometheus' client collects them.

    Args:
        measures: what was counted.
        now: further numbers of this moment: by name, what they are and the number.
    """

    def __init__(self, measures: Measures, now: Callable[[], dict[str, tuple[str, float]]]) -> None:
        self._measures, self._now = measures, now

    def collect(self) -> Iterable[Any]:
        """Return the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        found = self._measures
        counted = {
            "discreet_reports": ("Reports acknowledged.", found.reports),
            "discreet_frames": ("Frames acknowledged.", found.frames),
            "discreet_sealed_epochs": ("Epochs sealed.", found.sealed),
            "discreet_connections_refused": ("Connections beyond the limit.", found.connections_refused),
            "discreet_connections_ended": ("Connections ended by a deadline.", found.connections_ended),
        }
        for name, (what, count) in counted.items():
            yield CounterMetricFamily(name, what, value=count)
        requests = CounterMetricFamily("discreet_requests", "Requests by status.", labels=["status"])
        for status, count in sorted(found.requests.items()):
            requests.add_metric([str(status)], count)
        yield requests
        buckets, total = found.histogram()
        yield HistogramMetricFamily("discreet_group_seconds", "Checking and storing of a group.", buckets, total)
        for name, (what, number) in self._now().items():
            yield GaugeMetricFamily(name, what, value=number)


def exposition(exposed: Exposed) -> tuple[bytes, str]:
    """Return the text for Prometheus, and its media type."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(exposed)
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4
