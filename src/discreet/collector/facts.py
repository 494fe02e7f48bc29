"""Facts of a collection: what is promised, what it costs people, and how precise estimates are."""

from typing import Any

import numpy as np

from discreet.collector.catalogue import Entry
from discreet.collector.releases import Counts
from discreet.io.publications import collection_publication, most_answers
from discreet.privacy.publication import Publication
from discreet.risk.bounds import identification_bounds

_CROWD = 10_000
_MOST_REPORTS = 30
_LARGE_WORTH = 10.0


def facts_of(entry: Entry, counts: Counts) -> dict[str, Any]:
    """Return the facts of a collection, ready for JSON.

    Args:
        entry: the collection.
        counts: how many reports there are.
    """
    collection = entry.collection
    n = max(counts.sealed + counts.waiting, collection.least)
    answers = most_answers(collection)
    return {
        "name": collection.name,
        "version": collection.version,
        "id": collection.id.hex(),
        "state": entry.row.state,
        "simulated": collection.simulated,
        "guarantee": _promised(entry),
        "publication": publication(entry, counts).to_dict(),
        "planned_publication": collection_publication(collection, entry.mechanism).to_dict(),
        "budgets": {
            "answers": collection.answers,
            "per_answer": collection.epsilon,
            "lifetime": collection.lifetime,
            "answers_in_lifetime": answers,
        },
        "precision": {"n": n, "standard_error": _expected_error(entry, n), "least": collection.least},
        "identification": [_identified(entry, reports) for reports in sorted({1, min(answers, _MOST_REPORTS)})],
        "influence": _influence(entry),
        "reports": {
            "sealed": counts.sealed,
            "waiting": counts.waiting,
            "duplicates": counts.duplicates,
            "conflicts": counts.conflicts,
            "epochs": counts.epochs,
        },
        "refusals": counts.refusals,
    }


def publication(entry: Entry, counts: Counts) -> Publication:
    """Return the publication of all that is sealed of a collection: estimates can be subtracted, so each states it.

    Args:
        entry: the collection.
        counts: how many reports there are, by sealed batch.
    """
    sealed = ((seal["n"], seal["last"] - seal["epoch"] + 1) for seal in counts.epochs)
    return collection_publication(entry.collection, entry.mechanism, sealed)


def _promised(entry: Entry) -> dict[str, Any]:
    guarantee = entry.mechanism.guarantee
    return {
        "sentence": str(guarantee),
        "notion": guarantee.notion,
        "epsilon": entry.collection.epsilon,
        "realised": guarantee.realised,
    }


def _influence(entry: Entry) -> dict[str, Any]:
    least, most = worth_range(entry)
    return {
        "largest_worth_of_a_report": most,
        "least_worth_of_a_report": least,
        "large": max(most, -least) > _LARGE_WORTH,
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


def worth_range(entry: Entry) -> tuple[float, float]:
    """Return the least and the largest amount that one report adds to n times the estimate of any value.

    Whoever sends a share f of all reports raises a value's estimate by at most f times the largest, and lowers it by
    at most f (1 - the least).
    """
    least, most = entry.mechanism.decoder.worth_range
    return float(least.min()), float(most.max())
