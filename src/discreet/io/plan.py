"""The plan: the public, versioned document of a collection, in TOML or JSON.

    version = 1
    epsilon = 1.0

    [domain]
    labels = ["<18", "18-64", "65+"]
    sensitive = ["<18", "65+"]

    [mechanism]
    name = "unary"

It is decoded strictly: an unknown field is an error that names the place. What a mechanism may be told is read off its
class, so that a new mechanism needs nothing here.
"""

import inspect
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from discreet.core.checks import meant
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.io.domain_spec import CellsSpec, DomainSpec
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, Mechanism
from discreet.mechanisms.personalized import Personalized


def _mechanism_spec(name: str, cls: type[BlockMechanism]) -> type[msgspec.Struct]:
    """Make the plan's table of a mechanism out of its options; those without a default are required."""
    fields: list[Any] = [
        (option.name, option.type) if option.default is MISSING else (option.name, option.type, option.default)
        for option in cls.options()
    ]
    made = msgspec.defstruct(f"{cls.__name__}Spec", fields, kw_only=True, tag_field="name", tag=name, **_STRICT)
    made.__doc__ = inspect.getdoc(cls).splitlines()[0] if inspect.getdoc(cls) else None  # type: ignore[union-attr]
    return made


_NAME = "`$.mechanism.name`"
_STRICT: dict[str, Any] = {"frozen": True, "forbid_unknown_fields": True}
_SPECS = {name: _mechanism_spec(name, cls) for name, cls in BLOCK_MECHANISMS.built_in.items()}
MechanismSpec: Any = Union[tuple(_SPECS.values())]  # noqa: UP007


def build_mechanism(spec: msgspec.Struct, domain: Domain, epsilon: float) -> BlockMechanism:
    """Make the mechanism that a plan's table describes."""
    name = str(type(spec).__struct_config__.tag)
    options = {field: getattr(spec, field) for field in spec.__struct_fields__}
    return BLOCK_MECHANISMS[name](domain, epsilon, **options)


class PlanDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a plan file.

    Attributes:
        epsilon: the privacy promise, in nats.
        domain: the values and which of them are sensitive.
        mechanism: which mechanism, by name, and its options.
        version: of this form; 1.
        title: for people.
        tags: what users may call values that they alone hold secret; a bot each (a personalized plan).
        others: add the tag "others", for secret values that no other tag fits.
        cells: instead of tags, coarse cells of a grid; a bot each.
    """

    epsilon: float
    domain: DomainSpec
    mechanism: MechanismSpec
    version: Literal[1] = 1
    title: str = ""
    tags: list[str] | None = None
    others: bool = True
    cells: CellsSpec | None = None


@cache
def _with_joined() -> Any:
    """Return the document type that knows the mechanisms of other packages too."""
    joined = (_mechanism_spec(name, cls) for name, cls in BLOCK_MECHANISMS.joined.items())
    every: Any = Union[(*_SPECS.values(), *joined)]
    fields: list[Any] = [("mechanism", every)]
    return msgspec.defstruct(PlanDocument.__name__, fields, bases=(PlanDocument,), kw_only=True, **_STRICT)


class DomainDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a domain file: for comparing mechanisms before there is a plan.

    Attributes:
        domain: the values and which of them are sensitive.
        sensitive_mass: the share of people whose value is sensitive, if it is roughly known.
        version: of this form; 1.
        title: for people.
    """

    domain: DomainSpec
    sensitive_mass: float | None = None
    version: Literal[1] = 1
    title: str = ""


Document = TypeVar("Document")


