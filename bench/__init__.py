"""Measurements behind docs/evidence/performance.md: `make bench`, or ``python -m bench``."""
