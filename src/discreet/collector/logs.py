"""Logs as JSON lines: events, collections, counts and durations; never an address, a header, a path or a body."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LOGGER = logging.getLogger("discreet.collector")
# A verb has its own words; only a server writes events.
_LOGGER.addHandler(logging.NullHandler())
LEVELS = ("debug", "info", "warning", "error")
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
