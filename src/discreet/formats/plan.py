"""Plans: the public document of a domain, a mechanism and its epsilon.

Domains as plans describe them: labels, and what is sensitive in few words.

The domain of a plan as its file describes it, and where files may lie that it names.

The plan: the public, versioned document of a collection, in TOML or JSON.

    version = 1
    epsilon = 1.0

    [domain]
    labels = ["<18", "18-64", "65+"]
    sensitive = ["<18", "65+"]

    [mechanism]
    name = "unary"

It is decoded strictly: an unknown field is an error that names the place. What a mechanism may be told is read off its
class, so that a new mechanism needs nothing here.

Plans written to files: the domain of a document with a mechanism over it.
"""

import inspect
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import NODEFAULT

from discreet.arrays import BoolArray
from discreet.core.checks import meant
from discreet.core.domain import Domain, WithBots
from discreet.core.labels import Grid, IntegerRange, LabelSpace, Numbers, Product
from discreet.core.reading import composed, composed_names
from discreet.errors import ParameterError, SurveyDocumentError
from discreet.files.paths import PLANS, checked_output, output_of
from discreet.files.writing import replacing
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism
from discreet.mechanisms.personalized import OTHERS, AnyMechanism, Personalized

_MOST = 1 << 20


def described_domain(domain: Domain) -> dict[str, Any]:
    """Return the table of a domain in a plan.

    Raises:
        ParameterError: if a plan would have to spell out more than a million labels.

    Example:
        >>> described_domain(Domain(range(100), sensitive=[3, 4]))
        {'range': [0, 100], 'sensitive': [3, 4]}
        >>> pairs = Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]}, sensitive={"age": "<40"})
        >>> described_domain(pairs)["sensitive"]
        [{'age': ['<40']}]
    """
    described = _labels(domain.space) | ({"attribute": domain.attribute} if domain.attribute else {})
    described |= {"exact": True} if domain.exact else {}
    if not domain.sensitive_count:
        return described | {"sensitive": [], "allow_unprotected": True}
    if not domain.clear_count:
        return described
    if domain.sensitive_count > _MOST:
        raise ParameterError(
            f"a plan spells out at most {_MOST:,} sensitive labels, got {domain.sensitive_count:,}; write them into a "
            "file beside it, with the table domain.file."
        )
    return described | {"sensitive": described_values(domain, domain.sensitive)}


def described_values(domain: Domain, chosen: BoolArray) -> list[Any]:
    """Return some values as plans name them: labels, patterns of a product, or points of a grid."""
    if isinstance(domain.space, Product):
        return list(_patterns(domain.space, chosen))
    if isinstance(domain.space, Numbers):
        return [*domain.space.closed_ranges(np.flatnonzero(chosen))]
    return _points(domain.space, chosen) if isinstance(domain.space, Grid) else _spelled(domain.space, chosen)


def _labels(space: LabelSpace) -> dict[str, Any]:
    if isinstance(space, IntegerRange):
        return space.describe()
    if isinstance(space, Grid):
        return {"grid": {"lat": [*space.lat], "lon": [*space.lon], "rows": space.rows, "cols": space.cols}}
    if isinstance(space, Numbers):
        number = {"low": space.low, "high": space.high, "bins": space.bins, "scale": space.scale}
        return {"number": number | ({"clip": True} if space.clip else {})}
    if isinstance(space, Product):
        parts = space.attributes.items()
        numbers = {name: _labels(part)["number"] for name, part in parts if isinstance(part, Numbers)}
        return {"product": {name: numbers.get(name) or _spelled(part) for name, part in parts}}
    return {"labels": _spelled(space)}


def _spelled(space: LabelSpace, chosen: BoolArray | None = None) -> list[Any]:
    """Return labels of a flat space: all, or those that are chosen."""
    codes = np.arange(space.size) if chosen is None else np.flatnonzero(chosen)
    if len(codes) > _MOST:
        raise ParameterError(
            f"a plan spells out at most {_MOST:,} labels, got {len(codes):,}; write them into a file beside it, with "
            "the table domain.file."
        )
    if isinstance(space, WithBots):
        raise ParameterError("a plan lists tags, not placeholders; make the mechanism with Personalized.")
    (column,) = space.table(codes).values()
    labels: list[Any] = column.tolist()
    return labels


