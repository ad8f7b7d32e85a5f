"""Makes what students wrote safe to show in another person's browser: text and a few tags, nothing active, bounded.

Two pages show it: the feedback, and Formgrader's page of an autograded notebook. Its scripts find buttons, scores and
comments by their classes, so no attribute that a student wrote gets into a page, except the addresses of links.
Formgrader's page has MathJax for formulas; in the feedback they are MathML.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import re
import secrets
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Any

import nh3
from bs4 import BeautifulSoup
from nbconvert.exporters import html
from nbconvert.filters import strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from pygments import format as format_tokens
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import Error, Text

from ..report.formulas import as_mathml

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

TAGS = set(
    "a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s span strong sub "
    "summary sup table tbody td th thead tr ul".split()
)

# Parsers take a few microseconds per character for almost any text. A text for which they take longer, or that is long,
# is shown as it was written.
MAX_CELL = 10_000  # characters; the course's longest cell has 7,700
MAX_PAGE = 350_000  # characters that are parsed for one page; the course's longest notebook has 152,000
MAX_FORMULAS = 100  # starts of formulas: for each, the parser searches the rest of the cell for an end
MAX_RULES = 20  # lines that may be the second of a table: for each, the parser looks at all lines that follow
LONGEST = 20_000  # characters of a text, for its result to be cached
MOST = 1_000  # results that are cached
MAX_STARS = 1_000  # asterisks, each of which may start an emphasis that any later one may end
_RULE = re.compile(r"\s*[-:|][-:|\s]*")
_BLANKS = re.compile(r"\s{100}")  # at each blank, Python's lexer looks through all that follow

# MathJax turns these into links, styles, tooltips and code from elsewhere, or into new names for such commands
_MATH_THAT_ACTS = re.compile(
    r"\\(?:href|url|style|class|cssId|require|unicode|bbox|mmlToken|data|toggle|mathtip|texttip|enclose"
    r"|[egx]?def|let|(?:re)?newcommand|providecommand|(?:re)?newenvironment|DeclareMathOperator)(?![a-zA-Z])"
)

TEMPLATES = ("feedback", "formgrade")  # of nbgrader
OUTPUTS = ("text/html", "text/plain", "image/png")  # kinds of data that are shown; HTML is the kit's own
METADATA = ("nbgrader", "autograder")  # the metadata of a cell that is kept
NAMES = ("student", "first_name", "last_name", "notebook_path", "filename")  # Formgrader inserts them as if HTML

# nothing is painted outside its own cell: no formula can cover a score, no pile of accents can reach other cells
_WITHIN = "<style>.rendered_html, .input_area, .output_area, pre {contain: content; overflow: auto}</style>"


class _Page:
    """The state of the page that is being made: how many characters may still be parsed for it."""

    left = MAX_PAGE


_page: ContextVar[_Page | None] = ContextVar("the _Page that is being made", default=None)


@contextlib.contextmanager
def one_page() -> Iterator[None]:
    """While it is open, what is parsed counts against the limit of one page."""
    page = _page.set(_Page())
    try:
        yield
    finally:
        _page.reset(page)


def _is_parsed(source: str) -> bool:
    """Whether a cell is parsed rather than shown as written. Counts its characters against the page's limit."""
    if len(source) > MAX_CELL or _BLANKS.search(source):
        return False
    page = _page.get()
    if page is not None:
        page.left -= len(source)
    return page is None or page.left >= 0


def plain(text: str) -> str:
    """The HTML of a text as it was written."""
    return f"<pre>{escape(text, quote=False)}</pre>"


# --- the filters of a page ------------------------------------------------------------------------


def safe_markdown(source: str) -> str:
    """The HTML of a Markdown cell: a few tags without attributes, and links to web pages, which open in a new tab.

    Of a picture, its description stays. A cell that is long, or that the parser chokes on, is shown as it was written.
    """
    return plain(source) if not _is_parsed(source) or _branches(source) else _markdown(source)


