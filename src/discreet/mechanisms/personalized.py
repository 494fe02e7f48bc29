"""Personalized mechanisms (PUM): they also protect values that are secret for single users only [ULDP, section 5].

Every user has secret values X_S^(i), such as a home. The user's device replaces them by *placeholders*, which are
public: one per tag ("home", "workplace", "others"), or one per coarse cell of a map. Then it applies a common mechanism
Q_cmn over values and placeholders, which are sensitive like any other value. With f_i the replacement on the device of
user i, Q^(i) = Q_cmn after f_i is (X_S + X_S^(i), epsilon)-ULDP. Q_cmn is public and does not depend on X_S^(i); it
makes and counts the reports.

A user's secret values stay on the device: `SecretTags` cannot be printed, compared, copied or written to a file.
That guards against accidents. It does not guard against hostile code on the device, or code that sends local variables.
`SimulatedTags` has the secret values of all users of a simulation, where nobody has real secrets.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np

from discreet.arrays import IntArray, made_read_only
from discreet.core import columns
from discreet.core.checks import checked_choice, checked_epsilon, checked_whole
from discreet.core.columns import MISSING
from discreet.core.domain import Domain, checked_domain, checked_tags
from discreet.core.guarantee import Guarantee
from discreet.core.labels.spaces import LabelSpace, flat
from discreet.core.labels.text_forms import as_composed, composed, visible
from discreet.core.random import RandomSource
from discreet.core.reports import Reports, check_same_plan
from discreet.errors import DataError, ParameterError, SecretError
from discreet.mechanisms.law import BlockMechanism
from discreet.mechanisms.mechanism import Mechanism

Replacement: TypeAlias = Callable[[IntArray, IntArray], IntArray]
"""A function of ``(n,)`` keys and codes that returns placeholders for keys that have one, and codes for the others."""


class SecretTags:
    """One user's secret values, created on the user's device, which they never leave.

    Args:
        personalized: the plan's mechanism.
        tagged: a mapping from tags to values. Where placeholders stand for cells: the secret values.
        keep_sensitive: leave values that are sensitive for everybody unchanged, which keeps their protection. By
            default such values are an error.

    Raises:
        ParameterError: if a tag is not in the plan; the error does not quote it.
        DataError: if a value is not in the domain, has two tags, or is sensitive for everybody. The error quotes no
            value.

    Example:
        >>> import discreet as dc
        >>> places = dc.Domain(["clinic", "park", "mall"], sensitive=["clinic"])
        >>> mechanism = dc.Personalized(places, epsilon=2.0, tags=["home"])
        >>> dc.SecretTags(mechanism, {"home": ["park"]})
        SecretTags(hidden)
    """

    __slots__ = ("__plan", "__replace")

    __plan: str
    __replace: Replacement

    def __init__(self, personalized: "Personalized", tagged: Any, *, keep_sensitive: bool = False) -> None:
        codes, placeholders = _tagged(Personalized.checked(personalized), tagged)
        replaceable = ~personalized.domain.sensitive[codes]
        if not keep_sensitive and not replaceable.all():
            # No warning: a log would then contain a fact about one person.
            raise DataError("secret-values.sensitive-for-everybody")
        object.__setattr__(self, "_SecretTags__plan", personalized.fingerprint)
        object.__setattr__(
            self,
            "_SecretTags__replace",
            _replacement(codes[replaceable], placeholders[replaceable]),
        )

    def _replaced(self, personalized: "Personalized", codes: Any) -> IntArray:
        """Return the ``(n,)`` codes with placeholders in the place of the user's secret values."""
        check_same_plan({self.__plan, personalized.fingerprint})
        checked = personalized.domain.check_codes(codes)
        return self.__replace(checked, checked)

    def __repr__(self) -> str:
        return "SecretTags(hidden)"

    def _refuse(self, *_: object) -> NoReturn:
        raise SecretError("secret-tags.private")

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = __setattr__ = __delattr__ = _refuse


