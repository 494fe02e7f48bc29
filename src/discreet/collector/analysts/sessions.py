"""Sessions of people at a browser: a token signs in, a cookie that says nothing stands for it afterwards.

They are in memory alone: a collector that starts anew knows none. A cookie ends with its browser, and a session after
half a day, when its token ends, or when it is signed out.
"""

import hashlib
import secrets
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from discreet.collector.keeper import ANALYST, OPERATOR
from discreet.collector.storage.store import TokenRow

ALLOWED = {ANALYST: {ANALYST, OPERATOR}, OPERATOR: {OPERATOR}}
"""Roles of tokens that may see what the key may see."""

_SECONDS = 12 * 3600
_MOST = 1000


class Sessions:
    """The sessions.

    Args:
        tokens: a function that returns the tokens as they are kept now.
        secure: whether browsers come by TLS: then no other host and no page in clear can set or read the cookie.
        clock: of Unix seconds.
    """

    def __init__(
        self, tokens: Callable[[], list[TokenRow]], *, secure: bool, clock: Callable[[], float] = time.time
    ) -> None:
        self._tokens, self._clock = tokens, clock
        self._name, self._secure = ("__Host-analyst", "; Secure") if secure else ("analyst", "")
        # By the hash of the cookie, so that finding one takes no time that depends on its letters.
        self._open: dict[bytes, tuple[TokenRow, float]] = {}

    def begin(self, holder: TokenRow) -> str:
        """Return the cookie of a new session, as a header sets it."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        # Copied, as other threads sign in and out.
        self._open = {mark: session for mark, session in self._open.copy().items() if session[1] > now}
        while len(self._open) >= _MOST:
            self._open.pop(next(iter(self._open)))
        self._open[_mark(cookie)] = holder, now + _SECONDS
        return f"{self._name}={cookie}; Path=/; HttpOnly; SameSite=Strict{self._secure}"

    def holder(self, header: str) -> TokenRow | None:
        """Return the holder of the session that a request's cookies name; None if it is over, or none."""
        row, ends = self._open.get(_mark(self._cookie(header)), (None, 0.0))
        now = self._clock()
        # A token that was ended since is kept otherwise now.
        return row if row is not None and ends > now and row.is_good(now) and row in self._tokens() else None

    def end(self, header: str) -> str:
        """End the session that cookies name, and return the header that forgets it."""
        self._open.pop(_mark(self._cookie(header)), None)
        return f"{self._name}=; Path=/; HttpOnly; SameSite=Strict{self._secure}; Max-Age=0"

    def _cookie(self, header: str) -> str:
        try:
            known = SimpleCookie(header)
        except CookieError:
            return ""
        return known[self._name].value if self._name in known else ""


def _mark(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).digest()


def is_own(origin: str | None, host: str) -> bool:
    """Return true if a form was sent by a page of this server: browsers say its origin, and no page can change that.

    Args:
        origin: what the request says; None if it says nothing.
        host: name and port under which the request came.

    Example:
        >>> is_own("https://collect.example.org", "collect.example.org"), is_own("null", "x.org"), is_own(None, "x.org")
        (True, False, False)
    """
    return bool(origin) and urlsplit(str(origin)).netloc.lower() == host.lower()
