"""Compiled kernels of events, of matching and of pairs of traces."""
