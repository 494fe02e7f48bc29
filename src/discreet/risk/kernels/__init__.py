"""Compiled kernels for events, for matching and for pairs of traces."""
