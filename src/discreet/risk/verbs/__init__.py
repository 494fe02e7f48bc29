"""Verbs: say here what it is for."""
