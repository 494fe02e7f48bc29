"""Documents of a collector: signed collections, attestations, and what a collection publishes."""
