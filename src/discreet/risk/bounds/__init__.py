"""Bounds on the identification risk for any adversary: leakage, capacity, guessing, and the calibration of epsilon."""

from discreet.risk.bounds.identification import Bounds, conditions, identification_bounds

__all__ = ["Bounds", "conditions", "identification_bounds"]
