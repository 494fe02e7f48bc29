"""Pages: one template for all that are written to files, and what they are made of."""
