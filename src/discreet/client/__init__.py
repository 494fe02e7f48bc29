"""The device: it checks a collection, answers once, remembers what it must, and sends."""
