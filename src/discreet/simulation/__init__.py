"""Simulations on known people: studies, tallies, devices, and the pages and pictures that show them."""
