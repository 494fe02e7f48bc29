"""Personalized plans, files of users' secrets, and files of background knowledge."""

from pathlib import Path

import numpy as np
import pytest

from discreet import Domain, Personalized, Plan, UnaryEncoding
from discreet.errors import ParameterError
from discreet.tables.columns import read_distribution
from discreet.tables.values import read_owned
from refusals import refused

LABELS = '[domain]\nlabels = ["a", "b", "c", "d"]\nsensitive = ["a"]\n[mechanism]\nname = "unary"\ntheta = 0.4\n'
GRID = (
    "[domain]\ngrid = { lat = [0, 4], lon = [0, 6], rows = 4, cols = 6 }\nsensitive = [[0.5, 0.5]]\n"
    '[mechanism]\nname = "unary"\ntheta = 0.4\n'
)
DOMAIN = Domain(["a", "b", "c", "d"], sensitive=["a"])
MAP = Domain.grid(lat=(0, 4), lon=(0, 6), rows=4, cols=6, sensitive=[(0.5, 0.5)])


def load(folder: Path, said: str, rest: str = LABELS) -> Plan:
    path = folder / "plan.toml"
    path.write_text(f"epsilon = 1.5\n{said}\n{rest}", encoding="utf-8")
    return Plan.load(path)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ('tags = ["home", "work"]', Personalized(DOMAIN, 1.5, ["home", "work"], mechanism=UnaryEncoding, theta=0.4)),
        (
            'tags = ["home"]\nothers = false',
            Personalized(DOMAIN, 1.5, ["home"], mechanism="unary", others=False, theta=0.4),
        ),
        ("tags = []", Personalized(DOMAIN, 1.5, [], mechanism="unary", theta=0.4)),
    ],
)
def test_tags_in_a_plan(tmp_path: Path, said: str, wanted: Personalized) -> None:
    plan = load(tmp_path, said)
    found = plan.personalized()
    assert plan.is_personalized
    assert (found.fingerprint, found.tags) == (wanted.fingerprint, wanted.tags)
    assert plan.mechanism().fingerprint == plan.fingerprint == wanted.fingerprint
    assert plan.mechanism().domain == wanted.common.domain
    assert plan.domain == found.domain == DOMAIN


def test_cells_in_a_plan(tmp_path: Path) -> None:
    found = load(tmp_path, "cells = { rows = 2, cols = 3 }", GRID).personalized()
    wanted = Personalized.cells(MAP, 1.5, rows=2, cols=3, mechanism="unary", theta=0.4)
    assert (found.fingerprint, found.tags) == (wanted.fingerprint, wanted.tags)
    np.testing.assert_array_equal(found.cell_of, wanted.cell_of)


def test_a_plan_without_either(tmp_path: Path) -> None:
    plan = load(tmp_path, "")
    assert not plan.is_personalized
    assert plan.fingerprint == UnaryEncoding(DOMAIN, 1.5, theta=0.4).fingerprint
    assert "tags" in refused(ParameterError, plan.personalized)


@pytest.mark.parametrize(
    ("said", "rest"),
    [
        ('tags = ["home", "home"]', LABELS),
        ('tags = [""]', LABELS),
        ("tags = []\nothers = false", LABELS),
        ("others = false", LABELS),
        ("cells = { rows = 2, cols = 3 }", LABELS),
        ("cells = { rows = 2, cols = 7 }", GRID),
        ("cells = { rows = 2, cols = 3 }\nothers = false", GRID),
        ('cells = { rows = 2, cols = 3 }\ntags = ["home"]', GRID),
        ('tags = ["home"]', LABELS.replace('sensitive = ["a"]\n', "")),
    ],
)
def test_what_is_no_personalized_plan(tmp_path: Path, said: str, rest: str) -> None:
    plan = load(tmp_path, said, rest)
    refused(ParameterError, plan.mechanism)


# Files of secrets and of background knowledge


def test_secrets_and_background_knowledge_are_labels_or_places(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("who,tag,where\n7,home,b\n7,work,c\n9,home,d\n")
    columns = read_owned(path, DOMAIN, "who", tag="tag")
    assert [column.to_pylist() for column in columns] == [["b", "c", "d"], ["7", "7", "9"], ["home", "work", "home"]]
    assert read_owned(path, DOMAIN, "who", "where")[2] is None
    path.write_text("who,lat,lon\nx,0.5,2.5\ny,1.5,3.5\n")
    assert MAP.encode(read_owned(path, MAP, "who")[0]).tolist() == [2, 9]
    path.write_text("label,probability\nd,0.25\nb,0.75\n")
    assert read_distribution(path, DOMAIN).tolist() == [0, 0.75, 0, 0.25]
    path.write_text("lat,lon,probability\n0.5,2.5,0.5\n3.5,5.5,0.5\n")
    assert np.flatnonzero(read_distribution(path, MAP)).tolist() == [2, 23]
