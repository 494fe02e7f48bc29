"""Publications: what leaves, made of which reports of a person, and the one statement of what that tells of her.

A *batch* is a set of reports published without names, order and time; whatever is computed from batches is
post-processing, so that any number of estimates of the same batches costs nothing more. The unit is the finest
partition of the reports that anything published depends on: epochs, and the cells of every public column that is
published or kept beside them. A person has one report in a batch at most, and what she is told holds whatever else is
published of the same batches.

People are told chances, not delta: (epsilon, delta) does not mean "at most epsilon but for a chance of delta" (see
`discreet.privacy.shuffling.ShuffledGuarantee.at_most`). Both are stated, at one choice of the number that is left out.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, floor, inf, log10
from operator import add
from typing import Any, Literal, cast, get_args

from discreet.core.batches import NamedBatch
from discreet.core.checks import checked_between, checked_choice, checked_whole
from discreet.core.guarantee import percent_sure, rounded_down, rounded_up, share_sure, sureness
from discreet.core.reports import Reports
from discreet.core.result_table import ResultTable
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.personalized import AnyMechanism
from discreet.privacy.shuffling import ShuffledGuarantee, Surest, shuffled
from discreet.privacy.shuffling_rounds import MOST_PAIRS, surest_together
from discreet.results.comparison import Comparison
from discreet.results.groups import GroupedEstimate
from discreet.results.regression import Regression

Answers = Literal["once", "fresh", "permanent", "unknown"]
"""How a person may be in the batches: one report in all, a new one in each, the same one again, or who knows."""

WEIGHTS = "weights differ between people, so that what is published is no function of reports without order"
"""The reason for which an estimate with weights has no statement."""

REGRESSION = "a regression knows each report's covariates, so that it is no function of reports without order"
"""The reason for which a regression has no statement."""

HONEST = (
    "Devices follow the plan and draw from secure randomness, and nobody who sees names or order works with the reader."
)
"""The condition on devices and on those who hold reports."""


def trust_sentence(not_trusted: int) -> str:
    """Return the condition on reports of each batch that hide nobody."""
    if not not_trusted:
        return "This assumes that no reports are fake and none are known to the reader (not trusted: 0)."
    return (
        f"This assumes that {not_trusted:,} reports of each batch hide nobody, because they are fake, known to the "
        f"reader or made elsewhere (not trusted: {not_trusted:,})."
    )


def names_sentence(named: Sequence[NamedBatch]) -> str:
    """Return the sentence on the batches with names, and their numbers of reports; empty without any."""
    listed = [f"{batch} ({batch.n:,} reports)" for batch in named[:_NAMES_SHOWN]]
    others = len(named) - len(listed)
    more = f" and {others:,} others" * (others > 0)
    return f"The reports are of batch{'es' * (len(named) > 1)} {', '.join(listed)}{more}." if listed else ""


_LARGEST_CHANCE = 1e-6
_KNOWN, _NAMES_SHOWN = 1024, 5


@dataclass(frozen=True, eq=False)
class Publication:
    """A publication: its batches, and how one person may be in them. It answers with one statement.

    Attributes:
        mechanism: what made the reports: of blocks, a channel, or a personalized one.
        batches: number of reports of each batch.
        answers: how a person may be in them: ``"once"``, ``"fresh"``, ``"permanent"`` or ``"unknown"``.
        most: the most batches that hold a report of one person, where answers are fresh; None for all.
        not_trusted: reports of each batch that hide nobody: known, faked or made elsewhere.
        beside: why something published is no function of unordered batches; empty if all is.
        simulated: whether the reports are simulated or seeded.
        planned: whether the batches are the smallest that may come, and nothing is published yet.
        delta: that is left out, as delta and as a chance; None for `left_out` of the largest batch.
        shown: what the reader sees, in words.
        remarks: further conditions, a sentence each.
        named: the batches of which names are known.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(6), sensitive=range(2))
        >>> publication = dc.published(dc.RandomizedResponse(domain, epsilon=2.0), 10_000, answers="once")
        >>> print(publication.person()[0])
        Whoever sees what is published, however much they know of everybody else, can go from 50% to at most 54% sure \
