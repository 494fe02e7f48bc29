"""Studies with known people: examples in the package, runs of mechanisms, and findings.

A study obfuscates people whose distribution is known, estimates it from the reports, and compares it with the truth. A
study file names a table of counts, one or more mechanisms, and the protected values: ``"sensitive"`` (only the
sensitive values, ULDP) or ``"all"`` (every value, plain LDP). The findings are sentences, tables and pictures.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, cast

import msgspec
import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.core.random import RandomSource
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult
from discreet.errors import DataError, ParameterError
from discreet.estimators import METHODS, MethodName, estimate
from discreet.files.writing import make_folder, replacing_all
from discreet.formats.plan import MechanismSpec, build_mechanism, read_document
from discreet.mechanisms import BlockMechanism
from discreet.pictures.charts import Panel
from discreet.pictures.curves import comparison_chart
from discreet.results.estimate import Estimate
from discreet.tables.columns import read_labels, read_table


def copy_examples(folder: Path, *, force: bool = False) -> list[Path]:
    """Copy all examples into a folder, which is created if necessary.

    Args:
        folder: the target folder.
        force: whether to replace files with these names.

    Raises:
        DataError: if the package was installed without its examples.
        ParameterError: if the folder cannot be created.
        OutputExistsError: if a file with one of these names exists, unless ``force`` is set; nothing is copied then.
    """
    source = Path(str(resources.files("discreet"))) / "examples"
    files = sorted(source.glob("*.*")) if source.is_dir() else []
    if not files:
        raise DataError("examples.missing")
    make_folder(folder)
    targets = [folder / file.name for file in files]
    with replacing_all(targets, force=force) as besides:
        for file, beside in zip(files, besides, strict=True):
            beside.write_bytes(file.read_bytes())
    return targets


StepCallback = Callable[[str, int, int], None]


class CountsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The path and columns of a table with a row per value.

    Attributes:
        path: the path of the table.
        label: the column of labels.
        count: the column of numbers of people.
        sensitive: the column of marks.
        exact: accept labels that look alike and differ in sensitivity.
    """

    path: str
    label: str = "label"
    count: str = "count"
    sensitive: str = "sensitive"
    exact: bool = False


class RunSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mechanism, and the values that it protects: all values, or the sensitive ones."""

    mechanism: MechanismSpec
    protect: Literal["all", "sensitive"] = "sensitive"


class StudyDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a study file.

    Attributes:
        epsilon: the privacy promise, in nats.
        data: the table of people.
        run: the mechanisms to compare.
        methods: the estimators to compare.
        show: the estimator to draw.
        version: the version of the format, 1.
        title: a title for readers.
        credit: the source of the data.
        about: a description of the values and of the sensitive values.
    """

    epsilon: float
    data: CountsSpec
    run: list[RunSpec]
    methods: list[str] = msgspec.field(default_factory=lambda: ["linear", "projected", "mle"])
    show: str = "mle"
    version: Literal[1] = 1
    title: str = ""
    credit: str = ""
    about: str = ""


@dataclass(frozen=True, eq=False)
class Study:
    """A study that is ready to run: its document, its people and its domain.

    Attributes:
        document: the contents of the study file.
        domain: the values and which of them are sensitive.
        counts: ``(|X|,)`` number of people with each value.
    """

    document: StudyDocument
    domain: Domain
    counts: IntArray

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """Read a study file and its table.

        Raises:
            ParameterError: if the file has an invalid entry; the error names its place.
        """
        document = read_document(path, StudyDocument)
        unknown = [name for name in [*document.methods, document.show] if name not in METHODS]
        if unknown:
            raise ParameterError(
                "study.unknown-methods", path=path, names=", ".join(METHODS), names_2=", ".join(unknown)
            )
        if not document.run:
            raise ParameterError("study.no-mechanisms", path=path)
        source = Path(path).parent / document.data.path
        labels, marks = read_labels(source, document.data.label, document.data.sensitive)
        domain = Domain(labels, sensitive=marks, exact=document.data.exact)
        return cls(document, domain, _counts(source, document.data.count))

    @property
    def truth(self) -> FloatArray:
        """The ``(|X|,)`` true frequencies."""
        shares: FloatArray = self.counts / self.counts.sum()
        return shares

    def mechanism(self, spec: RunSpec) -> BlockMechanism:
        """Return the mechanism for one run."""
        domain = self.domain if spec.protect == "sensitive" else Domain(self.domain.table()["value"].tolist())
        return build_mechanism(spec.mechanism, domain, self.document.epsilon)


