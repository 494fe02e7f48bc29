"""Questionnaires: the public documents of surveys in TOML or JSON (version 2 of the format of plans).

    version = 2
    epsilon = 1.0
    promise = "record"

    [attributes.age]
    labels = ["<18", "18-64", "65+"]
    sensitive = ["<18", "65+"]

    [attributes.smokes]
    labels = ["no", "yes"]

    [ask]
    want = "singles"

`discreet survey plan` adds a table ``[[question]]`` for each question. Without these tables nothing can be collected.
`Questionnaire.plan` returns the plan of one question.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import structs

from discreet.core.domain import Domain
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError, SurveyDocumentError
from discreet.files.paths import COLUMNS, PLANS, checked_output, output_of
from discreet.files.writing import replacing
from discreet.formats.domains import (
    DomainSpec,
    Pattern,
    all_composed,
    described_domain,
    described_values,
    moved_domain,
)
from discreet.formats.plan import (
    MechanismSpec,
    Plan,
    PlanDocument,
    build_mechanism,
    described_mechanism,
    json_schema,
    read_document,
    without_defaults,
)
from discreet.formats.toml import document_text, toml_key, toml_table, toml_text
from discreet.surveys.questions import (
    Question,
    checked_attributes,
    checked_patterns,
    question_domain,
    question_name,
    wanted_tables,
    whole_shares,
    with_ends,
)
from discreet.surveys.rounds import Rounds
from discreet.surveys.survey import Promise, Survey

# Decimal places of a share in a document. A share with more decimal places is written as an integer over 2^64.
_DIGITS = 9
# The largest number of characters in a file's name, without the ending.
_LONGEST = 50
_DIGITS_ONLY = re.compile(r"[0-9]{1,20}")


class AskSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables to estimate, and the number of questions that each person answers.

    Attributes:
        want: tables that will be estimated: "singles", "pairs", or lists of names of attributes.
        answers: the number of questions that each person answers; None for the number with the smallest error.
        combinations: patterns over attributes that are sensitive, instead of values of attributes. A pattern has a list
            of ranges [low, high] for numbers.
    """

    want: Literal["singles", "pairs"] | list[list[str]] = "singles"
    answers: int | None = None
    combinations: list[Pattern] | None = None

    def __post_init__(self) -> None:
        """Convert labels and names of attributes to Unicode's normal form C."""
        for name in ("want", "combinations"):
            structs.force_setattr(self, name, all_composed(getattr(self, name)))


class QuestionSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question of a survey.

    Attributes:
        attributes: the names of its attributes.
        share: the share of people who answer it, or the share times 2^64 as a text of digits.
        epsilon: the promise of one answer, in nats.
        mechanism: the name of the mechanism, and its options.
    """

    attributes: list[str]
    share: float | str
    epsilon: float
    mechanism: MechanismSpec

    def __post_init__(self) -> None:
        """Convert names of attributes to Unicode's normal form C."""
        structs.force_setattr(self, "attributes", all_composed(self.attributes))


class SurveyDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a questionnaire.

    Attributes:
        version: the version of the format, 2.
        epsilon: the privacy promise to each person, in nats.
        attributes: the values of each attribute, and its sensitive values.
        promise: for whole records, or for records that differ in one attribute. Several attributes need a promise.
        title: a title for people.
        ask: the tables that are wanted.
        question: the questions, with the share of people who answer each.
        rounds: the rounds in which the same people are asked; None to ask once.
    """

    version: Literal[2]
    epsilon: float
    attributes: dict[str, DomainSpec]
    promise: Promise | None = None
    title: str = ""
    ask: AskSpec = AskSpec()
    question: list[QuestionSpec] = []
    rounds: Rounds | None = None

    def __post_init__(self) -> None:
        """Convert names of attributes to Unicode's normal form C."""
        structs.force_setattr(self, "attributes", all_composed(self.attributes))