which of two protected values is a person's; the chance that they get further is at most 1 in 1,000,000.
    """

    mechanism: AnyMechanism
    batches: tuple[int, ...]
    answers: Answers = "unknown"
    most: int | None = None
    not_trusted: int = 0
    beside: str = ""
    simulated: bool = False
    planned: bool = False
    delta: float | None = None
    shown: str = "what is published"
    remarks: tuple[str, ...] = ()
    named: tuple[NamedBatch, ...] = ()

    def __post_init__(self) -> None:
        """Refuse batches of nobody, and numbers out of range.

        Raises:
            ParameterError: if there are some.
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

    # What is counted

    @property
    def rounds(self) -> int:
        """The number of batches that hold a report of one person."""
        everywhere = len(self.batches) if self.most is None else min(self.most, len(self.batches))
        return everywhere if self.answers == "fresh" else 1

    @property
    def n(self) -> int:
        """The number of reports of the smallest batch; where they add up, of two digits, rounded down."""
        least = min(self.batches)
        return least if self.rounds == 1 else two_digits(least)

    @property
    def chance(self) -> float:
        """The number that is left out: the chance that a reader gets further, and the delta of officers."""
        return left_out(max(self.batches)) if self.delta is None else self.delta

    @property
    def local(self) -> float:
        """The local epsilon of one report, in nats: for whoever sees reports with names or in order."""
        return self.mechanism.guarantee.realised

    @cached_property
    def none(self) -> str:
        """The reason for which nothing is promised beyond the local guarantee; empty if something is."""
        return next(filter(None, self._reasons()), "") or self._stated[1]

    def _reasons(self) -> Iterator[str]:
        yield "the reports are simulated, and protect nobody" if self.simulated else ""
        yield self.beside
        if not 0 < self.local < inf:
            yield "nothing is protected, as every value is told in clear"
        if self.mechanism.guarantee.tags > 1:
            yield "a plan with several tags is not covered, as which secrets stand behind them differs between people"
        if self.answers == "permanent" and len(self.batches) > 1:
            yield "permanent answers are sent again, which links the reports of a person in different batches"
        if self.n - self.not_trusted < 2:
            known = f", {self.not_trusted:,} of them not trusted" if self.not_trusted else ""
            yield (
                "a batch must have at least 2 reports that hide each other, and the smallest has "
                f"{self.n:,}{known}: a report alone tells what its local epsilon allows"
            )

    @property
    def central(self) -> ShuffledGuarantee | None:
        """The central guarantee, at `chance` as delta; None where there is none."""
        return None if self.none else self._stated[0]

    @cached_property
    def _stated(self) -> tuple[ShuffledGuarantee | None, str]:
        """The central guarantee, or the reason for which it cannot be computed."""
        try:
            guarantee = _guarantee(cast(Hashable, self.mechanism), self.n, self.chance, self.rounds, self.not_trusted)
            _surest(guarantee)
        except ParameterError as error:
            return None, str(error).removesuffix(".")
        return guarantee, ""

    # What is said

    def person(self) -> list[str]:
        """Return the sentences for people: how sure whoever sees what is published gets of one person's value."""
        central = self.central
        if central is None:
            beyond = "" if self.simulated else " beyond the promise of each report"
            return [f"Of {self.shown} nothing is promised{beyond}: {self.none}."]
        surest = _surest(central)
        # The condition that nobody has looked at stands before all else.
        condition = ""
        if self.answers == "unknown":
            condition = f"If these are {sum(self.batches):,} different people with one report each, "
        sees = f"{condition}whoever sees {self.shown}, however much they know of everybody else, can"
        among = self._reach(surest.among, "which of two protected values is a person's")
        sentences = [f"{sees} {among}."] if central.mechanism.domain.sensitive_count > 1 else []
        if surest.towards is not None:
            towards = "that a certain protected value is a person's, and not a certain one that is not protected"
            # A floor is rounded down, and never certainty.
            least = rounded_down(min(100 * sureness(central.curve_towards.floor(self.chance)), 99.0), 2)
            sentences += [
                f"{'They can also' if sentences else sees} {self._reach(surest.towards, towards)}.",
                f"The bound stays at {least}% or more however many people take part.",
                "Answers that are not protected can be sent unchanged. These guarantees do not cover them.",
            ]
        return [f"{sentences[0][0].upper()}{sentences[0][1:]}", *sentences[1:]]

    def _reach(self, epsilon: float, what: str) -> str:
        """Return the words for how far a reader gets, with the chance of getting further."""
        further = f"the chance that they get further is at most 1 in {floor((1 + 1e-9) / self.chance):,}"
        return f"go from 50% to at most {percent_sure(epsilon)}% sure {what}; {further}"

    def officers(self, *, status: bool = False) -> str:
        """Return the sentences for officers, in (epsilon, delta); empty where there is none.

        Args:
            status: whether to say how close the figures are to what an attacker can reach, which takes longer.
        """
        return "" if self.central is None else " ".join(self.central.sentences(status=status))

    @property
    def local_sentence(self) -> str:
        """The sentence on whoever sees reports as they come, beside each statement; empty where nobody is protected."""
        if self.simulated or not 0 < self.local < inf:
            return ""
        several = f", {rounded_up(self.rounds * self.local)} for the {self.rounds} of one person" * (self.rounds > 1)
        return (
            "Whoever sees reports with names or as they arrive, as who collects them does, has the local guarantee, "
            f"epsilon = {rounded_up(self.local)} for each{several}; that somebody takes part is not hidden."
        )

    def conditions(self) -> list[str]:
        """Return the conditions of the statement, a sentence each; that which nobody has looked at comes first."""
        names = [] if self.simulated else [*filter(None, [names_sentence(self.named)])]
        if self.central is None:
            return [*self.remarks, *names]
        sentences = list(self.remarks)
        if self.answers == "unknown":
            sentences.insert(
                0, f"These are {sum(self.batches):,} different people with one report each, which no file shows."
            )
        sentences += [self._of_batches(), trust_sentence(self.not_trusted), HONEST]
        if self.chance * max(self.batches) >= 1:
            sentences.append(
                f"Choose a smaller delta: at {self.chance:g} with {max(self.batches):,} reports, one of them may be "
                "told openly."
            )
        return [*sentences, *names]

    def _of_batches(self) -> str:
        number, least = len(self.batches), f"{self.n:,} reports"
        if self.rounds > 1:
            return (
                f"A person is in at most {self.rounds:,} of {number:,} batches of at least {least}, with fresh noise "
                "in each: that is counted."
            )
        if self.planned:
            return f"A batch has at least {least}, one of each person."
        if number == 1:
            return f"The batch has {least}, one of each person."
        return f"A person is in one of {number:,} batches; that is counted as the smallest, of {least}."

    def lines(self, *, status: bool = False) -> tuple[str, str]:
        """Return the statement in two lines: what holds of a person, and under which conditions.

        Args:
            status: as for `officers`.
        """
        # The first line begins with what no file shows.
        others = self.conditions()[self.central is not None and self.answers == "unknown" :]
        conditions = " ".join(filter(None, [*others, self.local_sentence, self.officers(status=status)]))
        return " ".join(self.person()), conditions if self.none else f"Conditions: {conditions}"

    def figures(self) -> dict[str, Any]:
        """Return the figures of how sure a reader gets, as built-ins: shares rounded up, epsilons in nats."""
        central = self.central
        if central is None:
            return {"n": self.n, "none": self.none}
        surest = _surest(central)
        among = surest.among if central.mechanism.domain.sensitive_count > 1 else None
        floor_ = None if surest.towards is None else central.curve_towards.floor(self.chance)
        return {
            "n": self.n,
            "none": None,
            "chance": self.chance,
            "among": _direction(among),
            "towards": _direction(surest.towards),
            "floor": floor_,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as built-ins, ready for JSON; epsilons in nats."""
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
        return " ".join(filter(None, self.lines()))

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
    beside: str = "",
    delta: float | None = None,
    shown: str = "what is published",
) -> Publication:
    """Return a publication: what publishing reports, or anything made of them, reveals of one person.

    Args:
        mechanism: the mechanism that made the reports.
        batches: the batches: a number of reports for each; or what is published, whose batches are known: reports, a
            tally, an estimate, estimates of groups (a batch each), a comparison or a regression; or several of these.
        answers: how a person may be in these: ``"once"`` (one report in all), ``"fresh"`` (a new one in each batch),
            ``"permanent"`` (the same one again) or ``"unknown"``, which makes it a condition.
        most: with fresh answers, the most that one person gives.
        not_trusted: how many reports of each batch hide nobody: known to the reader, faked or made elsewhere.
        beside: why something published is no function of unordered batches, such as weights; empty if all is.
        delta: that is left out, as delta and as a chance; by default a millionth, or less where many report.
        shown: what the reader sees, in words.

    Raises:
        ParameterError: if there is no batch, or a number is out of range.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> reports = mechanism.obfuscate(list(range(100)) * 20)
        >>> once = dc.published(mechanism, [len(reports)], answers="once", shown="the press report")
        >>> print(once.person()[0])
        Whoever sees the press report, however much they know of everybody else, can go from 50% to at most 51% \
sure which of two protected values is a person's; the chance that they get further is at most 1 in 1,000,000.
        >>> dc.published(mechanism, dc.estimate(mechanism, reports)).n
        2000
        >>> month = dc.published(mechanism, [1000] * 30, answers="fresh")
        >>> month.rounds, month.n, round(month.central.among.upper, 3)
        (30, 1000, 0.156)
        >>> dc.published(mechanism, [1000] * 30, answers="permanent").none
        'permanent answers are sent again, which links the reports of a person in different batches'
    """
    sizes, simulated = _sizes(batches)
    beside = beside or (REGRESSION if isinstance(batches, Regression) else "")
    named = batches.batches if isinstance(batches, Tally | Reports) else ()
    about: dict[str, Any] = {"delta": delta, "shown": shown, "named": named}
    return Publication(mechanism, sizes, answers, most, not_trusted, beside, simulated, **about)


def _sizes(batches: Any) -> tuple[tuple[int, ...], bool]:
    """Return the number of reports of each batch, and whether any is simulated."""
    if isinstance(batches, int):
        return (batches,), False
    if isinstance(batches, GroupedEstimate):
        return cells_of(batches), batches.overall.simulated
    if isinstance(batches, Comparison):
        return tuple(n for n in batches.sizes if n), batches.simulated
    if isinstance(batches, Tally | Reports):
        return batches_of(batches), batches.simulated
    if hasattr(batches, "n"):
        return (int(batches.n),), bool(getattr(batches, "simulated", False))
    if not isinstance(batches, Iterable):
        raise ParameterError("batches.not-numbers", argument="batches", kind=type(batches).__name__)
    listed = [_sizes(batch) for batch in (batches.values() if isinstance(batches, Mapping) else batches)]
    return tuple(n for sizes, _ in listed for n in sizes), any(marked for _, marked in listed)


def together(
    parts: Mapping[str, tuple[Publication | None, float]], draws: Iterable[Collection[str]], chance: float
) -> float:
    """Return the epsilon that readers get beyond with no more than a chance, from all reports of one person.

    The privacy losses of the parts are composed, and not added: it is unlikely that all are large together.

    Args:
        parts: publications of mechanisms that differ, such as the questions of a survey, by name, each with the local
            epsilon of all reports of a person in it; without a statement, or None, a part counts with that epsilon.
        draws: the parts that one person can be in; the largest epsilon is returned.
        chance: in (0, 1).

    Example:
        >>> import discreet as dc
        >>> age = dc.published(dc.RandomizedResponse(dc.Domain(range(9)), epsilon=1.0), 2_000)
        >>> sex = dc.published(dc.RandomizedResponse(dc.Domain(["f", "m"]), epsilon=1.0), 1_000)
        >>> both = together({"age": (age, 1.0), "sex": (sex, 1.0)}, [["age", "sex"], ["age"]], 1e-6)
        >>> round(both, 3), round(together({"age": (age, 1.0)}, [["age"]], 1e-6), 3)
        (0.215, 0.082)
    """
    stated = {name: part.central for name, (part, _) in parts.items() if part is not None}
    known = {
        name: central
        for name, central in stated.items()
        if central is not None and len(central.curve.pairs) <= MOST_PAIRS
    }
    # The same questions may be drawn by several words.
    asked = [*{tuple(name for name in draw if name in parts) for draw in draws}]
    places = tuple(tuple([*known].index(name) for name in draw if name in known) for draw in asked)
    composed = _composed(tuple(known.values()), places, chance)
    rest = [sum(parts[name][1] for name in draw if name not in known) for draw in asked]
    local = [sum(parts[name][1] for name in draw) for draw in asked]
    return max((min(*each) for each in zip(map(add, composed, rest), local, strict=True)), default=0.0)


def batches_of(counted: Tally | Reports) -> tuple[int, ...]:
    """Return the number of reports of each batch: of those with a name, and of all other reports together.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> batches_of(mechanism.tally(mechanism.obfuscate(["yes"] * 50)))
        (50,)
    """
    sizes = [batch.n for batch in counted.batches]
    others = counted.n - sum(sizes)
    return (*sizes, *([others] if others else []))


def cells_of(grouped: GroupedEstimate) -> tuple[int, ...]:
    """Return the number of reports of each cell that estimates by group show; those left out are one.

    Args:
        grouped: the estimates; that of everybody counts all reports.
    """
    left = grouped.left_out[1]
    return (*grouped.sizes.values(), *([left] if left else []))


def left_out(n: int) -> float:
    """Return the number that a statement on n people leaves out: a millionth, or a power of ten of at most 1/(10 n)."""
    return min(_LARGEST_CHANCE, 10.0 ** -(ceil(log10(n)) + 1))


def two_digits(n: int) -> int:
    """Return a number of reports in two digits, rounded down: fewer hide less, and many batches are then alike."""
    unit: int = 10 ** max(len(str(n)) - 2, 0)
    return n // unit * unit


def _direction(epsilon: float | None) -> dict[str, Any] | None:
    return None if epsilon is None else {"sure": share_sure(epsilon), "epsilon": epsilon}


# Many ask for the same, and many rounds take a second.
_guarantee = lru_cache(maxsize=_KNOWN)(shuffled)


@lru_cache(maxsize=_KNOWN)
def _composed(
    guarantees: tuple[ShuffledGuarantee, ...], draws: tuple[tuple[int, ...], ...], chance: float
) -> list[float]:
    """Return the epsilons that readers get to by draws of some guarantees, but for the chance."""
    return surest_together([guarantee.curve for guarantee in guarantees], draws, chance)


@lru_cache(maxsize=_KNOWN)
def _surest(central: ShuffledGuarantee) -> Surest:
    """Return the epsilons that readers get to, but for the chance."""
    return central.at_most(central.delta)
