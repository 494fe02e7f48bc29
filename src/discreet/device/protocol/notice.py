"""Notices: the sentences that people read before consent, in their language, on devices and on the survey page.

They describe the sampler itself, and do not rely on the words of the plan.
"""

from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from discreet.core.guarantee import largest_posterior
from discreet.device.protocol.collection import FRESH, ONCE, PERMANENT, WITHDRAWN, Collection
from discreet.device.protocol.languages import BASE, SurveyTexts
from discreet.device.protocol.wording import Wording, wording

SECTIONS = ("sent", "protected", "not", "often", "others")
"""Parts of a notice, in reading order."""

_MOST_NAMES = 6


def notice(collection: Collection, language: str = BASE) -> tuple[str, ...]:
    """Return the sentences that a person reads before consent: on the survey, the reports, protection and limits.

    Args:
        collection: the collection, whose texts are in this language if it has them.
        language: a language of the catalogue.

    Raises:
        ParameterError: if the catalogue has no such language.
    """
    words, texts = wording(language), collection.texts(language)
    question = [] if texts.question == texts.title else [texts.question]
    sentences = [texts.title, texts.purpose, *question, words.say("page.contact", contact=collection.contact)]
    if collection.simulated:
        sentences.insert(0, words.say("page.simulation"))
    if collection.state == WITHDRAWN:
        sentences.insert(0, words.say("standing.withdrawn"))
    parts = sections(collection, words)
    return (*sentences, *(f"{words.say(f'heading.{part}')} – {' '.join(parts[part])}" for part in SECTIONS))


def sections(collection: Collection, words: Wording) -> Mapping[str, list[str]]:
    """Return the sentences of a notice, for each part of the notice."""
    return {
        "sent": _sent(collection, words),
        "protected": _protected(collection, words),
        "not": _not_protected(collection, words),
        "often": _often(collection, words),
        "others": [
            words.say("others.listed" if collection.listed else "others.unlisted"),
            words.say("others.number", number=collection.id.hex(" ", 4)),
        ],
    }


def _sent(collection: Collection, words: Wording) -> list[str]:
    sampler = collection.sampler
    sentences = [words.say("sent.report", size=words.counted("byte", sampler.codec.width))]
    if collection.sensitive_count < collection.domain.size:
        sentences.append(words.say("sent.clear", share=collection.truth / 2**64))
    days = words.counted("day", collection.retention)
    sentences.append(words.say("sent.goes", collectors=", ".join(collection.collectors), days=days))
    if collection.spread:
        sentences += [words.say("sent.delay"), words.say("sent.open", length=words.length(collection.spread))]
    return sentences


def _protected(collection: Collection, words: Wording) -> list[str]:
    count, size = collection.sensitive_count, collection.domain.size
    names = "; ".join(_names(collection, collection.texts(words.language)))
    more = max(count - _MOST_NAMES, 0)
    sentences = []
    if count == size:
        sentences.append(words.say("protected.all", values=words.counted("value", size)))
    elif count and collection.domain.grid_cells is not None:
        places = words.counted("place", count)
        sentences.append(words.say("protected.places", places=places, names=names + ("; …" if more else "")))
    elif count:
        sentences.append(words.say("protected.more" if more else "protected.names", names=names, count=more))
    if collection.placeholders is not None:
        sentences.append(words.say("protected.secret"))
    # For a permanent answer this is the protection of all its reports together.
    share, rare = largest_posterior(collection.cost), 1 / (1 + 99 * float(np.exp(-collection.cost)))
    return [*sentences, words.say("protected.sure", share=share, rare=rare, epsilon=collection.cost)]


def _names(collection: Collection, texts: SurveyTexts) -> list[str]:
    """Return the first few labels that are protected for everybody."""
    size, codes = collection.domain.size, list[int]()
    for start, stop in collection.sampler.sensitive:
        codes.extend(range(start, min(stop, size, start + _MOST_NAMES - len(codes))))
    table = collection.domain.space.table(np.array(codes, dtype=np.int64))
    if collection.domain.grid_cells is not None:
        return [f"{lat:.4f}, {lon:.4f}" for lat, lon in zip(table["lat"], table["lon"], strict=True)]
    if collection.domain.numbers is not None:
        # The upper border of a bin belongs to the next bin, except for the last one.
        ends = ["<" if code < size - 1 else "" for code in codes]
        bins = zip(table["low"].tolist(), ends, table["high"].tolist(), strict=True)
        return [f"{_digits(low)} – {end}{_digits(high)}" for low, end, high in bins]
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    return [", ".join(texts.labels.get(part, str(part)) for part in row) for row in rows]


def _digits(number: float) -> str:
    """Return a number with six significant digits, in the format of the survey page."""
    rounded = float(f"{number:.6g}")
    return f"{Decimal(repr(rounded)):f}".removesuffix(".0")


def _not_protected(collection: Collection, words: Wording) -> list[str]:
    size = collection.domain.size
    sentences = []
    if rest := size - collection.sensitive_count:
        key = "not.clear" if collection.placeholders is None else "not.marked"
        sentences.append(words.say(key, values=words.counted("other value", rest), size=size))
    sentences += [words.say("not.seen"), words.say("not.back")]
    if collection.answers == PERMANENT:
        sentences.append(words.say("not.changes" if collection.memo is None else "not.memo"))
    if collection.linkable:
        sentences.append(words.say("not.linkable"))
    return sentences


def _often(collection: Collection, words: Wording) -> list[str]:
    epochs, lifetime = collection.epochs, collection.lifetime
    when = {"start": words.date(epochs.start), "end": words.date(epochs.end)}
    cost = words.say("often.cost", lifetime=lifetime, share=largest_posterior(lifetime))
    drawn = []
    if (survey := collection.survey) is not None:
        parts = {"count": len(survey.questions), "answers": survey.answers, "epsilon": survey.epsilon}
        drawn = [words.say("often.drawn", **parts)]
    if collection.answers == ONCE:
        again = [words.say("often.again"), cost] if lifetime > collection.cost else []
        return [*drawn, words.say("often.once", **when), *again]
    often = words.say("often.epochs", length=words.length(epochs.seconds), **when)
    how = [words.say("often.fresh" if collection.answers == FRESH else "often.permanent")]
    if collection.memo is not None:
        alone = words.say("often.memo", share=largest_posterior(collection.epsilon), epsilon=collection.epsilon)
        how = [alone, *how]
    return [*drawn, often, *how, cost]
