"""The measures that a collector takes of itself, and the text in which Prometheus reads them."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

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
