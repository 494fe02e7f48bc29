"""Measurements that the documentation quotes: speed, memory, start-up and maximum likelihood."""
