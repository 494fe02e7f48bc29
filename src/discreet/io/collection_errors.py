"""Refusals of collections, one class for each reason; a class's ``code`` names it in every language."""

from typing import ClassVar

from discreet.errors import DataError


class CollectionError(DataError):
    """A collection that is refused; nothing of it is kept.

    Attributes:
        code: the reason, one word, the same in every language.
    """

    code: ClassVar[str] = "collection"


class SizeError(CollectionError):
    """The envelope or its document is too large."""

    code = "size"


class EnvelopeError(CollectionError):
    """This is no envelope: no JSON, other fields, or base64 that nobody writes."""

    code = "envelope"


class UntrustedError(CollectionError):
    """No trusted key has signed the document."""

    code = "untrusted"


class SignatureError(CollectionError):
    """The signature of a trusted key is not one of this document."""

    code = "signature"


class FormatError(CollectionError):
    """The document is in a format that this version does not know."""

    code = "format"


class FieldError(CollectionError):
    """A field of the document is missing, unknown, of another type or out of range."""

    code = "field"


class RollbackError(CollectionError):
    """A higher version of this name was seen before."""

    code = "rollback"


class EquivocationError(CollectionError):
    """Another document of this name and version was seen before."""

    code = "equivocation"


class PromiseError(CollectionError):
    """The sampler's integers keep no promise, or a weaker one than the document states."""

    code = "promise"


class LawError(CollectionError):
    """The sampler's block law is unknown here: of a later version, or of a package that is not installed."""

    code = "law"


class CapError(CollectionError):
    """A report costs more than the application allows."""

    code = "cap"


class LifetimeError(CollectionError):
    """The collection asks for more in all, or in one epoch, than the application allows."""

    code = "lifetime"


class PlanError(CollectionError):
    """The plan in the document is malformed, or is not the one that the sampler was made for."""

    code = "plan"


class RebuiltError(CollectionError):
    """The mechanism that the plan describes has another sampler or another fingerprint."""

    code = "rebuilt"


class SimulatedError(CollectionError):
    """A simulated collection met a device for people, or a device of a simulation met a real collection."""

    code = "simulated"


REFUSALS: tuple[type[CollectionError], ...] = (
    SizeError,
    EnvelopeError,
    UntrustedError,
    SignatureError,
    FormatError,
    FieldError,
    RollbackError,
    EquivocationError,
    PromiseError,
    LawError,
    CapError,
    LifetimeError,
    PlanError,
    RebuiltError,
    SimulatedError,
)
"""Every reason for which a collection is refused."""
