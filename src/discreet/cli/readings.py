"""Labels that read alike, and values that are taken as they read: what verbs print of them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from discreet.core.alike import AlikeLabels, alike_sentences
from discreet.core.domain import Domain
from discreet.core.reading import visible
from discreet.core.result_table import ResultTable


def read_as_table(read_as: Mapping[tuple[str, str], int]) -> list[ResultTable]:
    """Return the table of values that were taken for the label that they read like; none where there are no such."""
    cells = [[name, visible(label), f"{count:,}"] for (name, label), count in sorted(read_as.items())]
    named = any(name for name, _ in read_as)
    headings = ["attribute", "label", "values"] if named else ["label", "values"]
    rows = cells if named else [row[1:] for row in cells]
    return [ResultTable.of("Read as", headings, rows, left=len(headings) - 1)] * bool(rows)


def read_as_record(read_as: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Return the same numbers, ready for JSON; nothing where there are none."""
    rows = [{"attribute": name, "label": label, "values": count} for (name, label), count in sorted(read_as.items())]
    return {"read_as": rows} if rows else {}


def alike_in(domains: Mapping[str, Domain]) -> tuple[list[str], dict[str, Any]]:
    """Return sentences on the labels of some domains that read alike, and the same for JSON; nothing if none do.

    Args:
        domains: by the name of a question; one plan's has an empty name.
    """
    alike = list(dict.fromkeys(_named(domains.items())))
    exact = any(domain.exact for domain in domains.values())
    record = {"exact": exact, "alike": [asdict(group) for group in alike]}
    return alike_sentences(alike, exact=exact), record if alike or exact else {}


def _named(domains: Iterable[tuple[str, Domain]]) -> Iterable[AlikeLabels]:
    for name, domain in domains:
        yield from (replace(group, attribute=group.attribute or name) for group in domain.alike)
