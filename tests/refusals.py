"""What every refusal must look like: one sentence, nothing of anybody's data in it or in what hangs on to it."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from discreet.errors import DiscreetError


def refused(kind: type[DiscreetError], attempt: Callable[[], Any], *secrets: object) -> str:
    """Expect a refusal of this kind in one sentence without any of the secrets; return the message."""
    with pytest.raises(DiscreetError) as caught:
        attempt()
    error, message = caught.value, str(caught.value)
    assert isinstance(error, kind), f"{type(error).__name__}: {message}"
    assert re.fullmatch(r"[^\n]+\.", message)
    assert ". " not in message
    assert error.args == (message,)
    assert error.__context__ is None or error.__suppress_context__
    assert error.__cause__ is None
    for secret in secrets:
        assert str(secret) not in message
    return message
