"""Studies of surveys: for each question, a study of the people who are drawn to answer it."""

from collections.abc import Iterator, Mapping

import numpy as np

from discreet.arrays import IntArray
from discreet.core.random import RandomSource, checked_source, fresh_words
from discreet.simulation.study import CountsSpec, RunSpec, Study, StudyDocument
from discreet.surveys.documents import Questionnaire


def survey_studies(
    questionnaire: Questionnaire, codes: Mapping[str, IntArray], random: RandomSource | None = None
) -> Iterator[tuple[str, Study, IntArray]]:
    """Yield for each question the name, the study, and the codes of the people who are drawn to answer it.

    Args:
        questionnaire: the survey.
        codes: ``(n,)`` codes of all people's values by attribute.
        random: the source of random words for the draw; None for secure randomness.
    """
    survey, source = questionnaire.survey(), checked_source(random)
    everybody = np.arange(len(next(iter(codes.values()))))
    drawn = survey.draw_questions(fresh_words(source, len(everybody)))
    for place, question in enumerate(survey.questions):
        plan = questionnaire.plan(question.name).document
        document = StudyDocument(plan.epsilon, CountsSpec(""), [RunSpec(plan.mechanism)], title=plan.title)
        domain, cells = question.mechanism.domain, survey.cells(question, codes, everybody)
        counts = np.bincount(cells, minlength=domain.size)
        yield question.name, Study(document, domain, counts), cells[(drawn == place).any(axis=1)]