def _branches(source: str) -> bool:
    """Whether a Markdown cell holds more starts of formulas, emphases or tables than its parser handles quickly."""
    return (
        source.count("\\\\(") + source.count("\\\\[") > MAX_FORMULAS
        or source.count("*") > MAX_STARS
        or sum(_RULE.fullmatch(line) is not None for line in source.splitlines()) > MAX_RULES
    )


def remembering(function: Callable[..., str]) -> Callable[..., str]:
    """`function` of a text (and more hashable arguments), cached for short texts: most cells are everybody's."""
    known = functools.lru_cache(maxsize=MOST)(function)

    @functools.wraps(function)
    def remember(text: str, *more: Hashable) -> str:
        return known(text, *more) if type(text) is str and len(text) < LONGEST else function(text, *more)

    return remember


@remembering
def _markdown(source: str) -> str:
    try:
        made = _parser()(source)
    except Exception:  # otherwise one cell would cost the student the whole page
        return plain(source)
    return _MATH_THAT_ACTS.sub(r"\\text", _clean(made))


def _parser() -> Callable[[str], str]:
    return MarkdownWithMath(renderer=_Renderer(escape=False, exclude_anchor_links=True)).render


def with_formulas(source: str) -> str:
    """The same as `safe_markdown`, with formulas as MathML: for a page without scripts."""
    return plain(source) if not _is_parsed(source) or _branches(source) else _markdown_with_formulas(source)


@remembering
def _markdown_with_formulas(source: str) -> str:
    renderer = _WithFormulas()
    try:
        made = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # otherwise one cell would cost the student the whole page
        return plain(source)
    # a formula goes in only now: what a student writes as HTML holds no element of MathML, which could mislead a parser
    return _STANDS_FOR_A_FORMULA.sub(lambda found: renderer.formulas[int(found[1])], _clean(made))


WIDE = 32  # characters of a formula that may not fit a telephone: it can be scrolled, also with the keyboard
_SCROLLS = ' tabindex="0" role="group" aria-label="formula"'
_MARKUP = re.compile(r"<[^>]*>")
_TOKEN = f"formula{secrets.token_hex(16)}"  # nobody can write it, so it is only where the renderer has put it
_STANDS_FOR_A_FORMULA = re.compile(rf"{_TOKEN}n(\d+)e")


class _Renderer(IPythonRenderer):
    """nbconvert's renderer, without highlighting: the student could choose any of five hundred lexers."""

    def block_code(self, code: str, info: str | None = None) -> str:
        return plain(code)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return escape(text)


class _WithFormulas(_Renderer):
    """Keeps the formulas of a cell, as MathML, and puts a token in the place of each."""

    def __init__(self) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)
        self.formulas: list[str] = []

    def _kept(self, formula: str, is_block: bool) -> str:
        made = as_mathml(formula, is_block)
        if is_block:
            is_wide = any(len(_MARKUP.sub("", part)) > WIDE for part in made.split("</math>"))
            made = f'<span class="formula"{_SCROLLS if is_wide else ""}>{made}</span>'
        self.formulas.append(made)
        return f"{_TOKEN}n{len(self.formulas) - 1}e"

    def inline_math(self, body: str) -> str:
        return self._kept(body, False)

    def block_math(self, body: str) -> str:
        return self._kept(body, True)

    def latex_environment(self, name: str, body: str) -> str:
        return self._kept(f"\\begin{{{name}}}{body}\\end{{{name}}}", True)


def _clean(made: str) -> str:
    return nh3.clean(
        made,
        tags=TAGS,
        attributes={"a": {"href"}, "*": set()},  # by default, nh3 keeps `title` and `lang` on all tags
        attribute_filter=_only_whole_links,
        url_schemes={"http", "https", "mailto"},
        set_tag_attribute_values={"a": {"target": "_blank"}},
        link_rel="noopener noreferrer nofollow",
    )


