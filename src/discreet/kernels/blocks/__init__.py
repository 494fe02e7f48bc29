"""Kernels of blocks: counting, and products with membership matrices."""
