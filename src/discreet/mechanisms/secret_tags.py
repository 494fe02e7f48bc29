"""Secret values of users, with their tags, which must stay on the device.

`SecretTags` holds those of one user; it cannot be printed, compared, copied or written to a file. That guards against
accidents, not against hostile code on a user's device, or code that sends local variables away. `SimulatedTags`
holds those of the many users of a simulation, where there are no secrets.
"""

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np

from discreet.arrays import IntArray
from discreet.core import columns
from discreet.core.columns import MISSING
from discreet.core.domain import Domain
from discreet.core.labels import LabelSpace, flat
from discreet.core.reports import check_same_plan
from discreet.errors import DataError, ParameterError, SecretError

Replacement: TypeAlias = Callable[[IntArray, IntArray], IntArray]
"""Given ``(n,)`` keys and codes, the bots of the keys that have one and the codes of the others."""


class Tagged(Protocol):
    """The part of a personalized mechanism that its tags need."""

    @property
    def domain(self) -> Domain:
        """Return the values, without bots."""
        ...

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the plan."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Return one name per bot."""
        ...

    @property
    def cell_of(self) -> IntArray | None:
        """Return the ``(|X|,)`` ranks of the bots that stand for the values; None if they depend on the user's tags."""
        ...


class SecretTags:
    """One user's secret values; it is made on the user's device and never leaves it.

    Args:
        personalized: the plan's mechanism.
        tagged: a mapping from tags to the values that carry them; where bots stand for cells, the secret values.
        keep_sensitive: let a value that is sensitive for everybody stay itself, as protected as it was, instead of
            refusing it.

    Raises:
        ParameterError: if it has a tag that is not in the plan; tags are not quoted.
        DataError: if a value is not in the domain, has two tags, or is sensitive for everybody; values are not quoted.

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

    def __init__(self, personalized: Tagged, tagged: Any, *, keep_sensitive: bool = False) -> None:
        if not hasattr(personalized, "cell_of"):
            raise ParameterError(f"a Personalized mechanism is needed, got {type(personalized).__name__}.")
        codes, bots = _tagged(personalized, tagged)
        replaceable = ~personalized.domain.sensitive[codes]
        if not keep_sensitive and not replaceable.all():
            # To the caller only: a warning would go to a log, and says something of one person.
            raise DataError(
                "secret values must not be sensitive for everybody, and some are; leave them out, or pass "
                "keep_sensitive=True: they stay themselves and are as protected as before."
            )
        object.__setattr__(self, "_SecretTags__plan", personalized.fingerprint)
        object.__setattr__(
            self,
            "_SecretTags__replace",
            _replacement(codes[replaceable], bots[replaceable], personalized.domain.size + len(personalized.tags)),
        )

    def _replaced(self, personalized: Tagged, codes: Any) -> IntArray:
        """Apply f_i: return ``(n,)`` codes in which bots stand for the secret values."""
        check_same_plan({self.__plan, personalized.fingerprint})
        checked = personalized.domain.check_codes(codes)
        return self.__replace(checked, checked)

    def __repr__(self) -> str:
        return "SecretTags(hidden)"

    def _refuse(self, *_: object) -> NoReturn:
        raise SecretError(
            "a user's secret tags stay on the user's device; they are not copied, changed or written down."
        )

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = __setattr__ = __delattr__ = _refuse


def _tagged(personalized: Tagged, tagged: Any) -> tuple[IntArray, IntArray]:
    """Return ``(m,)`` codes of the secret values and of their bots."""
    if personalized.cell_of is not None:
        if isinstance(tagged, Mapping):
            raise ParameterError("bots of this plan stand for cells; give the secret values themselves, without tags.")
        codes = personalized.domain.encode(tagged)
        return codes, _bots_of_cells(personalized, codes)
    if not isinstance(tagged, Mapping):
        raise ParameterError("secret values must be given by tag, {tag: values}.")
    unknown = [place for place, tag in enumerate(tagged) if tag not in personalized.tags]
    if unknown:
        raise ParameterError(
            f"{len(unknown)} of {len(tagged)} tags are not in the plan (first at place {unknown[0]}); "
            f"it has {', '.join(personalized.tags)}."
        )
    parts = [personalized.domain.encode(values) for values in tagged.values()]
    ranks = [personalized.tags.index(tag) for tag in tagged]
    bots = np.repeat(np.array(ranks, dtype=np.int64), [len(part) for part in parts])
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]), bots + personalized.domain.size


def _bots_of_cells(personalized: Tagged, codes: IntArray) -> IntArray:
    if personalized.cell_of is None:
        raise ParameterError("bots of this plan stand for tags; say which tag every secret value carries.")
    return personalized.domain.size + personalized.cell_of[codes]


def _replacement(keys: IntArray, bots: IntArray, most: int) -> Replacement:
    """Return the replacement of ``keys`` by bots; each step is the same for every key, secret or not."""
    order = np.argsort(keys, kind="stable")
    keys, bots = keys[order], bots[order]
    twice = int(np.count_nonzero((np.diff(keys) == 0) & (np.diff(bots) != 0)))
    if twice:
        raise DataError(f"every secret value must carry one tag; {twice} carry another one too.")
    # One key that nothing equals: so that there is one to look at, and none is beyond the last.
    keys, bots = np.append(keys, np.iinfo(np.int64).max), np.append(bots, most)

    def replace(wanted: IntArray, codes: IntArray) -> IntArray:
        place = np.searchsorted(keys, wanted)
        return np.where(keys[place] == wanted, bots[place], codes)

    return replace


class SimulatedTags:
    """The secret values of all users of a simulation, one row each; not printed, but not protected either.

    Args:
        personalized: the plan's mechanism.
        users: ``(m,)`` integers or texts: the user of each secret.
        codes: ``(m,)`` codes of the secret values.
        tags: ``(m,)`` texts; None where bots stand for cells.

    Raises:
        ParameterError: if tags are given where bots stand for cells, or not given where they do not.
        DataError: if something is missing, a tag is not in the plan, a code is not in the domain, columns are of
            different lengths, or a user's value carries two tags.

    Warns:
        UserWarning: if some value is sensitive for everybody: it stays itself, and as protected as it was.
    """

    __slots__ = ("_people", "_plan", "_replace")

    def __init__(self, personalized: Tagged, users: Any, codes: Any, tags: Any = None) -> None:
        codes = personalized.domain.check_codes(codes).astype(np.int64)
        self._plan = personalized.fingerprint
        self._people = _people(users) if len(users) else None
        owner = self._owners(users)
        bots = _bots_of_tags(personalized, codes, tags)
        if not len(owner) == len(codes) == len(bots):
            raise DataError(
                f"users, values and tags must be of one length, got {len(owner)}, {len(codes)} and {len(bots)}."
            )
        replaceable = ~personalized.domain.sensitive[codes]
        if not replaceable.all():
            # The line shown beside a warning is this one, not the caller's with the user's values in it.
            warnings.warn(
                "some user's secret value is sensitive for everybody; it stays itself and is as protected as before.",
                stacklevel=1,
            )
        keys = owner * personalized.domain.size + codes
        self._replace = _replacement(
            keys[replaceable], bots[replaceable], personalized.domain.size + len(personalized.tags)
        )

    def __repr__(self) -> str:
        return "SimulatedTags(hidden)"

    def _owners(self, users: Any) -> IntArray:
        """Return ``(n,)`` ranks of the users, below 0 for those without secrets."""
        if self._people is None:
            return np.full(len(users), -1, dtype=np.int64)
        owners = self._people.encode(users)
        missing = np.flatnonzero(owners == MISSING)
        if len(missing):
            raise DataError(columns.missing_message(len(missing), len(owners), int(missing[0]), "users"))
        return owners

    def replaced(self, personalized: Tagged, codes: Any, users: Any) -> IntArray:
        """Return ``(n,)`` codes in which bots stand for the secret values of the user of each.

        Args:
            personalized: the plan's mechanism.
            codes: ``(n,)`` integers in 0..|X| - 1.
            users: ``(n,)`` integers or texts, of the same kind as those of the secrets.

        Raises:
            DataError: if users are missing, or codes and users are of different lengths.
            MismatchError: if the secrets were made for another plan.
        """
        check_same_plan({self._plan, personalized.fingerprint})
        checked, owners = personalized.domain.check_codes(codes), self._owners(users)
        if len(owners) != len(checked):
            raise DataError(f"values and users must be of one length, got {len(checked)} and {len(owners)}.")
        return self._replace(owners * personalized.domain.size + checked, checked)


def _people(users: Any) -> LabelSpace:
    with suppress(DataError):
        return flat(np.unique(columns.integers(users, "users")), "users")
    return flat(columns.text(users, "users").unique(), "users")


def _bots_of_tags(personalized: Tagged, codes: IntArray, tags: Any) -> IntArray:
    if tags is None:
        return _bots_of_cells(personalized, codes)
    if personalized.cell_of is not None:
        raise ParameterError("bots of this plan stand for cells; leave the tags out.")
    ranks = flat(list(personalized.tags)).encode(tags)
    unknown = np.flatnonzero(ranks < 0)
    if len(unknown):
        raise DataError(
            f"{len(unknown)} of {len(ranks)} rows have a tag that is not in the plan (first at row {unknown[0]}); "
            f"it has {', '.join(personalized.tags)}."
        )
    return ranks + personalized.domain.size
