"""Plans as a collection spells them out, in JSON: the domain, the bots and the mechanism, for devices.

A device needs neither the reader of plan files nor tables. What a plan says otherwise, such as labels in a file, was
spelled out when the collection was signed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.core.domain import Domain
from discreet.core.grids import Grid
from discreet.core.labels import LabelSpace
from discreet.core.products import Product
from discreet.errors import DataError, ParameterError
from discreet.io.collection_errors import PlanError
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, RandomizedResponse
from discreet.mechanisms.personalized import Personalized

_KINDS = ("labels", "range", "product", "grid")
_FIELDS = {"domain", "epsilon", "mechanism"}
_OPTIONAL = {"version", "title", "tags", "others", "cells"}
_UNFIT = "the plan in the collection must be one that `discreet collection sign` writes, and it is not."


@dataclass(frozen=True)
class Bots:
    """The bots of a personalized plan.

    Attributes:
        tags: one name per bot.
        cell_of: ``(|X|,)`` ranks of the bots that stand for the values, -1 for none; None if the user's tags say so.
    """

    tags: tuple[str, ...]
    cell_of: IntArray | None


def check_fields(plan: Mapping[str, Any]) -> None:
    """Refuse a plan with other fields than a plan has.

    Raises:
        PlanError: if it has.
    """
    fields_fit = _FIELDS <= set(plan) <= _FIELDS | _OPTIONAL and isinstance(plan["mechanism"], dict)
    if not fields_fit or isinstance(plan["epsilon"], bool) or not isinstance(plan.get("others", True), bool):
        raise PlanError(_UNFIT)


def domain_of(plan: Mapping[str, Any], sensitive: Any = None) -> Domain:
    """Return the values of a plan, without bots.

    Args:
        plan: as JSON.
        sensitive: a ``(|X|,)`` mask; None for every value, where only codes are wanted.

    Raises:
        PlanError: if the plan says no such domain.
    """
    table = plan["domain"]
    kinds = [kind for kind in _KINDS if isinstance(table, dict) and table.get(kind) is not None]
    if len(kinds) != 1:
        raise PlanError(_UNFIT)
    said = {"sensitive": sensitive, "allow_unprotected": True}
    try:
        if kinds == ["product"]:
            return Domain.product(_attributes(table["product"]), **said)
        if kinds == ["grid"]:
            return Domain.grid(**table["grid"], **said)
        labels = range(*_two(table["range"])) if kinds == ["range"] else _listed(table["labels"])
        return Domain(labels, **said)
    except (ParameterError, DataError, TypeError, ValueError, OverflowError):
        raise PlanError(_UNFIT) from None


def _attributes(said: Any) -> dict[str, list[Any]]:
    """Return the attributes of a product, in the order of its codes, from pairs of name and labels."""
    pairs = [(name, _listed(labels)) for name, labels in _listed(said)]
    if len(dict(pairs)) < len(pairs) or not all(isinstance(name, str) for name, _ in pairs):
        raise PlanError(_UNFIT)
    return dict(pairs)


def _two(said: Any) -> tuple[int, int]:
    if not isinstance(said, list) or len(said) != 2 or not all(type(one) is int for one in said):
        raise PlanError(_UNFIT)
    return said[0], said[1]


def _listed(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise PlanError(_UNFIT)
    return said


def bots_of(plan: Mapping[str, Any], sensitive: BoolArray) -> Bots | None:
    """Return the bots of a personalized plan; None of any other.

    Args:
        plan: as JSON.
        sensitive: ``(|X|,)`` booleans: which of them are sensitive for everybody.

    Raises:
        PlanError: if there can be no such bots.
    """
    if plan.get("tags") is None and plan.get("cells") is None:
        return None
    try:
        # Bots depend on the values and the tags alone, so that any mechanism will do.
        made = _personalized(plan, domain_of(plan, sensitive), 1.0, RandomizedResponse)
    except (ParameterError, DataError, TypeError):
        raise PlanError(_UNFIT) from None
    return Bots(made.tags, made.cell_of)


def _personalized(plan: Mapping[str, Any], domain: Domain, epsilon: float, build: Any) -> Personalized:
    cells, tags = plan.get("cells"), plan.get("tags")
    if cells is None:
        return Personalized(domain, epsilon, tags, mechanism=build, others=plan.get("others", True))
    if tags is not None:
        raise ParameterError("a personalized plan must have tags or cells, one of the two.")
    return Personalized.cells(domain, epsilon, mechanism=build, **cells)


def mechanism_of(plan: Mapping[str, Any]) -> BlockMechanism:
    """Return the mechanism that a plan describes, over the bots too where it has some.

    Raises:
        PlanError: if it describes none.
    """
    table = plan["domain"]
    said = dict(plan["mechanism"])
    try:
        build: Any = partial(BLOCK_MECHANISMS[said.pop("name")], **said)
        sensitive = table.get("sensitive")
        domain = domain_of(plan, sensitive)
        if plan.get("tags") is None and plan.get("cells") is None:
            made: BlockMechanism = build(domain, plan["epsilon"])
            return made
        return _personalized(plan, domain, plan["epsilon"], build).common
    except (ParameterError, DataError, TypeError, KeyError, AttributeError):
        raise PlanError(_UNFIT) from None


def code_of(domain: Domain, value: Any) -> int:
    """Return the code of one value.

    Args:
        domain: the values.
        value: a label; of a product a mapping from every attribute to a label, or the labels in order; of a grid
            latitude and longitude.

    Raises:
        DataError: if it is not in the domain; it is not quoted.
    """
    try:
        codes = domain.space.encode([_in_order(domain.space, value)])
    except (DataError, TypeError, ValueError, OverflowError):
        codes = np.array([-1])
    if codes.shape != (1,) or codes[0] < 0:
        raise DataError(
            f"the value must be one of the {domain.size} values of the collection, and it is not; offer people its "
            "labels."
        )
    return int(codes[0])


def _in_order(space: LabelSpace, value: Any) -> Any:
    """Return a value of several parts as a tuple of them."""
    names = list(space.attributes) if isinstance(space, Product) else ["lat", "lon"] if isinstance(space, Grid) else []
    if not names or not isinstance(value, Mapping):
        return value
    if set(value) != set(names):
        raise ValueError("other attributes")
    return tuple(value[name] for name in names)
