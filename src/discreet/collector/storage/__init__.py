"""Storage: where reports wait, and what is known of collections, in files and SQLite or in PostgreSQL."""
