"""The site of the documents: `make docs`. Nothing of it is loaded from the net, and every warning is an error."""

import html
import inspect
import itertools
import pydoc
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError

import discreet
from discreet import arrays
from discreet.errors import catalogue

ROOT = Path(__file__).resolve().parent.parent

project = "discreet"
author = "The discreet developers"
copyright = "2026, the discreet developers"  # noqa: A001
version = release = discreet.__version__

extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
]
exclude_patterns = ["**.ipynb_checkpoints"]
suppress_warnings = ["mystnb.unknown_mime_type"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
# Quotes and dots, and no dashes: --force is an option.
smartquotes_action = "qe"
# Results of tutorials are kept in them and compared by tests; the gallery is drawn anew.
nb_execution_mode = "off"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

# Only pages of reStructuredText are looked through unless they are named.
autosummary_generate = ["reference/api.md", "reference/modules.md", "reference/results.md"]
autodoc_typehints = "signature"
# Inherited members too, but not what every tuple, error or enumeration has.
autodoc_default_options = {
    "members": True,
    "inherited-members": "tuple,Exception,Enum,str,int,ABC,Protocol,Generic,Mapping,Sequence",
    "member-order": "bysource",
}
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = False
# Copied without the prompts, and without results.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
toc_object_entries_show_parents = "hide"

templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "discreet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# Pages without neighbours.
html_sidebars = {
    name: []
    for name in (
        "architecture",
        "browser",
        "faq",
        "gallery",
        "glossary",
        "index",
        "readme",
        "changelog",
        "contributing",
    )
}
html_theme_options = {
    "logo": {"text": "discreet"},
    "show_toc_level": 2,
    "collapse_navigation": True,
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": False,
}

# The size of X is written |X| everywhere, which to Sphinx is a substitution; what is literal stays.
_SIZE = re.compile(r"(``.*?``)|\|")
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+(?:js|deploy|tools|examples|papers|bench|tests)\b[^)]*|[^)]*\.json)\)")
_TYPE = re.compile(r"\b(?:numpy|typing)\.")
_PARTS = (addnodes.desc_sig_name, addnodes.desc_annotation, addnodes.desc_returns, addnodes.desc_type)
_RESOURCE = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\b(?:src|srcset)=["']?\s*(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|author))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|(?:@import\s*|url\(\s*)["']?(?:https?:)?//""",
    re.IGNORECASE,
)


def with_sampler(app: Any, failure: Exception | None) -> None:
    """Write the devices' sampler as a script that pages opened as files can load, as they cannot load modules."""
    if failure is not None:
        return
    text = re.sub(r"^export ", "", (ROOT / "js" / "sampler.js").read_text(encoding="utf-8"), flags=re.MULTILINE)
    script = f"const discreetSampler = (() => {{\n{text}\nreturn {{ draw }};\n}})();\n"
    (Path(app.outdir) / "_static" / "sampler.js").write_text(script, encoding="utf-8")


def without_files(app: Any, name: str, source: list[str]) -> None:
    """Name files of the repository that are no part of the site, where links to them would lead nowhere."""

    def named(link: re.Match[str]) -> str:
        text, path = link[1], link[2].lstrip("./")
        return f"`{path}`" if text.strip("`/") == path.strip("/") else f"{text} (`{path}`)"

    source[0] = _OUTSIDE.sub(named, source[0])


def with_documents(app: Any, name: str, source: list[str]) -> None:
    """Show the documents at the top of the repository as pages."""
    if name in {"readme", "changelog", "contributing"}:
        text = (ROOT / f"{name.upper()}.md").read_text(encoding="utf-8")
        pages = re.sub(r"\]\((README|CHANGELOG|CONTRIBUTING)\.md", lambda link: f"]({link[1].lower()}.md", text)
        files = re.sub(r"\[([^\]]+)\]\((LICENSE|SECURITY\.md|CITATION\.cff)\)", r"\1 (`\2`)", pages)
        source[0] = re.sub(r"\]\((?!docs/|https?:|#|\w+\.md)", "](../", files).replace("](docs/", "](")


def with_errors(app: Any, name: str, source: list[str]) -> None:
    """List every code with its sentence on the page of errors, from the catalogues."""
    if name != "reference/errors":
        return
    subjects = itertools.groupby(sorted(catalogue().items()), lambda row: row[0].split(".")[0])
    for subject, rows in subjects:
        source[0] += f"\n## {subject}\n\n| code | sentence |\n|---|---|\n"
        source[0] += "".join(f"| `{code}` | {sentence.replace('|', chr(92) + '|')} |\n" for code, sentence in rows)


def with_words(app: Any, document: nodes.document) -> None:
    """Give charts without words their own titles for those who do not see them; wide ones scroll, by keyboard too."""
    for image in document.findall(nodes.image):
        # The class of the theme whose elements scroll, and take the focus if they do.
        image.parent["classes"] += ["pst-scrollable-table-container"] * isinstance(image.parent, nodes.paragraph)
        if "alt" not in image:
            titles = re.findall(
                r"itle text '([^\"]*)'\"", (Path(app.srcdir) / image["uri"]).read_text(encoding="utf-8")
            )
            image["alt"] = html.unescape("; ".join(["Chart", *dict.fromkeys(titles)]))


