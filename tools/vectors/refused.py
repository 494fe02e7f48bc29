"""Vectors of samplers that no device may use: each is a good one with a part changed, and ``why`` says which."""

from typing import Any

_BITS = {"law": "bits", "size": 4, "threshold": "3", "depth": 3}
_GOOD = {"size": 20, "sensitive": [[2, 5], [9, 10]], "truth": str(1 << 62), "clear_blocks": False, "law": _BITS}
_HASHING = {"law": "hashing", "size": 4, "buckets": 2, "prime": 5}
_MIXED = {"law": "mixed subsets", "size": 4, "count": 2, "larger": "5"}

_TRANSLATES = {"law": "translates", "size": 4, "modulus": 7, "base": [1, 2, 4]}
_PROJECTIVE = {"law": "projective", "size": 4, "q": 2, "t": 3, "step": 4}
_WINDOWS = {"law": "windows", "size": 4, "width": 2, "starts": [0, 3]}

GOOD = (
    _BITS,
    _HASHING,
    _MIXED,
    _TRANSLATES,
    _PROJECTIVE,
    _WINDOWS,
)
"""Laws that are good in the place of the good sampler's."""

_RANGES: list[Any] = [
    [],
    [[2, 7]],
    [[2, 5], [9, 9], [10, 11]],
    [[9, 10], [2, 5]],
    [[2, 5], [5, 6]],
    [[2, 5], [4, 5]],
    [[2, 5], [20, 21]],
    [[-1, 2], [9, 10]],
    [["2", "5"], [9, 10]],
    [[False, 3], [9, 10]],
    [[2, 5, 6], [9, 10]],
    [[2, 5], 9],
    "2-5",
    None,
]
_TRUTHS: list[Any] = ["0", str(1 << 64), str((1 << 64) + 5), "-1", "+1", "01", "1.0", "1e3", " 1", "", "٣", 5, None]
_LAWS: list[Any] = [
    None,
    [],
    "bits",
    {},
    {**_BITS, "law": "toString"},
    {**_BITS, "law": ["bits"]},
    {**_BITS, "size": 5},
    {**_BITS, "size": "4"},
    {**_BITS, "depth": 61},
    {**_BITS, "depth": 0},
    {**_BITS, "threshold": "0"},
    {**_BITS, "threshold": "2"},
    {**_BITS, "threshold": "8"},
    {**_BITS, "threshold": 3},
    {**_BITS, "threshold": "03"},
    {**_BITS, "more": 1},
    {"law": "bits", "size": 4, "depth": 3},
    {"law": "singletons", "size": True},
    {"law": "singletons", "size": 4, "levels": []},
    {"law": "subsets", "size": 4, "count": 0},
    {"law": "subsets", "size": 4, "count": 4},
    {**_MIXED, "count": 4},
    {**_MIXED, "count": 0},
    {**_MIXED, "larger": "0"},
    {**_MIXED, "larger": str(1 << 64)},
    {**_MIXED, "larger": 5},
    {**_HASHING, "prime": 4},
    {**_HASHING, "prime": 7},
    {**_HASHING, "prime": 9},
    {**_HASHING, "prime": "5"},
    {**_HASHING, "buckets": 1},
    {**_HASHING, "buckets": 6},
    {**_TRANSLATES, "base": [1, 2, 2]},
    {**_TRANSLATES, "base": [2, 1, 4]},
    {**_TRANSLATES, "base": [1, 2, 7]},
    {**_TRANSLATES, "base": [-1, 2]},
    {**_TRANSLATES, "base": [1, "2"]},
    {**_TRANSLATES, "base": [True, 2]},
    {**_TRANSLATES, "base": [0, 1, 2, 3, 4, 5, 6]},
    {**_TRANSLATES, "base": []},
    {**_TRANSLATES, "base": "124"},
    {**_TRANSLATES, "base": list(range(4097)), "modulus": 5000},
    {**_TRANSLATES, "modulus": 3, "base": [1, 2]},
    {**_TRANSLATES, "modulus": (1 << 24) + 1},
    *({**_PROJECTIVE, "q": q} for q in (0, 1, 6, 9, 256, 65_537, "2", True, 2.5)),
    *({**_PROJECTIVE, "t": t} for t in (1, 2.5, "3", 27)),
    {**_PROJECTIVE, "q": 2, "t": 2, "step": 1},
    {**_PROJECTIVE, "q": 401, "t": 5},
    *({**_PROJECTIVE, "step": step} for step in (0, 7, -1, "4", 2.5)),
    {**_PROJECTIVE, "q": 4, "step": 14},
    {**_PROJECTIVE, "base": [0]},
    {**_WINDOWS, "width": 0},
    {**_WINDOWS, "width": 4},
    {**_WINDOWS, "width": "2"},
    {**_WINDOWS, "starts": []},
    {**_WINDOWS, "starts": [1, 3]},
    {**_WINDOWS, "starts": [0, 4]},
    {**_WINDOWS, "starts": [0, 2, 2]},
    {**_WINDOWS, "starts": [0, "3"]},
    {**_WINDOWS, "starts": [0, True]},
    {**_WINDOWS, "starts": "03"},
    {**_WINDOWS, "starts": [0, 3], "more": 1},
    {"law": "uneven singletons", "size": 4, "weights": ["1", "2"], "levels": [0, 1, 0, 1]},
    {"law": "uneven bits", "size": 4, "thresholds": ["1", "7"], "depth": 3, "levels": [0, 1, 0, 1]},
    {"law": "hash pool", "size": 4, "buckets": 2, "functions": 3, "seed": "1", "prime": (1 << 31) - 1},
    {"law": "paley", "size": 4, "prime": 7},
]


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the file, by its name."""
    lines: list[dict[str, Any]] = [{"sampler": {**_GOOD, "law": law}, "why": None} for law in GOOD]
    parts = {"size": [0, -1, "20", None, True, 9, 1 << 31], "clear_blocks": [0, None, "false"]}
    for part, bad in {**parts, "sensitive": _RANGES, "truth": _TRUTHS, "law": _LAWS}.items():
        lines += [{"sampler": {**_GOOD, part: one}, "why": part} for one in bad]
    for law in (_HASHING, _MIXED, _TRANSLATES, _WINDOWS, _PROJECTIVE, {**_TRANSLATES, "modulus": 4, "base": [0, 1]}):
        lines.append({"sampler": {**_GOOD, "law": law, "clear_blocks": True}, "why": "clear_blocks"})
    lines += [{"sampler": one, "why": "sampler"} for one in (None, [], {}, {**_GOOD, "epsilon": 1})]
    size = 8 * (1 << 20)
    wide = {"size": size, "sensitive": [[0, size]], "law": {**_BITS, "size": size}}
    lines.append({"sampler": {**_GOOD, **wide}, "why": "width"})
    windows = {"size": 1 << 23, "sensitive": [[0, 1 << 23]]}
    for width, why in (((1 << 23) - 1, None), ((1 << 22) + 1, "law")):
        starts = [0] if why is None else [0, 1, 2]
        law = {"law": "windows", "size": 1 << 23, "width": width, "starts": starts}
        lines.append({"sampler": {**_GOOD, **windows, "law": law}, "why": why})
    for subsets in (_MIXED, {"law": "subsets", "count": 2}):
        for marks, why in ((1 << 22, None), ((1 << 22) + 1, "law")):
            whole = {"size": marks, "sensitive": [[0, marks]], "law": {**subsets, "size": marks}}
            lines.append({"sampler": {**_GOOD, **whole}, "why": why})
    vast = {"size": (1 << 31) - 1, "sensitive": [[0, (1 << 31) - 1]], "law": {**_BITS, "size": (1 << 31) - 1}}
    lines.append({"sampler": {**_GOOD, **vast}, "why": "width"})
    return {"refused.jsonl": lines}
