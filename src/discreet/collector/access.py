"""Access: rates of requests by address, and the tokens of analysts and operators.

Tokens are printed once and stored as hashes. No address is stored.
"""

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Callable, Iterable

from discreet.collector.storage.store import Store, TokenRow
from discreet.errors import ParameterError

_KEY_SECONDS = 3600
_MOST = 100_000


class Rates:
    """Buckets of tokens in memory, under a hash of the address whose key is made anew every hour and stored nowhere.

    Only the first 64 bits of an IPv6 address count, because one household has all addresses behind them.

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
        mark, now = self.mark(address), self._clock()
        left, last = self._buckets.get(mark, (self._burst, now))
        left = min(left + (now - last) * self._rate, self._burst)
        self._buckets[mark] = (left - 1 if left >= 1 else left), now
        return left >= 1


def _place(address: str) -> str:
    """Return the address of IPv4, also where it is written as one of IPv6, or the network of one of IPv6."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or f"{int(parsed) >> 64:x}::/64")


ANALYST, OPERATOR = "analyst", "operator"
_START = "dsc_"
_TRIES, _TRY_SECONDS = 5, 60


class TooManyTriesError(Exception):
    """An address has tried too many tokens that are none."""


def new_token(store: Store, name: str, role: str, *, days: int | None) -> str:
    """Make a token, keep its hash, and return it: it is shown this once.

    Raises:
        ParameterError: if one of this name is in use.
    """
    if not name or len(name) > 64 or not name.isprintable():
        raise ParameterError("token.wrong-name", argument="name")
    token, now = _START + secrets.token_urlsafe(32), int(time.time())
    with store.transaction():
        if any(row.name == name and row.is_good(now) for row in store.tokens()):
            raise ParameterError("token.name-in-use", argument="name", name=name)
        ends = None if days is None else now + days * 86400
        store.add_token(TokenRow(name, role, _hash(token), now, ends))
    return token


def end_token(store: Store, name: str) -> None:
    """End a token.

    Raises:
        ParameterError: if none of this name is in use.
    """
    now = int(time.time())
    with store.transaction():
        if not store.end_token(name, now):
            raise ParameterError("token.unknown", argument="name", name=name)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Tokens:
    """The tokens in use, as requests are checked against them.

    Args:
        clock: of seconds, for tries.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rows: tuple[TokenRow, ...] = ()
        self._failures = Rates(_TRIES / _TRY_SECONDS, _TRIES, clock=clock)

    def load(self, rows: Iterable[TokenRow]) -> None:
        """Take over what the store holds now."""
        self._rows = tuple(rows)

    def holder(self, token: str, address: str) -> TokenRow | None:
        """Return the holder of a token; None if the token is not in use.

        Raises:
            TooManyTriesError: if the token is wrong, and five others from this address were wrong within a minute. A
                good token always works: behind a proxy all requests have one address, and nobody can lock out others.
        """
        digest, now = _hash(token), time.time()
        holder = None
        for row in self._rows:
            # All are compared, each in constant time.
            if hmac.compare_digest(row.digest, digest) and row.is_good(now):
                holder = row
        if holder is None and not self._failures.allows(address):
            raise TooManyTriesError
        return holder
