"""Errors and warnings that discreet raises on purpose.

Messages quote parameters and positions, never a person's value.
"""


class DiscreetError(Exception):
    """Base of every error that discreet raises on purpose."""


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
        super().__init__(f"{path} is a survey; discreet.Questionnaire.load reads it, and its questions as plans.")
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
