"""Bots: sensitive values that stand for the secrets of single users [ULDP, section 5].

A personalized mechanism works over an extended domain: the values, and then one bot per tag. Bots are public; the
values that a user's device replaces by them stay on the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.labels import LabelSpace, names
from discreet.errors import ParameterError

SIGN = "⊥"
"""Stands before a tag where a bot is shown among values."""


@dataclass(frozen=True, slots=True, eq=False)
class WithBots:
    """A label space followed by one bot per tag.

    No value encodes to a bot: devices put bots in the place of codes themselves.

    Attributes:
        space: the labels, with codes 0..space.size - 1.
        tags: texts, all different, kept as a tuple; the bot of the k-th one has the code space.size + k.
    """

    space: LabelSpace
    tags: Sequence[str]

    def __post_init__(self) -> None:
        """Refuse tags that repeat or look alike.

        Raises:
            ParameterError: if there are none, or they are not different texts, or the space has bots already.
        """
        if isinstance(self.space, WithBots):
            raise ParameterError("a domain has its bots only once; extend the domain without bots.")
        object.__setattr__(self, "tags", checked_tags(self.tags))

    @property
    def size(self) -> int:
        """Number of labels and bots."""
        return self.space.size + len(self.tags)

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of values; see the space without bots."""
        return self.space.encode(values)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return one column of names: those of the labels, and for bots the tags after a sign."""
        codes = np.asarray(codes)
        bots = codes >= self.space.size
        spelled = np.empty(len(codes), dtype=object)
        spelled[~bots] = names(self.space, codes[~bots])
        spelled[bots] = [SIGN + self.tags[code - self.space.size] for code in codes[bots]]
        return {"value": spelled.astype(np.dtypes.StringDType())}

    def describe(self) -> dict[str, Any]:
        """Return the space's description and the tags."""
        return {"extended": self.space.describe(), "tags": list(self.tags)}


def checked_tags(tags: Any) -> tuple[str, ...]:
    """Return tags as a tuple.

    Raises:
        ParameterError: if they are not different texts, at least one.
    """
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise ParameterError(f"tags must be a list of texts, got {type(tags).__name__}.")
    names = tuple(tags)
    if not names or not all(isinstance(tag, str) and tag for tag in names) or len(set(names)) < len(names):
        raise ParameterError(f"tags must be different texts, at least one, none of them empty, got {len(names)} tags.")
    return names
