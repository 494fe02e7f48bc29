"""Faults of tables."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "templates of scores are taken in the order of their first rows",
        "tables/columns.py",
        "    places = np.array([order[name] for name in names])[columns]\n",
        "    places = columns\n",
        ("tests/io/test_score_tables.py",),
    ),
    Fault(
        "rows that are left out stay beside the reports",
        "tables/values.py",
        "kept = {name: without(column, rows) for",
        "kept = {name: without(column, rows) if name in nouns else column for",
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "the column of values is kept in clear",
        "tables/values.py",
        "clash = sorted({*keep} & {*secret})",
        "clash = sorted(set(keep) - set(keep))",
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "a kept cell is missing and nobody says so",
        "tables/values.py",
        'for noun in ("user", "kept")',
        'for noun in ("user",)',
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "labels that few people hold get into a proposed plan",
        "tables/labels.py",
        "if count >= least))",
        "if count))",
        ("tests/cli/test_init_verb.py",),
    ),
    Fault(
        "a number at a cut is in the range below",
        "tables/labels.py",
        "pc.greater_equal(read",
        "pc.greater(read",
        ("tests/io/test_cuts.py",),
    ),
    Fault(
        "names of people are proposed as labels",
        "tables/labels.py",
        "or 2 * len(self.counts) > self.rows",
        "or len(self.counts) > self.rows",
        ("tests/cli/test_init_verb.py",),
    ),
]
