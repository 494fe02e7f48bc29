"""The command of this wing."""
