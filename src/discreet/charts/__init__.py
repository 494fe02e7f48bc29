"""What an estimate draws of itself: columns in, an Altair chart out; no nouns."""
