"""The central guarantee of what leaves a collector: of sealed epochs, and of estimates that are published.

Whoever sees a sealed file or an estimate sees neither names nor order, and learns far less of each person than the
local epsilon says (`discreet.privacy.shuffling`). The collector itself sees reports as they arrive, so that the local
one is stated beside it, always.
"""

from decimal import ROUND_CEILING, Context
from functools import lru_cache
from math import ceil, exp, log10
from typing import Any

from discreet.collector.catalogue import Entry
from discreet.collector.releases import Counts
from discreet.io.collection import Collection, rebuild
from discreet.io.collection_fields import FRESH, PERMANENT
from discreet.mechanisms import BlockMechanism
from discreet.privacy.shuffling import CentralEpsilon, ShuffledGuarantee, shuffled

_LARGEST_DELTA = 1e-6
_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
_MOST_KNOWN = 256
_CONDITIONS = (
    "It holds for whoever sees the sealed file of one epoch, or one estimate, and no other reports; whoever sees them "
    "arrive, as the collector does, has the local guarantee.",
    "n counts one report of each person, from devices that follow the plan: reports that are faked, or known to "
    "whoever is to be kept out, hide nobody.",
    "Estimates of overlapping epochs can be subtracted: what lies between them is a batch of its own, of fewer "
    "reports and with a larger epsilon.",
)
_AGAIN = "Whoever answers in several epochs adds them up: at most {answers} answers, each with an epsilon and a delta."
_ALONE = "A single report has no other that hides it: it tells what its local epsilon allows."
_YOURS = (
    "That is so of each of your answers: if you answer again and again, what they tell adds up, at most {answers} "
    "answers."
)


def facts_of_central(entry: Entry, counts: Counts) -> dict[str, Any]:
    """Return the central guarantee of a collection's sealed epochs and of its estimates, ready for JSON.

    Of the sealed epochs it is that of the smallest, which is the weakest; of estimates that of the fewest reports from
    which there is one.

    Args:
        entry: the collection.
        counts: how many reports there are.
    """
    collection = entry.collection
    if why := why_none(collection):
        return {"none": why}
    sealed = min((epoch["n"] for epoch in counts.epochs), default=0)
    return {
        "smallest_sealed_epoch": batch_facts(entry.mechanism, sealed),
        "least_estimate": batch_facts(entry.mechanism, collection.least),
        "conditions": conditions(collection),
    }


def release_facts(entry: Entry, n: int, *, provisional: bool) -> dict[str, Any]:
    """Return both guarantees of an estimate of n reports, ready for JSON.

    Args:
        entry: the collection.
        n: reports behind the estimate.
        provisional: whether some of them may have come twice.
    """
    why = why_none(entry.collection)
    if provisional and not why:
        why = "reports that came twice are not yet removed, so that n may count a person twice."
    central = (
        {"none": why} if why else {"batch": batch_facts(entry.mechanism, n), "conditions": conditions(entry.collection)}
    )
    return {"local": entry.mechanism.guarantee.realised, "central": central}


def conditions(collection: Collection) -> list[str]:
    """Return the conditions of every central guarantee of a collection: with fresh answers, that they add up."""
    return [*_CONDITIONS, *_again(_AGAIN, collection)]


def _again(sentence: str, collection: Collection) -> tuple[str, ...]:
    return (sentence.format(answers=_answers(collection)),) if collection.answers == FRESH else ()


def why_none(collection: Collection) -> str:
    """Return the reason for which a collection has no central guarantee; empty if it has one."""
    if collection.simulated:
        return "reports are simulated, and protect nobody."
    if collection.answers == PERMANENT:
        return "permanent answers are sent again, which links the reports of a person."
    return ""


def batch_facts(mechanism: BlockMechanism, n: int) -> dict[str, Any] | None:
    """Return the central guarantee of n reports, ready for JSON; None of no report, and a reason of a single one."""
    if n == 0:
        return None
    if n == 1:
        return {"n": 1, "none": _ALONE}
    found = _guarantee(mechanism, n)
    return {
        "n": n,
        "delta": found.delta,
        "among": _epsilon_facts(found.among),
        "towards": None if found.towards is None else _epsilon_facts(found.towards),
        "floor": found.floor,
        "local": found.local,
    }


def _epsilon_facts(epsilon: CentralEpsilon) -> dict[str, Any]:
    return {"upper": epsilon.upper, "lower": epsilon.lower, "status": epsilon.status}


@lru_cache(maxsize=_MOST_KNOWN)
def _guarantee(mechanism: BlockMechanism, n: int) -> ShuffledGuarantee:
    """Return the guarantee of n reports; many ask for the same, and large n take a second."""
    return shuffled(mechanism, n, delta_of(n))


def delta_of(n: int) -> float:
    """Return the delta that is stated for n reports: a millionth, or a power of ten of at most 1/(10 n)."""
    return min(_LARGEST_DELTA, 10.0 ** -(ceil(log10(n)) + 1))


def _answers(collection: Collection) -> int:
    """Return the most answers that a person may give."""
    return max(min(int(collection.lifetime / collection.epsilon), collection.epochs.count), 1)


def sentences_on_published(collection: Collection) -> tuple[str, ...]:
    """Return the sentences that people read on what is published; none where there is no central guarantee."""
    if why_none(collection) or collection.least < 2:
        return ()
    found = _guarantee(rebuild(collection), collection.least)
    return (
        f"Estimates are published from at least {collection.least:,} answers together. {reader_sentence(found)}",
        *_again(_YOURS, collection),
        f"The collector sees your report when it arrives, and has the promise above (epsilon = {found.local:.3g}). "
        "That it publishes nothing else is its own word: your device can check what it sends, and not what becomes of "
        "it.",
    )


def reader_sentence(found: ShuffledGuarantee) -> str:
    """Return the sentence on the most that whoever sees one estimate, and nothing else, learns of one person."""
    known = []
    if found.mechanism.domain.sensitive_count > 1:
        known.append((found.among, "which of two protected answers is yours"))
    if found.towards is not None:
        known.append((found.towards, "that yours is a certain protected answer and not a certain other one"))
    return (
        "Whoever sees one of them and no reports, however much they know of everybody else, can go from 50% to at most "
        f"{', and to at most '.join(f'{_sureness(epsilon)} sure {what}' for epsilon, what in known)}, but for a "
        f"chance of 1 in {round(1 / found.delta):,}."
    )


def _sureness(epsilon: CentralEpsilon) -> str:
    """Return the share, rounded up, that 50% becomes at most, with the central epsilon."""
    share = ceil(100 / (1 + exp(-epsilon.upper)))
    return f"{share}% (central epsilon = {rounded_up(epsilon.upper)})"


def rounded_up(number: float) -> str:
    """Return a number in three digits, rounded up: a promise must not look better than it is."""
    return f"{_DIGITS.create_decimal_from_float(number):f}"
