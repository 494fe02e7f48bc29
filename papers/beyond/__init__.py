"""Figures beyond the papers, a file each: the same sweeps with more mechanisms."""
