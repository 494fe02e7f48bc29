"""Facts of a collection: what is promised, what it costs people, and how precise estimates are."""

from typing import Any

import numpy as np

from discreet.collector.catalogue import Entry
from discreet.collector.releases import Counts
from discreet.core.random import SeededRandom
from discreet.risk.bounds import identification_bounds

_CROWD = 10_000
_MOST_REPORTS = 30
_WORTHS = 1 << 20
_LARGE_WORTH = 10.0


def facts_of(entry: Entry, counts: Counts) -> dict[str, Any]:
    """Return the facts of a collection, ready for JSON.

    Args:
        entry: the collection.
        counts: how many reports there are.
    """
    collection, mechanism = entry.collection, entry.mechanism
    n = max(counts.sealed + counts.waiting, collection.least)
    answers = 1 if collection.answers == "once" else max(int(collection.lifetime / collection.epsilon), 1)
    worth = largest_worth(entry)
    return {
        "name": collection.name,
        "version": collection.version,
        "id": collection.id.hex(),
        "state": entry.row.state,
        "simulated": collection.simulated,
        "guarantee": {
            "sentence": str(mechanism.guarantee),
            "notion": mechanism.guarantee.notion,
            "epsilon": collection.epsilon,
            "realised": mechanism.guarantee.realised,
        },
        "budgets": {
            "answers": collection.answers,
            "per_answer": collection.epsilon,
            "lifetime": collection.lifetime,
            "answers_in_lifetime": answers,
        },
        "precision": {"n": n, "standard_error": _expected_error(entry, n), "least": collection.least},
        "identification": [_identified(entry, reports) for reports in sorted({1, min(answers, _MOST_REPORTS)})],
        "influence": {"largest_worth_of_a_report": worth, "large": worth > _LARGE_WORTH},
        "reports": {
            "sealed": counts.sealed,
            "waiting": counts.waiting,
            "duplicates": counts.duplicates,
            "conflicts": counts.conflicts,
            "epochs": counts.epochs,
        },
        "refusals": counts.refusals,
    }


def _expected_error(entry: Entry, n: int) -> float:
    """Return the root mean square error of a value, on average over values, if all are equally frequent."""
    size = entry.mechanism.domain.size
    return float(np.sqrt(entry.mechanism.decoder.mse(n, np.full(size, 1 / size)) / size))


def _identified(entry: Entry, reports: int) -> dict[str, Any]:
    bounds = identification_bounds(entry.mechanism, _CROWD, reports=reports)
    return {
        "reports": reports,
        "users": _CROWD,
        "probability_at_most": bounds.identification.value,
        "by_guessing": bounds.guessed,
        "sentence": bounds.identification_sentence,
    }


def largest_worth(entry: Entry) -> float:
    """Return phi: by how much one report can change n times the estimate of a value, among reports drawn here.

    Whoever sends a share f of all reports can raise a value's estimate by at most f phi.
    """
    mechanism = entry.mechanism
    size = mechanism.domain.size
    # Each value a few times, as far as that is little work: nearly every law has one number for all values.
    codes = np.arange(min(max(_WORTHS // size, 1), max(4 * size, 64)), dtype=np.int64) % size
    reports = mechanism.obfuscate_codes(codes, random=SeededRandom(1))
    return float(np.abs(mechanism.decoder.worth(reports)).max())
