"""discreet: local privacy, with estimates and exact statements of how well each person is protected."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.core.domain import Domain
    from discreet.core.guarantee import Guarantee
    from discreet.core.random import SecureRandom, SeededRandom
    from discreet.core.reports import Reports
    from discreet.core.tally import Tally
    from discreet.estimators import METHODS, estimate
    from discreet.estimators.differences import compare, homogeneity
    from discreet.estimators.regression import regress
    from discreet.estimators.tags import estimate_personalized
    from discreet.formats.plan import Plan
    from discreet.formats.reports import read_reports, write_reports
    from discreet.formats.sources import Sources
    from discreet.formats.survey import Questionnaire
    from discreet.mechanisms import (
        BlockDesign,
        Channel,
        HadamardResponse,
        LocalHashing,
        PaleyResponse,
        PerValueEncoding,
        PerValueResponse,
        PooledHashing,
        RandomizedResponse,
        SubsetSelection,
        TranslateResponse,
        UnaryEncoding,
        Windows,
    )
    from discreet.mechanisms.law import Memo
    from discreet.mechanisms.personalized import Personalized, SecretTags
    from discreet.mechanisms.survey import Question, Survey
    from discreet.planning.best import best
    from discreet.planning.central import CentralTarget
    from discreet.planning.surveys import plan_survey
    from discreet.privacy.publication import published
    from discreet.privacy.shuffling import shuffled
    from discreet.results.estimate import Estimate
    from discreet.theory.rounds import Rounds

__version__ = "0.1.0"

_HOMES = {
    "BlockDesign": "discreet.mechanisms",
    "Channel": "discreet.mechanisms",
    "Domain": "discreet.core.domain",
    "Estimate": "discreet.results.estimate",
    "Guarantee": "discreet.core.guarantee",
    "HadamardResponse": "discreet.mechanisms",
    "LocalHashing": "discreet.mechanisms",
    "METHODS": "discreet.estimators",
    "Memo": "discreet.mechanisms.law",
    "PaleyResponse": "discreet.mechanisms",
    "PerValueEncoding": "discreet.mechanisms",
    "PerValueResponse": "discreet.mechanisms",
    "PooledHashing": "discreet.mechanisms",
    "Personalized": "discreet.mechanisms.personalized",
    "Plan": "discreet.formats.plan",
    "Questionnaire": "discreet.formats.survey",
    "Question": "discreet.mechanisms.survey",
    "RandomizedResponse": "discreet.mechanisms",
    "Reports": "discreet.core.reports",
    "Rounds": "discreet.theory.rounds",
    "SecretTags": "discreet.mechanisms.personalized",
    "SecureRandom": "discreet.core.random",
    "SeededRandom": "discreet.core.random",
    "Sources": "discreet.formats.sources",
    "SubsetSelection": "discreet.mechanisms",
    "Survey": "discreet.mechanisms.survey",
    "Tally": "discreet.core.tally",
    "TranslateResponse": "discreet.mechanisms",
    "UnaryEncoding": "discreet.mechanisms",
    "Windows": "discreet.mechanisms",
    "best": "discreet.planning.best",
    "CentralTarget": "discreet.planning.central",
    "compare": "discreet.estimators.differences",
    "estimate": "discreet.estimators",
    "homogeneity": "discreet.estimators.differences",
    "estimate_personalized": "discreet.estimators.tags",
    "regress": "discreet.estimators.regression",
    "plan_survey": "discreet.planning.surveys",
    "published": "discreet.privacy.publication",
    "shuffled": "discreet.privacy.shuffling",
    "read_reports": "discreet.formats.reports",
    "write_reports": "discreet.formats.reports",
}

__all__ = [
    "METHODS",
    "BlockDesign",
    "CentralTarget",
    "Channel",
    "Domain",
    "Estimate",
    "Guarantee",
    "HadamardResponse",
    "LocalHashing",
    "Memo",
    "PaleyResponse",
    "PerValueEncoding",
    "PerValueResponse",
    "Personalized",
    "Plan",
    "PooledHashing",
    "Question",
    "Questionnaire",
    "RandomizedResponse",
    "Reports",
    "Rounds",
    "SecretTags",
    "SecureRandom",
    "SeededRandom",
    "Sources",
    "SubsetSelection",
    "Survey",
    "Tally",
    "TranslateResponse",
    "UnaryEncoding",
    "Windows",
    "best",
    "compare",
    "estimate",
    "estimate_personalized",
    "homogeneity",
    "plan_survey",
    "published",
    "read_reports",
    "regress",
    "shuffled",
    "write_reports",
]


if not TYPE_CHECKING:
    # Type checkers know the names above; this would tell them that there is any other.
    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'discreet' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
