"""What a package index shows: the README with links that lead somewhere from there, and the project's pages.

The papers, which have neither, need discreet of their own version.

An index shows the README alone, so that links to files beside it lead nowhere. Where pyproject.toml says where the
files can be read (``pages``), they become absolute; as long as it does not, they become plain text.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PAGES = {
    "Homepage": "README.md",
    "Documentation": "docs/index.md",
    "Changelog": "CHANGELOG.md",
    "Security": "SECURITY.md",
}
_LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?://|#)([^)\s]+)\)")


def for_an_index(text: str, pages: str) -> str:
    """Return a README whose links to files beside it, pictures too, are absolute, or text where ``pages`` is empty."""
    if pages:
        return _LINK.sub(lambda link: f"{link[1]}[{link[2]}]({pages.rstrip('/')}/{link[3]})", text)
    return _LINK.sub(lambda link: link[2] if link[2] == link[3] else f"{link[2]} ({link[3]})", text)


class ReadmeForAnIndex(MetadataHookInterface):
    """Writes the README and the project's pages into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme, and the addresses where they are known; of the papers, what they need."""
        if "dependencies" in metadata["dynamic"]:
            metadata["dependencies"] = [f"discreet[fast,plot]=={metadata['version']}"]
            return
        pages = self.config.get("pages", "").rstrip("/")
        metadata["urls"] = {name: f"{pages}/{file}" for name, file in _PAGES.items()} if pages else {}
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_an_index(text, pages)}
