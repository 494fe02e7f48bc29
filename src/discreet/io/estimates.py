"""Estimates as plain facts, ready for JSON."""

from typing import Any

from discreet.core.estimate import DEFAULT_LEVEL, Estimate


def estimate_facts(found: Estimate, level: float | None, *, simultaneous: bool) -> dict[str, Any]:
    """Return an estimate as what JSON holds; columns as for `Estimate.columns`.

    Raises:
        ParameterError: if intervals are asked for that the method does not state.
    """
    columns, some = found.columns(level, simultaneous=simultaneous), found.no_intervals is None
    return {
        "plan": found.fingerprint,
        "method": found.method,
        "n": found.n,
        "gap": found.gap,
        "level": (DEFAULT_LEVEL if level is None else level) if some else None,
        "simultaneous": simultaneous if some else None,
        "no_intervals": found.no_intervals,
        "simulated": found.simulated,
        "columns": {name: column.tolist() for name, column in columns.items()},
    }
