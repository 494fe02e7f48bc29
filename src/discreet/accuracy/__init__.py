"""What follows from the numbers of a mechanism for whoever estimates: exact errors, the optimum, the best theta."""
