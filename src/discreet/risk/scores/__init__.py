"""Figures from the scores of an attack: rates, ranks, DET curves, divergences, and lower bounds on information."""

from discreet.risk.scores.scores import Scores

__all__ = ["Scores"]
