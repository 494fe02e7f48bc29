"""The sentences that people read before they answer, from what the sampler does and not from what the plan calls it."""

from datetime import UTC, datetime

from discreet.core.guarantee import in_odds
from discreet.io.collection import Collection
from discreet.io.collection_fields import FRESH, ONCE, WITHDRAWN

_DAY = 86400
_UNITS = ((_DAY, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def notice(collection: Collection) -> tuple[str, ...]:
    """Return the sentences: the question and who asks, the protection and its limits, how often and until when."""
    said = [
        f"{_sentence(collection.title)} {_sentence(collection.purpose)} Questions: {_sentence(collection.contact)}",
        *_protection(collection),
        _how_often(collection),
        f"Reports are sent to {', '.join(collection.collectors)} and kept for {_count(collection.retention, 'day')}; "
        "that somebody reports, and when, is not hidden, and a report that was sent cannot be taken back: it bears no "
        "name.",
    ]
    if collection.simulated:
        said.insert(0, "This is a simulation: it protects nobody, and devices of people refuse it.")
    if collection.state == WITHDRAWN:
        said.insert(0, "This collection is withdrawn: devices stop and erase what they kept for it.")
    return tuple(said)


def _protection(collection: Collection) -> list[str]:
    sampler, size = collection.sampler, collection.domain.size
    bots = "" if collection.bots is None else " and whatever you mark as secret"
    odds = in_odds(collection.epsilon)
    said = [
        f"Protected with epsilon = {collection.epsilon:g}: {collection.protected}{bots}; whatever a report says, none "
        f"of these is more than {_factor(sampler.realised)} times likelier to have caused it than any other value."
        + (f" {odds}" if odds else "")
    ]
    if rest := size - collection.sensitive_count:
        said.append(f"Not protected: {_count(rest, 'other value')} of {size}, which may be sent as they are.")
    return said


def _how_often(collection: Collection) -> str:
    epochs = collection.epochs
    when = f"from {_date(epochs.start)} to {_date(epochs.end)}"
    most = f"at most {collection.lifetime:g} nats of epsilon in all"
    if collection.answers == ONCE:
        again = "" if collection.lifetime == collection.epsilon else " later versions may ask again, and"
        return f"You answer once, {when};{again} under this name you spend {most}."
    often = f"Once in {_length(epochs.seconds)}, {when}"
    if collection.answers == FRESH:
        return f"{often}, a new report is drawn from your answer, until you have spent {most}."
    linkable = " Reports may be as good as names: whoever compares them can tell which come from one person."
    return (
        f"{often}, your answer is sent, and the same answer gives the same report; different answers spend {most}, "
        "after which the last report is repeated. That and when your answer changes is not hidden."
        + (linkable if collection.linkable else "")
    )


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:.4g}"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _length(seconds: int) -> str:
    size, name = next(unit for unit in _UNITS if seconds % unit[0] == 0)
    return _count(seconds // size, name)


def _date(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return "the end of calendars"