def _patterns(space: Product, chosen: BoolArray) -> Iterator[dict[str, Any]]:
    """Yield patterns of the chosen combinations and no others: whole labels first, then single combinations."""
    labels = {name: _named(part) for name, part in space.attributes.items()}
    mask = chosen.reshape([part.size for part in space.attributes.values()])
    left = mask.copy()
    for axis, (name, part) in enumerate(space.attributes.items()):
        whole: Any = np.moveaxis(mask, axis, 0).reshape(part.size, -1).all(axis=1)
        if whole.any():
            yield {name: _named(part, whole)}
            np.moveaxis(left, axis, 0)[whole] = False
    *names, last = labels
    for row in zip(*np.nonzero(left.any(axis=-1)), strict=True):
        fixed = {name: labels[name][place] for name, place in zip(names, row, strict=True)}
        yield fixed | {last: _named(space.attributes[last], left[row])}


def _named(part: LabelSpace, chosen: BoolArray | None = None) -> list[Any]:
    """Return chosen values of an attribute as patterns name them, ranges of numbers; or all, each by itself."""
    if not isinstance(part, Numbers):
        return _spelled(part, chosen)
    if chosen is None:
        return [part.closed_ranges(np.array([code])) for code in range(part.size)]
    return [*part.closed_ranges(np.flatnonzero(chosen))]


def _points(grid: Grid, chosen: BoolArray) -> list[list[float]]:
    """Return the middle of each chosen region."""
    rows, columns = np.divmod(np.flatnonzero(chosen), grid.cols)
    lat = grid.lat[0] + (rows + 0.5) * (grid.lat[1] - grid.lat[0]) / grid.rows
    lon = grid.lon[0] + (columns + 0.5) * (grid.lon[1] - grid.lon[0]) / grid.cols
    return [[*point] for point in zip(lat.tolist(), lon.tolist(), strict=True)]


Label = str | int
Cut = int | float | str
Pattern = dict[str, Label | float | list[Label | float | list[float]]]
Sensitive = list[str | int | bool | Pattern | list[float]]


class GridSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Regions of a map: borders in degrees, and how many rows and columns."""

    lat: tuple[float, float]
    lon: tuple[float, float]
    rows: int
    cols: int


class NumberSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers from low to high, in bins.

    Attributes:
        low: the least number.
        high: the largest one.
        bins: how many bins.
        scale: "linear", or "log1p" for bins in which ln(1 + x) grows by as much.
        clip: whether numbers outside are taken for the nearest one inside; otherwise they are refused.
    """

    low: float
    high: float
    bins: int = 256
    scale: Literal["linear", "log1p"] = "linear"
    clip: bool = False


class FileSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels in a CSV or Parquet file beside the plan.

    Attributes:
        path: the file, relative to the plan.
        label: name of the column of labels.
        sensitive: name of a column of true and false; None if the plan says itself what is sensitive.
    """

    path: str
    label: str = "label"
    sensitive: str | None = None


class CellsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Coarse cells of a grid, with a bot each: how many along the latitude and along the longitude."""

    rows: int
    cols: int


class DomainSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values: exactly one of labels, range, number, product, grid and file; and which of them are sensitive.

    Attributes:
        labels: texts or integers.
        range: the first integer and the one after the last.
        number: numbers in bins.
        product: labels of each attribute, or its numbers.
        grid: regions of a map.
        file: labels in a file.
        sensitive: labels, a list of true and false, for products patterns, or for numbers ranges [low, high], both
            ends included, rounded outward to whole bins; every value if it is left out.
        allow_unprotected: accept that nothing is sensitive.
        missing: the label that a missing value of a table stands for; of a product, by attribute. It changes no
            fingerprint: it says what is done before a report is made, and reports do not show it.
        cuts: where the ranges begin that the labels but the first name, ascending: numbers, or dates such as
            "2026-07"; of a product, by attribute. A table then holds numbers or dates. They change no fingerprint.
        attribute: the attribute of a survey that the values are of; it is in the fingerprint.
        exact: accept labels that read alike and differ in sensitivity, such as AA, Aa and aa. It changes no
            fingerprint.
    """

    labels: list[Label] | None = None
    range: tuple[int, int] | None = None
    number: NumberSpec | None = None
    product: dict[str, list[Label] | NumberSpec] | None = None
    grid: GridSpec | None = None
    file: FileSpec | None = None
    sensitive: Sensitive | None = None
    allow_unprotected: bool = False
    missing: Label | dict[str, Label] | None = None
    cuts: list[Cut] | dict[str, list[Cut]] | None = None
    attribute: str = ""
    exact: bool = False

    def __post_init__(self) -> None:
        """Bring labels and names of attributes to Unicode's normal form C.

        Raises:
            ParameterError: if two attributes then have the same name.
        """
        for name in ("labels", "product", "sensitive", "missing", "cuts", "attribute"):
            msgspec.structs.force_setattr(self, name, all_composed(getattr(self, name)))

    def domain(self, folder: Path, *, allow_outside: bool = False) -> Domain:
        """Build the domain; files are looked up in ``folder``, and only there or below unless others are allowed.

        Raises:
            ParameterError: if a value is out of range, or a file is elsewhere.
        """
        kinds = ("labels", "range", "number", "product", "grid", "file")
        present = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(present) != 1:
            raise ParameterError(
                f"domain must have exactly one of {', '.join(kinds)}, got {', '.join(present) or 'none'}."
            )
        if self.exact and present[0] in ("number", "grid"):
            raise ParameterError(f"exact is for labels, and a {present[0]} has none; leave it out.")
        built = self._built(folder, allow_outside)
        if self.missing is not None:
            from discreet.tables.values import check_stand

            check_stand(built, self.missing)
        if self.cuts is not None:
            from discreet.tables.labels import check_cuts

            check_cuts(built, self.cuts, self.missing)
        return built.about(self.attribute) if self.attribute else built

    def _built(self, folder: Path, allow_outside: bool) -> Domain:
        protection: dict[str, Any] = {"sensitive": self.sensitive, "allow_unprotected": self.allow_unprotected}
        if self.product is not None:
            parts = self.product.items()
            numbers = {name: Numbers(**msgspec.structs.asdict(p)) for name, p in parts if isinstance(p, NumberSpec)}
            return Domain.product({**self.product, **numbers}, **protection, exact=self.exact)
        if self.number is not None:
            number = self.number
            return Domain.number(
                number.low, number.high, bins=number.bins, scale=number.scale, clip=number.clip, **protection
            )
        if self.grid is not None:
            grid = self.grid
            return Domain.grid(lat=grid.lat, lon=grid.lon, rows=grid.rows, cols=grid.cols, **protection)
        if self.file is not None:
            # A device with a plan that spells its labels out needs no Arrow.
            from discreet.tables.columns import read_labels

            labels, marked = read_labels(
                inside(folder, self.file.path, allow_outside=allow_outside), self.file.label, self.file.sensitive
            )
            if marked is not None and self.sensitive is not None:
                raise ParameterError("sensitive must be said once, in the domain or in its file, not in both.")
            protection["sensitive"] = self.sensitive if marked is None else marked
            return Domain(labels, **protection, exact=self.exact)
        return Domain(range(*self.range) if self.range else self.labels, **protection, exact=self.exact)


def all_composed(content: Any) -> Any:
    """Return built-ins with all texts in Unicode's normal form C, the keys of tables too.

    Raises:
        ParameterError: if two keys of a table are then the same.

    Example:
        >>> all_composed({"Gro\u0308\u00dfe": ["gro\u00df", 1]})
        {'Größe': ['groß', 1]}
    """
    if isinstance(content, str):
        return composed(content)
    if isinstance(content, list):
        return [all_composed(item) for item in content]
    if not isinstance(content, dict):
        return content
    names = composed_names(content)
    return {name: all_composed(item) for name, item in zip(names, content.values(), strict=True)}


def inside(folder: Path, name: str, *, allow_outside: bool) -> Path:
    """Return the place of a file that a document names; links are followed before it is judged.

    Args:
        folder: where the document is.
        name: what it says.
        allow_outside: whether the file may be anywhere.

    Raises:
        ParameterError: if it is neither beside the document nor below, or no file but a device, say.
    """
    place = folder / name
    if "\0" in name:
        raise ParameterError("the path of a file must not hold a NUL.")
    try:
        real = place.resolve()
        within = real.is_relative_to(folder.resolve())
        # Links in a loop are still links: Python 3.13 and newer do not raise.
        odd = real.is_symlink() or (real.exists() and not real.is_file())
    except (OSError, RuntimeError):
        raise ParameterError(f"{place} cannot be followed to a file; mend its links.") from None
    if not (within or allow_outside):
        raise ParameterError(
            f"the file {name!r} must lie beside the document that names it or below, and it does not; "
            "move it there, or pass --allow-outside (allow_outside=True) if you trust the document."
        )
    if odd:
        raise ParameterError(f"{place} must be a file, and it is none; name another.")
    # What was judged is what is read, whatever becomes of the links; in place of them it is named as it was.
    return real if within and real != place.absolute() else place


def _mechanism_spec(name: str, cls: type[BlockMechanism]) -> type[msgspec.Struct]:
    """Make the plan's table of a mechanism out of its options; those without a default are required."""
    fields: list[Any] = [
        (option.name, option.type) if option.default is MISSING else (option.name, option.type, option.default)
        for option in cls.options()
    ]
    spec = msgspec.defstruct(f"{cls.__name__}Spec", fields, kw_only=True, tag_field="name", tag=name, **_STRICT)
    spec.__doc__ = inspect.getdoc(cls).splitlines()[0] if inspect.getdoc(cls) else None  # type: ignore[union-attr]
    return spec


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

    def __post_init__(self) -> None:
        """Bring tags to Unicode's normal form C."""
        msgspec.structs.force_setattr(self, "tags", all_composed(self.tags))


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


