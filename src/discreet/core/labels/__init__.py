"""Labels of values: their spaces and codes, numbers in bins, and texts that read alike."""
