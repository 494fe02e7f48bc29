"""Attestations: a page on a plan or a collection for whoever answers for the protection of people's data.

The page repeats the sentences of other classes: `Guarantee` and `Verification` on the promise, `Publication` on
published results, `Bounds` on identification, and the notice that people read. If verification denies a plan, the page
denies the plan too, and says nothing else about it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import Any

import numpy as np

from discreet import __version__
from discreet.arrays import IntArray
from discreet.collector.documents.publications import (
    collection_publication,
    most_answers,
    sentences_on_published,
    survey_reach,
)
from discreet.core.guarantee import LARGE_EPSILON, odds_sentence, posterior_percent, rounded_up
from discreet.core.labels.alike import alike_sentences
from discreet.core.labels.bins import Numbers
from discreet.core.labels.products import Grid, Product
from discreet.core.labels.spaces import NUMBERS, IntegerRange, LabelSpace
from discreet.core.result_table import ResultTable
from discreet.device.protocol.collection import PERMANENT, Collection
from discreet.device.protocol.notice import notice
from discreet.errors import ParameterError
from discreet.formats.domains import described_values
from discreet.formats.plan import Plan
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.memo import Memo
from discreet.mechanisms.personalized import Personalized, common_of
from discreet.pictures.pages import render
from discreet.privacy.audit import Audit
from discreet.privacy.publication import Publication
from discreet.privacy.verify import Verification, verify
from discreet.risk.bounds.identification import identification_bounds
from discreet.surveys.guarantees import verify_survey
from discreet.surveys.survey import Survey
from discreet.theory.memo import CHANGES_ARE_VISIBLE

USERS = 1000
"""Users among whom one is identified, where no collection says how many answer at least."""

# More names than these are listed at the end.
_MOST_NAMES = 12
# e^30, beyond which figures say nothing.
_LARGEST = 30.0
_NOT_PUBLISHED = (
    "The plan alone does not fix how many reports are published. `discreet verify --statement N`, or for a survey "
    "`discreet survey verify`, says what N published reports reveal of a person. So does a collection's attestation."
)
_OF_SURVEY = "The survey of this question"
_ANSWERS_ADD_UP = "A plan does not limit how often a person answers. The epsilons of several answers add up."
_NOT_HIDDEN = (
    "Networks and the collector see that somebody takes part, when, and from which address.",
    "Columns beside the reports, such as a region or an age, are not protected.",
)
_ASSUMED = (
    "Devices follow the plan and use secure randomness. This page checks the plan, and not other people's software.",
    "The plan's author named all sensitive values, and no other value reveals them.",
    "If a person answers the same question elsewhere, that answer adds its own epsilon.",
)
_NOT_AUDITED = "No reports were drawn for this page to test the promise. `discreet attest --draws N` draws them."


@dataclass(frozen=True, slots=True)
class AttestationPart:
    """A part of an attestation.

    Attributes:
        heading: above it.
        sentences: one paragraph each.
        tables: below them.
    """

    heading: str
    sentences: Sequence[str] = ()
    tables: Sequence[ResultTable] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the part as built-ins, with the cells of its tables."""
        tables = [
            {"caption": table.title, "headings": headings, "rows": rows, "left": table.text_columns, "marks": []}
            for table in self.tables
            for headings, *rows in [table.cells()]
        ]
        return {"heading": self.heading, "sentences": list(self.sentences), "tables": tables}


