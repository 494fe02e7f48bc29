"""Core classes: domains, reports, tallies, estimates, guarantees, random sources. They need NumPy only."""
