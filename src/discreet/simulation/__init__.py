"""Simulations with known people: studies, tallies, and pages and pictures of the results."""
