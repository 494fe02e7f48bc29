"""Kernels run where nothing can be written, and never read a compiled form that a stranger could have written."""

import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet
from discreet.kernels.caching import VARIABLE, only_owners_write

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are those of Unix")

SOURCES = Path(discreet.__file__).parent
NOBODY = 65534
KERNEL = """
from discreet.kernels.compiling import compiled

@compiled()
def twice(x):
    return x + x
"""
COUNTED = """
import numpy as np, discreet as dc
import discreet.kernels.caching
mechanism = dc.SubsetSelection(dc.Domain(range(3)), 1.0)
reports = mechanism.obfuscate_codes(np.arange(3000) % 3, random=dc.SeededRandom(1))
print(np.round(dc.estimate(mechanism, reports).frequencies, 4).tolist())
"""
PLACE = """
import os, stat
from pathlib import Path
from discreet.kernels.hashing import __dict__ as kernels
caches = [one._cache for one in kernels.values() if getattr(getattr(one, "_cache", None), "cache_path", None)]
for cache in caches[:1]:
    folder = Path(cache.cache_path).parent
    print(folder.parent, oct(stat.S_IMODE(folder.stat().st_mode)), folder.stat().st_uid == os.geteuid())
    print(len(list(Path(cache.cache_path).glob("*.nbc"))) > 0)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter, unlike those that pytest makes."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-test-"))
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def container(place: Path) -> Path:
    """The package and a home that cannot be written, and a folder for temporary files that can."""
    # With its modules compiled, and no kernel.
    shutil.copytree(SOURCES, place / "site" / "discreet", ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
    (place / "home").mkdir()
    for path in [place / "home", *(place / "site").rglob("*"), place / "site"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    (place / "tmp").mkdir()
    (place / "tmp").chmod(0o1777)
    return place


def run(code: str, sources: Path, *, lowly: bool = False, **variables: object) -> str:
    """Run code in a fresh interpreter with these sources; a lowly one has no rights but those that modes give it."""
    known = {name: value for name, value in os.environ.items() if name not in {"NUMBA_CACHE_DIR", VARIABLE}}
    # Kernels run once here, and need no better code than the quickest.
    known |= {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_OPT": "0"}
    result = subprocess.run(
        [*(_lowly() if lowly else []), sys.executable, "-W", "error", "-c", code],
        cwd="/",
        env=known | {name: str(value) for name, value in variables.items()},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def _lowly() -> list[str]:
    """Return what starts a command without the rights of root: as nobody, or as a root who cannot pass over modes."""
    if os.geteuid():
        return []
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    # In two steps: the interpreter must be within reach when all rights are gone.
    asked = [*nobody, "sh", "-c", '"$0" -c ""', sys.executable]
    reachable = subprocess.run(asked, capture_output=True, check=False).returncode == 0
    return nobody if reachable else ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def test_kernels_run_in_a_container_without_a_home(container: Path) -> None:
    """They are kept in a private folder, as long as the process lives."""
    shown = run(COUNTED + PLACE, container / "site", lowly=True, HOME=container / "home", TMPDIR=container / "tmp")
    estimate, folder, kept = shown.splitlines()
    assert [float(one) for one in estimate[1:-1].split(",")] == pytest.approx([1 / 3] * 3, abs=0.1)
    assert folder == f"{container / 'tmp'} 0o700 True"
    assert kept == "True"
    assert not list((container / "tmp").iterdir())


class _Marks:
    """What a stranger would write: reading it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.marker,)  # type: ignore[return-value]


@pytest.mark.parametrize(("mode", "read"), [(0o755, True), (0o777, False)])
def test_what_strangers_may_write_is_not_read(place: Path, mode: int, read: bool) -> None:
    """A folder that only we can write is read: so a stranger's file would be, if its folder were not looked at."""
    (place / "kernel.py").write_text(KERNEL)
    (place / "cache").mkdir(mode=0o755)
    code = f"import sys; sys.path.insert(0, {str(place)!r})\nfrom kernel import twice\nprint(twice(21))"
    assert run(code, SOURCES.parent, NUMBA_CACHE_DIR=place / "cache") == "42\n"
    kept = [file for file in place.rglob("*.nbc") if file.name.startswith("kernel.twice")]
    assert len(kept) == 1
    marker = place / "marker"
    kept[0].write_bytes(pickle.dumps(_Marks(marker)))
    kept[0].parent.chmod(mode)
    assert run(code, SOURCES.parent, NUMBA_CACHE_DIR=place / "cache") == "42\n"
    assert marker.exists() is read


def test_a_damaged_file_is_compiled_and_kept_anew(place: Path) -> None:
    (place / "kernel.py").write_text(KERNEL)
    code = f"import sys; sys.path.insert(0, {str(place)!r})\nfrom kernel import twice\nprint(twice(21))"
    code += "\nprint(sum(twice._cache_hits.values()))"
    assert run(code, SOURCES.parent) == "42\n0\n"
    kept = sorted(place.rglob("kernel.twice*"))
    assert [file.suffix for file in kept] == [".nbc", ".nbi"]
    for file, damage in zip(kept, (pickle.dumps(("not", "a", "kernel")), b"\x80\x04nonsense"), strict=True):
        file.write_bytes(damage)
        assert run(code, SOURCES.parent) == "42\n0\n"
    assert run(code, SOURCES.parent) == "42\n1\n"


def test_whose_folders_are_trusted(place: Path) -> None:
    ours = place / "ours"
    ours.mkdir(mode=0o700)
    link = place / "link"
    link.symlink_to(ours)
    assert only_owners_write(ours)
    assert only_owners_write(link)
    assert not only_owners_write(place / "none")
    assert not only_owners_write(Path(__file__))
    for mode, trusted in {0o777: False, 0o1777: False, 0o775: True}.items():
        ours.chmod(mode)
        assert only_owners_write(ours) is trusted
        assert only_owners_write(link) is trusted
    ours.chmod(0o700)
    for mode, trusted in {0o777: False, 0o1777: True}.items():
        place.chmod(mode)
        assert only_owners_write(ours) is trusted


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give folders away")
def test_a_stranger_who_was_here_first_is_not_trusted(place: Path) -> None:
    """The folder's name was foreseen, and it, or one above it, was made by somebody else."""
    ours = place / "theirs" / "ours"
    ours.mkdir(parents=True, mode=0o700)
    assert only_owners_write(ours)
    os.chown(ours.parent, 12345, 12345)
    assert not only_owners_write(ours)
    assert not only_owners_write(ours.parent)
    (place / "source.py").touch()
    os.chown(place / "source.py", 12345, 12345)
    assert only_owners_write(ours, source=place / "source.py")


def test_a_folder_that_was_passed_on_is_looked_at(place: Path) -> None:
    """The variable names a folder that everybody can write: another is made."""
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    code = "from discreet.kernels.caching import temporary_folder as made; print(made(), oct(made().stat().st_mode))"
    folder, mode = run(code, SOURCES.parent, **{VARIABLE: place / "open", "TMPDIR": place}).split()
    assert Path(folder).parent == place
    assert folder != str(place / "open")
    assert stat.S_IMODE(int(mode, 8)) == 0o700
