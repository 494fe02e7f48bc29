"""Conformance vectors, a module for each kind: what a device in any language must reproduce."""
