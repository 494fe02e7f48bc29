"""Access to data: tokens of requests, and roles."""

from starlette.requests import Request

from discreet.collector.refusals import Refusal
from discreet.collector.tokens import ANALYST, OPERATOR, Tokens, TooManyTriesError

_NONE = Refusal(401, "token", "this needs a token: Authorization: Bearer dsc_...")
_OTHER = Refusal(403, "role", "this token does not allow that.")
_MANY = Refusal(429, "tries", "too many tokens that are none; try again later.", retry=60)
# Who may see what the key may see.
_ALLOWED = {ANALYST: {ANALYST, OPERATOR}, OPERATOR: {OPERATOR}}


class DeniedError(Exception):
    """A request that may not see what it asks for, or asks for what there is not; it carries the answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


class Access:
    """The check of tokens.

    Args:
        tokens: in use.
        everybody: whether no token is needed: for a demonstration on this machine.
    """

    def __init__(self, tokens: Tokens, *, everybody: bool = False) -> None:
        self._tokens, self._everybody = tokens, everybody

    def holder(self, request: Request, role: str) -> str:
        """Return the name of who asks, if they may see what is for a role.

        Raises:
            DeniedError: if not.
        """
        if self._everybody:
            return "demo"
        given = request.headers.getlist("authorization")
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise DeniedError(_NONE)
        try:
            found = self._tokens.holder(token.strip(), request.client.host if request.client else "")
        except TooManyTriesError:
            raise DeniedError(_MANY) from None
        if found is None:
            raise DeniedError(_NONE)
        if found.role not in _ALLOWED[role]:
            raise DeniedError(_OTHER)
        return found.name
