"""Kernels of traces: numbering and counting of events, and scores of every probe for every candidate."""