@dataclass(frozen=True, eq=False, repr=False)
class Attestation:
    """An attestation of a plan, or of a collection with its terms.

    Attributes:
        plan: that is attested.
        collection: that the plan is of; None for a plan alone.
        keys: public keys that have signed the collection, as they are printed.
        trust: the reason for which these keys are trusted, in words.
        users: users among whom one is identified; None for the least number that the collection publishes of.
        audit: the result of an audit; None if there was none.
        survey: that the plan is a question of; None of a plan by itself.
        others: collections of the other questions of its survey, as far as they are at hand.

    Raises:
        ParameterError: if the plan protects nobody.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["never", "daily"], sensitive=["daily"])
        >>> attested = Attestation(dc.Plan.of(dc.RandomizedResponse(domain, epsilon=1.0), title="Habits"))
        >>> attested.holds, attested.heading
        (True, 'Attestation: Habits')
        >>> [part.heading for part in attested.parts][:3]
        ['The data', 'The promise', 'In odds']
    """

    plan: Plan
    collection: Collection | None = None
    keys: tuple[str, ...] = ()
    trust: str = ""
    users: int | None = None
    audit: Audit | None = None
    survey: Survey | None = None
    others: tuple[Collection, ...] = ()

    def __post_init__(self) -> None:
        """Raise if the plan protects nobody."""
        if self.verification.ratio is None:
            raise ParameterError("plan.protects-nobody")

    def __repr__(self) -> str:
        return f"Attestation({self.heading!r}, plan {self.mechanism.fingerprint[:12]})"

    # What it is about

    @cached_property
    def mechanism(self) -> BlockMechanism:
        """The mechanism that reports are made with."""
        return self.plan.mechanism()

    @cached_property
    def promising(self) -> BlockMechanism | Personalized:
        """The mechanism that states the promise: of a personalized plan the one that knows of users' own values."""
        return self.plan.personalized() if self.plan.is_personalized else self.mechanism

    @cached_property
    def verification(self) -> Verification:
        """The verification of the promise."""
        return verify(self.mechanism)

    @cached_property
    def publication(self) -> Publication | None:
        """The publication that the collection's terms allow at worst; None for a plan alone."""
        return None if self.collection is None else collection_publication(self.collection, self.mechanism)

    @property
    def holds(self) -> bool:
        """True if neither the numbers nor the reports that were drawn speak against the promise."""
        together = self.survey is None or verify_survey(self.survey).holds
        return together and self.verification.holds and (self.audit is None or self.audit.holds)

    @property
    def title(self) -> str:
        """The title of the collection or the plan."""
        return (self.plan.document.title if self.collection is None else self.collection.title) or "a plan"

    @property
    def heading(self) -> str:
        """The heading of the page."""
        return f"{'Attestation' if self.holds else 'DENIED'}: {self.title}"

    # What is said

    @property
    def answer(self) -> list[str]:
        """The sentences at the top: the verdict, its causes, and a remark on a large epsilon."""
        verification = self.verification
        if not self.holds:
            denied = [] if verification.holds else [verification.verdict, *verification.faults]
            return [*denied, *([] if self.audit is None or self.audit.holds else [str(self.audit)])]
        condition = "" if self.promising.guarantee.notion == "LDP" else " that a protected answer can cause"
        most = _times(verification.realised)
        odds = f"A report{condition} changes the odds between any two answers at most {most}."
        sentences = [verification.verdict, odds, self.promising.guarantee.not_protected, self._remark]
        return [sentence for sentence in sentences if sentence]

    @property
    def _remark(self) -> str:
        """The remark on a large epsilon, of an answer or of all of a person's; empty where none is."""
        if self.verification.realised > LARGE_EPSILON:
            return f"Remark: an epsilon above {LARGE_EPSILON:g} protects little; weigh these odds before you sign."
        if self.collection is None or self.collection.lifetime <= LARGE_EPSILON:
            return ""
        lifetime = self.collection.lifetime
        return f"Remark: all answers of a person together may reach epsilon = {lifetime:g}. {odds_sentence(lifetime)}"

    @cached_property
    def parts(self) -> list[AttestationPart]:
        """The parts of the page below the answer; of a denied plan its data and the numbers that deny it."""
        stated = self._figures if self.holds else self.verification.figures
        figures = ResultTable.of("The promise and its check", ["what", "value"], stated, left=2)
        drawn = _NOT_AUDITED if self.audit is None else str(self.audit)
        promise = AttestationPart("The promise", [str(self.promising.guarantee), drawn][not self.holds :], [figures])
        guarantee, collection = self.promising.guarantee, self.collection
        again = [CHANGES_ARE_VISIBLE] if collection is not None and collection.answers == PERMANENT else []
        if not self.holds:
            return [self._data(), promise]
        return [
            self._data(),
            promise,
            *([AttestationPart(_OF_SURVEY, [str(self.survey.guarantee)])] if self.survey is not None else []),
            self._odds(),
            *([] if collection is None else [AttestationPart("What people read", notice(collection))]),
            self._published(),
            AttestationPart("Who is identified", list(self._identified())),
            AttestationPart("What is not protected", [*filter(None, [guarantee.not_protected]), *_NOT_HIDDEN, *again]),
            AttestationPart("What is assumed", _ASSUMED),
        ]

    @property
    def _figures(self) -> list[tuple[str, str]]:
        """The promised and the realised odds, each with its epsilon."""
        stated = {"promised": self.verification.promised, "realised, by the sampler": self.verification.realised}
        known = {name: epsilon for name, epsilon in stated.items() if epsilon is not None}
        return [(name, f"{_times(epsilon)} (epsilon = {rounded_up(epsilon)})") for name, epsilon in known.items()]

    @cached_property
    def annex(self) -> list[tuple[str, list[str]]]:
        """The lists at the end: sensitive values, and tags, where they are many."""
        named, tags = f"{self.plan.domain.sensitive_count:,} sensitive values", [*getattr(self.promising, "tags", ())]
        lists = [(named, self._sensitive), ("Tags of users' own secret values", tags)]
        return [(caption, entries) for caption, entries in lists if len(entries) > _MOST_NAMES]

    @cached_property
    def _sensitive(self) -> list[str]:
        return spelled_values(self.plan.domain.space, self.plan.domain.sensitive_codes)

    @property
    def _answered(self) -> BlockMechanism | Personalized:
        """The mechanism of all reports on one answer."""
        memo = None if self.collection is None else self.collection.memo
        return self.promising if memo is None else Memo(self.mechanism, memo.epsilon).permanent

    def _data(self) -> AttestationPart:
        domain, tags = self.plan.domain, getattr(self.promising, "tags", ())
        named = "; ".join(self._sensitive) if len(self._sensitive) <= _MOST_NAMES else "listed at the end"
        rows = {
            "values": f"{domain.size:,} {spelled_space(domain.space)}",
            "sensitive": f"{domain.sensitive_count:,}: {named}" if domain.sensitive_count else "none for everybody",
        }
        if domain.clear_count:
            clear = spelled_values(domain.space, domain.clear_codes)
            rows["not sensitive"] = f"{domain.clear_count:,}" + f": {'; '.join(clear)}" * (len(clear) <= _MOST_NAMES)
        if tags:
            rows["tags of own secrets"] = "; ".join(tags) if len(tags) <= _MOST_NAMES else "listed at the end"
        kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(self.mechanism).__name__).capitalize()
        rows["mechanism"] = f"{kind} over {domain.size:,} answers"
        rows["plan, fingerprint"] = self.mechanism.fingerprint
        if (asked := self.collection) is not None:
            rows["collection"] = f"{asked.name}, version {asked.version}, {asked.state}; id {asked.id.hex()}"
            rows["signed with"] = f"{', '.join(self.keys)} ({self.trust})"
        cells = [*rows.items(), ("software", f"discreet {__version__}")]
        table = ResultTable.of("What is asked, and by which plan", ["what", "which"], cells, left=2)
        return AttestationPart("The data", alike_sentences(domain.alike, exact=domain.exact), [table])

    def _odds(self) -> AttestationPart:
        epsilon, collection = self.verification.realised, self.collection
        epsilons = {"an answer": epsilon}
        if collection is not None:
            number = most_answers(collection)
            most = "1 answer" if number == 1 else f"{number:,} answers"
            epsilons["an epoch, 1 answer"] = epsilon
            if collection.memo is not None:
                epsilons["all epochs, one permanent answer"] = verify(common_of(self._answered)).realised
            epsilons[f"all epochs, {most} of a version"] = collection.lifetime
        rows = [[name, *_figures(each)] for name, each in epsilons.items()]
        headings = ["after", "epsilon", "odds change at most", "50% becomes", "1% becomes"]
        caption = "How sure somebody can become of a person's protected value, at most"
        sentences = [_ANSWERS_ADD_UP] if collection is None else []
        return AttestationPart("In odds", sentences, [ResultTable.of(caption, headings, rows)])

    def _published(self) -> AttestationPart:
        publication = self.publication
        sentences = [_NOT_PUBLISHED]
        if publication is not None:
            sentences = [
                " ".join(publication.person()),
                *publication.conditions(),
                publication.local_sentence,
                publication.officers(),
            ]
            if self.collection is not None and survey_reach(self.collection, self.others) is not None:
                together = sentences_on_published(self.collection, others=self.others)[1:]
                sentences.append(f"All of a person's answers to the survey together: {' '.join(together)}")
        return AttestationPart("What is published", list(filter(None, sentences)))

    def _identified(self) -> Iterator[str]:
        least = USERS if self.collection is None else self.collection.least
        users = least if self.users is None else self.users
        most = 1 if self.collection is None else most_answers(self.collection)
        for reports in sorted({1, most}):
            bounds = identification_bounds(self._answered, users, reports=reports)
            chance = bounds.identification.value
            which = "a report" if reports == 1 else f"{reports:,} reports"
            limit = (
                "perhaps always"
                if chance is None or chance >= 1
                else f"with a probability of at most {_percent(chance)}"
            )
            yield (
                f"Somebody who sees {which} of one of {users:,} people names the right person in one guess {limit} "
                f"({_percent(bounds.guessed)} by guessing blindly)."
            )
            yield bounds.per_user_sentence
            yield from filter(None, [bounds.condition_sentence])

    # Where it is said

    def page(self, base: str | None = None) -> str:
        """Return the page, self-contained HTML.

        Args:
            base: address of the collector that links lead to; None for the first that the collection names.
        """
        collection, links = self.collection, []
        if collection is not None:
            start = collection.collectors[0] if base is None else base
            links = [
                ("The signed collection, as devices check it", f"{start}/v1/collections/{collection.name}"),
                ("The survey", f"{start}/take/{collection.name}"),
            ]
        signed = self.holds and not (collection is not None and collection.simulated)
        return render("attestation.html", attested=self, links=links, signed=signed)

    def to_dict(self) -> dict[str, Any]:
        """Return the attestation as built-ins, ready for JSON."""
        collection, verification = self.collection, self.verification
        ratio = verification.ratio
        return {
            "title": self.title,
            "holds": self.holds,
            "plan": self.mechanism.fingerprint,
            "collection": None if collection is None else collection.id.hex(),
            "keys": list(self.keys),
            "software": f"discreet {__version__}",
            "promised": verification.promised,
            "realised": verification.realised,
            "e_to_epsilon": None if ratio is None else f"{ratio.numerator}/{ratio.denominator}",
            "answer": self.answer,
            "parts": [part.to_dict() for part in self.parts],
            "annex": [{"caption": caption, "values": values} for caption, values in self.annex],
            "publication": None if self.publication is None or not self.holds else self.publication.to_dict(),
        }