def _counts(path: Path, column: str) -> IntArray:
    table = read_table(path)
    if column not in table.column_names:
        raise ParameterError("study.no-column", path=path, column=column, names=", ".join(table.column_names))
    counts = np.asarray(table[column])
    if counts.dtype.kind not in "iu" or counts.min() < 0 or counts.sum() < 1:
        raise ParameterError("study.not-counts", path=path, column=column)
    return counts.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class RunOutcome:
    """The outcome of one run: the estimates, the size of the reports, and the times.

    Attributes:
        spec: the run.
        mechanism: its mechanism.
        estimates: the estimates, by method.
        bytes: the measured size of a report's columns.
        people: the number of all people, of whom a sample may have been drawn.
        obfuscate_seconds: the time for all people together.
        tally_seconds: the time for all reports.
        estimate_seconds: by method, without the tally.
    """

    spec: RunSpec
    mechanism: BlockMechanism
    estimates: dict[str, Estimate]
    bytes: float
    people: int
    obfuscate_seconds: float
    tally_seconds: float
    estimate_seconds: dict[str, float]

    @property
    def protects(self) -> str:
        """The privacy notion: LDP, or ULDP if only sensitive values are protected."""
        return self.mechanism.guarantee.notion

    @property
    def protected(self) -> str:
        """A description of the protected values."""
        return "all values" if self.protects == "LDP" else f"{self.mechanism.domain.sensitive_count} sensitive"

    @property
    def linear(self) -> Estimate:
        """The linear estimate."""
        return self.estimates["linear"]

    def distance(self, method: str, truth: FloatArray) -> float:
        """Return the total variation distance between the estimate of a method and the truth."""
        return float(np.abs(self.estimates[method].frequencies - truth).sum() / 2)

    def squared_error(self, method: str, truth: FloatArray) -> float:
        """Return the sum of the squared errors of the estimate of a method."""
        return float(((self.estimates[method].frequencies - truth) ** 2).sum())

    def expected_squared_error(self, truth: FloatArray) -> float:
        """Return the expected squared error of the linear estimate for these people, or for a sample of them."""
        n = self.linear.n
        # The people are a finite population: drawing all of them adds no error, and a sample adds less than usual.
        share = (n - 1) / max(self.people - 1, 1)
        return self.mechanism.decoder.mse(n, truth) - share * (1 - float(truth @ truth)) / n


def run_study(
    study: Study,
    *,
    codes: IntArray | None = None,
    random: RandomSource | None = None,
    progress: StepCallback | None = None,
) -> list[RunOutcome]:
    """Run every mechanism of a study on all its people, or on a sample.

    Args:
        study: the study.
        codes: the values' codes of the people in the sample; None for all people.
        random: the random words; None for secure ones.
        progress: called with a description, the number of finished steps, and the number of all steps.
    """
    codes = np.repeat(np.arange(study.domain.size), study.counts) if codes is None else codes
    methods = list(dict.fromkeys(["linear", *study.document.methods, study.document.show]))
    steps = len(study.document.run) * (len(methods) + 2)
    done = count()

    def tell(text: str) -> None:
        if progress is not None:
            progress(text, next(done), steps)

    return [_outcome(study, spec, codes, methods, random, tell) for spec in study.document.run]


