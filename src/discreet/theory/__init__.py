"""Formulas that need only the parameters of a mechanism: exact errors, optimal designs, confidence limits, leakage."""
