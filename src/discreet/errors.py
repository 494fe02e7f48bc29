"""Errors and warnings of discreet, and the catalogues of their messages.

Each folder of the package has a ``messages.toml`` with the sentence of each error under a code of two words, such as
``[epsilon]`` and ``not-positive``. Code raises ``ParameterError("epsilon.not-positive", value=epsilon)``. Messages
quote parameters and positions, never a person's value.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Self, TypeVar

_Other = TypeVar("_Other", bound="DiscreetError")
_ARGUMENT = re.compile(r"`(\w+)(?:='?([^`]*?)'?)?`")
"""An argument in a message, with or without a value: `unknown='drop'`."""


@cache
def catalogue() -> dict[str, str]:
    """Return the messages of all errors by code, read from the catalogues when the first error is shown."""
    import tomllib

    rooms = [room / "messages.toml" for room in files("discreet").iterdir()]
    tables = [tomllib.loads(room.read_text(encoding="utf-8")) for room in rooms if room.is_file()]
    return {
        f"{subject}.{reason}": text for table in tables for subject in table for reason, text in table[subject].items()
    }


class DiscreetError(Exception):
    """The base class of all errors that discreet raises.

    Args:
        code: a code of the catalogue, such as "epsilon.not-positive"; any other text is used as the message.
        argument: the name of the invalid argument. It replaces the word "argument" in a code.
        values: the values for the placeholders of the message.

    Attributes:
        code: the code of the error; empty if the message is in no catalogue.
        argument: the name of the invalid argument; empty if there is no such argument.

    Example:
        >>> str(ParameterError("argument.not-positive", argument="epsilon", value=-1))
        'epsilon must be a finite number above 0, got -1. [epsilon.not-positive]'
    """

    def __init__(self, code: str, /, *, argument: str = "", **values: object) -> None:
        super().__init__(code)
        self.argument, self._values, self._place = argument, values, ""
        self._key = code if re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", code) else ""
        self.code = re.sub(r"^argument\b", argument, self._key)

    def at(self, place: object) -> Self:
        """Put the file or row of the fault before the message, and return this error."""
        self._place = f"{place}: {self._place}"
        return self

    def of_kind(self, kind: type[_Other]) -> _Other:
        """Return an error of another class with the same message and the same place of the fault."""
        other = kind(str(self.args[0]), argument=self.argument, **self._values)
        other._place = self._place
        return other

    def sentence(self, name: Callable[[str, str | None], str] | None = None) -> str:
        """Return the message of an error without its code.

        Args:
            name: a function that returns the text for an argument, from its name and its value or None. The command
                line replaces arguments by its options.
        """
        text = catalogue().get(self._key, "") if self._key else ""
        argument = self.argument if name is None else name(self.argument, None)
        text = text.format(argument=argument, **self._values) if text else str(self.args[0])
        if name is not None:
            text = _ARGUMENT.sub(lambda match: name(match[1], match[2]), text)
        return self._place + text

    def __str__(self) -> str:
        return f"{self.sentence()} [{self.code}]" if self.code else self.sentence()


class ParameterError(DiscreetError, ValueError):
    """Raised if a parameter of a domain, mechanism, plan or estimator is not valid."""


class SurveyDocumentError(ParameterError):
    """Raised if a file with a survey is given instead of a plan, a domain or a study.

    Args:
        path: the path of the survey.
        question: the name of the question that was given with it, as in ``survey.toml#age``.

    Attributes:
        path: the path of the survey.
        question: the name of the question; empty if none was given.
    """

    def __init__(self, path: object, question: str = "") -> None:
        super().__init__("document.is-survey", path=path)
        self.path, self.question = path, question


class DataError(DiscreetError, ValueError):
    """Raised if values, reports or tallies are malformed or outside the domain."""


class MissingFileError(DataError, FileNotFoundError):
    """Raised if a file of data does not exist."""


class MissingDocumentError(ParameterError, FileNotFoundError):
    """Raised if the file of a plan or of another document does not exist."""


class MismatchError(DataError):
    """Raised if reports, tallies or mechanisms of different plans are combined."""


class SecretError(DiscreetError, TypeError):
    """Raised if a program tries to copy, change or write a secret outside its device."""


class OutputExistsError(DiscreetError, FileExistsError):
    """Raised if an output file exists and must not be replaced."""


class MissingExtraError(DiscreetError, ImportError):
    """Raised if an optional dependency is not installed."""


class SourceWarning(UserWarning):
    """A warning about files of reports, for example about files that do not name their plan."""


class EngineError(DiscreetError, RuntimeError):
    """Raised if an engine, such as Spark, is not available or fails."""
