"""Findings of a study, in words, tables and pictures."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.charts.frequencies import Panel
from discreet.plots.comparison import comparison_chart
from discreet.simulation.study import RunOutcome, Study

_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings of a study: its outcomes, compared.

    Attributes:
        study: what was asked.
        outcomes: what came of each run.
    """

    study: Study
    outcomes: list[RunOutcome]

    def best(self, notion: str) -> RunOutcome | None:
        """Return the run of a notion with the least expected squared error; None if there is no run."""
        of_notion = [outcome for outcome in self.outcomes if outcome.protects == notion]
        return min(of_notion, key=lambda run: run.expected_squared_error(self.study.truth), default=None)

    @property
    def compared(self) -> list[RunOutcome]:
        """The best run under plain LDP and the best one under ULDP, where there are runs."""
        return [run for run in (self.best("LDP"), self.best("ULDP")) if run is not None]

    def sentences(self) -> list[str]:
        """Return sentences on the values that were protected, the others, and the gain of ULDP."""
        study, domain = self.study, self.study.domain
        people = int(study.counts.sum())
        told = (
            f"{people:,} people, each with one of {domain.size} values, were obfuscated one by one at "
            f"epsilon = {study.document.epsilon:g}."
        )
        return [told, *self._protected(), *self._bought()]

    def _protected(self) -> list[str]:
        """Return sentences on the values that the runs protect, and on those that ULDP does not."""
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
            f"What that bought: with the same epsilon for what is sensitive, the best plain LDP mechanism "
            f"({plain.mechanism.name}) is off by {before:.1%} of the people (total variation, {method}), the best ULDP "
            f"mechanism ({optimized.mechanism.name}) by {after:.1%}; plain LDP would need about {gain:.0f} times as "
            f"many people for the same expected squared error."
        ]

    def chart(self) -> Any:
        """Draw truth and estimates of the best runs, sensitive values above the others."""
        title = self.study.document.title or "Study"
        subtitle = [
            f"{int(self.study.counts.sum()):,} people, epsilon = {self.study.document.epsilon:g}; "
            f"estimates by {self.study.document.show}"
        ]
        return comparison_chart(self.panels(), title=title, subtitle=subtitle)

    def panels(self) -> list[list[Panel]]:
        """Return the panels of the chart, sensitive values above the others."""
        return [self._panels(codes) for codes in self._shown() if len(codes)]

    def _shown(self) -> list[IntArray]:
        ranked = np.argsort(-self.study.truth, kind="stable")
        sensitive = self.study.domain.sensitive[ranked]
        return [ranked[sensitive][:_SHOWN], ranked[~sensitive][:_SHOWN]]

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


HEADINGS = (
    "protects",
    "mechanism",
    "bytes/report",
    "obfuscate s",
    "tally s",
    "estimate s",
    "MSE / expected",
    "worst s.e.",
)


def table(findings: Findings) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the cells of the table of runs; TV is the total variation distance to the truth."""
    truth = findings.study.truth
    methods = list(findings.outcomes[0].estimates)
    cells = []
    for run in findings.outcomes:
        linear = run.estimates["linear"]
        ratio = run.squared_error("linear", truth) / run.expected_squared_error(truth)
        cells.append(
            [
                "all values" if run.protects == "LDP" else f"{run.mechanism.domain.sensitive_count} sensitive",
                run.mechanism.name,
                f"{run.bytes:.2f}",
                f"{run.obfuscate_seconds:.2f}",
                f"{run.tally_seconds:.3f}",
                f"{run.estimate_seconds[findings.study.document.show]:.3f}",
                f"{ratio:.2f}",
                f"{linear.standard_errors.max():.5f}",
                *(f"{run.distance(method, truth):.4f}" for method in methods),
            ]
        )
    return [*HEADINGS, *(f"TV {method}" for method in methods)], cells
