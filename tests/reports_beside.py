"""Files of reports that tests need: with public columns beside them, or sealed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet import Reports
from discreet.engines import LocalEngine
from discreet.formats.reports import facts_of, write_batches
from discreet.mechanisms import Mechanism


def write_beside(
    path: Path, mechanism: Mechanism, batches: Iterable[tuple[Reports, Any]], public: Any, *, force: bool = False
) -> int:
    """Write batches of reports, each with a table of the public columns, and return the number of reports."""
    return write_batches(path, mechanism, batches, facts=facts_of(None), public=public, force=force)


def write_sealed(path: Path, mechanism: Mechanism, reports: Any, **about: Any) -> int:
    """Seal reports in memory in a file, and return the number of reports."""
    return LocalEngine().seal(mechanism, reports, path, **about).n
