"""Charts: columns in, Altair charts out; no nouns."""
