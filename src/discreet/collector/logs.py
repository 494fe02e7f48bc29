"""The collector's log and its measures.

Logs as JSON lines: events, collections, counts and durations; never an address, a header, a path or a body.

The measures that a collector takes of itself, and the text in which Prometheus reads them.
"""

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreet.collector.refusals import Refusal
from discreet.extras import optional

_LOGGER = logging.getLogger("discreet.collector")
# A verb has its own words; only a server writes events.
_LOGGER.addHandler(logging.NullHandler())
_COUNTS = {"collections", "conflicts", "duplicates", "frames", "n", "seconds"}
FACTS = frozenset({"collection", "epoch", "holder", "listen", "place", "reason", "verb", *_COUNTS})
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


_OTHERS = ("uvicorn", "asyncio")


class _Lines(logging.Formatter):
    """One JSON object a line; of the server's own records no more than where they come from."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        facts: Mapping[str, Any] = getattr(record, "facts", {})
        # Other libraries may log parts of requests. The name of the logger suffices.
        event = record.msg if hasattr(record, "facts") else record.name
        if record.exc_info and record.exc_info[1] is not None:
            facts = {**facts, "place": place_of(record.exc_info[1])}
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        return json.dumps({"at": moment, "level": record.levelname.lower(), "event": event, **facts})


def write_logs(level: str) -> None:
    """Write logs to the error stream, from this level on; logs of the server only for errors."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name, least in {"discreet.collector": level.upper(), **dict.fromkeys(_OTHERS, "ERROR")}.items():
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
        sealed: sealed epochs.
        requests: by status.
        refused: frames that were refused, by reason.
        groups: seconds that groups of frames took.
    """

    def __init__(self) -> None:
        # Only a server counts.
        self._client = client = optional("prometheus_client")
        client.disable_created_metrics()
        self.store_ok = True
        self._registry = client.CollectorRegistry(auto_describe=False)
        options: Any = {"registry": self._registry}
        self.reports = client.Counter("discreet_reports", "Reports acknowledged.", **options)
        self.frames = client.Counter("discreet_frames", "Frames acknowledged.", **options)
        self.sealed = client.Counter("discreet_sealed_epochs", "Epochs sealed.", **options)
        self.requests = client.Counter("discreet_requests", "Requests by status.", ["status"], **options)
        self.refused = client.Counter("discreet_refused", "Frames refused, by reason.", ["reason"], **options)
        what = "Checking and storing of a group."
        self.groups = client.Histogram("discreet_group_seconds", what, buckets=_BUCKETS, **options)

    def refuse(self, refusal: Refusal) -> None:
        """Count a frame that is refused."""
        self.refused.labels(str(refusal.facts.get("reason", refusal.code))).inc()

    def show(self, name: str, what: str, number: Callable[[], float]) -> None:
        """Show a number of the moment too, by a function that returns it."""
        self._client.Gauge(name, what, registry=self._registry).set_function(number)

    def exposition(self) -> tuple[bytes, str]:
        """Return the text for Prometheus, and its media type."""
        return self._client.generate_latest(self._registry), self._client.exposition.CONTENT_TYPE_PLAIN_0_0_4
