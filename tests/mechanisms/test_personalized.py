"""The personalized mechanism: every user's own secret values are as protected as those sensitive for everybody."""

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Domain, Personalized, RandomizedResponse, SecretTags, SeededRandom, UnaryEncoding, estimate
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.personalized import SimulatedTags, candidates_left, common_of
from discreet.privacy.verify import matrix_epsilon, verify
from laws import BUILDERS, WINDOWS
from packing import each
from refusals import refused

DOMAIN = Domain(["clinic", "park", "street", "tower", "harbour"], sensitive=["clinic"])
TAGS = ["home", "work"]
# Placeholders have no place among values in order.
SPELLED = sorted(set(BUILDERS) - {"unary-clear-bits"} - WINDOWS)
MAP = Domain.grid(lat=(0, 5), lon=(0, 7), rows=5, cols=7, sensitive=[(0.5, 0.5), (4.5, 6.5), (0.5, 1.5)])


def replaced(personalized: Personalized, secret: dict[str, list[str]]) -> Any:
    """f_i, by its definition."""
    codes = np.arange(personalized.domain.size)
    for tag, labels in secret.items():
        for code in personalized.domain.encode(labels):
            if not personalized.domain.sensitive[code]:
                codes[code] = personalized.domain.size + personalized.tags.index(tag)
    return codes


def same(one: Any, other: Any) -> bool:
    columns = all((one.blocks[name] == other.blocks[name]).all() for name in one.blocks)
    masks = (one.in_clear is None and other.in_clear is None) or (one.in_clear == other.in_clear).all()
    return bool(columns and masks and one.clear.tolist() == other.clear.tolist())


# What it is


def test_the_common_mechanism_is_over_values_and_bots() -> None:
    personalized = Personalized(DOMAIN, 1.0, TAGS)
    domain = personalized.common.domain
    assert domain.names() == ["clinic", "park", "street", "tower", "harbour", "⊥home", "⊥work", "⊥others"]
    assert domain.sensitive.tolist() == [True, False, False, False, False, True, True, True]
    assert personalized.tags == ("home", "work", "others")
    assert personalized.domain is DOMAIN
    assert type(personalized.common) is UnaryEncoding
    assert personalized.fingerprint == personalized.common.fingerprint
    assert "tags home, work, others" in repr(personalized)


@pytest.mark.parametrize(
    "mechanism", ["rr", RandomizedResponse, partial(BUILDERS["rr"])], ids=["name", "class", "function"]
)
def test_any_block_mechanism_will_do(mechanism: Any) -> None:
    wanted = RandomizedResponse(DOMAIN.with_placeholders(["home", "work", "others"]), 1.5).fingerprint
    assert Personalized(DOMAIN, 1.5, TAGS, mechanism=mechanism).fingerprint == wanted
    assert Personalized(DOMAIN, 1.5, [*TAGS, "others"], mechanism=mechanism).fingerprint == wanted
    assert Personalized(DOMAIN, 1.5, TAGS, mechanism=mechanism, others=False).fingerprint != wanted


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda: Personalized(DOMAIN, 1.0, "home"), "tags"),
        (lambda: Personalized(DOMAIN, 1.0, ["home", "home"]), "tags.not-different"),
        (lambda: Personalized(DOMAIN, 1.0, ["home", 3]), "tags"),
        (lambda: Personalized(DOMAIN, 1.0, [""]), "tags"),
        (lambda: Personalized(DOMAIN, 1.0, [], others=False), "tags.not-different"),
        (lambda: Personalized(DOMAIN, 1.0, TAGS, mechanism="magic"), "mechanism.not-among"),
        (lambda: Personalized(DOMAIN, -1.0, TAGS), "epsilon"),
        (lambda: Personalized(Domain(["a", "b"]), 1.0, TAGS), "personalized.all-sensitive"),
        (lambda: Personalized(["a", "b"], 1.0, TAGS), "domain"),
        (lambda: DOMAIN.with_placeholders(TAGS).with_placeholders(TAGS), "placeholders.repeated"),
        (lambda: DOMAIN.with_placeholders("home"), "tags"),
        (lambda: Personalized.cells(DOMAIN, 1.0, rows=1, cols=1), "grid"),
        (lambda: Personalized.cells(MAP, 1.0, rows=6, cols=1), "rows.not-integer"),
        (lambda: Personalized.cells(MAP, 1.0, rows=1, cols=0), "cols.not-integer"),
        (lambda: Personalized.cells(MAP, 1.0, rows=True, cols=1), "rows"),
    ],
)
def test_what_is_no_personalized_mechanism(attempt: Any, said: str) -> None:
    assert said in refused(ParameterError, attempt)


