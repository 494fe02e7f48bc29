"""Kernels: functions of arrays, compiled by numba; no randomness, and no classes of other rooms.

Classes here hold arrays that belong together (`matching.Problem`, `matching.Bins`), grow tables of numbers
(`events.KeyTable`), or keep compiled kernels (`compiling.KernelCache`).

Import the modules from inside the functions that use them: most of them load numba.
"""
