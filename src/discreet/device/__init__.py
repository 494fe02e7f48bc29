"""The device: it checks a collection, answers within budgets, remembers what it must, and sends.

It needs NumPy, cryptography and the standard library only. Files in reading order: `protocol/collection.py` (the
signed document) and `protocol/sampler.py` (what a device draws from), `device.py` (one person's device), `answers.py`,
`memory.py` (consent, budgets), `outbox.py`, `sending.py`, `protocol/frames.py` (records on their way).

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
