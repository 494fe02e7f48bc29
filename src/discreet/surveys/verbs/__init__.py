"""Commands of surveys."""
