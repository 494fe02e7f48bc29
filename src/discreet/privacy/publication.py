"""Publications: a privacy statement on how much published results reveal about one person.

A *batch* is a set of reports published without names, order and time. Anything computed from batches is
post-processing, so any number of estimates from the same batches adds nothing. Batches are the finest partition of the
reports that anything published depends on: epochs, and the cells of every public column that is published or kept
beside the reports. A person has at most one report in a batch. The statement holds whatever else is published about the
same batches.

The sentences for people use probabilities, not delta: delta is not the probability that the guarantee fails (see
`discreet.privacy.shuffling.ShuffledGuarantee.at_most`). Both statements use the same small number.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, floor, inf, log10
from operator import add
from typing import Any, Literal, cast, get_args

from discreet.core.batches import NamedBatch
from discreet.core.checks import checked_between, checked_choice, checked_whole
from discreet.core.guarantee import largest_posterior, posterior_percent, posterior_share, rounded_down, rounded_up
from discreet.core.reports import Reports
from discreet.core.result_table import ResultTable
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.personalized import AnyMechanism
from discreet.privacy.shuffling import EpsilonsAtChance, ShuffledGuarantee, shuffled
from discreet.privacy.shuffling_rounds import MOST_PAIRS, joint_epsilons_at_chance
from discreet.results.comparison import Comparison
from discreet.results.groups import GroupedEstimate
from discreet.results.regression import Regression

Answers = Literal["once", "fresh", "permanent", "unknown"]
"""A person's reports in the batches: one report in all, a new one in each, the same one again, or unknown."""

WEIGHTS = "weights differ between people, so the result depends on more than the unordered reports"
"""The reason why an estimate with weights has no statement."""

REGRESSION = "a regression uses each report's covariates, so it depends on more than the unordered reports"
"""The reason why a regression has no statement."""

HONEST = "Devices follow the plan and use secure randomness. Nobody who sees names or order helps the reader."
"""The condition on devices and on all who store reports."""


def trust_sentence(not_trusted: int) -> str:
    """Return the condition on fake reports, and on reports that the reader knows."""
    fake = f"{not_trusted:,} reports of each batch are fake" if not_trusted else "No report is fake"
    return f"{fake} or known to the reader (not trusted: {not_trusted:,})."


def names_sentence(named: Sequence[NamedBatch]) -> str:
    """Return a sentence with the names and sizes of batches; empty if no batch has a name."""
    listed = [f"{batch} ({batch.n:,} reports)" for batch in named[:_NAMES_SHOWN]]
    others = len(named) - len(listed)
    more = f" and {others:,} others" * (others > 0)
    return f"The reports are of batch{'es' * (len(named) > 1)} {', '.join(listed)}{more}." if listed else ""


def readers_sentence(shown: str) -> str:
    """Return the sentence on what readers may know about other people; ``shown`` describes the published results."""
    return f"Readers of {shown} may know everything about other people."


def posterior_text(pair: str, epsilon: float, chance: float, *, first: bool = False) -> str:
    """Return the sentence on the posterior probability that a reader can reach, and the probability of reaching more.

    Args:
        pair: the two possibilities, such as "two protected values of a person".
        epsilon: the epsilon that a reader exceeds with at most the given probability, in nats.
        chance: the probability, in (0, 1).
        first: whether the percentage is for the first possibility, which is protected, and not for either of them.
    """
    of = "the protected one" if first else "one of them"
    return (
        f"A reader who gave {pair} 50% each can reach at most {posterior_percent(epsilon)}% for {of}, except with a "
        f"chance of 1 in {floor((1 + 1e-9) / chance):,}."
    )


_LARGEST_CHANCE = 1e-6
_KNOWN, _NAMES_SHOWN = 1024, 5


