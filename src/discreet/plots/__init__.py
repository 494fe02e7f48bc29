"""Plots: curves, bars, maps, comparisons, DET and rank curves."""
