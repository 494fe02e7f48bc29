"""Risk of surveys: bounds on identification from all answers of a person, and information in values in clear.

The draw of a person's questions depends on no answer, so bounds are averages over the draws. Answers to several
questions are reports on one record with fresh noise. Their information about the user adds up at most, and their
maximal leakages multiply.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log, prod

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError
from discreet.risk.bounds.capacity import BITS
from discreet.risk.bounds.fano import ldp_success, tight_fano
from discreet.risk.bounds.identification import Bound, identification_bounds
from discreet.risk.bounds.leakage import Prior, report_leakage
from discreet.surveys.questions import Question
from discreet.surveys.survey import Survey

_OF_DRAWS = "draws of questions, weighted by their chances"


def survey_bounds(survey: Survey, users: int) -> tuple[Bound, Bound]:
    """Return upper bounds on the information about the user, in bits, and on the identification probability.

    Args:
        survey: a survey without rounds.
        users: n, the number of users; each is equally likely.

    Raises:
        ParameterError: if the survey asks in rounds.

    Example:
        >>> import discreet as dc
        >>> survey = dc.plan_survey({"age": dc.Domain(range(50)), "sex": dc.Domain(["f", "m"])}, 2.0).survey
        >>> pie, identification = survey_bounds(survey, 1000)
        >>> round(pie.value, 3), round(identification.value, 4)
        (0.623, 0.0035)
    """
    if survey.rounds is not None:
        raise ParameterError("rounds.without-bound")
    prior, pie, named = Prior.of(users), 0.0, 0.0
    alone = [identification_bounds(question.mechanism, users) for question in survey.questions]
    leaks = [report_leakage(question.mechanism, prior, 1) for question in survey.questions]
    for places, count in survey.draws:
        bits = min(sum(alone[place].pie.value for place in places), prior.entropy * BITS)
        chances = [tight_fano(bits / BITS, 1 / users), prod(leaks[place].leakage for place in places) / users]
        if all(leaks[place].local is not None for place in places):
            chances.append(ldp_success(sum(leaks[place].local or 0.0 for place in places), 1 / users))
        if len(places) == 1:
            chances.append(alone[places[0]].identification.value)
        share = count / WORD_RANGE
        pie, named = pie + share * bits, named + share * min(*chances, 1.0)
    return Bound(pie, "bits", "PIE", _OF_DRAWS), Bound(min(named, 1.0), "probability", "identification", _OF_DRAWS)


@dataclass(frozen=True, slots=True)
class ClearInformation:
    """The information about a sensitive attribute in the values in clear of one question, in bits.

    Attributes:
        attribute: the attribute's name.
        question: the question's name.
        share: the share of people who answer the question.
        entropy: the entropy of the attribute, in bits; None if it is not known.
        bits: the mutual information, in bits per person asked; None if the joint distribution is not known.
    """

    attribute: str
    question: str
    share: float
    entropy: float | None
    bits: float | None


def clear_information(
    survey: Survey, table: Callable[[tuple[str, ...]], FloatArray | None]
) -> Iterator[ClearInformation]:
    """Yield the information about each sensitive attribute in each question's values in clear.

    Args:
        survey: the survey.
        table: a function of names of attributes, in the survey's order, that returns the frequencies of their
            combinations, or None where they are not known.

    Example:
        >>> import discreet as dc
        >>> sexes, ages = dc.Domain(["f", "m"], sensitive=["f"]), dc.Domain([1, 2], sensitive=[2])
        >>> survey = dc.plan_survey({"sex": sexes, "age": ages}, 2.0).survey
        >>> information = [*clear_information(survey, lambda names: np.full(2 ** len(names), 0.5 ** len(names)))]
        >>> [(each.attribute, each.question, round(each.bits, 3)) for each in information]
        [('sex', 'sex', 0.426), ('sex', 'age', 0.0), ('age', 'sex', 0.0), ('age', 'age', 0.426)]
    """
    for attribute, domain in survey.attributes.items():
        for question in survey.questions:
            if not domain.sensitive_count or not question.mechanism.domain.clear_count:
                continue
            names = survey.ordered([*dict.fromkeys((*question.attributes, attribute))])
            frequencies, share = table(names), question.share / WORD_RANGE
            both = None if frequencies is None else _information(survey, question, attribute, names, frequencies)
            yield ClearInformation(attribute, question.name, share, *(both or (None, None)))


def _information(
    survey: Survey, question: Question, attribute: str, names: tuple[str, ...], frequencies: FloatArray
) -> tuple[float, float]:
    """Return an attribute's entropy, and the attribute's mutual information with a question's values in clear."""
    sizes = [survey.attributes[name].size for name in names]
    axes = tuple(names.index(name) for name in question.attributes)
    shape = [size if axis in axes else 1 for axis, size in enumerate(sizes)]
    in_clear = ~question.mechanism.domain.sensitive.reshape(shape)
    clear = question.mechanism.coefficients.truth * frequencies.reshape(sizes) * in_clear
    others = tuple(axis for axis, name in enumerate(names) if name != attribute)
    each = frequencies.reshape(sizes).sum(axis=others)
    # A block or noise is treated as one output, which reveals only that there was no value in clear.
    silent = each - clear.sum(axis=others)
    apart = tuple(axis for axis in range(len(names)) if axis not in axes)
    outputs = _entropy(clear.sum(axis=apart)) + _entropy(silent.sum())
    return _entropy(each), max(_entropy(each) + outputs - _entropy(clear) - _entropy(silent), 0.0)


def _entropy(chances: FloatArray) -> float:
    """Return the sum of -p log2 p, in bits. The probabilities need not sum to 1."""
    positive = chances[chances > 0]
    return float(-(positive @ np.log(positive))) / log(2)