_SURVEY = 2
"""The version of documents that are surveys."""
_NAMED_QUESTION = re.compile(r"(.+\.(?:toml|json))#(.+)")


def read_document(path: str | Path, kind: type[Document], *, version: int = 1) -> Document:
    """Read a TOML or JSON file strictly.

    Args:
        path: the file.
        kind: of its content.
        version: of documents of this kind; those of version 2 are surveys.

    Raises:
        ParameterError: if the file is missing, not TOML or JSON, or says what it may not; it names the place.
        SurveyDocumentError: if it is a survey, and the kind is another.
    """
    source = Path(path)
    if named := _NAMED_QUESTION.fullmatch(str(path)):
        raise SurveyDocumentError(*named.groups())
    if source.suffix not in (".toml", ".json"):
        raise ParameterError(f"plans are kept as .toml or .json, got {source.name!r}.")
    decode = msgspec.toml.decode if source.suffix == ".toml" else msgspec.json.decode
    try:
        written = source.read_bytes().removeprefix(BOM_UTF8)
        return decode(written, type=kind)
    except FileNotFoundError:
        raise ParameterError(f"{source} does not exist.") from None
    except OSError as error:
        raise ParameterError(f"{source} cannot be read ({type(error).__name__}).") from None
    except msgspec.ValidationError as error:
        message = str(error)
        if version != _SURVEY and _is_survey(decode, written):
            raise SurveyDocumentError(source) from None
        if (removed := _removed(message)) is not None:
            raise ParameterError(f"{source}: {removed}") from None
        if kind is PlanDocument and message.endswith(_NAME) and BLOCK_MECHANISMS.joined:
            return read_document(path, _with_joined())  # type: ignore[no-any-return]
        known: Sequence[str] | None = tuple(BLOCK_MECHANISMS) if message.endswith(_NAME) else None
        if known is None:
            with suppress(RecursionError, msgspec.DecodeError):
                known = _known_there(message, decode(written), kind)
        raise ParameterError(f"{source}: {_sentence(message, known)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{source}: {_sentence(str(error))}") from None


def _is_survey(decode: Callable[[bytes], Any], written: bytes) -> bool:
    """Return true if a document has the version and the attributes of a survey, false too if it cannot be decoded."""
    with suppress(RecursionError, msgspec.DecodeError):
        content = decode(written)
        return isinstance(content, dict) and content.get("version") == _SURVEY and "attributes" in content
    return False


def _removed(message: str) -> str | None:
    """Return the refusal of a document that gives each value an epsilon, from an msgspec error; None of any other."""
    asked = re.search(r"'((rr|unary)-per-value)'|unknown field `(epsilons)`", message)
    if asked is None:
        return None
    named = f', and name = "{asked[2]}"' if asked[2] else ""
    return (
        f"{asked[1] or asked[3]} gave each value an epsilon, which discreet no longer does; use one epsilon for all "
        f"values, the smallest of them{named}."
    )


