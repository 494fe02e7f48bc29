"""Archives of a release, with checksums, parts and origins, as far as no network is needed: `make release`, into dist.

Archives are made twice, in two folders of the committed tree, and must be the same to the last byte. Beside them lie
their checksums, the parts of what is installed (CycloneDX, from the locked requirements), and a statement of where
they come from (in-toto, SLSA provenance), which whoever publishes signs. What is left for people is printed.

``python tools/release.py --write`` writes the version of src/discreet/__init__.py wherever else it must stand. It also
writes the commands that install the packages into all documents: from an index, if pyproject.toml says ``published``,
and otherwise from a clone.
"""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# Where the version must stand for those who cannot read Python.
STATED = {
    "CITATION.cff": r"(?m)^(version: )(\S+)$",
    "js/package.json": r'(?m)^(  "version": ")([^"]+)',
    ".zenodo.json": r'(?m)^(  "version": ")([^"]+)',
    "packaging/conda/recipe.yaml": r'(?m)^(  version: ")([^"]+)',
}
TREES = (".", "papers")
NPM = "@discreet-privacy/device"
# The package in a command that installs it, with or without extras: its name, or the folder of the clone.
_PIP = re.compile(r"(pip install (?:--no-deps )?'?)(?:discreet|\.)(?=[\['`\s])")
_NPM = re.compile(rf"(npm install )(?:{NPM}|\./js)(?=[`\s])")
_PINNED = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^\s;\\]+)([^\n]*(?:\n    [^\n]*)*)", re.MULTILINE)


def version() -> str:
    """Return the version, of the one place that has it."""
    text = (ROOT / "src" / "discreet" / "__init__.py").read_text(encoding="utf-8")
    return str(re.search(r'(?m)^__version__ = "([^"]+)"$', text)[1])  # type: ignore[index]


def states(*, write: bool) -> list[str]:
    """Return the files that state another version, after writing this one if asked to."""
    others = []
    for name, pattern in STATED.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        changed = re.sub(pattern, lambda match: match[1] + version(), text, count=1)
        if changed != text:
            others.append(name)
            if write:
                (ROOT / name).write_text(changed, encoding="utf-8")
    return others


