"""Errors and warnings that discreet raises on purpose.

Messages quote parameters and positions, never a person's value.
"""


class DiscreetError(Exception):
    """Base of every error that discreet raises on purpose."""


class ParameterError(DiscreetError, ValueError):
    """A parameter of a domain, mechanism, plan or estimator is not usable."""


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
