"""What follows from the numbers of a mechanism alone: exact errors, the optimum, the best theta."""
