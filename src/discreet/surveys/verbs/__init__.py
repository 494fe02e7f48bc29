"""Verbs of surveys."""
