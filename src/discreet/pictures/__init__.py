"""Charts, curves, and templates of pages."""
