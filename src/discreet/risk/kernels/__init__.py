"""Kernels: say here what it is for."""
