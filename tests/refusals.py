"""What every refusal must look like: plain sentences, nothing of anybody's data in them or in what hangs on to them."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from discreet.errors import DiscreetError


def refused(kind: type[DiscreetError], attempt: Callable[[], Any], *secrets: object) -> str:
    """Expect a refusal of this kind without any of the secrets in it; return its sentences and its code."""
    with pytest.raises(DiscreetError) as caught:
        attempt()
    error, message = caught.value, str(caught.value)
    assert isinstance(error, kind), f"{type(error).__name__}: {message}"
    assert re.fullmatch(r"[^\n]+\.( \[[\w-]+\.[a-z0-9-]+\])?", message)
    assert len(error.args) == 1
    assert message.endswith(error.args[0]) or re.fullmatch(r"[\w-]+\.[a-z0-9-]+", error.args[0])
    assert error.__context__ is None or error.__suppress_context__
    assert error.__cause__ is None
    for secret in secrets:
        assert str(secret) not in message + repr(vars(error))
    return message
