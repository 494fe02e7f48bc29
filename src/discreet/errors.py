"""Errors and warnings that discreet raises on purpose, and the catalogues of their messages.

Every room of the package has a ``messages.toml``. It holds the sentence of each error under a code of two words,
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
"""An argument in a sentence of a catalogue, with a value or without: `unknown='drop'`."""


@cache
def catalogue() -> dict[str, str]:
    """Return the sentences of all errors, by code; they are read when the first error is shown."""
    import tomllib

    rooms = [room / "messages.toml" for room in files("discreet").iterdir()]
    tables = [tomllib.loads(room.read_text(encoding="utf-8")) for room in rooms if room.is_file()]
    return {
        f"{subject}.{reason}": text for table in tables for subject in table for reason, text in table[subject].items()
    }


class DiscreetError(Exception):
    """Base of every error that discreet raises on purpose.

    Args:
        code: a code of the catalogue, as "epsilon.not-positive"; any other text is the sentence itself.
        argument: name of the argument at fault. It takes the place of the word "argument" in a code.
        values: what stands in the places of the sentence.

    Attributes:
        code: of the error; empty if the sentence is in no catalogue.
        argument: name of the argument at fault; empty if none is.

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
        """Put the place of the fault, a file or a row, before the sentence; return this error."""
        self._place = f"{place}: {self._place}"
        return self

    def of_kind(self, kind: type[_Other]) -> _Other:
        """Return an error of another class with the same message and place."""
        other = kind(str(self.args[0]), argument=self.argument, **self._values)
        other._place = self._place
        return other

    def sentence(self, name: Callable[[str, str | None], str] | None = None) -> str:
        """Return the message without its code.

        Args:
            name: the words for an argument, from its name and its value or None; the command line has options for them.
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
    """A parameter of a domain, mechanism, plan or estimator is not usable."""


class SurveyDocumentError(ParameterError):
    """The document of a survey was read where a plan, a domain or a study is needed.

    Args:
        path: of the survey.
        question: that was named behind it, as in ``survey.toml#age``.

    Attributes:
        path: of the survey.
        question: its name; empty if none was named.
    """

    def __init__(self, path: object, question: str = "") -> None:
        super().__init__("document.is-survey", path=path)
        self.path, self.question = path, question


class DataError(DiscreetError, ValueError):
    """Values, reports or tallies are malformed or outside the domain."""


class MismatchError(DataError):
    """Reports, tallies or mechanisms of different plans were put together."""


class SecretError(DiscreetError, TypeError):
    """A secret was to be copied, changed or written down outside its device."""


class OutputExistsError(DiscreetError, FileExistsError):
    """The output file is already there and was not to be overwritten."""


class MissingExtraError(DiscreetError, ImportError):
    """An optional dependency is not installed."""


class SourceWarning(UserWarning):
    """Something of the files that are read, which the caller is to judge."""


class EngineError(DiscreetError, RuntimeError):
    """An engine is not available, or broke down."""
