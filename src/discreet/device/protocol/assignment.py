"""Surveys of several collections: each person's device draws the questions that the person answers.

    "survey": {"name": "health", "answers": 1, "epsilon": 2.0,
               "questions": [["health-1", "9223372036854775808"], ["health-2", "9223372036854775808"]]}

Each question is a collection, and all of these collections contain the same field ``survey``. It lists the questions by
name, each with its share of people as an integer over 2^64, in the order of `Survey.draw_questions`. A device draws one
word of 64 bits, which does not depend on any value, and answers the questions whose intervals contain the word. For
every word, the device answers at most as many questions as epsilon allows.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, WordArray
from discreet.core.random import WORD_RANGE
from discreet.device.protocol.envelope import FieldError
from discreet.device.protocol.shapes import fits

NAME = re.compile(r"[a-z0-9-]{1,64}")
"""Names of collections and surveys."""
MOST_QUESTIONS = 256
"""Most questions of a survey; each has its own document."""

_SHARE = re.compile(r"[1-9][0-9]{0,19}")
_SHAPE = {"name": NAME, "answers": int, "epsilon": int | float, "questions": [(NAME, _SHARE)]}
_LARGEST = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class Assignment:
    """The random assignment of a survey's questions to people. Each question is a collection.

    Attributes:
        name: the name of the survey.
        answers: t, the number of questions that each person answers.
        epsilon: largest privacy loss of a person's answers in one epoch, or in total for "once", in nats.
        questions: shares over 2^64, by names of collections; they add up to t 2^64.

    Example:
        >>> halves = Assignment("health", 1, 2.0, {"health-1": 1 << 63, "health-2": 1 << 63})
        >>> halves.drawn(0), halves.drawn(1 << 63)
        (('health-1',), ('health-2',))
    """

    name: str
    answers: int
    epsilon: float
    questions: Mapping[str, int]

    def drawn(self, word: int) -> tuple[str, ...]:
        """Return the names of the collections that a person answers, given the person's random 64-bit word."""
        ends, names = list(accumulate(self.questions.values())), list(self.questions)
        points = range(word, self.answers * WORD_RANGE, WORD_RANGE)
        return tuple(names[bisect_right(ends, point)] for point in points)

    def asked(self, name: str, words: WordArray) -> BoolArray:
        """Return ``(n,)`` booleans: true for the people who answer a collection, given their random words."""
        place = list(self.questions).index(name)
        end = list(accumulate(self.questions.values()))[place]
        answered = np.zeros(len(words), dtype=np.bool_)
        for point in range(0, self.answers * WORD_RANGE, WORD_RANGE):
            first, last = max(end - self.questions[name] - point, 0), min(end - point, WORD_RANGE) - 1
            if first <= last:
                answered |= (words >= np.uint64(first)) & (words <= np.uint64(last))
        return answered

    def document(self) -> dict[str, Any]:
        """Return the content of the field ``survey`` of a collection."""
        pairs = [[name, str(share)] for name, share in self.questions.items()]
        return {"name": self.name, "answers": self.answers, "epsilon": self.epsilon, "questions": pairs}


def checked_assignment(_: str, entry: Any) -> Assignment:
    """Check a field ``survey``, and return its assignment.

    Raises:
        FieldError: if the field is malformed.
    """
    wrong = FieldError("survey.wrong-field")
    if not fits(entry, _SHAPE):
        raise wrong
    answers, epsilon, pairs = entry["answers"], entry["epsilon"], entry["questions"]
    questions = {name: int(share) for name, share in pairs}
    once = len(questions) == len(pairs) <= MOST_QUESTIONS and max(questions.values(), default=0) <= WORD_RANGE
    if not once or not sum(questions.values()) == answers * WORD_RANGE > 0 or not 0 < epsilon <= _LARGEST:
        raise wrong
    return Assignment(entry["name"], answers, float(epsilon), questions)
