"""Words of plans: labels and names in normal form C, and labels that read alike."""

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet import Domain, Plan, Questionnaire
from discreet.collector.documents.signing import plan_of as plan_in
from discreet.collector.documents.signing import sign, spelled_out
from discreet.device.protocol.collection import open_envelope
from discreet.errors import ParameterError
from discreet.formats.plan import write_plan
from refusals import refused
from signed import PLAIN, TRUST, key, plan_of, terms

COMPOSED, APART = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"
HEAD = 'epsilon = 1.0\nmechanism = { name = "rr" }\n'
STATES = 'labels = ["gesund", "krank", "Krank"]\nsensitive = ["krank"]\n'
GENES = {"labels": ["AA", "Aa", "aa"], "sensitive": ["aa"]}


def written(folder: Path, text: str, name: str = "plan.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "domain",
    [
        'labels = ["{0}", "b"]\nsensitive = ["{0}"]\nattribute = "{0}"',
        'labels = ["b", "{0}"]\nsensitive = [false, true]\nmissing = "{0}"',
        'product = {{ "{0}" = ["{0}", "b"], n = [1, 2] }}\nsensitive = [{{ "{0}" = ["{0}"], n = 1 }}]\n'
        'missing = {{ "{0}" = "{0}" }}',
        'product = {{ "{0}" = ["19 and below", "20 and above"], n = [1, 2] }}\ncuts = {{ "{0}" = [20] }}',
    ],
)
def test_a_plan_is_brought_to_normal_form_c(tmp_path: Path, domain: str) -> None:
    tags = 'tags = ["{0}"]\n' if 'sensitive = ["' in domain else ""
    plans = [
        Plan.load(written(tmp_path, tags.format(word) + HEAD + "[domain]\n" + domain.format(word)))
        for word in (COMPOSED, APART, "Gro\\u0308\\u00DFe")
    ]
    assert len({plan.fingerprint for plan in plans}) == 1
    for plan in plans:
        assert plan.document == plans[0].document
        assert COMPOSED in json.dumps(spelled_out(plan), ensure_ascii=False)
        assert APART not in json.dumps(spelled_out(plan), ensure_ascii=False)


def test_two_names_that_are_one_in_normal_form_are_refused(tmp_path: Path) -> None:
    product = f'product = {{ "{COMPOSED}" = [1], "{APART}" = [2] }}'
    assert "accents" in refused(ParameterError, lambda: Plan.load(written(tmp_path, f"{HEAD}[domain]\n{product}")))
    labels = f'labels = ["{COMPOSED}", "{APART}"]'
    plan = Plan.load(written(tmp_path, f"{HEAD}[domain]\n{labels}"))
    assert "labels.repeated" in refused(ParameterError, lambda: plan.domain)
    attributes = "".join(f'[attributes."{name}"]\nlabels = [1, 2]\n' for name in (COMPOSED, APART))
    survey = f'version = 2\nepsilon = 1.0\npromise = "record"\n{attributes}'
    assert "accents" in refused(ParameterError, lambda: Questionnaire.load(written(tmp_path, survey)))
    domains = {COMPOSED: Domain([1, 2]), APART: Domain([1, 2])}
    assert "accents" in refused(ParameterError, lambda: dc.plan_survey(domains, 1.0))


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_plan_with_alike_labels_is_refused_unless_it_is_exact(tmp_path: Path, suffix: str) -> None:
    plan = Plan.load(written(tmp_path, f"{HEAD}[domain]\n{STATES}"))
    assert "'krank' and 'Krank' read alike" in refused(ParameterError, lambda: plan.domain)
    exact = Plan.load(written(tmp_path, f"{HEAD}[domain]\n{STATES}exact = true\n"))
    assert exact.domain.exact
    assert exact.domain.sensitive_count == 1
    again = exact.save(tmp_path / f"again.{suffix}")
    assert (again.domain.exact, again.fingerprint) == (True, exact.fingerprint)
    assert Plan.of(exact.mechanism()).save(tmp_path / f"of.{suffix}").domain.exact
    assert write_plan(tmp_path / f"best.{suffix}", tmp_path / "plan.toml", exact.mechanism()).domain.exact
    plain = Plan.load(written(tmp_path, f'{HEAD}[domain]\nlabels = ["ja", "nein"]\nexact = false\n'))
    plain.save(tmp_path / f"plain.{suffix}")
    assert "exact" not in (tmp_path / f"plain.{suffix}").read_text(encoding="utf-8")


def test_a_collection_says_exact_where_the_plan_does() -> None:
    exact = plan_of({**PLAIN, "domain": {**GENES, "exact": True}})
    collection = open_envelope(sign(exact, terms(), [key()]), TRUST)
    assert collection.plan["domain"]["exact"] is True
    assert plan_in(collection).domain.exact
    assert collection.fingerprint == exact.fingerprint
    plain = open_envelope(sign(plan_of(PLAIN), terms(), [key()]), TRUST)
    assert "exact" not in plain.plan["domain"]
    assert "'aa' and 'AA' read alike" in refused(
        ParameterError, lambda: sign(plan_of({**PLAIN, "domain": GENES}), terms(), [key()])
    )
