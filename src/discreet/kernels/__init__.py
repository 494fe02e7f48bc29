"""Kernels: functions on arrays, compiled by numba, without randomness and without classes of other rooms.

The classes here group arrays (`matching.Problem`, `matching.Bins`), grow tables of numbers (`events.KeyTable`), or
cache compiled kernels (`compiling.KernelCache`).

Import these modules inside the functions that use them, because most of them load numba.
"""
