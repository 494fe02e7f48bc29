"""Bounds on identification risk for any adversary: leakage, capacity, guesses, and the largest epsilon."""

from discreet.risk.bounds.identification import Bounds, conditions, identification_bounds

__all__ = ["Bounds", "conditions", "identification_bounds"]
