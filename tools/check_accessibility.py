"""The survey page in Chromium and Firefox, in every state, size and colours: axe-core, keyboard, no sideways scroll.

    python tools/check_accessibility.py [chromium] [firefox-esr]

It needs Node, npm (for puppeteer-core, which alone speaks WebDriver BiDi with Debian's Firefox), and the browsers that
are named. It takes some minutes for each, and is run by hand; tests/js/test_accessibility.py is run always.
"""

import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "js")]

from survey_site import SurveySite, served  # noqa: E402

FOLDER = ROOT / "tools" / "accessibility"


def main() -> int:
    """Look at the page in the browsers that are named, and return how many of them found something."""
    browsers = sys.argv[1:] or ["chromium", "firefox-esr"]
    if not (FOLDER / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=FOLDER, check=True)
    site = SurveySite()
    server = served(site)
    axe = str(resources.files("axe_playwright_python") / "axe.min.js")
    failures = 0
    for browser in browsers:
        kind = "firefox" if "firefox" in browser else "chrome"
        command = ["node", "look.js", kind, shutil.which(browser) or browser, site.origin, axe]
        failures += subprocess.run(command, cwd=FOLDER, check=False).returncode != 0
    server.shutdown()
    server.server_close()
    return failures


if __name__ == "__main__":
    sys.exit(main())
