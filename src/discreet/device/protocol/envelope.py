"""Signed envelopes: a document's bytes with Ed25519 signatures. Also the errors of collections.

    {"document": "<base64>", "signatures": [{"key": "<base64, 32 bytes>", "signature": "<base64, 64 bytes>"}]}

A signature covers the line ``discreet collection 1``, a line feed, and the bytes of the document. It is checked with
the received bytes before they are parsed, so no program needs to write a document again. The ``reason`` of an error is
the same in every language.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from discreet.device.protocol.shapes import fits
from discreet.errors import DataError, ParameterError


class CollectionError(DataError):
    """Raised if the device refuses a collection. Nothing of the collection is stored.

    Attributes:
        reason: the reason in one word, the same in every language.
    """

    reason: ClassVar[str] = "collection"


class SizeError(CollectionError):
    """Raised if the envelope or its document is too large."""

    reason = "size"


class EnvelopeError(CollectionError):
    """Raised if the envelope is malformed: it is no JSON, has wrong fields, or has base64 in a non-canonical form."""

    reason = "envelope"


class UntrustedError(CollectionError):
    """Raised if no trusted key signed the document."""

    reason = "untrusted"


class SignatureError(CollectionError):
    """Raised if the signature of a trusted key does not fit the document."""

    reason = "signature"


class FormatError(CollectionError):
    """Raised if the document has a format that this version of the software does not know."""

    reason = "format"


class FieldError(CollectionError):
    """Raised if a field of the document is missing, unknown, of another type or out of range."""

    reason = "field"


class RollbackError(CollectionError):
    """Raised if the device has seen a higher version of the collection's name."""

    reason = "rollback"


class EquivocationError(CollectionError):
    """Raised if the device has seen another document with the same name and version."""

    reason = "equivocation"


class PromiseError(CollectionError):
    """Raised if the sampler guarantees no epsilon, or a larger one than the document promises."""

    reason = "promise"


class LawError(CollectionError):
    """Raised if the sampler's block law is unknown: from a later version, or from a package that is not installed."""

    reason = "law"


class CapError(CollectionError):
    """Raised if a report has a larger epsilon than the application allows."""

    reason = "cap"


class LifetimeError(CollectionError):
    """Raised if the sum of epsilons, of all reports or of one epoch, exceeds the application's limit."""

    reason = "lifetime"


class PlanError(CollectionError):
    """Raised if the plan in the document is malformed, or does not fit the sampler."""

    reason = "plan"


class RebuiltError(CollectionError):
    """Raised if the plan describes a mechanism with another sampler or another fingerprint."""

    reason = "rebuilt"


class SimulatedError(CollectionError):
    """Raised for a simulated collection on a person's device, or a real collection on a simulated device."""

    reason = "simulated"


REFUSALS: tuple[type[CollectionError], ...] = tuple(CollectionError.__subclasses__())
"""All classes of refusals of a collection."""


MEDIA_TYPE = "application/vnd.discreet.collection+json"
MOST_BYTES = 1 << 20
"""Largest document, in bytes."""
MOST_ENVELOPE_BYTES = 3 << 19
"""Largest envelope, in bytes."""
KEY_BYTES, SIGNATURE_BYTES = 32, 64

