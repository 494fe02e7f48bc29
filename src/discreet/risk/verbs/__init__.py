"""Verbs of identification risk."""