def _tagged(personalized: "Personalized", tagged: Any) -> tuple[IntArray, IntArray]:
    """Return the ``(m,)`` codes of the secret values, and the codes of their placeholders."""
    if personalized.cell_of is not None:
        if isinstance(tagged, Mapping):
            raise ParameterError("secret-values.not-by-cell", argument="secret")
        codes = personalized.domain.encode(tagged)
        return codes, _cell_placeholders(personalized, codes)
    if not isinstance(tagged, Mapping):
        raise ParameterError("secret-values.without-tags", argument="secret")
    tags = list(map(as_composed, tagged))
    unknown = [place for place, tag in enumerate(tags) if tag not in personalized.tags]
    if unknown:
        raise ParameterError(
            "tags.not-in-plan", n=len(unknown), total=len(tagged), first=unknown[0], names=", ".join(personalized.tags)
        )
    parts = [personalized.domain.encode(values) for values in tagged.values()]
    ranks = [personalized.tags.index(tag) for tag in tags]
    placeholders = np.repeat(np.array(ranks, dtype=np.int64), [len(part) for part in parts])
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]), placeholders + personalized.domain.size


def _cell_placeholders(personalized: "Personalized", codes: IntArray) -> IntArray:
    if personalized.cell_of is None:
        raise ParameterError("secret-values.not-by-tag", argument="secret")
    return personalized.domain.size + personalized.cell_of[codes]


def _replacement(keys: IntArray, placeholders: IntArray) -> Replacement:
    """Return a function that replaces ``keys`` by placeholders, in the same steps for every key, secret or not."""
    order = np.argsort(keys, kind="stable")
    keys, placeholders = keys[order], placeholders[order]
    twice = int(np.count_nonzero((np.diff(keys) == 0) & (np.diff(placeholders) != 0)))
    if twice:
        raise DataError("secret-values.two-tags", twice=twice)
    # A sentinel key that nothing equals, so that no search ends beyond the last key.
    keys, placeholders = np.append(keys, np.iinfo(np.int64).max), np.append(placeholders, 0)

    def replace(wanted: IntArray, codes: IntArray) -> IntArray:
        place = np.searchsorted(keys, wanted)
        return np.where(keys[place] == wanted, placeholders[place], codes)

    return replace


class SimulatedTags:
    """The secret values of all users of a simulation, one per row. They are not printed, but a program can read them.

    Args:
        personalized: the plan's mechanism.
        users: ``(m,)`` integers or texts: the user of each secret.
        codes: ``(m,)`` codes of the secret values.
        tags: ``(m,)`` texts; None where placeholders stand for cells.

    Raises:
        ParameterError: if placeholders stand for tags and there are no tags, or for cells and there are tags.
        DataError: if an entry is missing, a tag is not in the plan, or a code is not in the domain; or if columns have
            different lengths, or a user's value has two tags.

    Warns:
        UserWarning: if some value is sensitive for everybody; it is not replaced and keeps its protection.
    """

    __slots__ = ("_people", "_plan", "_replace")

    def __init__(self, personalized: "Personalized", users: Any, codes: Any, tags: Any = None) -> None:
        codes = personalized.domain.check_codes(codes).astype(np.int64)
        self._plan = personalized.fingerprint
        self._people = _people(users) if len(users) else None
        owner = self._owners(users)
        placeholders = _tag_placeholders(personalized, codes, tags)
        lengths: dict[str, Any] = {"users": len(owner), "values": len(codes), "tags": len(placeholders)}
        if len(set(lengths.values())) > 1:
            raise DataError("secret-values.different-lengths", **lengths)
        replaceable = ~personalized.domain.sensitive[codes]
        if not replaceable.all():
            # A warning shows a line of code: this line, not the caller's line, which may contain users' values.
            warnings.warn(
                "a secret value is sensitive for everybody. It gets no placeholder, and its protection stays the same.",
                stacklevel=1,
            )
        keys = owner * personalized.domain.size + codes
        self._replace = _replacement(keys[replaceable], placeholders[replaceable])

    def __repr__(self) -> str:
        return "SimulatedTags(hidden)"

    def _owners(self, users: Any) -> IntArray:
        """Return ``(n,)`` ranks of the users; negative for users without secrets."""
        if self._people is None:
            return np.full(len(users), -1, dtype=np.int64)
        owners = self._people.encode(users)
        columns.refuse_missing(owners == MISSING, "users")
        return owners

    def replaced(self, personalized: "Personalized", codes: Any, users: Any) -> IntArray:
        """Return ``(n,)`` codes in which placeholders replace the users' secret values.

        Args:
            personalized: the plan's mechanism.
            codes: ``(n,)`` integers in 0..|X| - 1.
            users: ``(n,)`` integers or texts, of the same kind as the secrets' users.

        Raises:
            DataError: if users are missing, or codes and users have different lengths.
            MismatchError: if the secrets were made for another plan.
        """
        check_same_plan({self._plan, personalized.fingerprint})
        checked, owners = personalized.domain.check_codes(codes), self._owners(users)
        if len(owners) != len(checked):
            raise DataError("users.different-lengths", checked_count=len(checked), owners_count=len(owners))
        return self._replace(owners * personalized.domain.size + checked, checked)


