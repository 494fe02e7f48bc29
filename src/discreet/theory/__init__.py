"""Consequences of a mechanism's numbers alone: exact errors, the optimum, limits, leakage."""
