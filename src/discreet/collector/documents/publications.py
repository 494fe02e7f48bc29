"""Publications of a collection: what its sealed batches, and all estimates of them, tell of a person, or may tell.

Every estimate and every sealed file is made of the batches that were sealed, so one statement, on all of them, holds
for all of them together, however they are subtracted. Before anything is sealed only the terms are known: the least
number of reports that anything is published of, and the answers of a person.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from math import floor
from pathlib import Path

from discreet.core.guarantee import largest_posterior, posterior_share, rounded_down
from discreet.core.random import WORD_RANGE
from discreet.device.protocol.collection import FRESH, ONCE, OPEN, PERMANENT, Collection, rebuild
from discreet.device.protocol.languages import BASE
from discreet.device.protocol.wording import wording
from discreet.errors import MismatchError
from discreet.files.paths import COLLECTION, file_of
from discreet.files.stored import look
from discreet.mechanisms import BlockMechanism, report_tables
from discreet.privacy.publication import Publication, joint_epsilon

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
    return max(min(floor(collection.lifetime / collection.cost * _MARGIN), collection.epochs.count), 1)


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


def survey_reach(collection: Collection, others: Iterable[Collection] = ()) -> tuple[float, float] | None:
    """Return the epsilon of all published answers of one person to a survey, and the chance of a larger loss.

    The privacy losses of the questions that one person can answer are composed. If the collection of a question is
    missing, the survey's epsilon is the bound.

    Args:
        collection: one of its questions.
        others: further collections, which include the other questions.

    Returns:
        Both; None where a person answers one question.
    """
    survey = collection.survey
    if survey is None or survey.answers == 1:
        return None
    known = {each.name: each for each in (*others, collection) if each.survey == survey and each.state == OPEN}
    if {*known} != {*survey.questions}:
        return (most_answers(collection) if collection.answers == FRESH else 1) * survey.epsilon, 0.0
    parts = {name: _with_local(part) for name, part in known.items()}
    chance = max(publication.chance for publication, _ in parts.values())
    ends = accumulate(survey.questions.values(), initial=0)
    return joint_epsilon(parts, (survey.drawn(end % WORD_RANGE) for end in ends), chance), chance


def _with_local(collection: Collection) -> tuple[Publication, float]:
    """Return the publication of one question, and the local epsilon of all of a person's reports on it."""
    times = most_answers(collection) if collection.answers == FRESH else 1
    return collection_publication(collection, rebuild(collection)), collection.cost * times


@lru_cache(maxsize=256)
def facts_on_published(
    collection: Collection, others: tuple[Collection, ...] = ()
) -> list[tuple[str, dict[str, float]]]:
    """Return the sentences on what will be published, which people read before they answer, as keys and their parts.

    They are worked out once for each collection, because a survey takes seconds.

    The first sentence is a summary, and the others have the details. If one person answers several questions of a
    survey, the figures are for all of these questions together.

    Args:
        collection: that people are asked about.
        others: as for `survey_reach`.
    """
    publication = collection_publication(collection, rebuild(collection))
    brief: dict[str, float] = {"least": collection.least}
    sentences: list[tuple[str, dict[str, float]]] = [("published.least", {**brief})]
    total = survey_reach(collection, others)
    reached = _reached(publication, total)
    if not reached and not publication.simulated:
        linked = publication.answers == PERMANENT and len(publication.batches) > 1
        sentences += [("published.nothing", {}), *([("published.linked", dict[str, float]())] if linked else [])]
    if reached and (total is not None or publication.answers == FRESH):
        turns = most_answers(collection) if publication.answers == FRESH else 1
        count = turns * (1 if collection.survey is None else collection.survey.answers)
        reached.append(("published.several", {"count": count}))
    sentences += reached
    sentences.append(("published.word", {"epsilon": publication.local if collection.memo is None else collection.cost}))
    surest = max((parts for key, parts in reached if "chance" in parts), key=lambda parts: parts["share"], default=None)
    return [("brief.nothing", brief) if surest is None else ("brief.published", {**brief, **surest}), *sentences]


def _reached(publication: Publication, total: tuple[float, float] | None = None) -> list[tuple[str, dict[str, float]]]:
    """Return the sentences on how sure readers get, as in `Publication.person`; none where it promises nothing."""
    figures = publication.figures()
    if publication.local_only_reason:
        return []
    sentences: list[tuple[str, dict[str, float]]] = []
    for way in ("among", "versus_clear"):
        if not figures[way]:
            continue
        epsilon, chance = (figures[way]["epsilon"], publication.chance) if total is None else total
        further = floor((1 + 1e-9) / max(chance, publication.chance))
        sentences.append((f"published.{way}", {"share": posterior_share(epsilon), "chance": further}))
    if figures["versus_clear"]:
        # A floor is rounded down, and never certainty.
        least = float(rounded_down(min(100 * largest_posterior(figures["floor"]), 99.0), 2)) / 100
        sentences += [("published.floor", {"share": least}), ("published.open", {})]
    return sentences


def sentences_on_published(
    collection: Collection, language: str = BASE, others: tuple[Collection, ...] = ()
) -> tuple[str, ...]:
    """Return the sentences that people read before they answer, on what will be published."""
    words = wording(language)
    return tuple(words.say(key, **parts) for key, parts in facts_on_published(collection, others)[1:])


def folder_publication(folder: Path, collection: Collection) -> Publication:
    """Return the publication of all that a collector has sealed in a folder, by its tallies.

    Tallies stay where reports have been deleted, so that they know all that was ever sealed.

    Args:
        folder: of a collector's sealed epochs, with a tally of each batch in a folder beside them.
        collection: the terms of the folder, on whose word people are in the batches.

    Raises:
        MismatchError: if a tally is of another plan or another collection.
    """
    mechanism = rebuild(collection)
    stamps = [
        report_tables.read_stamp(look(file_of(path)).schema, "tally", mechanism.fingerprint)
        for path in sorted((folder / TALLIES).glob("*"))
    ]
    if any(stamp.get("collection") != collection.id.hex() for stamp in stamps):
        raise MismatchError("tally.other-collection", folder=folder / TALLIES, name=collection.name)
    epochs = [stamp.get("epochs", [0]) for stamp in stamps]
    sealed = [(int(stamp["n"]), 1 + each[-1] - each[0]) for stamp, each in zip(stamps, epochs, strict=True)]
    publication = collection_publication(collection, mechanism, sealed)
    return replace(publication, remarks=(*publication.remarks, _WORD.format(name=COLLECTION)))