def _sentence(message: str, known: Sequence[str] | None = None) -> str:
    """Return the sentence of an msgspec error, with the place first and the known names, if there are such, last."""
    what, _, where = message.partition(" - at ")
    what = what[:1].lower() + what[1:]
    if known:
        quoted = re.search(r"[`']([^`']*)[`']$", what)
        listed = f"known are {', '.join(known)}" if len(known) > 1 else f"known is {known[0]!r} alone"
        unknown = "; update discreet, or install the package that brings it" if message.endswith(_NAME) else ""
        what += f"; {listed}{meant(quoted[1] if quoted else None, known) or unknown}"
    elif known is not None:
        what += "; there are none here"
    what = what.removesuffix(".")
    return f"at {where.strip('`').removeprefix('$.')}, {what}." if where else f"{what}."


def _known_there(message: str, content: Any, kind: Any) -> Sequence[str] | None:
    """Return the fields that a plan may have where it has an unknown one, or the words where it has no such word."""
    _, _, where = message.partition(" - at ")
    for part in where.strip("`").split(".")[1:]:
        kind = next((spec for spec in _alternatives(kind) if isinstance(spec, type)), None)
        if kind is None or not isinstance(content, dict):
            # Inside a list: which of its entries is meant is not told.
            return None
        kind, content = get_type_hints(kind).get(part), content.get(part)
        if part == "mechanism" and isinstance(content, dict):
            named = (spec for spec in _alternatives(kind) if spec.__struct_config__.tag == content.get("name"))
            kind = next(named, None)
    if "unknown field" not in message:
        words = [word for spec in _alternatives(kind) for word in get_args(spec) if isinstance(word, str)]
        return words or None
    kind = next((spec for spec in _alternatives(kind) if isinstance(spec, type)), None)
    return None if kind is None else tuple(field.encode_name for field in msgspec.structs.fields(kind))


def _alternatives(kind: Any) -> Sequence[Any]:
    """Return the types that a type is a choice of, but for None; itself if it is no choice."""
    if get_origin(kind) not in {Union, UnionType}:
        return [kind]
    return [alternative for alternative in get_args(kind) if alternative is not type(None)]


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
        >>> plan = dc.Plan.load(files("discreet") / "examples" / "survey.toml")
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
    def of(cls, mechanism: AnyMechanism, *, title: str = "") -> "Plan":
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
        return self._mechanism

    @cached_property
    def _mechanism(self) -> BlockMechanism:
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
    def maker(self) -> BlockMechanism | Personalized:
        """The maker of the reports: the personalized mechanism of a personalized plan, the mechanism of any other."""
        return self.personalized() if self.is_personalized else self.mechanism()

    @property
    def fingerprint(self) -> str:
        """Digest that marks every batch, tally and estimate of this plan."""
        return self.mechanism().fingerprint


