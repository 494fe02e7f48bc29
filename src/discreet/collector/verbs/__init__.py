"""Verbs of collections, collectors and devices."""
