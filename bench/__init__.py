"""Measurements behind docs/performance.md: `make bench`, or ``python -m bench``."""
