"""What follows from the numbers of a mechanism for who is observed: capacity, contraction, success of guessing."""