def _times(epsilon: float) -> str:
    """Return the factor of the odds at an epsilon, rounded up."""
    return f"{rounded_up(exp(epsilon), 3)} times" if epsilon <= _LARGEST else f"over {exp(_LARGEST):.0e} times"


def _percent(share: float) -> str:
    return f"{rounded_up(100 * share, 2)}%"


def _figures(epsilon: float) -> list[str]:
    """Return an epsilon in nats and in odds, rounded up."""
    return [
        rounded_up(epsilon),
        _times(epsilon),
        *(f"{posterior_percent(epsilon, share, 3)}%" for share in (0.5, 0.01)),
    ]


def spelled_space(space: LabelSpace) -> str:
    """Return a few words on the values of a space.

    Example:
        >>> from discreet import Domain
        >>> spelled_space(Domain(range(100)).space)
        'integers from 0 to 99'
    """
    match space:
        case IntegerRange():
            return f"integers from {space.start} to {space.start + space.size - 1}"
        case Numbers():
            end = "the ends with what lies beyond" if space.clip else "none outside"
            return f"numbers from {space.low:g} to {space.high:g} in {space.bins} bins, scale {space.scale}, {end}"
        case Product():
            return "combinations of " + ", ".join(f"{name} ({part.size})" for name, part in space.attributes.items())
        case Grid():
            (south, north), (west, east) = space.lat, space.lon
            borders = f"latitude {south:g} to {north:g}, longitude {west:g} to {east:g}"
            return f"regions of a map, {space.rows} rows and {space.cols} columns from 0 at the lowest: {borders}"
    return "labels"


