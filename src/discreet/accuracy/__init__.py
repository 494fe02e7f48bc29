"""Accuracy of estimates, from a mechanism's numbers alone: decoders with exact errors, the optimum, the best theta."""
