"""Guarantees recomputed from the numbers, by code that does not know how they were meant."""
