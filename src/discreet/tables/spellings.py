"""Spellings of labels: different texts of a column that stand for one label.

A plan that is proposed from a table joins texts by itself where they differ only by spaces, invisible characters and
the way in which accents are stored. Texts that differ by case, width or compatibility forms may mean different things,
such as the genes AA, Aa and aa: they are joined on request.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from discreet.core.labels.reading import composed, reading, readings, tidied
from discreet.core.labels.spaces import flat
from discreet.tables.text import SPELLINGS

Join: TypeAlias = Literal["exact", "spaces", "reading"]
"""The texts that are one label: texts with one normal form C, with one tidy form, or texts that read alike."""


SAME: Mapping[Join, Callable[[str], str]] = {"exact": composed, "spaces": tidied, "reading": reading}
"""The form that all texts of one label have."""


def joined_counts(counts: Mapping[str, int], join: Join) -> Counter[str]:
    """Return the number of rows by label, from the number of rows by text.

    Example:
        >>> joined_counts({"krank": 5, "krank ": 3, "Krank": 2}, "spaces")
        Counter({'krank': 8, 'Krank': 2})
        >>> joined_counts({"krank": 5, "krank ": 3, "Krank": 2}, "reading")
        Counter({'krank': 10})
    """
    plain: Counter[str] = Counter()
    for text, rows in counts.items():
        plain[composed(text)] += rows
    if join == "exact":
        return plain
    tidy: dict[str, Counter[str]] = {}
    for text, rows in plain.items():
        tidy.setdefault(tidied(text), Counter())[text] += rows
    by_label = Counter({_label(form, texts): texts.total() for form, texts in tidy.items()})
    if join == "spaces":
        return by_label
    alike: dict[str, Counter[str]] = {}
    for (label, rows), read in zip(by_label.items(), readings(list(by_label)), strict=True):
        alike.setdefault(read, Counter())[label] += rows
    return Counter({max(sorted(labels), key=labels.__getitem__): labels.total() for labels in alike.values()})


def _label(tidy: str, texts: Counter[str]) -> str:
    """Return the label of texts that have one tidy form: this form, unless there is a single text or it means a gap."""
    if tidy in texts or (len(texts) > 1 and tidy not in SPELLINGS):
        return tidy
    return max(sorted(texts), key=texts.__getitem__)


def other_texts(counts: Mapping[str, int], labels: Sequence[Any], join: Join) -> tuple[int, int, int]:
    """Return the numbers of texts that are not written as a label is.

    Args:
        counts: rows by text.
        labels: of the column.
        join: ``"exact"`` if no text is taken for a label that it reads like.

    Returns:
        The number of texts that stand for no label, of rows that hold these, and of rows that hold a text which is
        taken for a label that it reads like.
    """
    space = flat(labels)
    texts, rows = list(counts), np.array(list(counts.values()), dtype=np.int64)
    written = space.encode(texts) >= 0
    known = written if join == "exact" else space.as_read().encode(texts) >= 0
    return int((~known).sum()), int(rows[~known].sum()), int(rows[known & ~written].sum())
