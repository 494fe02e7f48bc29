"""Rounds with the same questions: permanent reports, rotation or fresh reports, and the epsilon of one round."""

from fractions import Fraction
from typing import Any, Literal, get_args

import msgspec
from msgspec import structs

from discreet.core.checks import checked_choice, checked_epsilon, checked_whole
from discreet.errors import ParameterError

How = Literal["memo", "rotate", "fresh"]
"""Ways to ask in several rounds: a permanent report, each person in one round alone, or a new report every time."""

MOST_ROUNDS = 1000
"""The largest number of rounds of a survey."""

ROUND = "round"
"""The name of the column of rounds beside reports."""


class Rounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rounds in which a survey asks the same people; epsilon is for all rounds together.

    Attributes:
        number: T, the number of rounds.
        how: ``"memo"`` (permanent reports), ``"rotate"`` or ``"fresh"``.
        first: for ``"memo"``, the epsilon of one round, below the epsilon of all rounds; None without a second coin.
        answers: for ``"rotate"``, the number of rounds in which each person answers, drawn before the first round.

    Raises:
        ParameterError: if a number is out of range, or has no meaning for ``how``.

    Example:
        >>> Rounds(12, how="fresh").round_epsilon(2.0), Rounds(12, how="rotate").answered
        (Fraction(1, 6), 1)
    """

    number: int
    how: How = "memo"
    first: float | None = None
    answers: int = 1

    def __post_init__(self) -> None:
        """Check the fields; see the class."""
        checked_choice("how", self.how, get_args(How))
        number = checked_whole("number", self.number, 2, MOST_ROUNDS)
        first = None if self.first is None else checked_epsilon(self.first)
        plain = {"number": number, "first": first, "answers": checked_whole("answers", self.answers, 1, number)}
        for name, entry in plain.items():
            structs.force_setattr(self, name, entry)
        if self.first is not None and not self.is_permanent:
            raise ParameterError("first.needs-memo", argument="first", how=self.how)
        if self.answers > 1 and self.how != "rotate":
            raise ParameterError("answers.needs-rotate", argument="answers", how=self.how)

    @property
    def is_permanent(self) -> bool:
        """True if reports are permanent: they are stored and sent again."""
        return self.how == "memo"

    @property
    def answered(self) -> int:
        """The number of rounds in which a person answers."""
        return self.answers if self.how == "rotate" else self.number

    def round_epsilon(self, epsilon: float) -> Fraction:
        """Return the largest epsilon of a person's answers in one round, if `epsilon` is for all rounds.

        Raises:
            ParameterError: if ``first`` is not below epsilon.
        """
        if not self.is_permanent:
            return Fraction(epsilon) / self.answered
        if self.first is not None and self.first >= epsilon:
            raise ParameterError("first.too-large", argument="first", epsilon=epsilon, first=self.first)
        return Fraction(epsilon if self.first is None else self.first)

    def facts(self) -> list[Any]:
        """Return the fields that are part of a survey's fingerprint.

        The last one, false, says that questions are drawn once for all rounds.
        """
        return [self.number, self.how, None if self.first is None else self.first.hex(), self.answers, False]
