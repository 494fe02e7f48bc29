"""Figures computed from an attack's scores: rates, ranks, DET curves, divergences, and bounds on information."""

from discreet.risk.scores.scores import Scores

__all__ = ["Scores"]
