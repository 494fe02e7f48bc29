"""The device: it checks a collection, answers within budgets, remembers what it must, and sends.

NumPy, cryptography and the standard library are all it needs.

Example:
    >>> from discreet.client import Limits
    >>> Limits(report=2.0, epoch=4.0, lifetime=20.0)
    Limits(report=2.0, epoch=4.0, lifetime=20.0)
"""

from discreet.client.answers import Outcome
from discreet.client.device import Device
from discreet.client.ledger import Budget, Limits
from discreet.client.memory import StoreError
from discreet.client.outbox import LogEntry, Sent
from discreet.client.randomness import RandomnessError

__all__ = ["Budget", "Device", "Limits", "LogEntry", "Outcome", "RandomnessError", "Sent", "StoreError"]
