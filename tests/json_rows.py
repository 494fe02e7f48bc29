"""Rows of JSON, one object each, as columns."""

from typing import Any


def columns(facts: Any, name: str = "values") -> dict[str, list[Any]]:
    """Return the columns of the rows under a name."""
    rows = facts[name]
    assert all(list(row) == list(rows[0]) for row in rows)
    return {field: [row[field] for row in rows] for field in rows[0]}
