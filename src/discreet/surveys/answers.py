"""The estimates of a survey: one estimate for each question, and a table of all of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, number_of, text_column
from discreet.errors import ParameterError
from discreet.results.estimate import Estimate
from discreet.surveys.questions import question_name
from discreet.surveys.survey import Survey
from discreet.theory.binomial import DEFAULT_LEVEL

# The number of values printed for each question, the most frequent first.
_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class Answers(TabularResult, Mapping[str, Estimate]):
    """The estimates of a survey's questions, each from the reports of the people who answered the question.

    Attributes:
        survey: the survey.
        estimates: the estimates of the answered questions, by the question's name.
        people: number of people who were asked; None if it is not known.
        derived: a function of names of attributes that returns the marginal of a question's table.

    Example:
        >>> import discreet as dc
        >>> domains = {"age": dc.Domain(["<18", "18+"]), "sex": dc.Domain(["f", "m"])}
        >>> asked = [dc.Question((n,), dc.RandomizedResponse(d.for_attribute(n), 2.0), 1 << 63)
        ...     for n, d in domains.items()]
        >>> survey = dc.Survey(domains, asked, 2.0, promise="record")
        >>> table = {"age": ["<18", "18+"] * 500, "sex": ["f"] * 1000}
        >>> answers = dc.estimate_survey(survey, survey.obfuscate(table, random=dc.SeededRandom(1)))
        >>> round(answers["sex"]["f"].frequency, 1), answers["sex"].n + answers["age"].n
        (1.0, 1000)
    """

    survey: Survey
    estimates: Mapping[str, Estimate]
    people: int | None
    derived: Callable[[tuple[str, ...]], Estimate]

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimates", MappingProxyType(dict(self.estimates)))

    def __getitem__(self, attributes: Any) -> Estimate:
        """Return the estimate of a question. Fewer attributes than the question has give the marginal.

        Args:
            attributes: names of attributes in any order, as a list or joined by commas. The values of the estimate are
                in the survey's order of attributes.

        Raises:
            KeyError: if the answers do not determine such a table.
        """
        try:
            names = self.survey.ordered(attributes)
        except ParameterError as error:
            raise KeyError(str(error)) from None
        name = question_name(names)
        if name in self.estimates:
            return self.estimates[name]
        if not any({*names} <= {*self.survey.question(each).attributes} for each in self.estimates):
            raise KeyError(
                f"the answers do not determine the table {name!r}; ask {' and '.join(names)} in one question."
            )
        return self.derived(names)

    def __contains__(self, attributes: object) -> bool:
        return attributes in [*self.estimates]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The names of the questions that nobody answered."""
        return tuple(question.name for question in self.survey.questions if question.name not in self.estimates)

    @property
    def heading(self) -> str:
        """A line with the number of people and the number of questions."""
        people = "" if self.people is None else f"{number_of(self.people, 'person', 'people')}, "
        marks = ", simulated" if any(part.simulated for part in self.estimates.values()) else ""
        return f"Answers({people}{len(self)} of {len(self.survey.questions)} questions{marks})"

    def view(self) -> ResultTable:
        """Return a table of the most frequent values of each question, with notes on the other values."""
        return replace(self._table(_SHOWN), notes=[*self.notes()])

    def notes(self) -> Iterator[str]:
        """Yield notes: the questions without reports, and the number of values that the table does not show."""
        if self.unanswered:
            yield f"No reports on {'; '.join(self.unanswered)}."
        for name, part in self.estimates.items():
            size = part.domain.size
            if size > _SHOWN:
                yield f"{name}: the {_SHOWN} most frequent of {size:,} values; to_arrow returns all"

    def table(self, level: float = DEFAULT_LEVEL, *, simultaneous: bool = False) -> ResultTable:
        """Return one table for all questions: a row for each value, with the number of people who answered.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        return self._table(None, level, simultaneous=simultaneous)

    def _table(self, largest: int | None, level: float = DEFAULT_LEVEL, *, simultaneous: bool = False) -> ResultTable:
        tables = []
        for name, part in self.estimates.items():
            few = largest is not None and largest < part.domain.size
            codes = part.chosen(largest) if largest is not None and few else np.arange(part.domain.size)
            shown = len(codes) if few else None
            columns = part.value_columns(level, simultaneous=simultaneous, shown=shown)
            heads = text_column("question", [name] * len(codes)), text_column("value", part.domain.names(codes))
            answered = ResultColumn("n", np.full(len(codes), part.n), "count")
            tables.append(ResultTable("", [*heads, answered, *(column.at(codes) for column in columns)]))
        return ResultTable.joined(self.heading, tables)