def spelled_values(space: LabelSpace, codes: IntArray) -> list[str]:
    """Return all of some values in words: none is left out, and runs of numbers and of regions are one entry.

    Args:
        space: the labels.
        codes: of the values, ascending.

    Example:
        >>> from discreet import Domain
        >>> spelled_values(Domain(range(10, 99)).space, np.array([0, 1, 2, 7]))
        ['10 to 12', '17']
        >>> pairs = Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]})
        >>> spelled_values(pairs.space, np.array([0, 2]))
        ['age: <40']
    """
    match space:
        case IntegerRange():
            return [_run(space.start + first, space.start + last) for first, last in _runs(codes)]
        case Numbers():
            return space.spelled_ranges(codes)
        case Grid():
            rows = np.split(codes, np.flatnonzero(np.diff(codes // space.cols)) + 1) if len(codes) else []
            return [
                f"row {row[0] // space.cols}: columns {_joined(_run(*ends) for ends in _runs(row % space.cols))}"
                for row in rows
            ]
        case Product():
            return _spelled_product(space, codes)
    return space.names(codes)


def _spelled_product(space: Product, codes: IntArray) -> list[str]:
    chosen = np.zeros(space.size, dtype=np.bool_)
    chosen[codes] = True
    if chosen.all():
        labels = {name: spelled_values(part, np.arange(part.size)) for name, part in space.attributes.items()}
        return [f"every combination of {' and '.join(f'{name} ({_joined(part)})' for name, part in labels.items())}"]
    patterns = described_values(space, chosen)
    return [
        "; ".join(f"{name}: {_joined(_worded(space.attributes[name], part))}" for name, part in pattern.items())
        for pattern in patterns
    ]


def _worded(space: LabelSpace, part: Any) -> Any:
    """Return the labels of a pattern; ranges of numbers in words."""
    return spelled_values(space, space.codes_in(part, "", closed=True)) if space.holds == NUMBERS else part


def _joined(labels: Any) -> str:
    """Return labels in words; a pattern has a single one by itself."""
    return str(labels) if isinstance(labels, str | int) else ", ".join(map(str, labels))


def _runs(codes: IntArray) -> list[tuple[int, int]]:
    """Return first and last of each run of successive codes."""
    parts = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1) if len(codes) else []
    return [(int(part[0]), int(part[-1])) for part in parts]


def _run(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} to {last}"
