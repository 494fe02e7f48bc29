"""What is given away is whole: the sdist passes its tests, the wheel runs the README without the repository."""

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


def blocks(text: str, language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [block for named, block in fences if named == language]


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


def test_the_sdist_passes_tests_of_its_own(unpacked: Path) -> None:
    """Those that read files of the repository find them."""
    pytest_ = (sys.executable, "-m", "pytest", "-n0", "-W", "ignore")
    source = {"PYTHONPATH": str(unpacked / "src")}
    reading = ["test_documents.py", "formats/test_plan.py", "package/test_project.py"]
    # Not those that compile kernels: the example runs from the wheel below, and the list of files vouches for `bench`.
    some = ("-k", "not numbers and not comparison and not personalized and not example_of_the_readme and not quick_run")
    done = run(*pytest_, *some, *(f"tests/{name}" for name in reading), folder=unpacked, **source)
    assert re.search(r"\d+ passed", done)
    assert "failed" not in done


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        (metadata,) = (file.read(name).decode() for name in names if name.endswith("METADATA"))
    assert {name.split("/")[0] for name in names} == {"discreet", next(n.split("/")[0] for n in names if "-" in n)}
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "discreet").rglob("*.py")}
    assert ours <= names
    assert "discreet/py.typed" in names
    examples = {f"discreet/examples/{file.name}" for file in (ROOT / "examples").iterdir() if file.is_file()}
    catalogues = (ROOT / "src" / "discreet").rglob("messages.toml")
    apart = (ROOT / "js" / "tests", ROOT / "js" / "vectors")
    scripts = {
        f"discreet/{file.relative_to(ROOT).as_posix()}"
        for file in (ROOT / "js").rglob("*")
        if file.is_file() and not any(map(file.is_relative_to, apart))
    }
    assert {"discreet/js/sampler.js", "discreet/js/promise.js", "discreet/js/frames.js"} <= scripts
    assert {
        name for name in names if name.startswith("discreet/") and not name.endswith(".py")
    } == examples | scripts | {path.relative_to(ROOT / "src").as_posix() for path in catalogues} | {
        "discreet/__init__.pyi",
        "discreet/py.typed",
        "discreet/spark/log4j2.properties",
        *(
            f"discreet/collector/pages/{name}"
            for name in (
                "analyst.css",
                "analyst.html",
                "collection.html",
                "collections.html",
                "embed.html",
            )
        ),
        "discreet/collector/pages/front.html",
        "discreet/collector/pages/refused.html",
        "discreet/collector/pages/sign_in.html",
        "discreet/collector/pages/survey.html",
        *(
            f"discreet/pictures/templates/{name}"
            for name in (
                *("attestation.html", "base.html", "linkage.html", "page.css", "parts.html"),
                "risk.html",
                "study.html",
            )
        ),
    }
    assert "Requires-Python: >=3.11\n" in metadata
    assert "License-File: LICENSE" in metadata
    assert "Author: The discreet developers" in metadata


def test_the_papers_are_beside_the_package(installed: Path, unpacked: Path, tmp_path: Path) -> None:
    """Without them the verb says where they are; installed from the sdist they add it, and nothing else."""
    discreet = (sys.executable, "-P", installed / "bin" / "discreet", "reproduce", "--list")
    # What is installed beside this interpreter would be found too.
    alone = (
        f"import importlib.metadata as m, sys; m.entry_points = lambda **_: (); sys.argv = {['discreet', 'reproduce']}"
    )
    place = {"PYTHONPATH": str(installed)}
    refused = subprocess.run(
        [sys.executable, "-P", "-c", f"{alone}; from discreet.cli import main; main()"],
        cwd=tmp_path,
        env=os.environ | place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 2
    assert "pip install ./papers" in refused.stderr
    assert "option.removed" in refused.stderr
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


def shorten(examples: Path) -> None:
    """Leave of the people a hundredth, and of the mechanisms one, under either protection: others compile kernels."""
    people, study = examples / "acs2023.csv", examples / "census.toml"
    people.write_text(re.sub(r"(?<=,)(\d+)\d\d(?=,)", r"\1", people.read_text(encoding="utf-8")))
    head, *runs = study.read_text(encoding="utf-8").split("[[run]]")
    chosen = [run for run in runs if '"rr"' in run]
    assert (len(chosen), len(runs)) == (2, 10)
    study.write_text("[[run]]".join([head, *chosen]), encoding="utf-8")


def hand_over_kernels(installed: Path) -> None:
    """Copy compiled kernels of the sources that are the same to the last byte; numba asks when these were written."""
    kernels = Path("discreet") / "kernels"
    for source in (ROOT / "src" / kernels).rglob("*.py"):
        there = installed / kernels / source.relative_to(ROOT / "src" / kernels)
        if there.read_bytes() != source.read_bytes():
            continue
        written = source.stat()
        os.utime(there, ns=(written.st_atime_ns, written.st_mtime_ns))
        # Indices before what they list: another process may be compiling.
        for ending in ("nbi", "nbc"):
            for made in source.parent.glob(f"__pycache__/{source.stem}.*.{ending}"):
                (there.parent / "__pycache__").mkdir(exist_ok=True)
                shutil.copy(made, there.parent / "__pycache__")


ALL_OF = """
import json, sys
from discreet.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words, prog_name="discreet")
    except SystemExit as end:
        assert not end.code, words
"""


def test_who_installed_from_an_index_can_run_the_readme(installed: Path, tmp_path: Path) -> None:
    """Every command of the page on verbs and of the README, in an empty folder; and its lines of Python."""
    text, verbs = (ROOT / "README.md").read_text(encoding="utf-8"), ROOT / "docs" / "reference" / "verbs.md"
    (first,), (block,) = blocks(text, ""), blocks(verbs.read_text(encoding="utf-8"), "")
    commands = [line.split("#")[0].split() for line in block.splitlines()]
    # The README writes some of the same files.
    commands += [
        [*words, *["--force"] * ("-o" in words)]
        for words in (line.split("#")[0].split() for line in first.splitlines())
    ]
    assert commands[0] == ["discreet", "examples", "examples"]
    assert len(commands) >= 8
    hand_over_kernels(installed)
    # Kernels that no test before has compiled run once, and need no better code than the quickest.
    place = {"PYTHONPATH": str(installed), "HOME": str(tmp_path / "home"), "COLUMNS": "100", "NUMBA_OPT": "1"}
    where = run(sys.executable, "-P", "-c", "import discreet; print(discreet.__file__)", folder=tmp_path, **place)
    assert Path(where.strip()).is_relative_to(installed)
    # The first one by its program; the others in one process, as each would take a second to start.
    run(sys.executable, "-P", installed / "bin" / "discreet", *commands[0][1:], folder=tmp_path, **place)
    shorten(tmp_path / "examples")
    # An audit refutes a true promise once in a thousand times: this one has a seed.
    tested = ["--draws", "20000", "--seed", "1"]
    rest = [[*words[: words.index("--draws")], *tested] if "--draws" in words else words for _, *words in commands[1:]]
    (example,) = blocks(text, "python")
    run(sys.executable, "-P", "-c", f"{ALL_OF}\n{example}", json.dumps(rest), folder=tmp_path, **place)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == [
        "attestation.html",
        "estimate.csv",
        "estimate.png",
        "examples",
        "out",
        "plan.toml",
        "reports",
        "reports.parquet",
        "sealed.parquet",
    ]


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