@dataclass(frozen=True, eq=False)
class Publication:
    """Published batches, and how one person can take part in them. From these the privacy statement follows.

    Attributes:
        mechanism: the mechanism of the reports: a block mechanism, a channel, or a personalized mechanism.
        batches: the number of reports of each batch.
        answers: a person's reports in the batches: ``"once"``, ``"fresh"``, ``"permanent"`` or ``"unknown"``.
        most: the most batches with a report of one person, for fresh answers; None for all batches.
        not_trusted: the number of reports in each batch that hide nobody: known to the reader, faked or made elsewhere.
        dependence: why a published result depends on more than unordered batches; empty if none does.
        simulated: whether the reports are simulated or seeded.
        planned: whether the batches are the smallest possible ones of a plan, and nothing is published yet.
        delta: the small number, as delta and as a probability; None for `default_delta` of the largest batch.
        shown: a description of the published results.
        remarks: further conditions, a sentence each.
        named: the batches with known names.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(6), sensitive=range(2))
        >>> publication = dc.published(dc.RandomizedResponse(domain, epsilon=2.0), 10_000, answers="once")
        >>> print(*publication.person()[:2])
        Readers of the publication may know everything about other people. A reader who gave two protected values \
of a person 50% each can reach at most 54% for one of them, except with a chance of 1 in 1,000,000.
    """

    mechanism: AnyMechanism
    batches: tuple[int, ...]
    answers: Answers = "unknown"
    most: int | None = None
    not_trusted: int = 0
    dependence: str = ""
    simulated: bool = False
    planned: bool = False
    delta: float | None = None
    shown: str = "the publication"
    remarks: tuple[str, ...] = ()
    named: tuple[NamedBatch, ...] = ()

    def __post_init__(self) -> None:
        """Raise an error for batches without reports, and for numbers out of range.

        Raises:
            ParameterError: if a batch is empty or a number is out of range.
        """
        if not self.batches:
            raise ParameterError("publication.no-batches", argument="batches")
        for n in self.batches:
            checked_whole("n", n)
        checked_choice("answers", self.answers, get_args(Answers))
        checked_whole("not_trusted", self.not_trusted, 0)
        if self.most is not None:
            checked_whole("most", self.most)
            if self.answers != "fresh":
                raise ParameterError("most.without-fresh-answers", argument="most")
        if self.delta is not None:
            checked_between("delta", self.delta)

    @property
    def rounds(self) -> int:
        """The largest number of batches that have a fresh report of the same person."""
        everywhere = len(self.batches) if self.most is None else min(self.most, len(self.batches))
        return everywhere if self.answers == "fresh" else 1

    @property
    def n(self) -> int:
        """The number of reports in the smallest published batch.

        It is rounded down to two digits if a person is in several batches.
        """
        least = min(self.batches)
        return least if self.rounds == 1 else two_digits(least)

    @property
    def chance(self) -> float:
        """The small probability in the statement: the chance that a reader learns more, and the delta for officers."""
        return default_delta(max(self.batches)) if self.delta is None else self.delta

    @property
    def local(self) -> float:
        """The local epsilon of one report, in nats. It applies to readers who see reports with names or in order."""
        return self.mechanism.guarantee.realised

    @cached_property
    def local_only_reason(self) -> str:
        """The reason why only the local guarantee applies; empty if there is a central guarantee."""
        return next(filter(None, self._reasons()), "") or self._stated[1]

    def _reasons(self) -> Iterator[str]:
        yield "the reports are simulated, and protect nobody" if self.simulated else ""
        yield self.dependence
        if not 0 < self.local < inf:
            yield "every value is reported in clear, so no value is protected"
        if self.mechanism.guarantee.tags > 1:
            yield "a plan with several tags is not covered, because people have different secrets behind the tags"
        if self.answers == "permanent" and len(self.batches) > 1:
            yield "permanent answers are sent again, which links the reports of a person in different batches"
        if self.n - self.not_trusted < 2:
            known = f", {self.not_trusted:,} of them not trusted" if self.not_trusted else ""
            yield (
                "a batch must have at least 2 reports that hide each other, and the smallest has "
                f"{self.n:,}{known}, so each report has only its local guarantee"
            )

    @property
    def central(self) -> ShuffledGuarantee | None:
        """The central guarantee, with `chance` as delta; None if only the local guarantee applies."""
        return None if self.local_only_reason else self._stated[0]

    @cached_property
    def _stated(self) -> tuple[ShuffledGuarantee | None, str]:
        """The central guarantee and an empty text, or None and the reason why it cannot be computed."""
        try:
            guarantee = _guarantee(cast(Hashable, self.mechanism), self.n, self.chance, self.rounds, self.not_trusted)
            _epsilons_at_chance(guarantee)
        except ParameterError as error:
            return None, error.sentence().removesuffix(".")
        return guarantee, ""

    def person(self) -> list[str]:
        """Return sentences for people: how sure a reader of the publication can become about one person's value."""
        central = self.central
        if central is None:
            beyond = "" if self.simulated else " beyond the guarantee of each report"
            return [f"There is no guarantee for {self.shown}{beyond}: {self.local_only_reason}."]
        at_chance = _epsilons_at_chance(central)
        sentences = [readers_sentence(self.shown)]
        # A condition that nobody has checked comes first.
        if self.answers == "unknown":
            sentences.insert(0, f"This assumes {sum(self.batches):,} different people with one report each.")
        if central.mechanism.domain.sensitive_count > 1:
            sentences.append(posterior_text("two protected values of a person", at_chance.among, self.chance))
        if at_chance.versus_clear is not None:
            # A floor is rounded down, and never to certainty.
            least = rounded_down(min(100 * largest_posterior(central.curve_versus_clear.floor(self.chance)), 99.0), 2)
            sentences += [
                posterior_text("a protected and an unprotected value", at_chance.versus_clear, self.chance, first=True),
                f"The bound stays at {least}% or more however many people take part.",
                "Answers that are not protected can be sent unchanged. These guarantees do not cover them.",
            ]
        return sentences

    def officers(self, *, status: bool = False) -> str:
        """Return sentences for officers, with epsilon and delta; empty if there is no central guarantee.

        Args:
            status: whether to compare the figures with the best known attack, which takes longer.
        """
        return "" if self.central is None else " ".join(self.central.sentences(status=status))

    @property
    def local_sentence(self) -> str:
        """The sentence on readers who see single reports; empty if no value is protected."""
        if self.simulated or not 0 < self.local < inf:
            return ""
        several = f", {rounded_up(self.rounds * self.local)} for a person's {self.rounds} reports" * (self.rounds > 1)
        return (
            "Readers who see reports with names or in order, such as the collector, have the local guarantee: epsilon "
            f"= {rounded_up(self.local)} for each report{several}. They also see who takes part."
        )

    def conditions(self) -> list[str]:
        """Return the conditions under which a privacy statement holds, one sentence each.

        A condition that nobody has checked is the first.
        """
        names = [] if self.simulated else [*filter(None, [names_sentence(self.named)])]
        if self.central is None:
            return [*self.remarks, *names]
        sentences = list(self.remarks)
        if self.answers == "unknown":
            sentences.insert(
                0, f"These are {sum(self.batches):,} different people with one report each. No file shows this."
            )
        sentences += [self._of_batches(), trust_sentence(self.not_trusted), HONEST]
        if self.chance * max(self.batches) >= 1:
            sentences.append(
                f"Choose a smaller delta: {self.chance:g} allows one of {max(self.batches):,} reports to be revealed."
            )
        return [*sentences, *names]

    def _of_batches(self) -> str:
        number, least = len(self.batches), f"{self.n:,} reports"
        if self.rounds > 1:
            return (
                f"A person is in at most {self.rounds:,} of {number:,} batches of at least {least}, with fresh noise."
            )
        if self.planned:
            return f"A batch has at least {least}, one of each person."
        if number == 1:
            return f"The batch has {least}, one of each person."
        return f"A person is in one of {number:,} batches. The bound is for the smallest, of {least}."

    def lines(self, *, status: bool = False) -> list[str]:
        """Return the lines of the statement: the guarantee for a person, and then the conditions.

        Args:
            status: as for `officers`.
        """
        # The first line begins with a condition that no file can show.
        others = self.conditions()[self.central is not None and self.answers == "unknown" :]
        head = [] if self.local_only_reason else ["Conditions:"]
        others = [f"- {sentence}" for sentence in others] if head else others
        return [
            " ".join(self.person()),
            *head,
            *others,
            *filter(None, [self.local_sentence, self.officers(status=status)]),
        ]

    def figures(self) -> dict[str, Any]:
        """Return the numbers of the statement for JSON. Shares are rounded up, epsilons are in nats."""
        central = self.central
        if central is None:
            return {"n": self.n, "local_only_reason": self.local_only_reason}
        at_chance = _epsilons_at_chance(central)
        among = at_chance.among if central.mechanism.domain.sensitive_count > 1 else None
        floor_ = None if at_chance.versus_clear is None else central.curve_versus_clear.floor(self.chance)
        return {
            "n": self.n,
            "local_only_reason": None,
            "chance": self.chance,
            "among": _direction(among),
            "versus_clear": _direction(at_chance.versus_clear),
            "floor": floor_,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the privacy statement as a dictionary for JSON; epsilons are in nats."""
        about = {"answers": self.answers, "batches": len(self.batches), "rounds": self.rounds}
        central = self.central
        sentences = {"person": self.person(), "conditions": self.conditions(), "local": self.local_sentence}
        return {
            **self.figures(),
            **about,
            "planned": self.planned,
            "not_trusted": self.not_trusted,
            "named": [batch.entry for batch in self.named],
            "local_epsilon": self.local,
            "central": None if central is None else central.to_dict(),
            "sentences": sentences,
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        sizes = f"n={self.n}" if len(self.batches) == 1 else f"{len(self.batches)} batches, least n={self.n}"
        return f"Publication({sizes}, {self.answers}, epsilon={self.local:.4g})"

    def _repr_html_(self) -> str:
        cells = {"batches": f"{len(self.batches):,}", "smallest batch": f"{self.n:,}", "answers": self.answers}
        cells |= {"local epsilon": rounded_up(self.local)}
        return ResultTable.of_figures("Publication", cells, str(self)).html()


def published(
    mechanism: Any,
    batches: Any,
    *,
    answers: Answers = "unknown",
    most: int | None = None,
    not_trusted: int = 0,
    dependence: str = "",
    delta: float | None = None,
    shown: str = "the publication",
) -> Publication:
    """Return a publication: the privacy statement on how much published results reveal about one person.

    Args:
        mechanism: the mechanism that made the reports.
        batches: the number of reports of each batch; or published results with known batches: reports, a tally, an
            estimate, estimates of groups (a batch each), a comparison or a regression; or a list of these.
        answers: a person's reports in the batches: ``"once"`` (one report in all), ``"fresh"`` (a new one in each
            batch), ``"permanent"`` (the same one again) or ``"unknown"``, which makes it a condition.
        most: the most reports of one person, for fresh answers.
        not_trusted: the number of reports in each batch that hide nobody: known to the reader, faked or made elsewhere.
        dependence: why a published result depends on more than unordered batches, such as weights; empty if none does.
        delta: the small number, as delta and as a probability; by default a millionth, or less if many people report.
        shown: a description of the published results.

    Raises:
        ParameterError: if there is no batch, or a number is out of range.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> reports = mechanism.obfuscate(list(range(100)) * 20)
        >>> once = dc.published(mechanism, [len(reports)], answers="once", shown="the press report")
        >>> print(*once.person())
        Readers of the press report may know everything about other people. A reader who gave two protected values \
