"""Files of plans, reports, tallies, estimates and sealed batches."""
