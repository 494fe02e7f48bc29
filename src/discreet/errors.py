"""What can go wrong, by whose doing: every error discreet raises on purpose is one of these.

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
    """What must not leave its device was to be copied, changed or written down."""


class OutputExistsError(DiscreetError, FileExistsError):
    """The output file is already there and was not to be overwritten."""


class MissingExtraError(DiscreetError, ImportError):
    """An optional dependency is not installed."""


class RewrittenFileWarning(UserWarning):
    """What a file of reports no longer says, because another tool rewrote it, is taken on the caller's word."""


class EngineError(DiscreetError, RuntimeError):
    """What was to go through the reports is not there, or broke down."""