def read_document(path: str | Path, kind: type[Document]) -> Document:
    """Read a TOML or JSON file strictly.

    Raises:
        ParameterError: if the file is missing, not TOML or JSON, or says what it may not; it names the place.
    """
    source = Path(path)
    if source.suffix not in (".toml", ".json"):
        raise ParameterError(f"plans are kept as .toml or .json, got {source.name!r}.")
    decode = msgspec.toml.decode if source.suffix == ".toml" else msgspec.json.decode
    try:
        written = source.read_bytes()
        return decode(written, type=kind)
    except FileNotFoundError:
        raise ParameterError(f"{source} does not exist.") from None
    except OSError as error:
        raise ParameterError(f"{source} cannot be read ({type(error).__name__}).") from None
    except msgspec.ValidationError as error:
        message = str(error)
        if kind is PlanDocument and message.endswith(_NAME) and BLOCK_MECHANISMS.joined:
            return read_document(path, _with_joined())  # type: ignore[no-any-return]
        known: Sequence[str] | None = tuple(BLOCK_MECHANISMS) if message.endswith(_NAME) else None
        if known is None:
            with suppress(RecursionError):
                known = _known_there(message, decode(written), kind)
        raise ParameterError(f"{source}: {_sentence(message, known)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{source}: {_sentence(str(error))}") from None


def _sentence(message: str, known: Sequence[str] | None = None) -> str:
    """Return the sentence of an msgspec error, with the place first and the known names, if there are such, last."""
    what, _, where = message.partition(" - at ")
    what = what[:1].lower() + what[1:]
    if known:
        given = re.search(r"[`']([^`']*)[`']$", what)
        listed = f"known are {', '.join(known)}" if len(known) > 1 else f"known is {known[0]!r} alone"
        unknown = "; update discreet, or install the package that brings it" if message.endswith(_NAME) else ""
        what += f"; {listed}{meant(given[1] if given else None, known) or unknown}"
    elif known is not None:
        what += "; there are none here"
    return f"at {where.strip('`').removeprefix('$.')}, {what}." if where else f"{what}."


def _known_there(message: str, said: Any, kind: Any) -> Sequence[str] | None:
    """Return the fields that a plan may have where it has an unknown one, or the words where it has no such word."""
    _, _, where = message.partition(" - at ")
    for part in where.strip("`").split(".")[1:]:
        kind = next((one for one in _alternatives(kind) if isinstance(one, type)), None)
        if kind is None or not isinstance(said, dict):
            # Inside a list: which of its entries is meant is not told.
            return None
        kind, said = get_type_hints(kind).get(part), said.get(part)
        if part == "mechanism" and isinstance(said, dict):
            named = (one for one in _alternatives(kind) if one.__struct_config__.tag == said.get("name"))
            kind = next(named, None)
    if "unknown field" not in message:
        words = [word for one in _alternatives(kind) for word in get_args(one) if isinstance(word, str)]
        return words or None
    kind = next((one for one in _alternatives(kind) if isinstance(one, type)), None)
    return None if kind is None else tuple(one.encode_name for one in msgspec.structs.fields(kind))


def _alternatives(kind: Any) -> Sequence[Any]:
    """Return the types that a type is a choice of, but for None; itself if it is no choice."""
    if get_origin(kind) not in {Union, UnionType}:
        return [kind]
    return [one for one in get_args(kind) if one is not type(None)]


