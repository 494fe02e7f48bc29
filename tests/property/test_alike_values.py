"""Whatever is written: a value that reads like a sensitive label is encoded as a sensitive one, or refused."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Domain
from discreet.core.labels.text_forms import composed, match_key
from discreet.errors import DataError, ParameterError

LETTERS = (
    "aA\u00e1\u00c1\u0301\u00dfsS\u017fkK\u212ai\u0130\u0131\u03c3\u03c2\u03a3"
    " \u00a0\u200b\ufeff-\u2013'\u20191\uff11\u00b2"
)
words = st.text(st.sampled_from(LETTERS), max_size=4)
labels = st.lists(words, min_size=2, max_size=6)


def domain_of(texts: list[str], sensitive: list[str], *, exact: bool) -> Domain | None:
    try:
        return Domain(texts, sensitive=sensitive, allow_unprotected=True, exact=exact)
    except ParameterError:
        return None


@settings(max_examples=200)
@given(labels, st.data())
def test_values_that_read_like_a_sensitive_label_are_never_in_clear(texts: list[str], data: st.DataObject) -> None:
    sensitive = data.draw(st.lists(st.sampled_from(texts), unique_by=composed))
    domain = domain_of(texts, sensitive, exact=False)
    distinct = len({composed(text) for text in texts}) == len(texts)
    protected = {match_key(text) for text in sensitive}
    clear = {match_key(text) for text in texts if composed(text) not in set(map(composed, sensitive))}
    # Refused exactly where a reading is both.
    assert (domain is None) == (not distinct or bool(protected & clear))
    if domain is None:
        return
    values = [*texts, *data.draw(st.lists(words, max_size=6))]
    for value, as_read in product(values, (False, True)):
        try:
            (code,) = domain.encode([value], as_read=as_read)
        except DataError:
            assert composed(value) not in set(map(composed, texts))
            continue
        label = domain.names()[code]
        assert match_key(label) == match_key(value)
        assert as_read or label == composed(value)
        assert domain.sensitive[code] == (match_key(value) in protected)


@settings(max_examples=100)
@given(labels, st.data())
def test_what_is_named_sensitive_is_protected_in_exact_domains_too(texts: list[str], data: st.DataObject) -> None:
    texts = list({composed(text): text for text in texts}.values())
    sensitive = data.draw(st.lists(st.sampled_from(texts), unique=True))
    domain = domain_of(texts, sensitive, exact=True)
    assert domain is not None
    assert domain.sensitive.tolist() == [text in sensitive for text in texts]
    assert domain.encode(texts).tolist() == list(range(len(texts)))
    if not any(group.differ for group in domain.alike):
        other = domain_of(texts, sensitive, exact=False)
        assert other == domain
        assert other is not None
        assert other.alike == domain.alike


@settings(max_examples=100)
@given(st.lists(words, min_size=2, max_size=3, unique_by=composed), st.data())
def test_combinations_that_are_alike_are_protected_alike(texts: list[str], data: st.DataObject) -> None:
    attributes = {"x": texts, "n": [1, 2], "y": ["a", "A", "b"]}
    every = list(product(*attributes.values()))
    mask = data.draw(st.lists(st.booleans(), min_size=len(every), max_size=len(every)))
    read = [(match_key(x), n, match_key(y)) for x, n, y in every]
    differ = len(set(zip(read, mask, strict=True))) > len(set(read))
    try:
        domain = Domain.product(attributes, sensitive=mask, allow_unprotected=True)
    except ParameterError:
        assert differ
        domain = Domain.product(attributes, sensitive=mask, allow_unprotected=True, exact=True)
    else:
        assert not differ
    assert any(group.differ for group in domain.alike) == differ
    assert domain.encode(every).tolist() == list(range(len(every)))