def with_named_buttons(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Name the buttons that unfold pages in the list of pages, which have no names in the theme."""
    tree = context.get("generate_toctree_html")
    if tree is not None:
        context["generate_toctree_html"] = lambda *words, **options: str(tree(*words, **options)).replace(
            "<summary>", '<summary aria-label="Pages of this page">'
        )


def attributes_of(docstring: str, headline: str = "Attributes") -> dict[str, str]:
    """Return what a class's docstring says on each attribute, or on each argument."""
    section = re.search(rf"^{headline}:\n((?:(?: +.*)?\n)*)", docstring + "\n", flags=re.MULTILINE)
    entries = re.split(r"^ {4}(?=\w+:)", section[1] if section else "", flags=re.MULTILINE)[1:]
    return {name: text for name, _, text in (entry.partition(":") for entry in entries)}


def with_attributes(app: Any, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Describe inherited attributes in the words of the class that defines them, and fields in those for arguments."""
    if kind in {"attribute", "property"}:
        # Napoleon takes words before a colon in the first line for a type; an empty comment has none.
        lines[:0] = ["..", ""]
    if kind not in {"class", "exception"}:
        return
    found: dict[str, str] = {}
    for one in value.__mro__:
        described = inspect.getdoc(one) or ""
        fields = attributes_of(described, "Args") if is_dataclass(one) else {}
        found = {name: fields[name] for name in fields if name in one.__annotations__} | found
        found = attributes_of(described) | found
    own = attributes_of("\n".join(lines))
    own |= dict.fromkeys(name for name in found if isinstance(inspect.getattr_static(value, name, None), property))
    missing = [f"    {name}:{text.rstrip()}" for name, text in found.items() if name not in own]
    if missing:
        at = lines.index("Attributes:") + 1 if "Attributes:" in lines else len(lines)
        lines[at:at] = [*["", "Attributes:"] * (at == len(lines)), *"\n".join(missing).splitlines()]


def without_fields(app: Any, kind: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, which the docstrings of the classes describe."""
    return True if type(value).__name__ == "_tuplegetter" else None


def with_names_of_arrays(app: Any, document: nodes.document) -> None:
    """Write `FloatArray` in signatures, and not the type that the name stands for."""
    names = {_TYPE.sub("", str(alias)): name for name, alias in vars(arrays).items() if name.endswith("Array")}
    for first in list(document.findall(lambda node: node.astext() == "ndarray" and isinstance(node.parent, _PARTS))):
        parts = first.parent.children
        at = parts.index(first)
        for end in range(at + 1, len(parts) + 1):
            text = "".join(part.astext() for part in parts[at:end])
            if text in names:
                first.parent[at:end] = [nodes.Text(names[text])]
                break


def with_sizes(app: Any, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Let |X| stand in docstrings as it is written."""
    lines[:] = [_SIZE.sub(lambda found: found[1] or r"\|", line) for line in lines]


def with_stars(app: Any, context: Any, lines: list[str]) -> None:
    """Let a star in the help of a verb be one."""
    lines[:] = [line.replace("*", r"\*") if not line.lstrip().startswith("**") else line for line in lines]


def loads_nothing(app: Any, failure: Exception | None) -> None:
    """Refuse a site that would load anything from the net."""
    if failure is not None:
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in {".html", ".css"} and _RESOURCE.search(path.read_text(encoding="utf-8")):
            raise ExtensionError(f"{path.name} loads something from the net.")


def has_all_members(app: Any, failure: Exception | None) -> None:
    """Refuse a site on which a public class lacks an entry for one of its public members."""
    if failure is not None or app.builder.name != "html":
        return
    entries = app.env.domains.python_domain.objects
    for name, entry in list(entries.items()):
        if (
            not entry.aliased
            and entry.objtype in {"class", "exception"}
            and entry.docname.startswith("reference/generated/")
        ):
            owners = pydoc.locate(name).__mro__  # type: ignore[attr-defined]
            ours = (one for one in owners if one.__module__.startswith("discreet"))
            members = {member for one in ours for member in (*vars(one), *vars(one).get("__annotations__", ()))}
            if missing := sorted(m for m in members if not m.startswith("_") and f"{name}.{m}" not in entries):
                raise ExtensionError(f"{name} has no entry for {', '.join(missing)}.")


def setup(app: Any) -> None:
    """Register what is done to pages before and after they are made."""
    app.connect("source-read", with_documents)
    app.connect("source-read", without_files)
    app.connect("source-read", with_errors)
    # Before Napoleon takes the docstrings apart.
    app.connect("autodoc-process-docstring", with_sizes, priority=400)
    app.connect("autodoc-process-docstring", with_attributes, priority=300)
    app.connect("autodoc-skip-member", without_fields)
    app.connect("doctree-read", with_names_of_arrays)
    app.connect("sphinx-click-process-description", with_stars)
    app.connect("sphinx-click-process-options", with_stars)
    # After Sphinx knows where pictures are.
    app.connect("doctree-read", with_words, priority=900)
    # After the theme has put its list there.
    app.connect("html-page-context", with_named_buttons, priority=900)
    app.connect("build-finished", with_sampler)
    app.connect("build-finished", loads_nothing)
    app.connect("build-finished", has_all_members)
