"""Programs that some tests need beside Python: without one they are skipped, and in CI they fail."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

JS = Path(__file__).parents[1] / "js"
PACKAGES = {
    "java": "default-jre-headless",
    "chromium": "chromium",
    "node": "nodejs",
    "make": "make",
    "cc": "build-essential",
    "initdb": "postgresql",
}
"""Which of Debian's packages brings a program; `.ci/run` installs those that tests ask for."""

_UNUSED = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,HttpsUpgrades,MediaRouter,OptimizationHints,PaintHolding"
CHROMIUM = ["--no-sandbox", f"--disable-features={_UNUSED}"]
"""Options of a browser for tests: without the pages of the address bar, which it would load for every window, at twice
the cost of the page that is looked at. Of two such options the later one counts, so that it also names what Playwright
turns off.
"""


def program(name: str) -> str:
    """Return where a program is.

    A test is skipped where it is missing, unless this is CI: what nobody runs there is not tested at all.
    """
    found = shutil.which(name)
    if found is None and name == "java" and "JAVA_HOME" in os.environ:
        found = shutil.which(name, path=os.path.join(os.environ["JAVA_HOME"], "bin"))  # noqa: PTH118
    if found is not None:
        return found
    missing = f"{name} is missing; install it (Debian: apt-get install {PACKAGES[name]})"
    if os.environ.get("CI"):
        pytest.fail(f"{missing}, because CI runs every test.", pytrace=False)
    pytest.skip(f"{missing}.")


def node(*arguments: object, folder: Path = JS) -> str:
    """Run Node, which must end well and without a word on its standard error; return what it wrote."""
    command = [program("node"), "--no-warnings", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def packaged(name: str) -> None:
    """Skip a test where a package of the extra ``dev`` is missing, or fail it in CI; see `program`."""
    if find_spec(name) is not None:
        return
    missing = f"the package {name} is missing; run `make .venv/dev` again"
    if os.environ.get("CI"):
        pytest.fail(f"{missing}, because CI runs every test.", pytrace=False)
    pytest.skip(f"{missing}.")
