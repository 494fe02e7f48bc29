"""Core classes: domains, reports, tallies, guarantees, result tables and random sources.

They need only NumPy and cryptography.
"""
