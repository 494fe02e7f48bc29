"""Names of attributes in other libraries, with their names here, for errors on unknown attributes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar


class OtherNames:
    """A class whose errors on unknown attributes say what to use.

    Attributes:
        other_names: for a name in other libraries, what to use here.

    Example:
        >>> import discreet as dc
        >>> dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0).transform(["yes"])
        Traceback (most recent call last):
        AttributeError: 'RandomizedResponse' has no attribute 'transform'. Use obfuscate.
    """

    __slots__ = ()

    other_names: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says what to use instead of an unknown attribute."""
            if hasattr(type(self), name):
                # A property failed: its own error says why.
                return object.__getattribute__(self, name)
            use = self.other_names.get(name)
            hint = "" if use is None else f". Use {use}."
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{hint}", name=name, obj=self)
