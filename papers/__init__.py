"""Both papers' figures and tables, made again: a file each, with plan, typed rows, drawing and checked findings."""
