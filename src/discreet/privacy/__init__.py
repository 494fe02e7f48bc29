"""Privacy guarantees, recomputed from numbers by code that is independent of the mechanisms' own claims."""
