"""A folder with a key, a plan and signed collections, for the verbs ``collection``."""

import json
import time
from pathlib import Path
from typing import Any

from running import run, told

PLAN = """
epsilon = 1.0
title = "Habits"
[domain]
labels = ["never", "rarely", "often", "daily"]
sensitive = ["often", "daily"]
[mechanism]
name = "rr"
"""
TEXTS = """
question = "How often?"
[languages.de]
title = "Gewohnheiten"
purpose = "Warum"
question = "Wie oft?"
labels = { never = "nie", rarely = "selten", often = "oft", daily = "täglich" }
"""
NOW = int(time.time())
TERMS = (
    "--name habits --purpose Why --contact a@example.org --answers fresh --collector https://collect.example.org "
    f"--start {NOW - 60} --epoch 1h --epochs 48 --lifetime 4 --key key.pem"
).split()


def prepare(folder: Path) -> dict[str, Any]:
    """Write keys, plans and collections into a folder, which is the current one; return what the signing said."""
    (folder / "plan.toml").write_text(PLAN)
    (folder / "other.toml").write_text(PLAN.replace("rr", "hadamard"))
    outside = folder.parent / f"{folder.name}-labels.csv"
    outside.write_text("label\nnever\nrarely\noften\ndaily\n")
    (folder / "outside.toml").write_text(
        f'epsilon = 1.0\ntitle = "T"\n[domain]\nfile = {{ path = "{outside}" }}\n[mechanism]\nname = "rr"\n'
    )
    (folder / "texts.toml").write_text(TEXTS)
    for name in ("key", "second"):
        assert run("collection", "key", "new", f"{name}.pem").exit_code == 0
    said = told("collection", "sign", "plan.toml", *TERMS, "-o", "habits.json")
    return dict(said)


def public(name: str = "key") -> str:
    """Return a public key in the current folder."""
    return str(told("collection", "key", "show", f"{name}.pem")["public_key"])


def document(path: str) -> dict[str, Any]:
    """Return the document in a file, unchecked."""
    import base64

    return json.loads(base64.b64decode(json.loads(Path(path).read_text())["document"]))
