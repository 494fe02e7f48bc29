"""The plan: the public, versioned document of a collection, in TOML or JSON.

    version = 1
    epsilon = 1.0

    [domain]
    labels = ["<18", "18-64", "65+"]
    sensitive = ["<18", "65+"]

    [mechanism]
    name = "unary"

Unknown fields are errors; the error names the field. The options of a mechanism are read from the mechanism's class, so
a new mechanism needs no code here.
"""

import inspect
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from types import GenericAlias
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, structs

from discreet.core.checks import suggestion
from discreet.core.domain import Domain
from discreet.errors import DiscreetError, MissingDocumentError, ParameterError, SurveyDocumentError
from discreet.files.paths import PLANS, checked_output, output_of
from discreet.files.writing import replacing
from discreet.formats.domains import CellsSpec, DomainSpec, all_composed, described_domain, moved_domain
from discreet.formats.toml import document_text, toml_text
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism
from discreet.mechanisms.personalized import OTHERS, AnyMechanism, Personalized
from discreet.mechanisms.registry import REMOVED


def _mechanism_spec(cls: type[BlockMechanism]) -> type[msgspec.Struct]:
    """Return the type of a mechanism's table in plans, with a field for each option of the mechanism."""
    fields: list[Any] = [
        (option.name, option.type) if option.default is MISSING else (option.name, option.type, option.default)
        for option in cls.options()
    ]
    spec = msgspec.defstruct(f"{cls.__name__}Spec", fields, kw_only=True, tag_field="name", tag=cls.name, **_STRICT)
    spec.__doc__ = inspect.getdoc(cls).splitlines()[0] if inspect.getdoc(cls) else None  # type: ignore[union-attr]
    return spec


_NAME = "mechanism.name`"
_STRICT: dict[str, Any] = {"frozen": True, "forbid_unknown_fields": True}
MechanismSpec: Any = Union[tuple(map(_mechanism_spec, BLOCK_MECHANISMS.built_in.values()))]  # noqa: UP007


def build_mechanism(spec: msgspec.Struct, domain: Domain, epsilon: float) -> BlockMechanism:
    """Return the mechanism that the mechanism table of a plan describes."""
    name = str(type(spec).__struct_config__.tag)
    options = {field: getattr(spec, field) for field in spec.__struct_fields__}
    return BLOCK_MECHANISMS[name](domain, epsilon, **options)


class PlanDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a plan file.

    Attributes:
        epsilon: the privacy promise, in nats.
        domain: the values and which of them are sensitive.
        mechanism: the name of the mechanism, and its options.
        version: the version of the format, 1.
        title: a title for people.
        tags: names for kinds of values that are secret for single users, with one placeholder each (a personalized
            plan).
        others: add the tag "others", for secret values that no other tag fits.
        cells: instead of tags, coarse cells of a grid, with one placeholder each.
    """

    epsilon: float
    domain: DomainSpec
    mechanism: MechanismSpec
    version: Literal[1] = 1
    title: str = ""
    tags: list[str] | None = None
    others: bool = True
    cells: CellsSpec | None = None

    def __post_init__(self) -> None:
        """Convert tags to Unicode's normal form C."""
        msgspec.structs.force_setattr(self, "tags", all_composed(self.tags))


@cache
def schema_with_joined(kind: Any) -> Any:
    """Return a type of documents, including the mechanisms that other installed packages bring.

    Args:
        kind: the type of the documents; it is returned as it is without a mechanism, and if no package brings one.
    """
    every: Any = Union[(MechanismSpec, *map(_mechanism_spec, BLOCK_MECHANISMS.joined.values()))]
    fields: list[Any] = []
    for field in structs.fields(kind) if BLOCK_MECHANISMS.joined and issubclass(kind, msgspec.Struct) else ():
        (part,) = get_args(field.type) if get_origin(field.type) is list else (None,)
        if field.type == MechanismSpec:
            fields.append((field.name, every))
        elif isinstance(part, type) and schema_with_joined(part) is not part:
            fields.append((field.name, GenericAlias(list, schema_with_joined(part))))
    return msgspec.defstruct(kind.__name__, fields, bases=(kind,), kw_only=True, **_STRICT) if fields else kind


class DomainDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a domain file, for comparing mechanisms before there is a plan.

    Attributes:
        domain: the values and which of them are sensitive.
        sensitive_mass: the share of people whose value is sensitive, if it is roughly known.
        version: the version of the format, 1.
        title: a title for people.
    """

    domain: DomainSpec
    sensitive_mass: float | None = None
    version: Literal[1] = 1
    title: str = ""


Document = TypeVar("Document")


_SURVEY = 2
"""The version of documents that are surveys."""
_NAMED_QUESTION = re.compile(r"(.+\.(?:toml|json))#(.+)")


def read_document(path: str | Path, kind: type[Document], *, version: int = 1) -> Document:
    """Read a TOML or JSON file. Unknown fields are errors.

    Args:
        path: the file.
        kind: the type of its content.
        version: the version of documents of this kind; a document of version 2 is a survey.

    Raises:
        ParameterError: if the file is missing, not TOML or JSON, or has a field that is not valid; the error names it.
        SurveyDocumentError: if the file is a survey, and another kind is wanted.
    """
    source = Path(path)
    if named := _NAMED_QUESTION.fullmatch(str(path)):
        raise SurveyDocumentError(*named.groups())
    if source.suffix not in (".toml", ".json"):
        raise ParameterError("document.unknown-ending", name=source.name)
    decode = msgspec.toml.decode if source.suffix == ".toml" else msgspec.json.decode
    try:
        written = source.read_bytes().removeprefix(BOM_UTF8)
        return decode(written, type=kind)
    except FileNotFoundError:
        raise MissingDocumentError("document.missing", path=source) from None
    except OSError as error:
        raise ParameterError("document.unreadable", path=source, kind=type(error).__name__) from None
    except msgspec.ValidationError as error:
        message = str(error)
        if version != _SURVEY and _is_survey(decode, written):
            raise SurveyDocumentError(source) from None
        if message.endswith(_NAME) and (wider := schema_with_joined(kind)) is not kind:  # type: ignore[arg-type]
            return read_document(path, wider, version=version)  # type: ignore[no-any-return]
        if isinstance(error.__cause__, DiscreetError):
            raise error.__cause__.at(source) from None
        raise _fault_of(message).at(source) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParameterError("document.not-valid", fault=error, advice="").at(source) from None


def _is_survey(decode: Callable[[bytes], Any], written: bytes) -> bool:
    """Return true if a document has the version and the attributes of a survey; false if it cannot be decoded."""
    with suppress(RecursionError, msgspec.DecodeError):
        content = decode(written)
        return isinstance(content, dict) and content.get("version") == _SURVEY and "attributes" in content
    return False


def _fault_of(message: str) -> ParameterError:
    """Return the error for a fault that msgspec found, with advice on a mechanism or on a signed collection."""
    advice = ""
    if message.endswith(_NAME) and (named := re.match(r"Invalid value '(.*)' - at ", message)):
        if named[1] in REMOVED:
            return ParameterError("mechanism.removed", name=named[1])
        meant = suggestion(named[1], BLOCK_MECHANISMS) or ". Update discreet, or install the package of the mechanism"
        advice = f" Known mechanisms are {', '.join(BLOCK_MECHANISMS)}{meant}."
    elif message.endswith("unknown field `document`"):
        advice = " This is a signed collection, not a plan. Check it with discreet attest."
    return ParameterError("document.not-valid", fault=_in_words(message), advice=advice)


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def _in_words(message: str) -> str:
    """Return a message of msgspec as a clause about a field of a document, without a full stop."""
    text, _, place = message.partition(" - at ")
    field = place.strip("`").removeprefix("$").removeprefix(".")
    where = f" in {field}" if field else ""
    if types := re.fullmatch(r"Expected `(.*)`, got `(\w+)`", text):
        wanted, actual = (
            " or ".join(_TYPES.get(kind, kind) for kind in kinds.split(" | ")) for kinds in types.groups()
        )
        return f"{f'The field {field}' if field else 'The document'} must be {wanted}, got {actual}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", text):
        return f"The field {missing[1]} is missing{where}"
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text):
        return f"The field {unknown[1]} is unknown{where}"
    return message.replace("`", "'")


@dataclass(frozen=True)
class Plan:
    """The public document of a collection, together with the folder of its files.

    Attributes:
        document: the content of the file.
        folder: the folder of the files that the document names.
        allow_outside: whether these files may be in other folders.

    Example:
        >>> from importlib.resources import files
        >>> import discreet as dc
        >>> plan = dc.Plan.load(files("discreet") / "examples" / "survey.toml")
        >>> plan.domain, plan.document.epsilon
        (Domain(16 values, 6 sensitive), 1.0)
        >>> plan.mechanism().guarantee.notion
        'ULDP'
    """

    document: PlanDocument
    folder: Path = Path()
    allow_outside: bool = False

    def __post_init__(self) -> None:
        """Raise an error for anything but the content of a plan, such as a mechanism."""
        if not isinstance(self.document, PlanDocument):
            raise ParameterError("plan.not-document", argument="document", kind=type(self.document).__name__)

    @classmethod
    def load(cls, path: str | Path, *, allow_outside: bool = False) -> "Plan":
        """Read a plan.

        Args:
            path: the plan.
            allow_outside: whether the plan may name files outside its folder.

        Raises:
            ParameterError: if the plan cannot be read or has a field that is not valid; the error names the field.
        """
        return cls(read_document(path, PlanDocument), Path(path).parent, allow_outside)

    @classmethod
    def of(cls, mechanism: AnyMechanism, *, title: str = "") -> "Plan":
        """Return the plan that describes a mechanism. `save` writes it to a file.

        Args:
            mechanism: a mechanism that has a name in plans, or a personalized mechanism with tags.
            title: a title for people.

        Raises:
            ParameterError: if plans cannot describe the mechanism: one with a law or matrix of your own, or over cells.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.UnaryEncoding(dc.Domain(["clinic", "court", "park"], sensitive=["clinic"]), epsilon=1.0)
            >>> plan = dc.Plan.of(mechanism, title="Places")
            >>> plan.fingerprint == mechanism.fingerprint, plan.document.domain.sensitive
            (True, ['clinic'])
        """
        plan = cls(msgspec.convert(described_plan(mechanism, title), schema_with_joined(PlanDocument)))
        if plan.fingerprint != mechanism.fingerprint:
            raise ParameterError("mechanism.not-in-plans")
        return plan

    def save(self, path: str | Path, *, force: bool = False) -> "Plan":
        """Write the plan to a file, and return the plan read back from the file.

        Args:
            path: the file, .toml or .json.
            force: whether a file that exists is replaced.

        Raises:
            OutputExistsError: if the file exists and ``force`` is not set.
            ParameterError: if the plan cannot be written to the file.

        Example:
            >>> import discreet as dc
            >>> from tempfile import TemporaryDirectory
            >>> plan = dc.Plan.of(dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0))
            >>> with TemporaryDirectory() as folder:
            ...     plan.save(f"{folder}/plan.toml").fingerprint == plan.fingerprint
            True
        """
        return save_plan(path, self, force=force)

    @cached_property
    def domain(self) -> Domain:
        """The domain of the plan, in which the common sensitive values are marked. It contains no placeholders."""
        return self.document.domain.domain(self.folder, allow_outside=self.allow_outside)

    @property
    def is_personalized(self) -> bool:
        """True if placeholders stand for values that are secret for single users."""
        return self.document.tags is not None or self.document.cells is not None

    def mechanism(self) -> BlockMechanism:
        """Return the plan's mechanism. For a personalized plan it is the common mechanism over values and placeholders.

        Raises:
            ParameterError: if a parameter is out of range.
        """
        return self._mechanism

    @cached_property
    def _mechanism(self) -> BlockMechanism:
        if self.is_personalized or not self.document.others:
            return self.personalized().common
        return build_mechanism(self.document.mechanism, self.domain, self.document.epsilon)

    def personalized(self) -> Personalized:
        """Return the personalized mechanism of a personalized plan, for devices and analysts.

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
        raise ParameterError("plan.tags-or-cells")

    @property
    def maker(self) -> BlockMechanism | Personalized:
        """The mechanism that makes reports.

        It is personalized if the plan is personalized; otherwise it is `mechanism`.
        """
        return self.personalized() if self.is_personalized else self.mechanism()

    @property
    def fingerprint(self) -> str:
        """A digest that every batch, tally and estimate of this plan carries."""
        return self.mechanism().fingerprint