# What it protects


@each("epsilon", [0.5, 2.0])
@each("builder", SPELLED)
def test_own_secrets_are_protected_at_epsilon(builder: str, epsilon: float) -> None:
    """Q^(i) = Q_cmn after f_i, spelled out, is (X_S + X_S^(i), epsilon)-ULDP, with equality."""
    personalized = Personalized(DOMAIN, epsilon, TAGS, mechanism=BUILDERS[builder])
    matrix = personalized.common.channel().matrix
    for secret in ({}, {"home": ["park"]}, {"home": ["park", "tower"], "work": ["street"]}, {"others": ["harbour"]}):
        own = DOMAIN.sensitive.copy()
        own[DOMAIN.encode([label for labels in secret.values() for label in labels])] = True
        found = matrix_epsilon(matrix[replaced(personalized, secret)], own)
        assert found <= epsilon + 1e-9
        assert found == pytest.approx(personalized.guarantee.realised, abs=1e-9)


def test_guarantee_is_the_common_one_restated() -> None:
    personalized = Personalized(DOMAIN, 1.0, TAGS)
    found, common = personalized.guarantee, personalized.common.guarantee
    assert (found.promised, found.realised, found.tags) == (common.promised, common.realised, 3)
    assert (found.sensitive_count, found.size) == (1, 5)
    assert "every user's own secret values" in str(found)
    assert verify(personalized.common).realised == pytest.approx(found.realised, rel=1e-12)


# What devices do

SECRETS = st.lists(st.sampled_from(["home", "work", "others", None]), min_size=5, max_size=5)


@given(SECRETS, st.integers(0, 1000))
def test_devices_replace_what_is_secret_and_nothing_else(tags: list[str | None], seed: int) -> None:
    personalized = Personalized(DOMAIN, 1.0, TAGS, mechanism="rr")
    labels = np.array(DOMAIN.names())
    tagged = {tag: [labels[c] for c in range(1, 5) if tags[c] == tag] for tag in personalized.tags}
    secret, codes = SecretTags(personalized, tagged), np.random.default_rng(seed).integers(0, 5, 40)
    wanted = personalized.common.obfuscate_codes(replaced(personalized, tagged)[codes], random=SeededRandom(seed))
    assert same(personalized.obfuscate_codes(codes, secret, random=SeededRandom(seed)), wanted)
    assert same(personalized.obfuscate(labels[codes].tolist(), secret, random=SeededRandom(seed)), wanted)
    assert not {c for c in range(5) if tags[c]} - {0} & set(wanted.clear.tolist())


def test_what_is_sensitive_for_everybody_stays_itself() -> None:
    personalized = Personalized(DOMAIN, 1.0, TAGS)
    secret = SecretTags(personalized, {"home": ["clinic", "park"]}, keep_sensitive=True)
    codes = np.repeat(np.arange(5), 20)
    wanted = personalized.common.obfuscate_codes(np.where(codes == 1, 5, codes), random=SeededRandom(1))
    assert same(personalized.obfuscate_codes(codes, secret, random=SeededRandom(1)), wanted)


def test_randomness_is_secure_by_default() -> None:
    personalized = Personalized(DOMAIN, 1.0, TAGS)
    secret = SecretTags(personalized, {})
    assert not personalized.obfuscate(["park"], secret).simulated
    assert personalized.obfuscate(["park"], secret, random=SeededRandom(1)).simulated


# Simulation: many users


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(0, 2)), max_size=30),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), max_size=40),
    st.sampled_from([int, "user {}".format]),
)
def test_many_users_are_as_many_devices(rows: Any, values: Any, spell: Any) -> None:
    personalized = Personalized(DOMAIN, 1.0, TAGS, mechanism="rr")
    secrets = {(user, code): tag for user, code, tag in rows}
    tags = SimulatedTags(
        personalized,
        [spell(user) for user, _ in secrets],
        np.array([code for _, code in secrets], dtype=np.int64),
        [personalized.tags[tag] for tag in secrets.values()],
    )
    wanted = [5 + secrets[user, code] if (user, code) in secrets else code for user, code in values]
    codes = np.array([code for _, code in values], dtype=np.int64)
    users = [spell(user) for user, _ in values]
    assert tags.replaced(personalized, codes, users).tolist() == wanted
    reports = personalized.common.obfuscate_codes(tags.replaced(personalized, codes, users), random=SeededRandom(3))
    assert same(reports, personalized.common.obfuscate_codes(np.array(wanted, dtype=np.int64), random=SeededRandom(3)))


