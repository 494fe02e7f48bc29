"""Pure array functions: arrays in, arrays out; no classes, no randomness, no nouns.

Import the modules from inside the functions that use them: most of them load numba.
"""
