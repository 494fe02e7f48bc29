"""Faults of kernels."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "a place that is drawn twice is set twice",
        "kernels/counting.py",
        "changes = (flat[at] != want) & (first[at] == numbers)",
        "changes = (flat[at] != want) & (first[at] <= numbers)",
        ("tests/kernels/test_bitmaps.py",),
    ),
    Fault(
        "compiled repairs count places that are set already",
        "kernels/bits.py",
        "left -= np.int64(change)",
        "left -= np.int64(1)",
        ("tests/kernels/test_bitmaps.py",),
    ),
    Fault(
        "compiled kernels are read from where everybody may write",
        "kernels/caching.py",
        "and not found.st_mode & stat.S_IWOTH",
        "and found.st_mode",
        ("tests/kernels/test_caching.py",),
    ),
    Fault(
        "a folder of temporary kernels is trusted though a stranger made the one above",
        "kernels/caching.py",
        "and all(one.st_uid in owners and (",
        "and all((",
        ("tests/kernels/test_caching.py",),
    ),
    Fault(
        "users who share nothing with a probe are not counted as ties",
        "kernels/matching.py",
        "ties[probe] = equal + rest * (floor == own)",
        "ties[probe] = equal",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "counts of eight bits overflow in a large group",
        "kernels/bits.py",
        "        if added[group] == _MOST_ADDED:",
        "        if added[group] == _MOST_ADDED and i < 0:",
        ("tests/kernels/test_grouping.py",),
    ),
]
