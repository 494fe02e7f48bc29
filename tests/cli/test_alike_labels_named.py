"""Labels that read alike are named by whatever approves or signs a plan, and exact with them."""

from pathlib import Path

import pytest

from discreet.collector.documents.signing import new_key
from running import done, flat, refusal, told

GENES = 'labels = ["AA", "Aa", "aa", "krank", "Krank"]\nsensitive = ["aa", "krank", "Krank"]\nexact = true'
SENTENCES = [
    "exact: 'AA', 'Aa' and 'aa' read alike, and each counts as a value of its own. Protected: 'aa'. "
    "Not protected: 'AA' and 'Aa'.",
    "'krank' and 'Krank' read alike; all are protected, and each counts as a value of its own.",
]
ALIKE = [
    {"attribute": "", "labels": ["AA", "Aa", "aa"], "protected": [False, False, True], "differ": True},
    {"attribute": "", "labels": ["krank", "Krank"], "protected": [True, True], "differ": False},
]
SIGNED = [
    "--purpose",
    "p",
    "--contact",
    "c",
    "--answers",
    "once",
    "--collector",
    "https://collect.example.org",
    "--lifetime",
    "2",
]


def plan(folder: Path, domain: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(f'title = "t"\nepsilon = 1.0\n[domain]\n{domain}\n[mechanism]\nname = "rr"\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("verb", [["verify"], ["plan", "--users", 1000]])
def test_exact_is_named_with_its_labels(tmp_path: Path, verb: list[object]) -> None:
    path = plan(tmp_path, GENES)
    text = flat(done(verb[0], path, *verb[1:]))
    for sentence in SENTENCES:
        assert text.count(sentence) == 1
    facts = told(verb[0], path, *verb[1:])
    assert (facts["exact"], facts["alike"]) == (True, ALIKE)


def test_signing_names_them_and_refuses_what_is_not_exact(tmp_path: Path) -> None:
    new_key(tmp_path / "key.pem")
    signed = [*SIGNED, "--name", "genes", "--key", tmp_path / "key.pem", "-o", tmp_path / "c.json"]
    message = refusal("collection", "sign", plan(tmp_path, GENES.replace("\nexact = true", "")), *signed)
    assert "'aa' and 'AA' read alike" in message
    assert not (tmp_path / "c.json").exists()
    text = flat(done("collection", "sign", plan(tmp_path, GENES), *signed))
    for sentence in SENTENCES:
        assert sentence in text
    facts = told("collection", "sign", plan(tmp_path, GENES), *signed, "--force")
    assert (facts["exact"], facts["alike"]) == (True, ALIKE)
    again = [tmp_path / "c.json", "--key", tmp_path / "key.pem", "-o", tmp_path / "d.json"]
    assert told("collection", "renew", *again)["alike"] == ALIKE
    assert "alike" not in told("collection", "withdraw", *again, "--force")