def _only_whole_links(tag: str, name: str, value: str) -> str | None:
    """Drops links relative to where the page lies, which may lead to another machine's share or into Formgrader.

    Nor may there be a formula in an address: its MathML would end the attribute.
    """
    if _TOKEN in value:
        return None
    return value if name != "href" or re.match(r"https?://|mailto:", value, re.IGNORECASE) else None


def safe_html(made: str) -> str:
    """The HTML of an output: the kit's own sentences, which may quote students; nothing in it is read as a formula."""
    return f'<div class="tex2jax_ignore">{_clean(made)}</div>'


def highlighted(source: str, language: str | None = None, metadata: Any = None) -> str:
    """The HTML of a code cell: Python with syntax highlighting, if that takes little time."""
    return _highlighted(source) if _is_parsed(source) else plain(source)


@remembering
def _highlighted(source: str) -> str:
    tokens = ((Text if kind is Error else kind, text) for kind, text in PythonLexer().get_tokens(source))
    return format_tokens(tokens, HtmlFormatter(cssclass="highlight hl-ipython3"))


FILTERS = {
    "markdown2html": safe_markdown,
    "clean_html": remembering(safe_html),
    "highlight_code": highlighted,
    "ansi2html": lambda text: escape(strip_ansi(text), quote=False),
    "strip_files_prefix": lambda text: text,
}


# --- whole pages ----------------------------------------------------------------------------------

_from_notebook_node = html.HTMLExporter.from_notebook_node


def from_notebook_node(
    self: html.HTMLExporter, nb: NotebookNode, resources: Any = None, **more: Any
) -> tuple[str, Any]:
    """Replaces nbconvert's HTMLExporter.from_notebook_node for nbgrader's pages and for exporters told to sanitise.

    Formgrader may have made its exporter before it knew this course's configuration.
    """
    if not (self.sanitize_html or self.template_name in TEMPLATES):
        return _from_notebook_node(self, nb, resources, **more)
    self.sanitize_html = True
    self.filters = {**self.filters, **FILTERS}  # whatever a course configures: options.py says that it may not
    for name, made in self.filters.items():
        self.register_filter(name, made)
    with one_page():
        text, resources = _from_notebook_node(self, harmless(nb), with_safe_names(resources), **more)
    return text.replace("</head>", _WITHIN + "</head>", 1), resources


def harmless(notebook: NotebookNode) -> NotebookNode:
    """A notebook with only what its page needs; raw cells become plain text."""
    cells = [_harmless_cell(cell) for cell in notebook.cells]
    return NotebookNode({**notebook, "metadata": NotebookNode(), "cells": cells})


def _harmless_cell(cell: NotebookNode) -> NotebookNode:
    metadata = NotebookNode({key: cell.metadata[key] for key in METADATA if key in cell.metadata})
    made = NotebookNode({**cell, "metadata": metadata})
    made.pop("attachments", None)
    if cell.cell_type == "code":
        made.outputs = [_harmless_output(output) for output in cell.outputs]
    elif cell.cell_type == "raw":
        made.source = plain(cell.source)
    return made


def _harmless_output(output: NotebookNode) -> NotebookNode:
    if "data" not in output:
        return output
    data = NotebookNode({kind: output.data[kind] for kind in OUTPUTS if kind in output.data})
    described = NotebookNode({"image/png": NotebookNode(alt="A picture that this cell drew")})
    return NotebookNode({**output, "data": data, "metadata": described})


def with_safe_names(resources: Any) -> Any:
    """Formgrader's variables for a page, with names escaped so that they are text wherever they are inserted."""
    resources = copy.copy(resources) if resources else {}
    for name in NAMES:
        if isinstance(resources.get(name), str):
            resources[name] = escape(resources[name])
    return resources


def tree(made: str, features: str) -> BeautifulSoup | _NoTree:
    """Stands in for nbconvert's BeautifulSoup, which would take most of a page's time: nbconvert uses it to find
    pictures without a description, and ours all have one.
    """
    return BeautifulSoup(made, features) if _page.get() is None else _NoTree(made)


class _NoTree(str):
    def select(self, selector: str) -> list[Any]:
        return []