@dataclass(frozen=True)
class Plan:
    """A collection's public document, with its domain built.

    Attributes:
        document: what the file says.
        folder: where files that it names are.
        allow_outside: whether they may be elsewhere too.

    Example:
        >>> from importlib.resources import files
        >>> import discreet as dc
        >>> plan = dc.Plan.load(files("discreet") / "examples" / "per_value.toml")
        >>> plan.domain, plan.document.epsilon
        (Domain(16 values, 6 sensitive), 1.0)
        >>> plan.mechanism().guarantee.notion
        'ULDP'
    """

    document: PlanDocument
    folder: Path = Path()
    allow_outside: bool = False

    @classmethod
    def load(cls, path: str | Path, *, allow_outside: bool = False) -> "Plan":
        """Read a plan.

        Args:
            path: the plan.
            allow_outside: whether it may name files that are neither beside it nor below.

        Raises:
            ParameterError: if it cannot be read or says what it may not; it names the place.
        """
        return cls(read_document(path, PlanDocument), Path(path).parent, allow_outside)

    @classmethod
    def of(cls, mechanism: Mechanism, *, title: str = "") -> "Plan":
        """Return the plan of a mechanism, which `save` writes.

        Args:
            mechanism: a mechanism that plans have a name for, or a personalized one with tags.
            title: for people.

        Raises:
            ParameterError: if no plan says what the mechanism is: one of a law or a matrix of one's own, or over cells.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.UnaryEncoding(dc.Domain(["clinic", "court", "park"], sensitive=["clinic"]), epsilon=1.0)
            >>> plan = dc.Plan.of(mechanism, title="Places")
            >>> plan.fingerprint == mechanism.fingerprint, plan.document.domain.sensitive
            (True, ['clinic'])
        """
        from discreet.io.written_plan import described_plan

        kind = _with_joined() if BLOCK_MECHANISMS.joined else PlanDocument
        plan = cls(msgspec.convert(described_plan(mechanism, title), kind))
        if plan.fingerprint != mechanism.fingerprint:
            raise ParameterError("no plan says all that this mechanism is: read back it would be another one.")
        return plan

    def save(self, path: str | Path, *, force: bool = False) -> "Plan":
        """Write the plan to a file, and return it as it was read back.

        Args:
            path: the file, .toml or .json.
            force: whether a file that exists is replaced.

        Raises:
            OutputExistsError: if the file exists and ``force`` is not set.
            ParameterError: if the plan cannot be written there.

        Example:
            >>> import discreet as dc
            >>> from tempfile import TemporaryDirectory
            >>> plan = dc.Plan.of(dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0))
            >>> with TemporaryDirectory() as folder:
            ...     plan.save(f"{folder}/plan.toml").fingerprint == plan.fingerprint
            True
        """
        from discreet.io.written_plan import save_plan

        return save_plan(path, self, force=force)

    @cached_property
    def domain(self) -> Domain:
        """The values and which of them are sensitive for everybody; never with bots."""
        return self.document.domain.domain(self.folder, allow_outside=self.allow_outside)

    @property
    def is_personalized(self) -> bool:
        """True if bots stand for values that only one user holds secret."""
        return self.document.tags is not None or self.document.cells is not None

    def mechanism(self) -> BlockMechanism:
        """Return the mechanism of the plan; of a personalized one the common mechanism, over the bots too.

        Raises:
            ParameterError: if a parameter is out of range.
        """
        if self.is_personalized or not self.document.others:
            return self.personalized().common
        return build_mechanism(self.document.mechanism, self.domain, self.document.epsilon)

    def personalized(self) -> Personalized:
        """Return the personalized mechanism, for devices and analysts of a personalized plan.

        Raises:
            ParameterError: if the plan has no tags and no cells, or both, or a parameter is out of range.
        """
        document, epsilon = self.document, self.document.epsilon
        build = partial(build_mechanism, document.mechanism)
        if document.tags is not None and document.cells is None:
            return Personalized(self.domain, epsilon, document.tags, mechanism=build, others=document.others)
        if document.tags is None and document.cells is not None and document.others:
            cells = document.cells
            return Personalized.cells(self.domain, epsilon, rows=cells.rows, cols=cells.cols, mechanism=build)
        raise ParameterError("a personalized plan must have tags (and with them others) or cells, one of the two.")

    @property
    def fingerprint(self) -> str:
        """Digest that marks every batch, tally and estimate of this plan."""
        return self.mechanism().fingerprint


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of plan files, the same under every Python."""
    schema = msgspec.json.schema(PlanDocument)
    for definition in schema["$defs"].values():
        if "description" in definition:
            # Python 3.13 strips the indent of docstrings, its forerunners do not.
            definition["description"] = inspect.cleandoc(definition["description"])
    return schema