def json_schema(*others: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of plans and of other documents. It is the same for every version of Python."""
    kinds, components = msgspec.json.schema_components([PlanDocument, *others], ref_template="#/$defs/{name}")
    for definition in components.values():
        if "description" in definition:
            # Python 3.13 and later remove the indent of docstrings, earlier versions do not.
            definition["description"] = inspect.cleandoc(definition["description"])
    return {**(kinds[0] if not others else {"anyOf": [*kinds]}), "$defs": components}


_OF_DOMAIN = ("title", "domain", "tags", "others", "cells")


def write_plan(
    path: str | Path, source: str | Path, mechanism: BlockMechanism, *, force: bool = False, allow_outside: bool = False
) -> Plan:
    """Write the plan of a mechanism over the domain of a document, and return the plan read back from the file.

    Args:
        path: the plan, .toml or .json.
        source: a plan or a domain file with the mechanism's domain.
        mechanism: the mechanism.
        force: whether a file that exists is replaced.
        allow_outside: whether the plan may name files outside its folder.

    Returns:
        the plan read back from the file. It has the mechanism's fingerprint.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if the plan cannot be written to the file, or the mechanism has another domain.

    Example:
        >>> from importlib.resources import files
        >>> from tempfile import TemporaryDirectory
        >>> import discreet as dc
        >>> survey = files("discreet") / "examples" / "survey.toml"
        >>> mechanism = dc.best(dc.Plan.load(survey).domain, epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     plan = write_plan(Path(folder) / "plan.toml", survey, mechanism)
        >>> plan.fingerprint == mechanism.fingerprint
        True
    """
    document = dict(read_document(source, dict))
    fields = {name: document[name] for name in _OF_DOMAIN if name in document}
    fields |= {"epsilon": mechanism.epsilon, "mechanism": described_mechanism(mechanism)}
    with _written(path, fields, Path(source).parent, force=force, allow_outside=allow_outside) as written:
        if written.fingerprint != mechanism.fingerprint:
            raise ParameterError("mechanism.other-domain", path=source)
    return written


def save_plan(path: str | Path, plan: Plan, *, force: bool = False) -> Plan:
    """Write a plan, and return the plan read back from the file; arguments and errors as for `Plan.save`."""
    with _written(path, _fields_of(plan), plan.folder, force=force, allow_outside=plan.allow_outside) as written:
        if written.fingerprint != plan.fingerprint:
            raise ParameterError("plan.not-readable-back")
    return written


def plan_text(plan: Plan) -> str:
    """Return a plan as TOML."""
    return toml_text(_fields_of(plan))


def _fields_of(plan: Plan) -> dict[str, Any]:
    """Return a plan's document as a dictionary, without default values, with the title as the first field."""
    fields = without_defaults(plan.document)
    return {name: fields[name] for name in dict.fromkeys(("title", *fields)) if name in fields}


def without_defaults(value: Any) -> Any:
    """Return a document as dictionaries and lists, without fields that have their default value."""
    if isinstance(value, list | tuple):
        return [without_defaults(item) for item in value]
    if not isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=_plain)
    kind = value.__struct_config__
    table = {} if kind.tag is None else {str(kind.tag_field): kind.tag}
    for field in msgspec.structs.fields(value):
        part = getattr(value, field.name)
        if field.required or part != (field.default if field.default_factory is NODEFAULT else field.default_factory()):
            table[field.encode_name] = without_defaults(part)
    return table


@contextmanager
def _written(
    path: str | Path, fields: dict[str, Any], folder: Path, *, force: bool, allow_outside: bool
) -> Iterator[Plan]:
    """Write a document, and yield the plan read back from the file. If an error occurs, no file remains."""
    target = output_of(path, "plans")
    checked_output(target, PLANS, "plans")
    fields["domain"] = moved_domain(fields["domain"], folder, target)
    with replacing(target, force=force) as beside:
        beside.write_text(document_text(fields, target), encoding="utf-8")
        # The plan is read in its folder, because paths in it are relative to this folder.
        yield Plan.load(beside, allow_outside=allow_outside)


def described_plan(mechanism: AnyMechanism, title: str) -> dict[str, Any]:
    """Return the document of a mechanism's plan; arguments and errors as for `Plan.of`."""
    blocks: Any = getattr(mechanism, "common", mechanism)
    if type(blocks) not in BLOCK_MECHANISMS.values():
        raise ParameterError("mechanism.without-name", names=", ".join(BLOCK_MECHANISMS), kind=type(mechanism).__name__)
    tags: dict[str, Any] = {}
    names: tuple[str, ...] = getattr(mechanism, "tags", ())
    if names:
        if Personalized.checked(mechanism).cell_of is not None:
            raise ParameterError("plan.over-cells")
        others = OTHERS in names
        tags = {"tags": [tag for tag in names if tag != OTHERS]} | ({} if others else {"others": False})
    head = {"title": title} if title else {}
    epsilon: float = blocks.epsilon
    return head | {
        "epsilon": epsilon,
        **tags,
        "domain": described_domain(mechanism.domain),
        "mechanism": described_mechanism(blocks),
    }


def described_mechanism(mechanism: BlockMechanism) -> dict[str, Any]:
    """Return a mechanism as plans write it: its name, and the options that differ from their defaults."""
    options = {option.name: (getattr(mechanism, option.name), option.default) for option in mechanism.options()}
    changed = {name: value for name, (value, default) in options.items() if value is not default and value != default}
    return {"name": mechanism.name, **msgspec.to_builtins(changed, enc_hook=_plain)}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
