"""The estimate of a sealed batch: a page, JSON and CSV, written when the batch is sealed."""

from pathlib import Path

import numpy as np

from discreet.collector.documents.publications import folder_publication
from discreet.collector.storage.catalogue import Entry
from discreet.core.result_table import json_text
from discreet.core.tally import Tally
from discreet.estimators import estimate
from discreet.files.writing import replacing
from discreet.mechanisms import BlockMechanism
from discreet.privacy.publication import Publication
from discreet.results.estimate import Estimate, estimate_facts
from discreet.results.pages import estimate_page

KINDS = {"html": "text/html; charset=utf-8", "json": "application/json", "csv": "text/csv; charset=utf-8"}
"""The files of an estimate: media types by ending."""

MOST_VALUES = 100_000
"""Values of a collection above which no estimate is written: it would take minutes. `discreet estimate` makes it."""

ESTIMATES = "_estimates"
_FAKES = 0.01
_UP_TO_HERE = (
    "These sentences count all batches sealed up to this one. The page of the newest batch counts later ones too."
)


def estimate_file(sealed: Path, kind: str) -> Path:
    """Return the path of a file of a batch's estimate.

    Args:
        sealed: the sealed file of the batch.
        kind: one of `KINDS`.
    """
    return sealed.parent / ESTIMATES / f"{sealed.stem}.{kind}"


def write_estimates(sealed: Path, entry: Entry, tally: Tally, epochs: tuple[int, int]) -> None:
    """Write the page, JSON and CSV of a batch's estimate; nothing for a collection with too many values.

    Args:
        sealed: the sealed file of the batch, whose tally is written already.
        entry: the collection.
        tally: of the batch.
        epochs: the first and the last epoch.
    """
    if entry.mechanism.domain.size > MOST_VALUES:
        return
    result, collection = estimate(entry.mechanism, tally), entry.collection
    publication = folder_publication(sealed.parent, collection)
    facts = {
        "collection": collection.name,
        "version": collection.version,
        "epochs": list(epochs),
        "local_epsilon": entry.mechanism.guarantee.realised,
        **estimate_facts(result),
        "publication": publication.to_dict(),
    }
    texts = {
        "html": estimate_page(result, _sentences(entry, result, publication, epochs), title=collection.title),
        "json": json_text(facts),
    }
    for kind in KINDS:
        with replacing(estimate_file(sealed, kind), force=True) as beside:
            beside.write_text(texts[kind], encoding="utf-8") if kind in texts else result.to_csv(beside)


def _sentences(entry: Entry, result: Estimate, publication: Publication, epochs: tuple[int, int]) -> list[str]:
    """Return the sentences of a page: the batch, the protection of people, and the influence of fakes."""
    start, stop = entry.collection.window(epochs[0])[0], entry.collection.window(epochs[1])[1]
    which = f"Epoch {epochs[0]}" if epochs[0] == epochs[1] else f"Epochs {epochs[0]} to {epochs[1]}"
    return [
        f"{which}: {moment(start)} to {moment(stop)} UTC.",
        *publication.person(),
        publication.local_sentence,
        _UP_TO_HERE,
        f"If {_FAKES:.0%} of the reports were fakes, a share could be too high by at most "
        f"{100 * influence(entry.mechanism, result, _FAKES):.2g} percentage points.",
    ]


def influence(mechanism: BlockMechanism, result: Estimate, fakes: float) -> float:
    """Return the most by which fakes can raise a share.

    Fakes of contribution w among a part f of the reports change an estimate p by f (w - p) / (1 - f).

    Args:
        mechanism: the mechanism of the reports.
        result: the unbiased estimate.
        fakes: the part of the reports.
    """
    most = mechanism.decoder.contribution_range[1]
    return fakes / (1 - fakes) * float((most - result.frequencies).max())


def moment(seconds: float) -> str:
    """Return a date with the time in 24 hours, UTC."""
    return np.datetime_as_string(np.datetime64(int(seconds), "s"), unit="m").replace("T", " ")
