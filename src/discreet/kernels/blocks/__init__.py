"""Array functions of blocks: drawn, counted, multiplied."""
