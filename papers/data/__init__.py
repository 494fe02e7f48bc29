"""Data sets of people whose values are known, each with its source."""
