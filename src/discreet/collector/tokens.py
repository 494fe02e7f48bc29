"""Tokens of programs and people: printed once, kept as hashes, compared in constant time."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable

from discreet.collector.rates import Rates
from discreet.collector.store import Store, TokenRow
from discreet.errors import ParameterError

ANALYST, OPERATOR = "analyst", "operator"
ROLES = (ANALYST, OPERATOR)
_START = "dsc_"
_TRIES, _TRY_SECONDS = 5, 60


class TooManyTriesError(Exception):
    """An address has tried too many tokens that are none."""


def new_token(store: Store, name: str, role: str, *, days: int | None, actor: str) -> str:
    """Make a token, keep its hash, and return it: it is shown this once.

    Raises:
        ParameterError: if one of this name is in use.
    """
    if not name or len(name) > 64 or not name.isprintable():
        raise ParameterError("the name of a token must have 1 to 64 printable characters.")
    token, now = _START + secrets.token_urlsafe(32), int(time.time())
    with store.transaction():
        if any(row.name == name and row.is_good(now) for row in store.tokens()):
            raise ParameterError(f"a token {name!r} is in use already; end it first, or choose another name.")
        ends = None if days is None else now + days * 86400
        store.add_token(TokenRow(name, role, _hash(token), now, ends))
        store.note(now, actor, "token added", f"{name} ({role})")
    return token


def end_token(store: Store, name: str, *, actor: str) -> None:
    """End a token.

    Raises:
        ParameterError: if none of this name is in use.
    """
    now = int(time.time())
    with store.transaction():
        if not store.end_token(name, now):
            raise ParameterError(f"no token {name!r} is in use.")
        store.note(now, actor, "token ended", name)


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
        """Return the holder of a token; None if it is none that is in use.

        Raises:
            TooManyTriesError: if it is none, and five others from this address were none within a minute. A good token
                is good all the same: behind a proxy everybody comes from one address, and nobody shall lock out others.
        """
        digest, now = _hash(token), time.time()
        found = None
        for row in self._rows:
            # All are compared, each in constant time.
            if hmac.compare_digest(row.digest, digest) and row.is_good(now):
                found = row
        if found is None and not self._failures.allows(address):
            raise TooManyTriesError
        return found
