"""Privacy guarantees recomputed from numbers, by code that shares nothing with the mechanisms' own claims."""
