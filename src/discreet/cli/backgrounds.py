"""Background knowledge of the values behind tags, from the options of verbs."""

from typing import Any

from discreet.errors import ParameterError
from discreet.estimators.tags import DROP, IN_CLEAR
from discreet.io.plan import Plan
from discreet.io.tables import read_distribution
from discreet.mechanisms.personalized import Personalized


def backgrounds(plan: Plan, given: tuple[str, ...]) -> Any:
    """Return the backgrounds of ``--background``, as `estimate_personalized` takes them."""
    if not plan.is_personalized:
        if given:
            raise ParameterError("--background is for personalized plans; this one has no tags and no cells.")
        return None
    if len(given) == 1 and given[0] in (DROP, IN_CLEAR):
        return given[0]
    known: dict[str, Any] = {}
    for one in given:
        tag, what = _tag_and_rest(plan.personalized(), one)
        if tag in known:
            raise ParameterError(f"--background must be given once for a tag, got {tag!r} again.")
        known[tag] = what if what in (DROP, IN_CLEAR) else read_distribution(what, plan.domain)
    return known


def _tag_and_rest(personalized: Personalized, given: str) -> tuple[str, str]:
    # The longest: a tag may hold an equals sign.
    fitting = [tag for tag in personalized.tags if given.startswith(f"{tag}=")]
    if not fitting:
        tags = ", ".join(personalized.tags[:10])
        raise ParameterError(f"--background must be TAG=FILE with a tag of the plan, such as {tags}; got {given!r}.")
    tag = max(fitting, key=len)
    return tag, given[len(tag) + 1 :]
