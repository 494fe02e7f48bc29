"""Spellings of labels: different texts in a column that stand for the same label.

When a plan is proposed from a table, texts become one label if they differ only by spaces, invisible characters and the
encoding of accents. Texts that differ by case, width or compatibility forms may mean different things, such as the
genes AA, Aa and aa. They become one label only on request.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from discreet.core.labels.spaces import flat
from discreet.core.labels.text_forms import composed, match_key, match_keys, tidied
from discreet.tables.text import SPELLINGS

Join: TypeAlias = Literal["exact", "spaces", "reading"]
"""The rule by which texts are one label: the same normal form C, the same tidy form, or texts that read alike."""


SAME: Mapping[Join, Callable[[str], str]] = {"exact": composed, "spaces": tidied, "reading": match_key}
"""For each rule, a function that returns the same text for all texts of one label."""


def joined_counts(counts: Mapping[str, int], join: Join) -> Counter[str]:
    """Return the number of rows of each label, from the number of rows of each text.

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
    for (label, rows), read in zip(by_label.items(), match_keys(list(by_label)), strict=True):
        alike.setdefault(read, Counter())[label] += rows
    return Counter({max(sorted(labels), key=labels.__getitem__): labels.total() for labels in alike.values()})


def _label(tidy: str, texts: Counter[str]) -> str:
    """Return the label for texts that are equal after tidying: the tidied text, or the most frequent text."""
    if tidy in texts or (len(texts) > 1 and tidy not in SPELLINGS):
        return tidy
    return max(sorted(texts), key=texts.__getitem__)


def other_texts(counts: Mapping[str, int], labels: Sequence[Any], join: Join) -> tuple[int, int, int]:
    """Return three numbers: texts without a label, rows without a label, and rows read as a similar label.

    Args:
        counts: the number of rows of each text.
        labels: the labels of the column.
        join: the rule for texts; with ``"exact"`` no text is read as a label that reads alike.

    Returns:
        The number of texts that are no label, the number of rows with such texts, and the number of rows with a text
        that is read as a label that reads alike.
    """
    space = flat(labels)
    texts, rows = list(counts), np.array(list(counts.values()), dtype=np.int64)
    written = space.encode(texts) >= 0
    known = written if join == "exact" else space.as_read().encode(texts) >= 0
    return int((~known).sum()), int(rows[~known].sum()), int(rows[known & ~written].sum())
