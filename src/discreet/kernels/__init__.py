"""Kernels: functions of arrays, compiled by numba; no randomness, and no classes of other rooms.

Classes here hold arrays that belong together (`traces.matching.Problem`, `traces.bins.Bins`), grow tables of numbers
(`traces.numbering.KeyTable`), or keep compiled kernels (`caching.KernelCache`).

Import the modules from inside the functions that use them: most of them load numba.
"""
