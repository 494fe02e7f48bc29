"""A person's device: it checks collections, randomizes answers within budgets, and sends reports.

It needs NumPy, cryptography and the standard library only. Files in reading order: `protocol/collection.py` (the signed
document) and `protocol/sampler.py` (the integers for drawing reports), `device.py` (one person's device), `answers.py`,
`memory.py` (consent, budgets), `outbox.py`, `sending.py`, `protocol/frames.py` (the form in which reports are sent).

Example:
    >>> from discreet.device import Limits
    >>> Limits(report=2.0, epoch=4.0, lifetime=20.0)
    Limits(report=2.0, epoch=4.0, lifetime=20.0)
"""

from discreet.device.answers import Outcome
from discreet.device.device import Device
from discreet.device.memory import Budget, Limits, StoreError
from discreet.device.outbox import LogEntry, RandomnessError, SendResult

__all__ = ["Budget", "Device", "Limits", "LogEntry", "Outcome", "RandomnessError", "SendResult", "StoreError"]