def test_a_user_who_is_missing_is_not_one_without_secrets() -> None:
    personalized = Personalized(DOMAIN, 1.0, TAGS)
    tags = SimulatedTags(personalized, ["ann", "bob"], [1, 2], ["home", "work"])
    refused(DataError, lambda: tags.replaced(personalized, [1, 2], ["ann", None]), "ann", "bob")
    refused(DataError, lambda: tags.replaced(personalized, [1, 2], [1, 2]))
    refused(DataError, lambda: tags.replaced(personalized, [1, 2, 3], ["ann", "bob"]), "ann", "bob")
    assert "ann" not in repr(tags)


# Cells


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 3), (3, 4), (5, 7)])
def test_cells_by_their_definition(rows: int, cols: int) -> None:
    personalized = Personalized.cells(MAP, 1.0, rows=rows, cols=cols, mechanism="rr")
    cells: dict[tuple[int, int], list[int]] = {}
    for code in range(35):
        if not MAP.sensitive[code]:
            cells.setdefault((code // 7 * rows // 5, code % 7 * cols // 7), []).append(code)
    assert [behind.tolist() for behind in personalized.hidden_values] == [cells[key] for key in sorted(cells)]
    for rank, (name, behind) in enumerate(zip(personalized.tags, personalized.hidden_values, strict=True)):
        assert (personalized.cell_of[behind] == rank).all()
        row, col = (list(map(int, part.split()[1].split("-"))) for part in name.split(", "))
        assert all(row[0] <= c // 7 <= row[-1] and col[0] <= c % 7 <= col[-1] for c in behind)
    assert (personalized.cell_of[MAP.sensitive] == -1).all()


def test_secret_places_become_the_bots_of_their_cells() -> None:
    personalized = Personalized.cells(MAP, 1.0, rows=2, cols=3, mechanism="rr")
    places = [(1.5, 3.5), (4.5, 0.5)]
    codes = np.repeat(np.arange(35), 5)
    f = np.arange(35)
    for code in MAP.encode(places):
        f[code] = 35 + personalized.cell_of[code]
    wanted = personalized.common.obfuscate_codes(f[codes], random=SeededRandom(2))
    assert same(personalized.obfuscate_codes(codes, SecretTags(personalized, places), random=SeededRandom(2)), wanted)
    tags = SimulatedTags(personalized, ["me", "me"], MAP.encode(places))
    assert tags.replaced(personalized, codes, ["me"] * len(codes)).tolist() == f[codes].tolist()
    assert "6 cells" in repr(personalized)


# What is left


def test_what_is_not_said_without_the_bots_is_refused() -> None:
    """Reports are those of the common mechanism, whose values are others; and a device needs its user's tags."""
    personalized = Personalized(DOMAIN, 1.0, TAGS)
    reports = personalized.common.obfuscate_codes([0, 1, 5], random=SeededRandom(1))
    assert common_of(personalized) is personalized.common is common_of(personalized.common)
    assert "mechanism.wrong-type" in refused(ParameterError, partial(estimate, personalized, reports))
    with pytest.raises(AttributeError, match="its `common` mechanism"):
        personalized.tally(reports)
    assert "secret.wrong-type" in refused(ParameterError, lambda: personalized.obfuscate(["park"]))


@pytest.mark.parametrize("seen", list(combinations([2, 3, 4], 2)))
def test_candidates_left_by_counting_what_could_be(seen: tuple[int, ...]) -> None:
    """Places that could have stayed behind: those whose owner cannot have sent one of these in clear."""
    matrix = Personalized(DOMAIN, 1.0, TAGS, others=False).common.channel().matrix
    possible = 0
    for place in range(5):
        f = np.arange(5)
        f[place] = place if DOMAIN.sensitive[place] else 5
        told = matrix[f][:, -DOMAIN.clear_count :]
        possible += all(told[code, DOMAIN.clear_codes.tolist().index(code)] > 0 for code in seen)
    assert possible == candidates_left(DOMAIN, len(seen))