of a person 50% each can reach at most 51% for one of them, except with a chance of 1 in 1,000,000.
        >>> dc.published(mechanism, dc.estimate(mechanism, reports)).n
        2000
        >>> month = dc.published(mechanism, [1000] * 30, answers="fresh")
        >>> month.rounds, month.n, round(month.central.among.upper, 3)
        (30, 1000, 0.156)
        >>> dc.published(mechanism, [1000] * 30, answers="permanent").local_only_reason
        'permanent answers are sent again, which links the reports of a person in different batches'
    """
    sizes, simulated = _sizes(batches)
    dependence = dependence or (REGRESSION if isinstance(batches, Regression) else "")
    named = batches.batches if isinstance(batches, Tally | Reports) else ()
    about: dict[str, Any] = {"delta": delta, "shown": shown, "named": named}
    return Publication(mechanism, sizes, answers, most, not_trusted, dependence, simulated, **about)


def _sizes(batches: Any) -> tuple[tuple[int, ...], bool]:
    """Return the number of reports in each batch, and whether a report is simulated."""
    if isinstance(batches, int):
        return (batches,), False
    if isinstance(batches, GroupedEstimate):
        return group_sizes(batches), batches.overall.simulated
    if isinstance(batches, Comparison):
        return tuple(n for n in batches.sizes if n), batches.simulated
    if isinstance(batches, Tally | Reports):
        return batch_sizes(batches), batches.simulated
    if hasattr(batches, "n"):
        return (int(batches.n),), bool(getattr(batches, "simulated", False))
    if not isinstance(batches, Iterable):
        raise ParameterError("batches.not-numbers", argument="batches", kind=type(batches).__name__)
    listed = [_sizes(batch) for batch in (batches.values() if isinstance(batches, Mapping) else batches)]
    return tuple(n for sizes, _ in listed for n in sizes), any(marked for _, marked in listed)


def joint_epsilon(
    parts: Mapping[str, tuple[Publication | None, float]], draws: Iterable[Collection[str]], chance: float
) -> float:
    """Return an epsilon that the privacy loss of all reports of one person exceeds with probability at most `chance`.

    The privacy losses of the parts are composed, not added, because it is unlikely that all of them are large.

    Args:
        parts: publications with different mechanisms, such as the questions of a survey, by name; each with the local
            epsilon of a person's reports in it. A part without a statement, or None, counts with its local epsilon.
        draws: the sets of parts that one person can take part in; the result is the largest epsilon of these sets.
        chance: the probability, in (0, 1).

    Example:
        >>> import discreet as dc
        >>> age = dc.published(dc.RandomizedResponse(dc.Domain(range(9)), epsilon=1.0), 2_000)
        >>> sex = dc.published(dc.RandomizedResponse(dc.Domain(["f", "m"]), epsilon=1.0), 1_000)
        >>> both = joint_epsilon({"age": (age, 1.0), "sex": (sex, 1.0)}, [["age", "sex"], ["age"]], 1e-6)
        >>> round(both, 3), round(joint_epsilon({"age": (age, 1.0)}, [["age"]], 1e-6), 3)
        (0.215, 0.082)
    """
    stated = {name: part.central for name, (part, _) in parts.items() if part is not None}
    known = {
        name: central
        for name, central in stated.items()
        if central is not None and len(central.curve.pairs) <= MOST_PAIRS
    }
    # Different names may give the same set of questions.
    asked = [*{tuple(name for name in draw if name in parts) for draw in draws}]
    places = tuple(tuple([*known].index(name) for name in draw if name in known) for draw in asked)
    composed = _composed(tuple(known.values()), places, chance)
    rest = [sum(parts[name][1] for name in draw if name not in known) for draw in asked]
    local = [sum(parts[name][1] for name in draw) for draw in asked]
    return max((min(*each) for each in zip(map(add, composed, rest), local, strict=True)), default=0.0)


def batch_sizes(counted: Tally | Reports) -> tuple[int, ...]:
    """Return the sizes of the batches of a tally or of reports. Reports without a named batch form one batch.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> batch_sizes(mechanism.tally(mechanism.obfuscate(["yes"] * 50)))
        (50,)
    """
    sizes = [batch.n for batch in counted.batches]
    others = counted.n - sum(sizes)
    return (*sizes, *([others] if others else []))


def group_sizes(grouped: GroupedEstimate) -> tuple[int, ...]:
    """Return the number of reports in each group. Reports that belong to no estimated group are one more group.

    Args:
        grouped: the estimates; the estimate for everybody counts all reports.
    """
    left = grouped.left_out[1]
    return (*grouped.sizes.values(), *([left] if left else []))


def default_delta(n: int) -> float:
    """Return the default delta for n people: 1e-6, or a smaller power of ten that is at most 1/(10 n)."""
    return min(_LARGEST_CHANCE, 10.0 ** -(ceil(log10(n)) + 1))


def two_digits(n: int) -> int:
    """Return a number of reports rounded down to two digits.

    Fewer reports hide less, so this is safe, and batches of similar size share one computation.
    """
    unit: int = 10 ** max(len(str(n)) - 2, 0)
    return n // unit * unit


def _direction(epsilon: float | None) -> dict[str, Any] | None:
    return None if epsilon is None else {"sure": posterior_share(epsilon), "epsilon": epsilon}


# Cached, because many callers need the same result, and many rounds take a second.
_guarantee = lru_cache(maxsize=_KNOWN)(shuffled)


@lru_cache(maxsize=_KNOWN)
def _composed(
    guarantees: tuple[ShuffledGuarantee, ...], draws: tuple[tuple[int, ...], ...], chance: float
) -> list[float]:
    """Return, for each set of guarantees, an epsilon that the summed privacy loss exceeds with at most this chance."""
    return joint_epsilons_at_chance([guarantee.curve for guarantee in guarantees], draws, chance)


@lru_cache(maxsize=_KNOWN)
def _epsilons_at_chance(central: ShuffledGuarantee) -> EpsilonsAtChance:
    """Return the epsilons that the privacy loss exceeds with probability at most the guarantee's delta."""
    return central.at_most(central.delta)
