"""Limits of the rate of requests from one address, without a record of addresses."""

import hashlib
import ipaddress
import secrets
import time
from collections.abc import Callable

_KEY_SECONDS = 3600
_MOST = 100_000


class Rates:
    """Buckets of tokens in memory, under a hash of the address whose key is made anew every hour and stored nowhere.

    Addresses of IPv6 are told apart by their first 64 bits: a household has all those behind them.

    Args:
        rate: requests per second that one address may make in the long run; 0 for any number.
        burst: how many at once.
        clock: of seconds.
    """

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._key, self._made = secrets.token_bytes(16), clock()
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def mark(self, address: str) -> bytes:
        """Return the stand-in of an address during this hour."""
        now = self._clock()
        if now - self._made >= _KEY_SECONDS or len(self._buckets) >= _MOST:
            self._key, self._made = secrets.token_bytes(16), now
            self._buckets.clear()
        return hashlib.blake2b(_place(address).encode(), key=self._key, digest_size=12).digest()

    def allows(self, address: str) -> bool:
        """Count a request of an address, and return true if it may be made."""
        if not self._rate:
            return True
        mark, now, left = self._left(address)
        self._buckets[mark] = (left - 1 if left >= 1 else left), now
        return left >= 1

    def _left(self, address: str) -> tuple[bytes, float, float]:
        mark, now = self.mark(address), self._clock()
        left, last = self._buckets.get(mark, (self._burst, now))
        return mark, now, min(left + (now - last) * self._rate, self._burst)


def _place(address: str) -> str:
    """Return the address of IPv4, also where it is written as one of IPv6, or the network of one of IPv6."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(found.ipv4_mapped or f"{int(found) >> 64:x}::/64")