def documents() -> list[Path]:
    """Return the documents that may tell how to install the packages."""
    return [ROOT / "README.md", ROOT / "js" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def is_published() -> bool:
    """Return true if the packages are published, as pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return bool(project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["published"])


def installs(*, write: bool) -> list[str]:
    """Return the documents whose commands install from elsewhere, after changing them if asked to."""
    python, npm = ("discreet", NPM) if is_published() else (".", "./js")
    changed = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        after = _NPM.sub(rf"\g<1>{npm}", _PIP.sub(rf"\g<1>{python}", text))
        if after != text:
            changed.append(path.relative_to(ROOT).as_posix())
            if write:
                path.write_text(after, encoding="utf-8")
    return changed


def run(*command: object, folder: Path = ROOT, **variables: str) -> str:
    """Return the output of a program, which must succeed."""
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=os.environ | variables, stdout=subprocess.PIPE, check=True
    )
    return done.stdout.decode()


def made(commit: str, out: Path) -> None:
    """Make all archives of a commit, in a folder of its own that is removed."""
    epoch = run("git", "show", "-s", "--format=%ct", commit).strip()
    out.mkdir()
    with tempfile.TemporaryDirectory() as place:
        tree = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(tree)) as file:
            file.extractall(place, filter="data")
        for folder in TREES:
            targets = ("-t", "wheel") if folder != "." else ()
            build = (sys.executable, "-m", "hatchling", "build", *targets, "-d", out)
            run(*build, folder=Path(place, folder), SOURCE_DATE_EPOCH=epoch)
        if shutil.which("npm"):
            shutil.copy(Path(place, "LICENSE"), Path(place, "js"))
            run("npm", "pack", "--offline", "--silent", "--pack-destination", out, folder=Path(place, "js"))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parts(locked: Path, when: str) -> dict[str, Any]:
    """Return a CycloneDX document of locked requirements, the same for the same ones."""
    text = locked.read_text(encoding="utf-8")
    components = []
    for name, number, rest in _PINNED.findall(text):
        hashes = re.findall(r"--hash=sha256:(\w{64})", rest)
        purl = f"pkg:pypi/{name.lower()}@{number}"
        files = [{"type": "distribution", "hashes": [{"alg": "SHA-256", "content": each}]} for each in sorted(hashes)]
        # A reference needs an address; that of a file of an index is its name there.
        references = [{**file, "url": purl} for file in files]
        components.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": number,
                "purl": purl,
                "externalReferences": references,
            }
        )
    serial = uuid.uuid5(
        uuid.NAMESPACE_URL, f"discreet {version()} {locked.name} {hashlib.sha256(text.encode()).hexdigest()}"
    )
    main = f"pkg:pypi/discreet@{version()}"
    subject = {"type": "application", "bom-ref": main, "name": "discreet", "version": version(), "purl": main}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"timestamp": when, "component": {**subject, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": main, "dependsOn": [each["bom-ref"] for each in components]}],
    }


def provenance(commit: str, archives: list[Path], when: str) -> dict[str, Any]:
    """Return the statement of which commit, tools and locked requirements archives were made of."""
    locked = sorted((ROOT / "requirements").glob("*.txt"))
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": digest(path)}} for path in archives],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "make release",
                "externalParameters": {"version": version()},
                "resolvedDependencies": [
                    {"name": "discreet", "digest": {"gitCommit": commit}},
                    *({"name": f"requirements/{path.name}", "digest": {"sha256": digest(path)}} for path in locked),
                ],
            },
            "runDetails": {"builder": {"id": "make release"}, "metadata": {"startedOn": when}},
        },
    }


def left() -> Iterator[str]:
    """List what people do, of which some is only needed once."""
    number = version()
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"(?m)^## {re.escape(number)} \(\d{{4}}-\d\d-\d\d\)$", text):
        yield f"CHANGELOG.md: the date of {number}, in place of (unreleased)."
    if run("git", "status", "--porcelain").strip():
        yield "Commit: the tree has changes, which are not in these archives."
    if 'pages = ""' in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        yield "pyproject.toml: `pages`, where the repository can be read; links of the README and the project follow."
    if not is_published():
        yield "pyproject.toml: `published`, once the packages can be installed; then python tools/release.py --write."
    if not shutil.which("npm"):
        yield "npm is missing here: the package in js was not packed."
    yield f"git tag --sign v{number} && git push --tags: the workflow Release makes all again and publishes it."
    yield "Compare: SHA256SUMS of the workflow with these."
    yield from ONCE


ONCE = (
    f"Once: trusted publishers of discreet and discreet-papers at the Python index and of {NPM} at npm, for that "
    "workflow and its environment `release` with a reviewer; no token is kept anywhere.",
    "Once: pin the actions of .github/workflows by commit, and keep them so (zizmor says which are not).",
    "Once: Zenodo takes releases of the repository (.zenodo.json); the DOI then goes into CITATION.cff.",
    "packaging/conda/recipe.yaml: address and SHA-256 of the published sdist; a pull request to the channel.",
    "The image: docker build -f deploy/Dockerfile, its base by digest; sign it; its parts are sbom-serve.cdx.json.",
)


def main(words: list[str]) -> None:
    """Make a release, or write the version."""
    others = states(write=words == ["--write"])
    commands = installs(write=words == ["--write"])
    if words == ["--write"]:
        print(f"{version()} now stands in: {', '.join(others) or 'all files, as before'}.")
        print(f"Commands that install were changed in: {', '.join(commands) or 'no document'}.")
        return
    if commands:
        raise SystemExit(f"{', '.join(commands)} install from elsewhere: python tools/release.py --write")
    if others:
        raise SystemExit(f"{', '.join(others)} state another version than {version()}: python tools/release.py --write")
    commit, out = run("git", "rev-parse", "HEAD").strip(), ROOT / "dist"
    when = datetime.fromtimestamp(int(run("git", "show", "-s", "--format=%ct", commit)), UTC).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    shutil.rmtree(out, ignore_errors=True)
    made(commit, out)
    with tempfile.TemporaryDirectory() as place:
        made(commit, again := Path(place, "again"))
        archives = sorted(out.iterdir())
        differing = [path.name for path in archives if path.read_bytes() != (again / path.name).read_bytes()]
    if differing:
        raise SystemExit(f"made twice, these differ: {', '.join(differing)}.")
    documents = {
        f"sbom-{name}.cdx.json": parts(ROOT / "requirements" / f"{name}.txt", when) for name in ("run", "serve")
    }
    documents["provenance.intoto.json"] = provenance(commit, archives, when)
    for name, content in documents.items():
        (out / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in sorted(out.iterdir()))
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(f"In dist, made twice from {commit[:12]} and the same to the last byte:\n{sums}\nWhat is left for people:")
    for each in left():
        print(f"- {each}")


if __name__ == "__main__":
    main(sys.argv[1:])
