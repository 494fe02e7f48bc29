"""Texts of a collection in several languages: what people read of it, and the words for the labels of its plan.

They are part of the signed document, and no part of the plan: its fingerprint, its codes and its reports stay as they
are, whatever language a person reads.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.device.protocol.envelope import FieldError, PlanError
from discreet.device.protocol.shapes import fits

BASE = "en"
"""The language of a document that names none."""
TAG = re.compile(r"[a-z]{2,3}")
"""Names of languages, as in BCP 47, without script and region."""
TEXT = re.compile(r".*\S.*", re.DOTALL)
"""Texts that are not empty."""
_TEXTS = {"title": TEXT, "purpose": TEXT, "question?": TEXT, "labels": dict}


@dataclass(frozen=True)
class SurveyTexts:
    """The texts of a collection that people read, in one language.

    Attributes:
        language: of the texts.
        title: of the survey.
        purpose: what it is for.
        question: that is asked; the title where a collection has none.
        labels: words for labels, attributes and tags of the plan; what has none is its own word.
    """

    language: str
    title: str
    purpose: str
    question: str
    labels: Mapping[str, str] = field(default_factory=dict)


def checked_languages(name: str, content: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the field of languages as it is, if it is well-formed by itself.

    Raises:
        FieldError: if it is not.
    """
    if type(content) is not dict or not content or not all(map(_are_texts, content.items())):
        raise FieldError("languages.wrong-form", name=name)
    return content


def _are_texts(of_language: tuple[str, Any]) -> bool:
    tag, texts = of_language
    return bool(TAG.fullmatch(tag)) and fits(texts, _TEXTS) and fits([*texts["labels"].values()], [TEXT])


def check_together(content: Mapping[str, Any]) -> None:
    """Refuse languages of which one is that of the document itself, or has a question where the document has none.

    Args:
        content: checked fields of a document.

    Raises:
        FieldError: if one is so.
    """
    languages = content.get("languages", {})
    if content.get("language", BASE) in languages:
        raise FieldError("languages.own-language")
    if any(("question" in texts) != ("question" in content) for texts in languages.values()):
        raise FieldError("languages.unequal-questions")


def check_labels(languages: Mapping[str, Mapping[str, Any]], lists: Sequence[Sequence[Any]]) -> None:
    """Refuse languages that lack a word for a label, have one for an unknown one, or the same for two.

    Args:
        languages: checked by themselves.
        lists: labels between which people choose, see `label_lists`.

    Raises:
        PlanError: if one does.
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
    """Yield the lists of labels between which people choose: of values, attributes, each attribute, and tags.

    Args:
        plan: as JSON, with a domain that was checked.
        tags: that people give to their secret values.
    """
    yield tags
    domain = plan["domain"]
    if domain.get("labels") is not None:
        yield domain["labels"]
    if domain.get("product") is not None:
        yield [name for name, _ in domain["product"]]
        yield from (labels for _, labels in domain["product"])