def _people(users: Any) -> LabelSpace:
    """Return the label space of the users' names; another spelling of one name counts as the same user."""
    with suppress(DataError):
        return flat(np.unique(columns.integers(users, "users")), "users")
    columns.refuse_missing(columns.absent(users, "users"), "users")
    names = columns.text(users, "users").unique().to_pylist()
    return flat(list(dict.fromkeys(composed(name) for name in names)), "users").as_read()


def _tag_placeholders(personalized: "Personalized", codes: IntArray, tags: Any) -> IntArray:
    if tags is None:
        return _cell_placeholders(personalized, codes)
    if personalized.cell_of is not None:
        raise ParameterError("tags.not-used", argument="tags")
    ranks = flat(list(personalized.tags)).encode(tags)
    unknown = np.flatnonzero(ranks < 0)
    if len(unknown):
        raise DataError(
            "tags.rows-not-in-plan",
            n=len(unknown),
            total=len(ranks),
            first=unknown[0],
            names=", ".join(personalized.tags),
        )
    return ranks + personalized.domain.size


OTHERS = "others"
"""The tag of secret values that no other tag describes."""

Build: TypeAlias = str | Callable[..., BlockMechanism]
"""A block mechanism's plan name, its class, or a function of a domain, an epsilon and options that returns one."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Personalized:
    """A mechanism that also protects users' own secret values, by placeholders over a common mechanism.

    `common` counts the reports and estimates their distribution over values and placeholders.

    Args:
        domain: the values, and which of them are sensitive for everybody.
        epsilon: the privacy promise, in nats.
        tags: names for kinds of secret values; different texts.
        mechanism: the common mechanism; see `Build`.
        others: add the tag "others", for secret values that no other tag describes.
        options: options of the common mechanism.

    Attributes:
        name: the name of the mechanism in plans.
        domain: X, the values without placeholders.
        common: Q_cmn, the mechanism over X and the placeholders; it is public.
        tags: one name per placeholder.
        cell_of: ``(|X|,)`` ranks of the placeholders that stand for the values, -1 for a value that is sensitive for
            everybody; None if it depends on the user's tags.

    Raises:
        ParameterError: if the tags are not different texts, or every value is sensitive for everybody already; if
            labels that look alike differ in sensitivity and the domain is not exact; or if the common mechanism refuses
            its parameters.

    Example:
        >>> import discreet as dc
        >>> places = dc.Domain(["clinic", "park", "mall"], sensitive=["clinic"])
        >>> mechanism = dc.Personalized(places, epsilon=2.0, tags=["home"])
        >>> secret = dc.SecretTags(mechanism, {"home": ["park"]})
        >>> reports = mechanism.obfuscate(["park"] * 100, secret, random=dc.SeededRandom(1))
        >>> reports.n, mechanism.guarantee.tags
        (100, 2)
    """

    name: ClassVar[str] = "personalized"

    domain: Domain
    common: BlockMechanism
    tags: tuple[str, ...]
    cell_of: IntArray | None

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        tags: Any,
        *,
        mechanism: Build = "unary",
        others: bool = True,
        **options: Any,
    ) -> None:
        if others and isinstance(tags, Sequence) and not isinstance(tags, str) and OTHERS not in tags:
            tags = [*tags, OTHERS]
        self._set(domain, checked_tags(tags), None)
        object.__setattr__(self, "common", _common(domain.with_placeholders(self.tags), mechanism, epsilon, options))

    @classmethod
    def cells(
        cls, domain: Domain, epsilon: float, *, rows: int, cols: int, mechanism: Build = "unary", **options: Any
    ) -> "Personalized":
        """Return a mechanism over a map with one placeholder per coarse cell, for secret places in the cell.

        The collector distributes a placeholder's mass within its cell, without other knowledge. Cells in which every
        region is sensitive for everybody need no placeholder and have none.

        Args:
            domain: a grid.
            epsilon: the privacy promise, in nats.
            rows: number of cells along the latitude, at most the grid's.
            cols: number of cells along the longitude, at most the grid's.
            mechanism: the common mechanism; see `Build`.
            options: options of the common mechanism.

        Raises:
            ParameterError: as for `Personalized`, or if the domain is not a grid, or is too coarse for the cells.
        """
        tags, cell_of = _cells(domain, rows, cols)
        personalized = cls.__new__(cls)
        personalized._set(domain, tags, cell_of)
        common = _common(domain.with_placeholders(tags), mechanism, epsilon, options)
        object.__setattr__(personalized, "common", common)
        return personalized

    def _set(self, domain: Domain, tags: tuple[str, ...], cell_of: IntArray | None) -> None:
        if checked_domain(domain).clear_count == 0:
            raise ParameterError("personalized.all-sensitive")
        alike = [group.labels for group in domain.alike if not all(group.protected)]
        if alike and cell_of is None and not domain.exact:
            pair = " and ".join(map(visible, alike[0][:2]))
            raise ParameterError("labels.alike-and-secret", pair=pair)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "tags", tags)
        object.__setattr__(self, "cell_of", None if cell_of is None else made_read_only(cell_of))

    def __repr__(self) -> str:
        behind = f"tags {', '.join(self.tags)}" if self.cell_of is None else f"{len(self.tags)} cells"
        return f"Personalized({self.domain!r}, {behind}, {self.common.name}, epsilon={self.epsilon!r})"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Personalized has no {name!r}; its `common` mechanism reads and counts reports.")

    @property
    def epsilon(self) -> float:
        """The privacy promise of the mechanism for each report, in nats."""
        return self.common.epsilon

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the common mechanism, which reports, tallies and estimates carry."""
        return self.common.fingerprint

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee of the common mechanism, stated for X_S and for any user's own secret values."""
        common = self.common.guarantee
        return Guarantee("ULDP", self.domain, common.promised, common.realised, tags=len(self.tags))

    @cached_property
    def hidden_values(self) -> tuple[IntArray, ...]:
        """The codes of the values that each placeholder may stand for, ascending; no value in X_S is among them."""
        if self.cell_of is None:
            return (self.domain.clear_codes,) * len(self.tags)
        order = np.argsort(self.cell_of, kind="stable")
        starts = np.searchsorted(self.cell_of[order], np.arange(len(self.tags) + 1))
        return tuple(order[start:stop] for start, stop in pairwise(starts))

    def obfuscate(
        self,
        values: Any,
        secret: SecretTags | None = None,
        *,
        random: RandomSource | None = None,
        float32: bool = False,
        as_read: bool = False,
    ) -> Reports:
        """Return one private report for each of the values of one user.

        Several reports add up: t of them at epsilon/t each give epsilon in total.

        Args:
            values: ``(n,)`` values of the domain; see `Domain.encode`.
            secret: the user's secret values.
            random: the source of random words; None for fresh ones under a key of the operating system.
            float32: whether numbers are read as float32; see `Domain.encode`.
            as_read: whether a text that is no label counts as the label that reads alike; see `Domain.encode`.

        Raises:
            DataError: if a value is missing or not in the domain.
            MismatchError: if the secret was made for another plan.
        """
        codes = self.domain.encode(values, float32=float32, as_read=as_read)
        return self.obfuscate_codes(codes, secret, random=random)

    def obfuscate_codes(
        self, codes: Any, secret: SecretTags | None = None, *, random: RandomSource | None = None
    ) -> Reports:
        """Return one report for each of one user's values; their codes are ``(n,)`` integers in 0..|X| - 1.

        Raises:
            ParameterError: if ``secret`` is not a `SecretTags`; a user without secret values needs an empty one.
        """
        if not isinstance(secret, SecretTags):
            raise ParameterError("secret.wrong-type", argument="secret", kind=type(secret).__name__)
        return self.common.obfuscate_codes(secret._replaced(self, codes), random=random)

    @classmethod
    def checked(cls, mechanism: object) -> Self:
        """Return the argument if it is a personalized mechanism; otherwise raise `ParameterError`."""
        if not isinstance(mechanism, cls):
            raise ParameterError("mechanism.not-personalized", argument="mechanism", kind=type(mechanism).__name__)
        return mechanism

    def candidates_left(self, reports: Reports) -> int:
        """Return the number of values that may still be a user's only secret place, given all the user's ``reports``.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        check_same_plan({self.fingerprint, reports.fingerprint})
        return candidates_left(self.domain, len(np.unique(reports.clear)))


AnyMechanism: TypeAlias = Mechanism | Personalized
"""A mechanism, or a personalized mechanism."""


def common_of(mechanism: object) -> Mechanism:
    """Return the mechanism that makes the reports: a personalized mechanism's common one, or the argument itself.

    Raises:
        ParameterError: if it is not a mechanism.
    """
    return mechanism.common if isinstance(mechanism, Personalized) else Mechanism.checked(mechanism)


def _common(domain: Domain, mechanism: Build, epsilon: float, options: dict[str, Any]) -> BlockMechanism:
    """Return the common mechanism over values and placeholders, after checks."""
    epsilon = checked_epsilon(epsilon)
    if not callable(mechanism):
        from discreet.mechanisms import BLOCK_MECHANISMS

        mechanism = BLOCK_MECHANISMS[checked_choice("mechanism", mechanism, BLOCK_MECHANISMS)]
    common = mechanism(domain, epsilon, **options)
    if not isinstance(common, BlockMechanism):
        raise ParameterError("mechanism.makes-no-block-mechanism", argument="mechanism", kind=type(common).__name__)
    # The guarantee names this domain and this epsilon, so the common mechanism must have both.
    if common.domain != domain or common.epsilon != epsilon:
        raise ParameterError(
            "mechanism.ignores-arguments",
            argument="mechanism",
            common="epsilon" if common.domain == domain else "domain",
        )
    return common


def candidates_left(domain: Domain, seen_in_clear: int) -> int:
    """Return the number of values that may still be a user's secret place: |X| - t_I.

    A value that a user reports in clear is not a secret of this user. No report excludes anything else
    [ULDP, section 5]. So at least |X| less the number of the user's different values are left.

    Args:
        domain: the values, without placeholders.
        seen_in_clear: t_I, the number of different values that the user has reported in clear.

    Raises:
        DataError: if ``seen_in_clear`` is more than the number of values that are not sensitive.
    """
    most = checked_domain(domain).clear_count
    return domain.size - checked_whole("seen_in_clear", seen_in_clear, 0, most, error=DataError)


def _cells(domain: Domain, rows: int, cols: int) -> tuple[tuple[str, ...], IntArray]:
    """Return the names of the cells that need a placeholder, and the rank of each region's cell, or -1."""
    space = checked_domain(domain).grid_cells
    if space is None:
        raise ParameterError("cells.no-grid")
    rows, cols = checked_whole("rows", rows, most=space.rows), checked_whole("cols", cols, most=space.cols)
    row, col = np.divmod(np.arange(space.size), space.cols)
    cells = row * rows // space.rows * cols + col * cols // space.cols
    clear = ~domain.sensitive
    used, rank = np.unique(cells[clear], return_inverse=True)
    cell_of = np.full(space.size, -1, dtype=np.int64)
    cell_of[clear] = rank
    names = [
        f"{_span('row', cell // cols, rows, space.rows)}, {_span('col', cell % cols, cols, space.cols)}"
        for cell in used
    ]
    return tuple(names), cell_of


def _span(name: str, part: int, parts: int, size: int) -> str:
    """Return the name of a cell's rows or columns: all r with r * parts // size == part."""
    first, last = -(-part * size // parts), -(-(part + 1) * size // parts) - 1
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
