"""Archives are whole: the sdist has all files of the repository, and the wheel runs without the repository."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from signed import START, TRUST, envelope

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "discreet"
pytestmark = pytest.mark.slow


def run(*command: object, folder: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "DISCREET_DATA"}}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=kept | {"PYTHONPATH": ""} | variables,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.args}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of this tree."""
    folder = tmp_path_factory.mktemp("archive")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, folder=ROOT)
    (made,) = folder.glob("*.tar.gz")
    return made


@pytest.fixture(scope="module")
def unpacked(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked somewhere else; tests that run there leave compiled kernels."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the sdist."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=unpacked)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package from its wheel, and nothing of the repository."""
    place = tmp_path_factory.mktemp("site")
    install = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--target", place, wheel)
    run(sys.executable, *install, folder=place)
    return place


def test_the_sdist_has_every_file_of_the_repository(archive: Path) -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is not a clone")
    tracked = run("git", "ls-files", "-z", "--cached", folder=ROOT).split("\0")[:-1]
    expected = {name for name in tracked if not (ROOT / name).is_symlink() and (ROOT / name).exists()}
    assert len(expected) > 300
    with tarfile.open(archive) as file:
        there = {member.name.partition("/")[2] for member in file.getmembers() if member.isfile()}
    assert expected - there == set()
    # Besides, what installers read, and files that are not committed yet.
    linked = {f"src/discreet/{name}" for name in expected if name.startswith(("examples/", "js/"))}
    assert linked <= there
    assert {"papers/pyproject.toml", "papers/command.py"} <= there
    ignored = run("git", "ls-files", "-z", "--others", "--exclude-standard", folder=ROOT).split("\0")
    assert there - expected - linked - set(ignored) == {"PKG-INFO"}


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        (metadata,) = (file.read(name).decode() for name in names if name.endswith("METADATA"))
    assert {name.split("/")[0] for name in names} == {"discreet", next(n.split("/")[0] for n in names if "-" in n)}
    # Examples and scripts are links to folders; what others build upon and tests of scripts stay in the repository.
    apart = re.compile(r"__pycache__|^discreet/(examples/.*/|js/(tests|vectors)/)")
    places = (Path(folder) / name for folder, _, files in os.walk(SOURCES, followlinks=True) for name in files)
    ours = {place.relative_to(SOURCES.parent).as_posix() for place in places}
    assert {name for name in names if name.startswith("discreet/")} == {one for one in ours if not apart.search(one)}
    assert {"discreet/py.typed", "discreet/js/sampler.js", "discreet/examples/people.csv"} <= names
    assert "Requires-Python: >=3.11\n" in metadata
    assert "License-File: LICENSE" in metadata
    assert "Author: The discreet developers" in metadata


def test_the_papers_are_beside_the_package(installed: Path, unpacked: Path, tmp_path: Path) -> None:
    """Installed from the sdist they add the verb, and nothing else."""
    discreet = (sys.executable, "-P", installed / "bin" / "discreet", "reproduce", "--list")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, folder=unpacked / "papers")
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
    ours = {path for kind in ("*.py", "*.html") for path in (ROOT / "papers").rglob(kind)}
    assert names == {path.relative_to(ROOT).as_posix() for path in ours}
    added = tmp_path / "papers"
    install = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--target", added, wheel)
    run(sys.executable, *install, folder=tmp_path)
    listed = run(*discreet, folder=tmp_path, PYTHONPATH=f"{added}{os.pathsep}{installed}")
    assert "uldp/fig5" in listed
    assert "pie/fig12" in listed


ALL_OF = """
import json, sys
import discreet
from discreet.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words, prog_name="discreet")
    except SystemExit as end:
        assert not end.code, words
print(discreet.__file__)
"""


def test_who_installed_from_an_index_has_a_program_and_its_examples(installed: Path, tmp_path: Path) -> None:
    """From the examples to an estimate and a page, in an empty folder; tests/snapshots has the other verbs."""
    place = {"PYTHONPATH": str(installed), "HOME": str(tmp_path / "home")}
    run(sys.executable, "-P", installed / "bin" / "discreet", "examples", "examples", folder=tmp_path, **place)
    verbs = """
        init examples/answers.csv --column age --all-sensitive --epsilon 1 -o plan.toml
        obfuscate plan.toml examples/answers.csv --column age -o reports.parquet
        estimate plan.toml reports.parquet -o estimate.csv
        attest plan.toml --draws 0 -o attestation.html
    """
    lines = [line.split() for line in verbs.strip().splitlines()]
    where = run(sys.executable, "-P", "-c", ALL_OF, json.dumps(lines), folder=tmp_path, **place).splitlines()[-1]
    assert Path(where).is_relative_to(installed)
    assert {"plan.toml", "estimate.csv", "attestation.html"} < {path.name for path in tmp_path.iterdir()}


def with_needs(names: set[str]) -> set[str]:
    """Return the names of installed packages and of all packages that they need."""
    wanted = [Requirement(text) for name in names for text in metadata.requires(name) or []]
    more = {each.name for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})}
    return names if more <= names else with_needs(names | more)


BARE = """
import importlib.metadata, sys
from discreet.device import Device, Limits
from discreet.device.protocol.notice import notice

place, path, key, start = sys.argv[1:]
device = Device(place, [bytes.fromhex(key)], Limits(2, 4, 20), clock=lambda: float(start))
collection = device.accept(open(path, "rb").read(), rebuild=True)
assert notice(collection, "de")
device.agree(collection)
print(device.answer(collection, "daily"), len(device.log()), collection.epsilon)
print(*sorted(each.name for each in importlib.metadata.distributions()))
"""


def test_a_device_needs_numpy_and_cryptography_beside_the_wheel(installed: Path, tmp_path: Path) -> None:
    """In an environment with nothing else a device checks a signed collection, shows it, and draws an answer."""
    bare, needs = tmp_path / "bare", with_needs({"numpy", "cryptography"})
    venv.create(bare, symlinks=os.name != "nt", with_pip=False)
    (site,) = bare.rglob("site-packages")
    places = {*installed.iterdir()}
    for package in map(metadata.distribution, needs):
        places |= {Path(package.locate_file(file.parts[0])) for file in package.files or []}
    for place in places:
        if place.name not in {"..", "bin", "__pycache__"}:
            (site / place.name).symlink_to(place.resolve())
    path = tmp_path / "envelope.json"
    path.write_bytes(envelope())
    python = bare / ("Scripts" if os.name == "nt" else "bin") / "python"
    words = (tmp_path / "device", path, TRUST[0].hex(), START)
    answered, packages = run(python, "-I", "-c", BARE, *words, folder=tmp_path).splitlines()
    assert answered == "recorded 1 1.0"
    assert packages.split() == sorted({"discreet", *needs})
