"""Randomness of a device: keys of the operating system, looked at before anything is drawn with them.

A source that fails gives no report, and costs nothing: what it would have protected is not said at all.
"""

import hashlib
import os

from discreet.core.keystream import KEY_SIZE
from discreet.errors import DiscreetError

ID_BYTES = 16
"""Bytes of the id under which a report travels."""


class RandomnessError(DiscreetError, RuntimeError):
    """The operating system gives no randomness that a report could be drawn with."""

    code = "randomness"


class Keys:
    """Keys of the operating system, each for one draw, all of them different."""

    def __init__(self) -> None:
        self._last = b""

    def key(self) -> bytes:
        """Return 32 fresh bytes.

        Raises:
            RandomnessError: if the system has none, hands out too few, zeros, or the same ones again.
        """
        drawn = self._drawn(), self._drawn()
        # A digest: what is left in memory tells nobody the key.
        seen = [hashlib.sha256(one).digest() for one in drawn]
        if drawn[0] == drawn[1] or self._last in seen:
            raise RandomnessError(
                "two draws of the system's randomness must differ, and they do not; nothing was sent."
            )
        self._last = seen[0]
        return drawn[0]

    @staticmethod
    def _drawn() -> bytes:
        try:
            drawn = os.urandom(KEY_SIZE)
        except (OSError, NotImplementedError):
            raise RandomnessError("the system must have randomness, and it has none; nothing was sent.") from None
        if type(drawn) is not bytes or len(drawn) != KEY_SIZE or not any(drawn):
            raise RandomnessError(f"the system must give {KEY_SIZE} random bytes, and it does not; nothing was sent.")
        return drawn

    def report_id(self) -> bytes:
        """Return a fresh id, 16 bytes."""
        return self.key()[:ID_BYTES]

    def share(self) -> float:
        """Return a fresh number, uniform on 0 to below 1."""
        return (int.from_bytes(self.key()[:8], "little") >> 11) / (1 << 53)
