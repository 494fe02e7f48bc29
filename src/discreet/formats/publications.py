"""Publications of a collection: what its sealed batches, and all estimates of them, tell of a person, or may tell.

Every estimate and every sealed file is made of the batches that were sealed, so one statement, on all of them, holds
for all of them together, however they are subtracted. Before anything is sealed only the terms are known: the least
number of reports that anything is published of, and the answers of a person.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import floor
from pathlib import Path
from typing import Any

from discreet.core.guarantee import rounded_up
from discreet.errors import DiscreetError
from discreet.files.paths import file_of
from discreet.files.stored import look
from discreet.mechanisms import BlockMechanism, report_tables
from discreet.privacy.publication import Publication
from discreet.protocol.collection import FRESH, ONCE, PERMANENT, Collection, open_envelope, rebuild
from discreet.protocol.envelope import signers

DOCUMENT = "_collection.json"
"""The name of the collection's envelope beside its sealed epochs."""
TALLIES = "_tallies"
"""The name of the folder of their tallies."""

# What a device's sum of epsilons may exceed its budget by, and the rounding of that sum.
_MARGIN = 1 + 1e-8
# More than are ever added up.
_MOST = 5000
_WORD = "How people are in it is the word of the document {name} in the folder."
_EARLIER = "What earlier versions of this collection have published of the same people adds to it."


def most_answers(collection: Collection) -> int:
    """Return the most answers that a device gives to a collection, as far as its own budget allows."""
    if collection.answers == ONCE:
        return 1
    return max(min(floor(collection.lifetime / collection.epsilon * _MARGIN), collection.epochs.count), 1)


def collection_publication(
    collection: Collection, mechanism: BlockMechanism, sealed: Iterable[tuple[int, int]] = ()
) -> Publication:
    """Return the publication of all that is sealed; the planned one, by the terms, where nothing is.

    Args:
        collection: the terms.
        mechanism: rebuilt from them.
        sealed: of each batch the number of reports, and of epochs that were sealed together.
    """
    most, fresh = most_answers(collection), collection.answers == FRESH
    batches = [n for seal in sealed for n in _batches(collection, *seal)]
    # The epochs with a person's answers may all be sealed together.
    epochs = collection.epochs.count if collection.answers == PERMANENT else most
    return Publication(
        mechanism,
        tuple(batches or _batches(collection, collection.least, epochs)),
        collection.answers,  # type: ignore[arg-type]
        most=most if fresh else None,
        simulated=collection.simulated,
        planned=not batches,
        remarks=(_EARLIER,) if collection.version > 1 else (),
    )


def _batches(collection: Collection, n: int, epochs: int) -> list[int]:
    """Return the batches that stand for a sealed one of some epochs.

    Several fresh answers of a person in one batch tell no more than if its reports were dealt out to several batches
    with one of hers in each, which is a finer view of the same. A permanent answer is in it once for each epoch.
    """
    if n == 0:
        return []
    if epochs == 1 or collection.answers == ONCE:
        return [n]
    return [n if collection.answers == PERMANENT else max(n // epochs, 1)] * min(epochs, _MOST)


def sentences_on_published(collection: Collection) -> tuple[str, ...]:
    """Return the sentences that people read before they answer, on what will be published."""
    publication = collection_publication(collection, rebuild(collection))
    several = f"That is so of all your answers together, of which there are at most {most_answers(collection):,}."
    return (
        f"Estimates are published from at least {collection.least:,} answers together.",
        *publication.person(yours=True),
        *([several] if publication.answers == FRESH and not publication.none else []),
        "The collector sees your report when it arrives, and has the promise above "
        f"(epsilon = {rounded_up(publication.local)}). That it publishes nothing else is its own word: your device "
        "can check what it sends, and not what becomes of it.",
    )


def folder_publication(folder: Path, mechanism: BlockMechanism) -> Publication | None:
    """Return the publication of a collector's folder of sealed epochs, by its document and its tallies.

    Tallies stay where reports have been deleted, so that they tell of all that was ever sealed.

    Args:
        folder: with the envelope, and a tally of each sealed batch in a folder beside it.
        mechanism: of the plan; another one's folder is none.

    Returns:
        What is published, on the word of the document; None of any other folder.
    """
    try:
        envelope = (folder / DOCUMENT).read_bytes()
        collection = open_envelope(envelope, signers(envelope))
        stamps = [
            report_tables.read_stamp(look(file_of(path)).schema, "tally", mechanism.fingerprint)
            for path in sorted((folder / TALLIES).iterdir())
        ]
    except (OSError, DiscreetError):
        return None
    if not stamps or any(stamp.get("collection") != collection.id.hex() for stamp in stamps):
        return None
    sealed = [(int(stamp["n"]), 1 + _more_epochs(stamp)) for stamp in stamps]
    publication = collection_publication(collection, mechanism, sealed)
    return replace(publication, remarks=(*publication.remarks, _WORD.format(name=DOCUMENT)))


def _more_epochs(stamp: Mapping[str, Any]) -> int:
    """Return the number of epochs besides the first that were sealed into one batch."""
    first, *others = stamp.get("epochs", [0])
    return others[-1] - first if others else 0