def _outcome(
    study: Study,
    spec: RunSpec,
    codes: IntArray,
    methods: list[str],
    random: RandomSource | None,
    tell: Callable[[str], None],
) -> RunOutcome:
    mechanism = study.mechanism(spec)
    name = f"{mechanism.guarantee.notion} {mechanism.name}"
    tell(f"{name}: obfuscating")
    reports, obfuscated = _timed(lambda: mechanism.obfuscate_codes(codes, random=random))
    tell(f"{name}: tallying")
    # Every kernel runs once before, so that compilation is not timed.
    few = reports.part(0, 100)
    mechanism.tally(few)
    estimate(mechanism, few, method="mle")
    tally, tallied = _timed(lambda: mechanism.tally(reports))
    estimates, seconds = {}, {}
    for method in methods:
        tell(f"{name}: estimating ({method})")
        data = reports if METHODS[method].needs_reports else tally
        of_method = partial(estimate, mechanism, data, method=cast("MethodName", method))
        estimates[method], seconds[method] = _timed(of_method)
    mask = 0 if reports.in_clear is None else reports.in_clear.nbytes
    size = (reports.nbytes - mask) / reports.n
    people = int(study.counts.sum())
    return RunOutcome(spec, mechanism, estimates, size, people, obfuscated, tallied, seconds)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    result = work()
    return result, perf_counter() - start


_SHOWN = 20
_LEGEND = (
    "MSE / expected: squared error of the linear estimate, divided by its exact expectation; it should be near 1.",
    "Worst s.e.: the largest standard error of the linear estimate.",
    "TV: total variation distance to the truth, the share of the people that an estimate counts for a wrong value.",
)


