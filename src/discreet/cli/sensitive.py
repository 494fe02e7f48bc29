"""The sensitive labels of a proposed plan: the labels that the user names, and labels that look the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.cli.output import alike_in
from discreet.core.checks import suggestion
from discreet.core.domain import Domain
from discreet.core.labels.text_forms import match_key, visible
from discreet.errors import ParameterError
from discreet.tables.spellings import SAME, Join


@dataclass(frozen=True, slots=True)
class SensitiveLabels:
    """The labels that the user marked as sensitive.

    Attributes:
        marks: the texts of the sensitive labels, by column; None if all labels are sensitive.
        join: the name of the rule by which different texts count as one label.
    """

    marks: Sequence[tuple[str, list[str]]] | None
    join: Join

    def among(self, name: str, labels: Sequence[Any]) -> list[Any] | None:
        """Return the sensitive labels of a column; None if all are sensitive. Labels that look the same are included.

        Raises:
            ParameterError: if a text is not a label.
        """
        if self.marks is None:
            return None
        named = {
            label for of, texts in self.marks if of == name for label in known_labels(name, texts, labels, self.join)
        }
        return [label for label in labels if label in named]

    def unnamed(self, name: str, labels: Sequence[Any]) -> list[Any]:
        """Return labels of a column that are sensitive only because they look like a label that the user named."""
        same = SAME[self.join]
        named = {same(text) for of, texts in self.marks or () if of == name for text in texts}
        return [label for label in (self.among(name, labels) or ()) if same(str(label)) not in named]

    def sentences_and_record(
        self, labels: Mapping[str, Sequence[Any]], domains: Mapping[str, Domain]
    ) -> tuple[list[str], dict[str, Any]]:
        """Return sentences on labels that look the same, and a dictionary for JSON.

        Args:
            labels: the labels by column.
            domains: the domain of the plan, or the domains of a survey's attributes.
        """
        stated, record = alike_in(domains)
        spread = {name: unnamed for name, values in labels.items() if (unnamed := self.unnamed(name, values))}
        sentences = [
            f"Also protected in {name}, because they read like a protected label: {', '.join(map(visible, values))}."
            for name, values in spread.items()
        ]
        if stated and self.join != "exact":
            apart = "; --exact treats them as different, and protects only --sensitive" if self.marks else ""
            stated.append(f"--merge makes one label of labels that read alike{apart}.")
        return [*sentences, *stated], record | ({"also_sensitive": spread} if spread else {})


def known_labels(name: str, texts: Sequence[str], labels: Sequence[Any], join: Join) -> list[Any]:
    """Return the labels that texts name. Labels that look the same are included, unless `join` is "exact".

    Raises:
        ParameterError: if there are no texts, or a text is not a label.
    """
    same = SAME[join]
    by_form = {same(str(label)): label for label in labels}
    unknown = [text for text in texts if same(text) not in by_form]
    if unknown or not texts:
        shown = f"{unknown[0]!r}{suggestion(unknown[0], [str(label) for label in labels])}" if unknown else "none"
        raise ParameterError("sensitive.unknown", name=name, shown=shown)
    if join == "exact":
        return [by_form[same(text)] for text in texts]
    named = {match_key(str(by_form[same(text)])) for text in texts}
    return [label for label in labels if match_key(str(label)) in named]
