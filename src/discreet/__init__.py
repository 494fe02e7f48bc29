"""discreet: local privacy, with estimates and exact guarantees for each person.

Names are imported from their modules when they are first used. Their types are in ``__init__.pyi``.
"""

from importlib import import_module
from typing import Any

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
    "Mechanism": "discreet.mechanisms",
    "Memo": "discreet.mechanisms.memo",
    "Personalized": "discreet.mechanisms.personalized",
    "Plan": "discreet.formats.plan",
    "ProjectiveResponse": "discreet.mechanisms",
    "Questionnaire": "discreet.surveys.documents",
    "Question": "discreet.surveys.questions",
    "RandomizedResponse": "discreet.mechanisms",
    "Reports": "discreet.core.reports",
    "Rounds": "discreet.surveys.rounds",
    "SecretTags": "discreet.mechanisms.personalized",
    "SecureRandom": "discreet.core.random",
    "SeededRandom": "discreet.core.random",
    "Sources": "discreet.formats.sources",
    "SubsetSelection": "discreet.mechanisms",
    "Survey": "discreet.surveys.survey",
    "Tally": "discreet.core.tally",
    "TranslateResponse": "discreet.mechanisms",
    "UnaryEncoding": "discreet.mechanisms",
    "Windows": "discreet.mechanisms",
    "best": "discreet.planning.compare",
    "compare": "discreet.estimators.differences",
    "estimate": "discreet.estimators",
    "estimate_groups": "discreet.estimators.groups",
    "homogeneity": "discreet.estimators.differences",
    "estimate_personalized": "discreet.estimators.tags",
    "estimate_survey": "discreet.surveys.estimating",
    "regress": "discreet.estimators.regression",
    "plan_survey": "discreet.surveys.planning",
    "published": "discreet.privacy.publication",
    "shuffled": "discreet.privacy.shuffling",
    "tally_sql": "discreet.sql.query",
    "read_reports": "discreet.formats.reports",
    "write_reports": "discreet.formats.reports",
}

__all__ = [
    "METHODS",
    "BlockDesign",
    "Channel",
    "Domain",
    "Estimate",
    "Guarantee",
    "HadamardResponse",
    "LocalHashing",
    "Mechanism",
    "Memo",
    "Personalized",
    "Plan",
    "ProjectiveResponse",
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
    "estimate_groups",
    "estimate_personalized",
    "estimate_survey",
    "homogeneity",
    "plan_survey",
    "published",
    "read_reports",
    "regress",
    "shuffled",
    "tally_sql",
    "write_reports",
]


def __getattr__(name: str) -> Any:
    if name in {"errors", "risk"}:
        return import_module(f"discreet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
