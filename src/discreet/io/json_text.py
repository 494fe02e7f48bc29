"""JSON output with one rule for numbers that JSON lacks.

A number that is not finite is one of the texts "Infinity", "-Infinity" and "NaN", which most languages turn back into
the number; null says that there is no such number.
"""

import json
import math
from collections.abc import Mapping, Set
from typing import Any


def json_text(facts: Any, *, indent: int | None = None) -> str:
    """Return facts as JSON that every parser accepts.

    Args:
        facts: mappings, sequences, texts, and numbers, also NumPy's; anything else stands as its text.
        indent: as for `json.dumps`.
    """
    return json.dumps(_plain(facts), indent=indent, allow_nan=False)


def _plain(fact: Any) -> Any:
    # NumPy's numbers and arrays; NumPy itself is not imported, so that help answers at once.
    if hasattr(fact, "tolist"):
        return _plain(fact.tolist())
    if isinstance(fact, float) and not math.isfinite(fact):
        return "NaN" if math.isnan(fact) else "Infinity" if fact > 0 else "-Infinity"
    if isinstance(fact, Mapping):
        return {str(name): _plain(one) for name, one in fact.items()}
    if isinstance(fact, list | tuple | Set):
        return [_plain(one) for one in fact]
    # What has no form in JSON, such as a path or a fraction, stands as its text: nothing fails for its kind.
    return fact if fact is None or isinstance(fact, str | int | float) else str(fact)