_SIGNED = b"discreet collection 1\n"
_MOST_SIGNATURES = 16
_LARGEST = (1 << 53) - 1
_ENVELOPE = {"document": str, "signatures": [{"key": str, "signature": str}]}


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a document: UTF-8 JSON, sorted keys, no spaces.

    Raises:
        ParameterError: if it contains an integer beyond 2^53 - 1, a number that is not finite, or half of a character,
            which not every language reads alike; or if it is larger than 1 MiB.
    """
    try:
        spelled = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        written = spelled.encode()
    except ValueError:
        raise ParameterError("document.not-json") from None
    json.loads(spelled, parse_int=_shared_integer)
    if len(written) > MOST_BYTES:
        raise ParameterError("document.too-large-to-sign", most=MOST_BYTES, size=len(written))
    return written


def _shared_integer(digits: str) -> int:
    if abs(number := int(digits)) > _LARGEST:
        raise ParameterError("document.integer-too-large")
    return number


def parsed(written: bytes) -> Any:
    """Parse strict JSON in UTF-8, and return the value.

    Raises:
        ValueError: for other bytes, a repeated key, ``NaN``, half of a character, or nesting that is too deep.
    """
    try:
        content = json.loads(written.decode(), object_pairs_hook=_once, parse_constant=_refused)
        if b"\\u" in written:
            json.dumps(content, ensure_ascii=False).encode()
    except (RecursionError, UnicodeError):
        raise ValueError("this is no JSON") from None
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key is there twice")
    return table


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


def signed(document: bytes, keys: Sequence[Ed25519PrivateKey]) -> bytes:
    """Return the envelope of a document, signed with every key.

    Raises:
        ParameterError: if there are no keys, or more than 16.
    """
    if not 1 <= len(keys) <= _MOST_SIGNATURES:
        raise ParameterError("keys.wrong-number", argument="keys", most=_MOST_SIGNATURES, n=len(keys))
    pairs = [(public_key(key), key.sign(_SIGNED + document)) for key in keys]
    signatures = [{"key": _base64(key), "signature": _base64(signature)} for key, signature in pairs]
    return json.dumps({"document": _base64(document), "signatures": signatures}, separators=(",", ":")).encode()


def public_key(key: Ed25519PrivateKey) -> bytes:
    """Return the public key of a private key, 32 bytes."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def opened(envelope: bytes, trust: Sequence[bytes | str]) -> bytes:
    """Check that a trusted key signed the document in an envelope, and return the document's bytes.

    Args:
        envelope: the bytes as received.
        trust: public keys, 32 bytes each or their base64, pinned by the application.

    Raises:
        ParameterError: if the envelope is not bytes, or ``trust`` is not a list of such keys.
        SizeError: if the envelope or the document is too large.
        EnvelopeError: if the envelope is malformed.
        UntrustedError: if no trusted key signed the document.
        SignatureError: if a trusted key signed another document.
    """
    pinned = checked_trust(trust)
    if not isinstance(envelope, bytes):
        raise ParameterError("envelope.not-bytes", argument="envelope", kind=type(envelope).__name__)
    if len(envelope) > MOST_ENVELOPE_BYTES:
        raise SizeError("envelope.too-large", most=MOST_ENVELOPE_BYTES, size=len(envelope))
    document, signatures = _contents(envelope)
    if len(document) > MOST_BYTES:
        raise SizeError("document.too-large", most=MOST_BYTES, size=len(document))
    trusted = [(key, signature) for key, signature in signatures if key in pinned]
    if not trusted:
        raise UntrustedError("signature.not-trusted", n=len(pinned))
    for key, signature in trusted:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, _SIGNED + document)
        except (InvalidSignature, ValueError):
            raise SignatureError("signature.wrong") from None
    return document


def signers(envelope: bytes) -> list[bytes]:
    """Return the public keys that an envelope lists, without a check of their signatures.

    Raises:
        EnvelopeError: if the envelope is malformed.
    """
    return [key for key, _ in _contents(envelope)[1]]


def checked_trust(trust: Any) -> frozenset[bytes]:
    """Check the trusted public keys, and return their bytes.

    Args:
        trust: list of keys, each as 32 bytes or as their base64.

    Raises:
        ParameterError: if there are no keys, or a key does not have 32 bytes.
    """
    try:
        return frozenset(_bytes(_base64(key) if isinstance(key, bytes) else key, KEY_BYTES) for key in [*trust] or [""])
    except (AttributeError, TypeError, ValueError):
        raise ParameterError("trust.wrong-keys", argument="trust", n=KEY_BYTES) from None


def _contents(envelope: bytes) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    try:
        content = parsed(envelope)
        if not fits(content, _ENVELOPE) or not 1 <= len(content["signatures"]) <= _MOST_SIGNATURES:
            raise ValueError("other fields")
        pairs = [(part["key"], part["signature"]) for part in content["signatures"]]
        signatures = [(_bytes(key, KEY_BYTES), _bytes(text, SIGNATURE_BYTES)) for key, text in pairs]
        return _bytes(content["document"]), signatures
    except ValueError:
        raise EnvelopeError("envelope.wrong-form") from None


def _bytes(text: str, length: int | None = None) -> bytes:
    """Decode base64 in its canonical form only, so that a document has exactly one envelope."""
    data = b64decode(text.encode("ascii"), validate=True)
    if _base64(data) != text or (length is not None and len(data) != length):
        raise ValueError("not as it is written")
    return data


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
