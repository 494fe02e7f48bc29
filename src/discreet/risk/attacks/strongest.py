"""The strongest of several attacks, with intervals that account for the choice.

Whoever reports the best of k attacks reports the luckiest one too. So the interval of each is one of level 1 - a/k:
then all of them hold together with probability 1 - a at least (Bonferroni), and with them that of whichever is chosen.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.checks import checked_level
from discreet.core.traces import Split
from discreet.errors import ParameterError
from discreet.risk.attacks import traces as models
from discreet.risk.attacks.features import Visited
from discreet.risk.attacks.traces import Matcher
from discreet.risk.scores.rates import Rate, rate

ATTACKS: dict[str, Callable[[Split], Matcher]] = {
    "markov": models.markov,
    "visits": models.visits,
    "smoothed": models.smoothed,
    "tf-idf": models.tf_idf,
    "cosine": models.cosine,
}
"""Matching algorithms by name; obfuscated reports are always attacked by their likelihood."""

ALL = "all"

_RULES: dict[str, Callable[[Visited], models.Rule]] = {
    "visits": lambda _: models.rule_of_visits(),
    "smoothed": models.rule_of_smoothed,
    "tf-idf": models.rule_of_tf_idf,
    "cosine": lambda _: models.rule_of_cosine(),
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """The success of one attack.

    Attributes:
        attack: its name.
        success: how often it names the right user in one guess; the intervals of all attempts hold at once.

    Example:
        >>> from discreet.risk.scores.rates import rate
        >>> attempt = Attempt("markov", rate(38, 100))
        >>> attempt.attack, attempt.success.value
        ('markov', 0.38)
    """

    attack: str
    success: Rate


def level_of_each(level: float, attempts: int) -> float:
    """Return the level of each of several intervals that makes all of them hold at once (Bonferroni).

    Raises:
        ParameterError: if the level is not in (0, 1).

    Example:
        >>> round(level_of_each(0.95, attempts=5), 4)
        0.99
    """
    return 1 - (1 - checked_level(level)) / attempts


def strongest(
    split: Split, names: Sequence[str] = tuple(ATTACKS), *, level: float = 0.95, threads: int | None = None
) -> tuple[Matcher, tuple[Attempt, ...], BoolArray]:
    """Return the attack that names the right user most often, all attempts, and the probes that none can tell.

    Args:
        split: the training traces, which the attacker knows by name, and the target.
        names: some of `ATTACKS`.
        level: with which the intervals of all attempts hold together.
        threads: how many to use; None for as many as there are processors.

    Returns:
        The matcher of the strongest attack, the first of equal ones; all attempts, the strongest one first; and
        ``(probes,)`` true where by no attack a probe shares anything with what is known of its own user.

    Raises:
        ParameterError: if no attack is named, or one that there is not.
        DataError: if no user has an event in the target.

    Example:
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> matcher, attempts, blind = strongest(split, ["visits", "cosine"])
        >>> matcher, [(attempt.attack, attempt.success.value) for attempt in attempts]
        (Matcher(2 probes, 2 candidates), [('visits', 1.0), ('cosine', 1.0)])
        >>> blind.tolist()
        [False, False]
    """
    from discreet.kernels.traces.best_matches import chances_of_own
    from discreet.kernels.traces.matching import genuine_scores

    unknown = [name for name in names if name not in ATTACKS]
    if unknown or not names:
        raise ParameterError(f"attack must be {ALL} or one of {', '.join(ATTACKS)}, got attack={''.join(unknown)!r}.")
    each, attempts = level_of_each(level, len(names)), []
    best: tuple[float, Matcher] | None = None
    blind = np.ones(np.count_nonzero(split.target.lengths), np.bool_)
    for name, matcher in _prepared(split, names):
        genuine = genuine_scores(matcher.problem, threads=threads)
        blind &= genuine == matcher.problem.constants
        named = float(chances_of_own(matcher.problem, genuine, threads=threads).sum())
        attempts.append(Attempt(name, rate(named, matcher.probes, level=each)))
        if best is None or named > best[0]:
            best = named, matcher
    assert best is not None
    # Sorting keeps the order of equals.
    return best[1], tuple(sorted(attempts, key=lambda one: -one.success.value)), blind


def _prepared(split: Split, names: Sequence[str]) -> Iterator[tuple[str, Matcher]]:
    """Yield the matchers by name; events are counted once for all of them."""
    visited, alike = Visited(split.training), [name for name in names if name in _RULES]
    if "markov" in names:
        yield "markov", models.markov(split, visited=visited)
    if alike:
        rules = [_RULES[name](visited) for name in alike]
        yield from zip(alike, models.matchers(split, rules, visited), strict=True)
