"""The package of JavaScript: its README's example, its size, and what it imports."""

import base64
import json
import re
import shutil
from pathlib import Path

import pytest
from survey_site import served_site

from discreet.device.protocol.envelope import public_key
from programs import JS, node

SCRIPTS = sorted(path for path in JS.glob("*.js"))
IN_BROWSERS = [path for path in SCRIPTS if path.name not in {"file_memory.js", "messages.js"}]
"""What a device in a browser consists of; sentences for its refusals are loaded by whoever shows them."""
REFUSED = re.compile(r"""(?:must|refuse)\(.*?"(\w+)"(?:, (?:"([^"]+)"|[^"]+))?\);$""")
EXPECTED = re.compile(r"""expect\(.*"([^"]+)"\);$""")


def installed(folder: Path) -> list[Path]:
    """Install the files of the package, as npm packs them, and return them; npm itself is not on every machine."""
    about = json.loads((JS / "package.json").read_text())
    place = folder / "node_modules" / about["name"]
    place.mkdir(parents=True)
    packed = [JS / "package.json", JS / "README.md", *(path for one in about["files"] for path in JS.glob(one))]
    return [Path(shutil.copy(path, place)) for path in sorted(packed)]


def test_what_is_packed_is_enough_and_no_more(tmp_path: Path) -> None:
    """Every export is imported from the packed files alone, and has types beside it; tests and vectors stay at home."""
    packed = {path.name: path.stat().st_size for path in installed(tmp_path)}
    assert sum(packed.values()) < 119_500
    exports = json.loads((JS / "package.json").read_text())["exports"]
    for name, ways in exports.items():
        script = ways["default"].removeprefix("./")
        assert ways["types"].removeprefix("./") == script.replace(".js", ".d.ts"), name
        exported = r"^export (?:declare |async )?(?:const|function|class) (\w+)"
        typed = set(re.findall(exported, (JS / script.replace(".js", ".d.ts")).read_text(), re.MULTILINE))
        assert typed >= set(re.findall(exported, (JS / script).read_text(), re.MULTILINE)), name
    package = json.loads((JS / "package.json").read_text())["name"]
    names = [name.replace(".", package, 1) for name in exports]
    every = f"for (const one of {json.dumps(names)}) console.log(Object.keys(await import(one)).length)"
    said = node("--input-type=module", "-e", every, folder=tmp_path)
    assert [int(line) > 0 for line in said.split()] == [True] * len(exports)


def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is installed as a package, and takes a survey of a collector's."""
    [example] = re.findall(r"^```js\n(.*?)^```$", (JS / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "example.mjs").write_text(example)
    installed(tmp_path)
    with served_site() as site:
        monkeypatch.setenv("COLLECTOR", site.origin)
        monkeypatch.setenv("SURVEY_KEY", base64.b64encode(public_key(site.key)).decode())
        runs = [node("example.mjs", folder=tmp_path).splitlines()[-2:] for _ in range(2)]
    assert runs[0] == ["recorded", "{ sent: 1, dropped: 0, waiting: 0 }"]
    assert runs[1] == ["already", "{ sent: 0, dropped: 0, waiting: 0 }"]
    assert len(site.posted) == 1


def test_every_refusal_has_a_sentence_and_every_sentence_a_refusal() -> None:
    """By code, or by code and what it is about; the codes are those of the types and of docs/reference/device.md."""
    lines = [line.strip() for path in SCRIPTS if path.name != "domain.js" for line in path.read_text().splitlines()]
    refused = [match.groups() for line in lines if (match := REFUSED.search(line))]
    expected = [match[1] for line in lines if (match := EXPECTED.search(line))]
    assert (len(refused), len(expected)) > (25, 10)
    said = {f"{code}: {about}" if about else code for code, about in refused} | {f"argument: {one}" for one in expected}
    sentences = set(re.findall(r'^  "?([a-zA-Z: ]+?)"?: "', (JS / "messages.js").read_text(), re.MULTILINE))
    # Which field it is, the sentence of its code says.
    assert said - sentences == {"field: languages", "field: lifetime", "field: listed", "field: memo", "field: survey"}
    # Of labels that read alike the refusal says which ones.
    assert sentences - said <= {"store", "plan: alike"}
    documented = (JS / "index.d.ts").read_text() + (JS.parent / "docs" / "reference" / "device.md").read_text()
    assert all(one.split(":")[0] in documented for one in said)


def test_it_imports_nothing_from_elsewhere() -> None:
    for path in [*IN_BROWSERS, *(JS / "survey").glob("*.js")]:
        imported = re.findall(r'(?:from|import) ?\(?"([^"]+)"', path.read_text())
        assert all(one.startswith(("./", "../")) for one in imported), path.name
    about = json.loads((JS / "package.json").read_text())
    assert not {"dependencies", "devDependencies", "peerDependencies"} & set(about)
    assert (about["type"], about["sideEffects"]) == ("module", False)
