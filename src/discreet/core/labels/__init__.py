"""Labels of values: label spaces and codes, numbers in bins, and labels that read alike."""
