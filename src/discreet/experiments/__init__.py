"""Simulations on known data, and the pages and pictures that show them."""
