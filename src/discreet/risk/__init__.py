"""Identification risk: whose report or trace is this? Bounds for any adversary, and attacks that measure it."""