@dataclass(frozen=True, eq=False, repr=False)
class Findings(TabularResult):
    """The findings of a study: a comparison of its outcomes.

    Attributes:
        study: the study.
        outcomes: the outcome of each run.
    """

    study: Study
    outcomes: list[RunOutcome]

    def table(self) -> ResultTable:
        """Return a table with a row per run; TV is the total variation distance to the truth."""
        truth, shown, methods = self.study.truth, self.study.document.show, list(self.outcomes[0].estimates)
        column = partial(ResultColumn.of, self.outcomes)

        def ratio(run: RunOutcome) -> float:
            return run.squared_error("linear", truth) / run.expected_squared_error(truth)

        def distances(run: RunOutcome) -> dict[str, float]:
            return {method: run.distance(method, truth) for method in run.estimates}

        columns = [
            column("notion", "protects"),
            column("protected_values", "mechanism.domain.sensitive_count"),
            column("", "protected", "protects", kind="text"),
            column("mechanism", "mechanism.name", "mechanism", kind="text"),
            column("epsilon_promised", "mechanism.epsilon"),
            column("epsilon_realised", "mechanism.guarantee.realised"),
            column("users", "linear.n"),
            column("bytes_per_report", "bytes", "bytes/report", ".2f"),
            column("seconds_obfuscate", "obfuscate_seconds", "obfuscate s", ".2f"),
            column("seconds_tally", "tally_seconds", "tally s", ".3f"),
            column("seconds_estimate", "estimate_seconds"),
            column("", lambda run: run.estimate_seconds[shown], "estimate s", ".3f"),
            column("mse", lambda run: run.squared_error("linear", truth)),
            column("expected_mse", lambda run: run.expected_squared_error(truth)),
            column("", ratio, "MSE / expected", ".2f"),
            column("worst_standard_error", lambda run: float(run.linear.standard_errors.max()), "worst s.e.", ".5f"),
            column("tv", distances),
            *(
                column("", partial(RunOutcome.distance, method=method, truth=truth), f"TV {method}", ".4f")
                for method in methods
            ),
            column("simulated", "linear.simulated"),
        ]
        return ResultTable(self.study.document.title or "Study", columns, _LEGEND)

    def best(self, notion: str) -> RunOutcome | None:
        """Return the run for a privacy notion with the smallest expected squared error; None if there is no run."""
        of_notion = [outcome for outcome in self.outcomes if outcome.protects == notion]
        return min(of_notion, key=lambda run: run.expected_squared_error(self.study.truth), default=None)

    @property
    def compared(self) -> list[RunOutcome]:
        """The best run with plain LDP and the best run with ULDP; empty if the study has no such runs."""
        return [run for run in (self.best("LDP"), self.best("ULDP")) if run is not None]

    def sentences(self) -> list[str]:
        """Return sentences on the protected values, the other values, and the gain from ULDP."""
        study, domain = self.study, self.study.domain
        people = int(study.counts.sum())
        answered = self.outcomes[0].linear.n
        some = f"{answered:,} of them drawn, " if answered < people else ""
        people_sentence = (
            f"{people:,} people, each with one of {domain.size} values, {some}were obfuscated one by one at "
            f"epsilon = {study.document.epsilon:g}."
        )
        return [people_sentence, *self._protected(), *self._bought()]

    def _protected(self) -> list[str]:
        """Return sentences on the values that the runs protect, and on the values that ULDP does not protect."""
        study, domain = self.study, self.study.domain
        notions = {outcome.protects for outcome in self.outcomes}
        if notions == {"LDP"}:
            return [f"Protected: all {domain.size} values."]
        mass = float(study.truth[domain.sensitive].sum())
        plain = f" (under plain LDP, all {domain.size} values)" if "LDP" in notions else ""
        return [
            f"Protected: the {domain.sensitive_count} sensitive values, which {mass:.2%} of the people have{plain}.",
            f"Not protected under ULDP: the other {domain.clear_count} values; whoever has one may report it in clear.",
        ]

    def _bought(self) -> list[str]:
        plain, optimized = self.best("LDP"), self.best("ULDP")
        if plain is None or optimized is None:
            return []
        truth, method = self.study.truth, self.study.document.show
        gain = plain.expected_squared_error(truth) / optimized.expected_squared_error(truth)
        before, after = plain.distance(method, truth), optimized.distance(method, truth)
        return [
            f"With the same epsilon for sensitive values, the best plain LDP mechanism ({plain.mechanism.name}) counts "
            f"{before:.1%} of the people for a wrong value (total variation, {method}). The best ULDP mechanism "
            f"({optimized.mechanism.name}) counts {after:.1%} for a wrong value. Plain LDP would need about {gain:.0f} "
            f"times as many people for the same expected squared error."
        ]

    def chart(self) -> Any:
        """Return a chart of the truth and the estimates of the best runs, with sensitive values above the others."""
        title = self.study.document.title or "Study"
        subtitle = [
            f"{int(self.study.counts.sum()):,} people, epsilon = {self.study.document.epsilon:g}; "
            f"estimates by {self.study.document.show}"
        ]
        return comparison_chart(self.panels(), title=title, subtitle=subtitle)

    def panels(self) -> list[list[Panel]]:
        """Return the panels of the chart, with sensitive values above the others."""
        ranked = np.argsort(-self.study.truth, kind="stable")
        sensitive = self.study.domain.sensitive[ranked]
        shown = ranked[sensitive][:_SHOWN], ranked[~sensitive][:_SHOWN]
        return [self._panels(codes) for codes in shown if len(codes)]

    def _panels(self, codes: IntArray) -> list[Panel]:
        domain, truth = self.study.domain, self.study.truth
        kind = "sensitive" if domain.sensitive[codes[0]] else "other"
        panels = []
        for run in self.compared:
            title = f"{run.protects} ({run.mechanism.name}): the {len(codes)} most frequent {kind} values"
            panel = run.estimates[self.study.document.show].panel(title, codes, truth=truth)
            panels.append(
                Panel(title, panel.names, {**panel.columns, "sensitive": domain.sensitive[codes]}, panel.truth)
            )
        return panels
