"""Printed results: sentences and tables for people, and dictionaries for JSON."""
