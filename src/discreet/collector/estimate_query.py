"""Queries for estimates: which epochs, by which method, with intervals of which level."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from discreet.errors import ParameterError
from discreet.estimators import METHODS, Method

_MOST_EPOCHS = 100_000
_KNOWN = ("epochs", "method", "level", "version")


@dataclass(frozen=True)
class EstimateQuery:
    """Query for an estimate.

    Attributes:
        epochs: which, ascending; None for all that are sealed.
        method: one of the estimators.
        level: confidence of the intervals; None for the usual one, where there are any.
    """

    epochs: tuple[int, ...] | None = None
    method: Method = "linear"
    level: float | None = None

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> "EstimateQuery":
        """Return the query in the parameters of a request.

        Raises:
            ParameterError: if one is unknown, there twice, or cannot be used.
        """
        said = list(parameters)
        given = dict(said)
        if len(given) < len(said) or not given.keys() <= set(_KNOWN):
            raise ParameterError(f"parameters must be some of {', '.join(_KNOWN)}, each once.")
        method = given.get("method", "linear")
        if method not in METHODS:
            raise ParameterError(f"method must be one of {', '.join(METHODS)}.")
        return cls(_epochs(given.get("epochs", "sealed")), cast("Method", method), _level(given.get("level")))


def _epochs(text: str) -> tuple[int, ...] | None:
    if text == "sealed":
        return None
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdigit() and len(end) <= 10 for end in ends):
            raise ParameterError("epochs must be 'sealed', or numbers and ranges such as 0-5,7.")
        start, stop = int(ends[0]), int(ends[1]) + 1
        if not start < stop <= start + _MOST_EPOCHS - len(found):
            raise ParameterError(f"epochs must be ascending ranges, of at most {_MOST_EPOCHS} epochs in all.")
        found |= set(range(start, stop))
    return tuple(sorted(found))


def _level(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise ParameterError("level must be a number between 0 and 1, both excluded.")
    return level


def spelled_epochs(epochs: Sequence[int]) -> str:
    """Return epochs as ranges."""
    parts: list[list[int]] = []
    for epoch in epochs:
        if parts and parts[-1][1] == epoch - 1:
            parts[-1][1] = epoch
        else:
            parts.append([epoch, epoch])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
