"""The nouns; NumPy only."""