@dataclass(frozen=True)
class Questionnaire:
    """The public document of a survey, with the domains of its attributes.

    Attributes:
        document: the content of the file.
        folder: the folder of the files that the document names.
        allow_outside: whether these files may be in other folders.

    Example:
        >>> from importlib.resources import files
        >>> import discreet as dc
        >>> questionnaire = dc.Questionnaire.load(files("discreet") / "examples" / "health_survey.toml")
        >>> questionnaire.survey()
        Survey(1 of 4 questions, epsilon=2.0 per record, plan=9d4bab9b8119)
        >>> questionnaire.plan("age").domain
        Domain(5 values, 5 sensitive)
    """

    document: SurveyDocument
    folder: Path = Path()
    allow_outside: bool = False

    @classmethod
    def load(cls, path: str | Path, *, allow_outside: bool = False) -> "Questionnaire":
        """Read a questionnaire.

        Raises:
            ParameterError: if the file cannot be read or has a wrong field; the error names the field.
        """
        return cls(read_document(path, SurveyDocument, version=2), Path(path).parent, allow_outside)

    @classmethod
    def of(cls, survey: Survey, *, title: str = "") -> "Questionnaire":
        """Return the questionnaire that describes a survey. `save` writes it to a file.

        Raises:
            ParameterError: if the survey cannot be written as a document.
        """
        specs = {name: _spec(domain) for name, domain in survey.attributes.items()}
        combinations: Any = [dict(pattern) for pattern in survey.combinations] or None
        ask = AskSpec([[*question.attributes] for question in survey.questions], survey.answers, combinations)
        document = SurveyDocument(2, survey.epsilon, specs, survey.promise, title, ask)
        return cls(document).asking(survey)

    @cached_property
    def attributes(self) -> Mapping[str, Domain]:
        """The domains of the attributes, by the attribute's name.

        Raises:
            ParameterError: if the values of an attribute do not form a domain; the error names the attribute.
        """
        domains = {}
        for name, spec in self.document.attributes.items():
            if self.document.ask.combinations and spec.sensitive is not None:
                raise ParameterError("attribute.sensitive-twice", name=name)
            if spec.attribute not in ("", name):
                raise ParameterError("attribute.two-names", name=name, other=spec.attribute)
            try:
                domains[name] = spec.domain(self.folder, allow_outside=self.allow_outside)
            except ParameterError as error:
                raise error.at(f"Attribute {name!r}") from None
        named = checked_attributes(domains)
        return with_ends(named, checked_patterns(named, self.document.ask.combinations or []))

    @property
    def promise(self) -> Promise:
        """The unit that epsilon protects: "record" or "attribute". A survey of one attribute has "record".

        Raises:
            ParameterError: if the document has several attributes and no promise.
        """
        if self.document.promise is None and len(self.document.attributes) > 1:
            raise ParameterError("promise.missing", argument="promise")
        return self.document.promise or "record"

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of `discreet.plan_survey`, except the attributes."""
        document, ask = self.document, self.document.ask
        wishes = {"want": ask.want, "answers": ask.answers, "combinations": ask.combinations or ()}
        return {"epsilon": document.epsilon, "promise": self.promise, "rounds": document.rounds, **wishes}

    def asking(self, survey: Survey) -> "Questionnaire":
        """Return a copy of this questionnaire that has the questions of `survey`.

        Raises:
            ParameterError: if the document would describe another survey.
        """
        exact = [Fraction(question.share, WORD_RANGE) for question in survey.questions]
        shares: list[Any] = [round(float(share), _DIGITS) for share in exact]
        if _whole(shares) != [question.share for question in survey.questions]:
            shares = [str(question.share) for question in survey.questions]
        questions = [
            {
                "attributes": question.attributes,
                "share": share,
                "epsilon": question.mechanism.epsilon,
                "mechanism": described_mechanism(question.mechanism),
            }
            for question, share in zip(survey.questions, shares, strict=True)
        ]
        ask = structs.replace(self.document.ask, answers=survey.answers)
        document = structs.replace(
            self.document,
            epsilon=survey.epsilon,
            ask=ask,
            promise=survey.promise,
            question=msgspec.convert(questions, list[QuestionSpec]),
            rounds=survey.rounds,
        )
        questionnaire = replace(self, document=document)
        if questionnaire.fingerprint != survey.fingerprint:
            raise ParameterError("survey.without-document")
        return questionnaire

    def survey(self) -> Survey:
        """Return the survey that the questionnaire describes.

        Raises:
            ParameterError: if the document has no questions, or its parts contradict each other.
        """
        return self._survey

    @cached_property
    def _survey(self) -> Survey:
        document, ask = self.document, self.document.ask
        if not document.question:
            raise ParameterError("survey.without-questions")
        patterns = ask.combinations or []
        shares = _whole([question.share for question in document.question])
        questions = [
            Question(
                tuple(spec.attributes),
                build_mechanism(
                    spec.mechanism, question_domain(self.attributes, spec.attributes, patterns), spec.epsilon
                ),
                share,
            )
            for spec, share in zip(document.question, shares, strict=True)
        ]
        survey = Survey(
            self.attributes,
            tuple(questions),
            document.epsilon,
            promise=self.promise,
            answers=1 if ask.answers is None else ask.answers,
            combinations=tuple(patterns),
            rounds=document.rounds,
        )
        for table in wanted_tables(self.attributes, ask.want):
            if not any({*table} <= {*question.attributes} for question in questions):
                raise ParameterError("table.not-asked", table=question_name(table))
        return survey

    @property
    def fingerprint(self) -> str:
        """A digest of the survey."""
        return self.survey().fingerprint

    def plan(self, name: str) -> Plan:
        """Return the plan of one question.

        Raises:
            ParameterError: if the survey has no question with this name.
        """
        question = self.survey().question(name)
        domain, document = question.mechanism.domain, self.document
        if len(question.attributes) == 1:
            spec: Any = structs.replace(document.attributes[question.name], attribute=question.name)
            if document.ask.combinations and domain.clear_count:
                spec = structs.replace(spec, sensitive=described_values(domain.space, domain.sensitive))
        else:
            parts = {part: document.attributes[part] for part in question.attributes}
            stands = {part: spec.missing for part, spec in parts.items() if spec.missing is not None}
            cuts = {part: spec.cuts for part, spec in parts.items() if spec.cuts is not None}
            fields = described_domain(domain) | ({"missing": stands} if stands else {})
            spec = msgspec.convert(fields | ({"cuts": cuts} if cuts else {}), DomainSpec)
        asked = document.question[self.survey().questions.index(question)]
        title = f"{document.title}: {question.name}" if document.title else question.name
        plan = PlanDocument(question.mechanism.epsilon, spec, asked.mechanism, title=title)
        return Plan(plan, self.folder, self.allow_outside)

    def save(self, path: str | Path, *, force: bool = False) -> "Questionnaire":
        """Write the questionnaire to a TOML or JSON file, and return the questionnaire read back from the file.

        Raises:
            OutputExistsError: if the file exists and ``force`` is not set.
            ParameterError: if the file cannot be written.
        """
        target = output_of(path, "plans")
        checked_output(target, PLANS, "plans")
        fields = self.fields()
        fields["attributes"] = {
            name: moved_domain(table, self.folder, target) for name, table in fields["attributes"].items()
        }
        with replacing(target, force=force) as beside:
            beside.write_text(document_text(fields, target, survey_text), encoding="utf-8")
            written = Questionnaire.load(beside, allow_outside=self.allow_outside)
            if {**written.attributes} != {**self.attributes} or written.document.question != self.document.question:
                raise ParameterError("survey.changed-by-writing")
        return written

    @property
    def text(self) -> str:
        """The questionnaire as TOML."""
        return survey_text(self.fields())

    def fields(self) -> dict[str, Any]:
        """Return the document as a dictionary without default values."""
        fields: dict[str, Any] = without_defaults(self.document)
        fields["attributes"] = {name: without_defaults(spec) for name, spec in self.document.attributes.items()}
        order = ("version", "title", "epsilon", "promise", *fields)
        return {name: fields[name] for name in dict.fromkeys(order) if name in fields}


def _spec(domain: Domain) -> DomainSpec:
    table = described_domain(domain)
    table.pop("attribute", None)
    return msgspec.convert(table, DomainSpec)


def _whole(shares: list[Any]) -> list[int]:
    """Return shares as integers over 2^64. A text holds this integer. A number is the share itself."""
    texts = [share for share in shares if isinstance(share, str)]
    if texts and not (len(texts) == len(shares) and all(_DIGITS_ONLY.fullmatch(text) for text in texts)):
        raise ParameterError("shares.mixed-types")
    wrong = next((share for share in shares if not texts and not 0 < share <= 1), None)
    if wrong is not None:
        raise ParameterError("share.out-of-range", share=wrong)
    return [int(text) for text in texts] if texts else whole_shares([Fraction(repr(share)) for share in shares])


def survey_text(fields: Mapping[str, Any]) -> str:
    """Return a survey's document as TOML, with one table for each attribute and each question.

    Example:
        >>> print(survey_text({"version": 2, "attributes": {"age": {"labels": [1, 2]}}, "question": [{"share": 1.0}]}))
        version = 2
        <BLANKLINE>
        [attributes.age]
        labels = [1, 2]
        <BLANKLINE>
        [[question]]
        share = 1.0
    """

    def parts() -> Iterator[str]:
        tables = ("attributes", "ask", "rounds", "question")
        head = {name: part for name, part in fields.items() if name not in tables}
        yield toml_text(head)
        for name, table in fields["attributes"].items():
            yield toml_table(f"[attributes.{toml_key(name)}]", table)
        for name in ("ask", "rounds"):
            if fields.get(name):
                yield toml_table(f"[{name}]", fields[name])
        for table in fields.get("question", ()):
            yield toml_table("[[question]]", table)

    return "\n\n".join(parts())


def question_files(names: Iterable[str], ending: str = COLUMNS[0]) -> dict[str, str]:
    """Return a file name for each question.

    No name starts with a dot or underscore, or differs from another only by case.

    Example:
        >>> [*question_files(["sex,body mass/height", "a b", "A_b", "_id"]).values()]
        ['sex,body_mass_height.parquet', 'a_b.parquet', '3-A_b.parquet', '4-_id.parquet']
    """
    files: dict[str, str] = {}
    alike: set[str] = set()
    for place, name in enumerate(names, 1):
        file = re.sub(r"[^\w,.-]", "_", name)[:_LONGEST]
        # Some file systems ignore case. Files that start with a dot or an underscore are skipped when folders are read.
        while file[0] in "._" or file.casefold() in alike:
            file = f"{place}-{file}"
        alike.add(file.casefold())
        files[name] = file + ending
    return files


def load(path: str | Path, *, allow_outside: bool = False) -> Plan | Questionnaire:
    """Read a plan or a survey.

    Raises:
        ParameterError: if the file cannot be read or has a wrong field; the error names the field.

    Example:
        >>> from importlib.resources import files
        >>> type(load(files("discreet") / "examples" / "health_survey.toml")).__name__
        'Questionnaire'
    """
    try:
        return Plan.load(path, allow_outside=allow_outside)
    except SurveyDocumentError as error:
        if error.question:
            raise
    return Questionnaire.load(path, allow_outside=allow_outside)


def every_schema() -> dict[str, Any]:
    """Return the JSON Schema of the documents of plans and surveys."""
    return json_schema(SurveyDocument)
