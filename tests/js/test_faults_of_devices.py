"""Faults of the device in JavaScript, planted one at a time in a copy: its tests must see each of them.

DISCREET_FAULTS=all plants them all (three minutes); otherwise the first two are planted.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import program

JS = Path(__file__).resolve().parents[2] / "js"

# (file, right, wrong)
FAULTS = [
    ("device.js", "one.epoch === epoch)) return", "one.epoch < epoch)) return"),
    ("device.js", "if (own.declined || !version?.agreed)", "if (own.declined)"),
    ("device.js", "kept.prints.includes(print)", "false"),
    ("file_memory.js", "await link(part, this.#path(next));", "await rename(part, this.#path(next));"),
    ("collection.js", ".catch(() => false)", ".catch(() => false) || trusted.length"),
    ("collection.js", "if (keys) throw SyntaxError();", ""),
    ("collection.js", "btoa(raw) !== text || ", ""),
    ("collection.js", 'typeof value === "string" ? `${key} ${value}` : key', "key"),
    ("collection.js", "`${key} ${value}` : key", 'value : ""'),
    ("collection.js", "hasInvisible ||= INVISIBLE.test(written);", ""),
    ("collection.js", 'loose.state !== "open" || ', ""),
    ("collection.js", 'must(listed === true, "field", "listed");', ""),
    ("collection.js", "const MARGIN = 1 + 1e-9;", "const MARGIN = 1 + 1e-2;"),
    ("collection.js", "sampler.law.size - count === added", "true"),
    ("collection.js", "pinned.includes(hex(key))", "true"),
    ("collection.js", 'protocol === "https:" || (', 'protocol === "http:" || ('),
    ("device.js", "version >= seen.version", "true"),
    ("device.js", "id === seen.id", "true"),
    ("device.js", "now < latest - found.epochs.seconds ? null :", ""),
    ("device.js", 'found.answers === "once" ||', ""),
    ("device.js", "startOf(other, one.epoch + 1) > start", "false"),
    ("device.js", "fits(answersOf(versionsOf(versions, name)), lifetime)", "true"),
    ("device.js", "fits(answersOf(versions), inAll)", "true"),
    ("device.js", "charge: isKnown ? 0 : charge", "charge"),
    ("device.js", "return kept.last?.fingerprint === fingerprint ?", "return kept.last ?"),
    ("device.js", "if (!found) return;", "if (!found) throw new Error();"),
    ("device.js", '"408", "425", "429"', '"408", "429"'),
    ("device.js", "due.one.due = now + LEASE;", ""),
    ("device.js", "one.due <= now", "true"),
    ("device.js", "+ of.late)", "+ of.late + 60)"),
    ("places.js", "found.values === values", "true"),
    ("places.js", ", sampler.sensitive]", "]"),
    ("places.js", "?.[1] ?? code;", "?.[0] ?? code;"),
    ("device.js", "for (const one of answersOf(state.versions)) settle(one);", "state.versions = [];"),
    ("device.js", "must(this.#memory.lasts ||", "must(true ||"),
    ("device.js", "status, at: Math.floor(clock())", "id, status, at: Math.floor(clock())"),
    ("domain.js", "code * space.size + part", "part * space.size + code"),
    ("domain.js", " && space.size <= LARGEST_WITH_BOTS", ""),
    ("domain.js", "at >= low && at <= high", "at >= low && at < high"),
    ("domain.js", "codes.get(value)", "Object.fromEntries(codes)[value]"),
    ("domain.js", "count(cell(code))", "cell(code)"),
    ("permanent.js", '"print"', '"answer"'),
    ("permanent.js", "little(code, 8)", "little(code, 8).reverse()"),
    ("permanent.js", "person 1\\0", "person 1"),
    ("bytes.js", "number / 256 ** place", "number >> (8 * place)"),
    ("permanent.js", "if (error !== SHORT) throw error;", "throw error;"),
    ("randomness.js", "must(new Set([...probes, last, zero]).size === 4,", "must(true,"),
    (
        "memory.js",
        "if (await this.#kept(this.write(kept, revision))) return done;",
        "this.write(kept, revision); return done;",
    ),
    ("sending.js", 'redirect: "error"', 'redirect: "follow"'),
]
SOME = FAULTS if os.environ.get("DISCREET_FAULTS") == "all" else FAULTS[:2]


@pytest.mark.parametrize("fault", SOME, ids=lambda fault: f"{fault[0]}-{fault[1][:30]}")
def test_the_tests_see_it(tmp_path: Path, fault: tuple[str, str, str]) -> None:
    name, right, wrong = fault
    copy = shutil.copytree(JS, tmp_path / "js")
    script = copy / name
    text = script.read_text()
    assert text.count(right) == 1, "the fault no longer fits the sources"
    planted = text.replace(right, wrong).replace("import { link, ", "import { rename, link, ")
    script.write_text(planted)
    command = [program("node"), "--no-warnings", "--test", "tests/scripts.test.js", "tests/device.test.js"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, "no test sees this fault"
    assert "SyntaxError: The requested module" not in done.stdout
