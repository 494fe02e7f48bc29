"""Results as people read them, in sentences and tables, and as programs do, in records of built-ins."""
