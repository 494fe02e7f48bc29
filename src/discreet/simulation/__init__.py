"""Simulations with known people: studies, and pages and pictures of the results."""
