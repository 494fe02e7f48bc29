"""The device: it checks a collection, answers within budgets, remembers what it must, and sends.

NumPy, cryptography and the standard library are all it needs.

Example:
    >>> from discreet.device import Limits
    >>> Limits(report=2.0, epoch=4.0, lifetime=20.0)
    Limits(report=2.0, epoch=4.0, lifetime=20.0)
"""

from discreet.device.answers import Outcome
from discreet.device.device import Device
from discreet.device.memory import Budget, Limits, StoreError
from discreet.device.outbox import LogEntry, RandomnessError, Sent

__all__ = ["Budget", "Device", "Limits", "LogEntry", "Outcome", "RandomnessError", "Sent", "StoreError"]
