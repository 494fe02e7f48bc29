"""Attributes with their domains, the wanted tables, and the questions with their mechanisms and shares.

A question is a mechanism over one attribute, or over the combinations of several.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from itertools import combinations as choices
from math import prod
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.checks import checked_choice, checked_whole, suggestion
from discreet.core.domain import Domain, checked_domain, numbers_in, value_mask
from discreet.core.labels.products import Product
from discreet.core.labels.spaces import LabelSpace
from discreet.core.labels.text_forms import composed, composed_names
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError
from discreet.mechanisms.law import BlockMechanism

Want: TypeAlias = Literal["singles", "pairs"] | Sequence[Any]
"""Tables that will be estimated: of each attribute, of each two, or lists of names of attributes."""

MOST_CELLS = 2_000_000
"""The largest number of combinations of labels in one question."""

_JOIN, _PART = ",", "#"


def question_name(attributes: Sequence[str]) -> str:
    """Return the name of the question about these attributes.

    Example:
        >>> question_name(["age", "income"])
        'age,income'
    """
    return _JOIN.join(attributes)


def checked_attributes(attributes: object) -> Mapping[str, Domain]:
    """Check the domains of attributes. Return them by name, and store each attribute's name in its domain.

    Raises:
        ParameterError: if there are no domains, a name has "," or "#", or a domain has several columns.
    """
    if not isinstance(attributes, Mapping) or not attributes:
        raise ParameterError("attributes.not-domains", argument="attributes")
    for name, domain in attributes.items():
        if not isinstance(name, str) or not name.strip() or {_JOIN, _PART} & {*name}:
            raise ParameterError("attribute.invalid-name", name=name)
        if checked_domain(domain).space.column_names:
            raise ParameterError("attribute.of-several-columns", name=name)
    named = map(Domain.for_attribute, attributes.values(), attributes)
    return MappingProxyType(dict(zip(composed_names(attributes), named, strict=True)))


def in_order(attributes: Mapping[str, Any], names: object) -> tuple[str, ...]:
    """Return names of attributes in the order of the attributes; `names` is a list, or a question's name.

    Raises:
        ParameterError: if a name is unknown or is given twice.
    """
    listed = names.split(_JOIN) if isinstance(names, str) else list(names) if isinstance(names, Sequence) else []
    listed = [composed(str(name)) for name in listed]
    for name in listed:
        if name not in attributes:
            raise ParameterError("attribute.unknown", name=name, near=suggestion(name, attributes))
    if not listed or len({*listed}) < len(listed):
        raise ParameterError("attributes.repeated", names=listed)
    return tuple(name for name in attributes if name in listed)


def wanted_tables(attributes: Mapping[str, Domain], want: Want) -> tuple[tuple[str, ...], ...]:
    """Return the tables to estimate, each as names of attributes in the survey's order.

    Raises:
        ParameterError: if there is no table, a table is given twice, or a name is not an attribute.

    Example:
        >>> wanted_tables({"a": Domain(range(2)), "b": Domain(range(2)), "c": Domain(range(2))}, "pairs")
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """
    if isinstance(want, str):
        size = {"singles": 1, "pairs": 2}[checked_choice("want", want, ("singles", "pairs"))]
        if len(attributes) < size:
            raise ParameterError("want.too-few-attributes")
        return tuple(choices(attributes, size))
    if not isinstance(want, Sequence) or not want:
        raise ParameterError("want.not-tables", argument="want")
    tables = tuple(in_order(attributes, table) for table in want)
    twice = next((table for table in tables if tables.count(table) > 1), None)
    if twice is not None:
        raise ParameterError("want.repeated", argument="want", table=question_name(twice))
    return tables


def checked_patterns(attributes: Mapping[str, Any], combinations: object) -> tuple[Mapping[str, Any], ...]:
    """Check the patterns of sensitive combinations, and return them.

    Raises:
        ParameterError: if this is not a list of patterns, or a pattern has an unknown attribute.

    The names of attributes are returned in Unicode's normal form C.
    """
    listed = combinations if isinstance(combinations, list | tuple) else (None,)
    for pattern in listed:
        if not isinstance(pattern, Mapping) or not pattern:
            raise ParameterError("combinations.not-patterns", argument="combinations")
        in_order(attributes, [*pattern])
    return tuple(dict(zip(composed_names(pattern), pattern.values(), strict=True)) for pattern in listed)


def question_domain(
    attributes: Mapping[str, Domain], names: Sequence[str], combinations: Sequence[Mapping[str, Any]] = ()
) -> Domain:
    """Return the domain of a question: one attribute's values, or the combinations of several attributes' values.

    A combination is sensitive if one of its values is. With patterns, a combination is sensitive if it can be part of a
    combination that a pattern matches.

    Args:
        attributes: domains by name.
        names: the attributes of the question.
        combinations: patterns over attributes, as `Domain` takes them.

    Raises:
        ParameterError: if a name is not an attribute, or the question has too many combinations.

    Example:
        >>> sexes, ages = Domain(["f", "m"], sensitive=[], allow_unprotected=True), Domain(range(3), sensitive=[2])
        >>> question_domain({"sex": sexes, "age": ages}, ["sex", "age"])
        Domain(6 values, 2 sensitive)
    """
    names, combinations = in_order(attributes, names), checked_patterns(attributes, combinations)
    parts = {name: attributes[name] for name in names}
    shape = tuple(part.size for part in parts.values())
    if prod(shape) > MOST_CELLS:
        raise ParameterError("question.too-large", name=question_name(names), size=prod(shape), most=MOST_CELLS)
    space = Product({name: part.space for name, part in parts.items()})
    sensitive: BoolArray = np.full(shape, bool(combinations))
    within = [{name: pattern[name] for name in names if name in pattern} for pattern in combinations]
    if within and all(within):
        # A pattern without any of these attributes matches all of their values.
        sensitive = value_mask(space, within, "combinations", closed=True)
    for axis, part in enumerate(() if combinations else parts.values()):
        np.moveaxis(sensitive, axis, -1)[..., part.sensitive] = True
    sensitive = sensitive.reshape(-1)
    exact = [name for name, part in parts.items() if part.exact]
    if len(parts) > 1:
        return Domain.over(space, sensitive, exact=exact)
    return Domain.over(parts[names[0]].space, sensitive, exact=bool(exact)).for_attribute(names[0])


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a survey.

    Attributes:
        attributes: the names of the attributes, in the survey's order.
        mechanism: the mechanism for the answers, over the domain that `question_domain` returns.
        share: the share of people who answer the question, as an integer over 2^64; 2^64 for everybody.

    Example:
        >>> import discreet as dc
        >>> ages = dc.Domain(["<18", "18-64", "65+"]).for_attribute("age")
        >>> question = Question(("age",), dc.RandomizedResponse(ages, 1.0), share=1 << 64)
        >>> question.name, question.epsilon
        ('age', 1.0)
    """

    attributes: tuple[str, ...]
    mechanism: BlockMechanism
    share: int

    def __post_init__(self) -> None:
        """Check the parts of the question.

        Raises:
            ParameterError: if attributes are missing or repeated, the share is out of range, or the mechanism is not a
                block mechanism.
        """
        if isinstance(self.attributes, str) or not isinstance(self.attributes, Sequence) or not self.attributes:
            raise ParameterError("question.without-attributes")
        object.__setattr__(self, "attributes", tuple(composed(str(name)) for name in self.attributes))
        if len({*self.attributes}) < len(self.attributes):
            raise ParameterError("question.repeated-attribute", names=list(self.attributes))
        BlockMechanism.checked(self.mechanism)
        object.__setattr__(self, "share", checked_whole("share", self.share, most=WORD_RANGE))

    @property
    def name(self) -> str:
        """The name: the attributes' names joined by commas."""
        return question_name(self.attributes)

    @property
    def epsilon(self) -> float:
        """The epsilon promised for one answer, in nats; 0 if no value is sensitive."""
        return self.mechanism.epsilon if self.mechanism.domain.sensitive_count else 0.0

    @property
    def realised(self) -> float:
        """The realised epsilon of one answer, in nats; 0 if no value is sensitive."""
        return self.mechanism.guarantee.realised if self.mechanism.domain.sensitive_count else 0.0


