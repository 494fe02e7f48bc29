"""Formulas that need only a mechanism's numbers: exact errors, the optimum, confidence limits, leakage."""
