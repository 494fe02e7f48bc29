"""Labels of one attribute that read alike: they differ only in case, spaces and similar details of writing.

If only one of two such labels is sensitive, a sensitive answer that is written like the other label is reported in
clear. A domain with such labels raises an error unless it is exact.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.labels.spaces import LabelSpace
from discreet.core.labels.text_forms import visible
from discreet.errors import ParameterError

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class AlikeLabels:
    """A group of labels of one attribute that read alike.

    Attributes:
        attribute: the attribute of a product; empty for a domain of plain labels.
        labels: two texts or more.
        protected: whether each label is sensitive; None for a label of a product that is sensitive in some
            combinations only.
        differ: whether the labels differ in sensitivity.
    """

    attribute: str
    labels: tuple[str, ...]
    protected: tuple[bool | None, ...]
    differ: bool

    def __str__(self) -> str:
        where = f" (attribute {visible(self.attribute)})" if self.attribute else ""
        alike = f"{_joined(self.labels)}{where} read alike"
        if not self.differ:
            together = {True: "all are protected", False: "none is protected", None: "they are protected alike"}
            return f"{alike}; {together[self.protected[0]]}, and each counts as a value of its own."
        states = {True: "Protected", None: "Protected in some combinations", False: "Not protected"}
        listed = {
            state: [label for label, mark in zip(self.labels, self.protected, strict=True) if mark is state]
            for state in states
        }
        parts = [f"{states[state]}: {_joined(labels)}." for state, labels in listed.items() if labels]
        return " ".join([f"exact: {alike}, and each counts as a value of its own.", *parts])


def refuse_alike(space: LabelSpace, mask: BoolArray, exact: Collection[str] = ()) -> None:
    """Raise an error if labels read alike and only some of them are sensitive.

    In a product, two combinations are compared if they differ in one attribute only, by labels that read alike. Chains
    of such pairs connect any two combinations that read alike in every attribute.

    Args:
        space: the labels, without placeholders.
        mask: ``(|X|,)`` booleans: which values are sensitive.
        exact: attributes of a product whose labels may read alike and differ in sensitivity.

    Raises:
        ParameterError: if there are such labels; the message names two of them.
    """
    if not mask.any():
        return
    pair, conflicts = dict[str, str](), 0
    for axis, (name, part) in enumerate(space.flat_parts.items()):
        if name in exact or not part.alike:
            continue
        rows = _rows(space, mask, axis, np.concatenate(part.alike))
        starts = np.cumsum([0, *map(len, part.alike[:-1])])
        mixed = np.logical_or.reduceat(rows, starts) & ~np.logical_and.reduceat(rows, starts)
        groups = np.flatnonzero(mixed.any(axis=1)).tolist()
        conflicts += len(groups)
        if groups and not pair:
            codes = part.alike[groups[0]]
            marks = rows[starts[groups[0]] :, int(np.argmax(mixed[groups[0]]))][: len(codes)]
            protected, clear = map(visible, part.names(np.array([codes[marks][0], codes[~marks][0]])))
            where, some = (f" (attribute {visible(name)})", " in some combinations") if name else ("", "")
            pair = {"protected": protected, "clear": clear, "where": where, "some": some}
    if conflicts:
        more = f" {conflicts - 1:,} more groups of labels read alike." if conflicts > 1 else ""
        raise ParameterError("labels.read-alike", more=more, **pair)


def alike_labels(space: LabelSpace, mask: BoolArray) -> Iterator[AlikeLabels]:
    """Yield each group of labels of a label space that read alike.

    Args:
        space: the labels, without placeholders.
        mask: ``(|X|,)`` booleans: which values are sensitive.
    """
    for axis, (name, part) in enumerate(space.flat_parts.items()):
        for codes in part.alike:
            rows = _rows(space, mask, axis, codes)
            protected = tuple(bool(row[0]) if row.all() or not row.any() else None for row in rows)
            yield AlikeLabels(name, tuple(part.names(codes)), protected, bool((rows != rows[0]).any()))


def alike_sentences(alike: Collection[AlikeLabels], *, exact: bool) -> list[str]:
    """Return a sentence for each group of alike labels, groups that differ in sensitivity first.

    Only ten groups are listed; a last sentence counts the others.

    Args:
        alike: the groups.
        exact: whether the domain is exact.
    """
    if exact and not alike:
        return ["exact: no two labels read alike, so it has no effect."]
    ranked = sorted(alike, key=lambda group: not group.differ)
    sentences = [str(group) for group in ranked[:_MOST_NAMED]]
    more = len(ranked) - _MOST_NAMED
    return [*sentences, f"{more:,} more groups of labels read alike."] if more > 0 else sentences


def _rows(space: LabelSpace, mask: BoolArray, axis: int, codes: IntArray) -> BoolArray:
    """Return a row of booleans for each label of one attribute: true for each sensitive combination with this label."""
    shape = [part.size for part in space.flat_parts.values()]
    rows: AnyArray = np.moveaxis(mask.reshape(shape), axis, 0)[codes]
    return rows.reshape(len(codes), -1)


def _joined(labels: Collection[str]) -> str:
    shown = [visible(label) for label in labels]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