def whole_shares(shares: Sequence[Fraction]) -> list[int]:
    """Return shares as integers over 2^64 with the same sum, each less than 1 from the exact share.

    Args:
        shares: exact numbers that add up to a whole number.

    Example:
        >>> whole_shares([Fraction(1, 3), Fraction(2, 3)])
        [6148914691236517205, 12297829382473034411]
    """
    ends = [int(end * WORD_RANGE) for end in accumulate(shares)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def with_ends(attributes: Mapping[str, Domain], patterns: Sequence[Mapping[str, Any]]) -> Mapping[str, Domain]:
    """Return domains with bins that end where the ranges of sensitive combinations begin and end.

    Args:
        attributes: domains by name, in which every value is sensitive if there are patterns.
        patterns: combinations that are sensitive, as `Domain.product` takes them.
    """
    known = dict(attributes)
    for name, domain in attributes.items() if patterns else ():
        if (space := domain.numbers) is not None:
            every = np.ones(space.size, dtype=np.bool_)
            masks = [_mask(name, space, each[name]) if name in each else every for each in patterns]
            ended = space.bounded(np.column_stack(masks), numbers_in([*patterns]))
            known[name] = Domain.over(ended, domain.sensitive, exact=domain.exact).for_attribute(domain.attribute)
    return MappingProxyType(known)


def coded_patterns(
    attributes: Mapping[str, Domain], patterns: Iterable[Mapping[str, Any]]
) -> list[dict[str, list[int]]]:
    """Return the patterns with codes instead of labels: one dictionary for each attribute of each pattern."""
    return [
        {name: np.flatnonzero(_mask(name, attributes[name].space, part)).tolist()}
        for pattern in patterns
        for name, part in pattern.items()
    ]


def _mask(name: str, space: LabelSpace, part: Any) -> BoolArray:
    return value_mask(Product({name: space}), [{name: part}], "combinations", closed=True)
