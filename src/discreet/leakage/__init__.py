"""Leakage about users, from a mechanism's numbers alone: capacity, contraction, success of guessing."""
