"""Every other picture: curves, bars, maps, comparisons, DET and rank curves."""