def json_schema(*others: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of plan files, or of documents of other kinds too, the same under every Python."""
    kinds, components = msgspec.json.schema_components([PlanDocument, *others], ref_template="#/$defs/{name}")
    for definition in components.values():
        if "description" in definition:
            # Python 3.13 strips the indent of docstrings, its forerunners do not.
            definition["description"] = inspect.cleandoc(definition["description"])
    return {**(kinds[0] if not others else {"anyOf": [*kinds]}), "$defs": components}


_OF_DOMAIN = ("title", "domain", "tags", "others", "cells")


def write_plan(
    path: str | Path, source: str | Path, mechanism: BlockMechanism, *, force: bool = False, allow_outside: bool = False
) -> Plan:
    """Write the plan of a mechanism over the domain of a document, and read it back.

    Args:
        path: the plan, .toml or .json.
        source: a plan or a domain file, whose domain the mechanism was made for.
        mechanism: the mechanism.
        force: whether a file that exists is replaced.
        allow_outside: whether the plan may name files that are neither beside it nor below.

    Returns:
        the plan as it was read back, which has the mechanism's fingerprint.

    Raises:
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if the plan cannot be written there, or would not be that of the mechanism.

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
            raise ParameterError(f"the mechanism must be over the domain of {source}, and it is over another one.")
    return written


def save_plan(path: str | Path, plan: Plan, *, force: bool = False) -> Plan:
    """Write a plan, and return it as it was read back; arguments and errors as for `Plan.save`."""
    with _written(path, _fields_of(plan), plan.folder, force=force, allow_outside=plan.allow_outside) as written:
        if written.fingerprint != plan.fingerprint:
            raise ParameterError("the plan would be another one when it is read back; change its labels to plain text.")
    return written


def plan_text(plan: Plan) -> str:
    """Return a plan as TOML."""
    return toml_text(_fields_of(plan))


def _fields_of(plan: Plan) -> dict[str, Any]:
    """Return the document of a plan, its title first, without what need not be said."""
    fields = without_defaults(plan.document)
    return {name: fields[name] for name in dict.fromkeys(("title", *fields)) if name in fields}


def without_defaults(value: Any) -> Any:
    """Return the built-ins of a document without the fields that have their default; signed plans say those too."""
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
    """Write a document whose files are named from a folder, and read it back; an error leaves nothing."""
    target = output_of(path, "plans")
    checked_output(target, PLANS, "plans")
    fields["domain"] = moved_domain(fields["domain"], folder, target)
    with replacing(target, force=force) as beside:
        beside.write_text(document_text(fields, target), encoding="utf-8")
        # Where it lies, as files are named from there.
        yield Plan.load(beside, allow_outside=allow_outside)


def moved_domain(domain: dict[str, Any], folder: Path, target: Path) -> dict[str, Any]:
    """Return the table of a domain, whose files are named from a folder, as a document elsewhere names them."""
    file = domain.get("file")
    if file is None:
        return domain
    moved = os.path.relpath(folder / file["path"], target.absolute().parent)
    return {**domain, "file": {**file, "path": Path(moved).as_posix()}}


def described_plan(mechanism: AnyMechanism, title: str) -> dict[str, Any]:
    """Return the document of a mechanism's plan; arguments and errors as for `Plan.of`."""
    blocks: Any = getattr(mechanism, "common", mechanism)
    if type(blocks) not in BLOCK_MECHANISMS.values():
        raise ParameterError(
            f"plans say by name what a mechanism is ({', '.join(BLOCK_MECHANISMS)}), and a "
            f"{type(mechanism).__name__} has no such name; make one of these, or join yours by an entry point."
        )
    tags: dict[str, Any] = {}
    names: tuple[str, ...] = getattr(mechanism, "tags", ())
    if names:
        if Personalized.checked(mechanism).cell_of is not None:
            raise ParameterError(
                "a plan with placeholders over cells says how many these are; write its file, with a table cells."
            )
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
    """Return a mechanism as plans name it, with the options that are not the defaults."""
    options = {option.name: (getattr(mechanism, option.name), option.default) for option in mechanism.options()}
    changed = {name: value for name, (value, default) in options.items() if value is not default and value != default}
    return {"name": mechanism.name, **msgspec.to_builtins(changed, enc_hook=_plain)}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def document_text(document: Mapping[str, Any], path: Path, toml: Callable[[Any], str] | None = None) -> str:
    """Return a document as the text of a file: JSON or TOML, by its name; ``toml`` writes the latter if not plainly."""
    if path.suffix.lower() == ".json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return (toml or toml_text)(document) + "\n"


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document as TOML: plain values first, then its tables.

    Example:
        >>> print(toml_text({"domain": {"labels": ["a", "b"], "range": None}, "epsilon": 1.0}))
        epsilon = 1.0
        <BLANKLINE>
        [domain]
        labels = ["a", "b"]
    """
    tables = {name: part for name, part in document.items() if isinstance(part, Mapping)}
    lines = list(_assignments({name: part for name, part in document.items() if name not in tables}))
    for name, table in tables.items():
        lines += ["", toml_table(f"[{toml_key(name)}]", table)]
    return "\n".join(lines).strip("\n")


def toml_table(heading: str, table: Mapping[str, Any]) -> str:
    """Return a table of TOML under its heading, with the tables in it on one line each."""
    return "\n".join([heading, *_assignments(table)])


def _assignments(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{toml_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def toml_key(name: str) -> str:
    """Return a name as a key of TOML."""
    bare = name.isascii() and bool(name) and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # A basic string of TOML is a string of JSON, but for this letter, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_assignments(value))} }}" if value else "{}"
    return f"[{', '.join(_value(entry) for entry in value)}]"
