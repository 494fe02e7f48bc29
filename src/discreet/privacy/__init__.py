"""Recomputed privacy guarantees. The code here is independent of the mechanisms' own claims."""
