"""Every way to say what is sensitive says the same."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discreet import Domain

AGES, SEXES, ROOMS = ["young", "old", "ancient"], [0, 1], ["kitchen", "attic"]
PARTS = {"age": AGES, "sex": SEXES, "room": ROOMS}


@given(mask=st.lists(st.booleans(), min_size=1, max_size=12).filter(any), text=st.booleans())
def test_labels_masks_and_predicates_agree(mask: list[bool], text: bool) -> None:
    labels = [f"v{place}" if text else place * place - 3 for place in range(len(mask))]
    chosen = [label for label, wanted in zip(labels, mask, strict=True) if wanted]
    ways = [
        chosen,
        tuple(reversed(chosen)),
        set(chosen),
        frozenset(chosen),
        np.array(chosen),
        pd.Series(chosen),
        pl.Series(chosen),
        pa.array(chosen),
        mask,
        tuple(mask),
        np.array(mask),
        pd.Series(mask),
        pl.Series(mask),
        lambda label: label in chosen,
    ]
    domains = [Domain(labels, sensitive=way) for way in ways]
    for domain in domains:
        assert domain.sensitive.tolist() == mask
        assert domain.sensitive_codes.tolist() == [place for place, wanted in enumerate(mask) if wanted]
        assert domain.clear_codes.tolist() == [place for place, wanted in enumerate(mask) if not wanted]
        assert (domain.sensitive_count, domain.clear_count) == (sum(mask), len(mask) - sum(mask))
        assert domain == domains[0]
        assert hash(domain) == hash(domains[0])
    assert (Domain(labels) == domains[0]) == all(mask)


@given(mask=st.lists(st.booleans(), min_size=1, max_size=30).filter(any))
def test_slots_rank_both_classes(mask: list[bool]) -> None:
    domain = Domain(range(len(mask)), sensitive=mask)
    if all(mask):
        assert domain.signed_ranks is None
        return
    for code, wanted in enumerate(mask):
        rank = sum(other == wanted for other in mask[:code])
        assert domain.signed_ranks[code] == (rank if wanted else ~rank)


patterns = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "age": st.lists(st.sampled_from(AGES), min_size=1, max_size=3, unique=True),
            "sex": st.sampled_from(SEXES) | st.lists(st.sampled_from(SEXES), min_size=1, max_size=2, unique=True),
            "room": st.sampled_from(ROOMS),
        },
    ).filter(bool),
    min_size=1,
    max_size=4,
)


@given(wanted=patterns)
def test_patterns_predicates_and_labels_agree_on_products(wanted: list[dict]) -> None:
    def fits(row: tuple, pattern: dict) -> bool:
        named = dict(zip(PARTS, row, strict=True))
        return all(named[k] in v if isinstance(v, list) else named[k] == v for k, v in pattern.items())

    rows = list(product(*PARTS.values()))
    chosen = [row for row in rows if any(fits(row, pattern) for pattern in wanted)]
    mask = [row in chosen for row in rows]
    ways = [wanted, tuple(wanted), chosen, mask, lambda v: tuple(v.values()) in chosen]
    ways += [wanted[0]] if len(wanted) == 1 else []
    for way in ways:
        assert Domain.product(PARTS, sensitive=way).sensitive.tolist() == mask


def test_points_of_a_map_stand_for_their_regions() -> None:
    domain = Domain.grid(lat=(0, 2), lon=(0, 3), rows=2, cols=3, sensitive=[(0.1, 2.9), (1.5, 0.5), (1.9, 0.1)])
    assert domain.sensitive_codes.tolist() == [2, 3]
    same = Domain.grid(
        lat=(0, 2), lon=(0, 3), rows=2, cols=3, sensitive=lambda cell: cell["row"] == 1 - (cell["col"] > 1)
    )
    assert same.sensitive_codes.tolist() == [2, 3, 4]
