"""Texts of a collection in several languages: title, purpose, question, and words for the labels of its plan.

They are part of the signed document, but not of the plan. So the fingerprint, the codes and the reports are the same
for every language.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.device.protocol.envelope import FieldError, PlanError
from discreet.device.protocol.shapes import fits

BASE = "en"
"""The language of a document without a field language."""
TAG = re.compile(r"[a-z]{2,3}")
"""Names of languages, as in BCP 47, without script and region."""
TEXT = re.compile(r".*\S.*", re.DOTALL)
"""Texts that are not empty."""
_TEXTS = {"title": TEXT, "purpose": TEXT, "question?": TEXT, "labels": dict}


@dataclass(frozen=True)
class SurveyTexts:
    """The texts of a collection that people read, in one language.

    Attributes:
        language: the language of the texts.
        title: the title of the survey.
        purpose: the purpose of the survey.
        question: the question; the title if a collection has no question.
        labels: words for labels, attributes and tags of the plan; a label without a word is shown itself.
    """

    language: str
    title: str
    purpose: str
    question: str
    labels: Mapping[str, str] = field(default_factory=dict)


def checked_languages(name: str, content: Any) -> Mapping[str, Mapping[str, Any]]:
    """Check the form of the field ``languages``, and return it.

    Raises:
        FieldError: if the field is malformed.
    """
    if type(content) is not dict or not content or not all(map(_are_texts, content.items())):
        raise FieldError("languages.wrong-form", name=name)
    return content


def _are_texts(of_language: tuple[str, Any]) -> bool:
    tag, texts = of_language
    return bool(TAG.fullmatch(tag)) and fits(texts, _TEXTS) and fits([*texts["labels"].values()], [TEXT])


def check_language_fields(content: Mapping[str, Any]) -> None:
    """Check that no language is the document's own, and that all have a question if the document has one.

    Args:
        content: checked fields of a document.

    Raises:
        FieldError: if a language fails this check.
    """
    languages = content.get("languages", {})
    if content.get("language", BASE) in languages:
        raise FieldError("languages.own-language")
    if any(("question" in texts) != ("question" in content) for texts in languages.values()):
        raise FieldError("languages.unequal-questions")


def check_labels(languages: Mapping[str, Mapping[str, Any]], lists: Sequence[Sequence[Any]]) -> None:
    """Check that each language has a word for each label, and different words for different labels.

    Args:
        languages: the field of languages, checked by itself.
        lists: labels between which people choose, see `label_lists`.

    Raises:
        PlanError: if a word is missing, unknown, or the same for two labels.
    """
    known = {label for labels in lists for label in labels if isinstance(label, str)}
    for language, texts in languages.items():
        words = texts["labels"]
        if words.keys() != known:
            raise PlanError(
                "languages.wrong-labels",
                missing=len(known - words.keys()),
                unknown=len(words.keys() - known),
                language=language,
            )
        if any(len({words.get(label, label) for label in labels}) < len(labels) for labels in lists):
            raise PlanError("languages.equal-words", language=language)


def label_lists(plan: Mapping[str, Any], tags: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield lists of labels from which people choose: values, attributes, each attribute's labels, and tags.

    Args:
        plan: the plan as JSON, with a checked domain.
        tags: the tags that people give to their secret values.
    """
    yield tags
    domain = plan["domain"]
    if domain.get("labels") is not None:
        yield domain["labels"]
    if domain.get("product") is not None:
        yield [name for name, _ in domain["product"]]
        yield from (labels for _, labels in domain["product"])
