"""The measurements stand beside the package, at the root of the repository."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
for folder in (ROOT, ROOT / "bench" / "peers"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
