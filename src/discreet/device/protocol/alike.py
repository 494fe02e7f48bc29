"""Labels that look the same to people. A device refuses them if only some of them are protected.

A person who chooses the unprotected label by mistake would send in clear what the other label protects.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from unicodedata import is_normalized

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.core.labels.text_forms import match_keys, visible
from discreet.device.protocol.envelope import PlanError

# The largest number of codes in one batch.
_MOST_AT_ONCE = 1 << 20


def check_composed(plan: Mapping[str, object]) -> None:
    """Raise an error if a label, a tag or an attribute's name in a plan is not in Unicode's normal form C.

    Two devices that wrote one label in two ways would have different fingerprints.

    Raises:
        PlanError: if a text is not in normal form C.
    """
    # In JSON each text follows a quotation mark, which combines with no accent.
    if not is_normalized("NFC", json.dumps([plan["domain"], plan.get("tags")], ensure_ascii=False)):
        raise PlanError("labels.not-composed")


def check_alike(lists: Sequence[Sequence[str]], ranges: Sequence[tuple[int, int]], *, can_differ: bool) -> None:
    """Raise an error if two labels look the same, and only one of them is protected.

    Args:
        lists: labels of the values, or of each attribute of a product.
        ranges: half-open ranges of protected codes, ascending.
        can_differ: whether each person also protects secret values. Then labels that read alike must all be protected
            for everybody.

    Raises:
        PlanError: if there are such labels; it quotes two of them.
    """
    pair = next(_unequal(lists, np.array(ranges, dtype=np.int64), can_differ), None)
    if pair is not None:
        raise PlanError("labels.alike", names=" and ".join(map(visible, pair)))


def _unequal(lists: Sequence[Sequence[str]], ranges: IntArray, can_differ: bool) -> Iterator[tuple[str, str]]:
    """Yield pairs of labels that look the same, if only one label of the pair is protected.

    Values of a product read alike if their labels of each attribute do, so replacing one label at a time is enough.
    """
    step = size = int(np.prod([len(names) for names in lists], dtype=object))
    for names in lists:
        whole, step = step, step // len(names)
        twins = _twins(names)
        if not len(twins):
            continue
        # In a block where no range begins or ends, all values are protected, or none; other blocks are examined.
        edges = ranges[ranges < size]
        blocks = edges // whole * whole
        looked_at = np.arange(0, size if can_differ else 0, whole)
        places = np.unique(np.concatenate([looked_at, blocks, blocks + edges % step]))
        at_once = max(_MOST_AT_ONCE // len(twins), 1)
        for start in range(0, len(places), at_once):
            codes = places[start : start + at_once, np.newaxis, np.newaxis] + twins * step
            first, later = np.moveaxis(_is_inside(codes, ranges), -1, 0)
            differs = ((first != later) | (~first & can_differ)).any(axis=0)
            yield from ((names[place], names[twin]) for place, twin in twins[differs].tolist())


def _twins(names: Sequence[str]) -> IntArray:
    """Return ``(t, 2)`` positions of labels that look the same: the first such label, and a later one."""
    first: dict[str, int] = {}
    pairs = [(first.setdefault(text, place), place) for place, text in enumerate(match_keys(names))]
    return np.array([pair for pair in pairs if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2)


def _is_inside(codes: IntArray, ranges: IntArray) -> BoolArray:
    place = np.maximum(np.searchsorted(ranges[:, 0], codes, side="right") - 1, 0)
    inside: BoolArray = (ranges[place, 0] <= codes) & (codes < ranges[place, 1])
    return inside
