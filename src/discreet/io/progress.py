"""The progress of reading, for callers who show it."""

from collections.abc import Callable

Progress = Callable[[int, int | None], None]
"""Called now and then with the rows done and the rows in all (None if nobody has counted them)."""
