"""What becomes of a student's text on its way into a page, piece by piece; whole pages are in test_shown.py."""

import functools
import random
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT, load
from nbconvert.exporters import HTMLExporter, html
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from nbgrader.server_extensions.formgrader import handlers
from pygments.token import STANDARD_TYPES

from autograder.nbgrader import patches
from autograder.nbgrader import safe_markdown as showing
from autograder.nbgrader.safe_markdown import highlighted, safe_html, safe_markdown
from autograder.nbgrader.shown_cells import shown_cells

ATTRIBUTES = re.compile(r"<[a-z][a-z0-9]*((?:\s+[a-z-]+=\"[^\"]*\")*)\s*/?>")
LINK = re.compile(r'(\s+href="(https?://|mailto:)[^"]*"|\s+target="_blank"|\s+rel="noopener noreferrer nofollow")*')


def attributes(made):
    """The attributes of all tags but of links to web pages."""
    return [given for given in ATTRIBUTES.findall(made) if given and not LINK.fullmatch(given)]


# --- Markdown -------------------------------------------------------------------------------------

HOSTILE = [
    "<div class='full-credit' id=x style='position:fixed' data-toggle=x onclick=alert(1)>x</div>",
    "```full-credit\nx\n```",
    "```python\nx = 1\n```",
    "```mermaid\ngraph TD\n```",
    "# heading\n\n## heading {#x .y}",
    "| a | b |\n|:-:|--:|\n| c | d |",
    "- [ ] task\n- [x] done",
    "![x](attachment:y.png) ![x](https://a.example/y.png 'z') <img src=x class=y>",
    "<a href=https://a.example class=x id=y name=z title=t target=_self onclick=a>x</a> [y](https://a.example 'title')",
    "<p align=center dir=rtl lang=x title=y hidden tabindex=1 contenteditable accesskey=s>x",
    "<details open ontoggle=a><summary class=x>y</summary>z</details>",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_markdown_has_no_attributes_but_links(source):
    assert attributes(safe_markdown(source)) == []


def test_the_check_of_attributes_sees_them():
    for made in ('<p class="x">', '<a href="/x">', '<a href="javascript:x">', '<a href="https://x" class="y">'):
        assert attributes(made), made


@pytest.mark.parametrize(
    "address",
    [
        "/formgrader",
        "../x",
        "?index=1",
        "#x",
        "//a.example",
        "javascript:x",
        "data:text/html,x",
        "file:///x",
        "x:y",
        "\\x",
    ],
)
def test_links_lead_to_web_pages_or_nowhere(address):
    for made in (safe_markdown(f"[x]({address})"), safe_markdown(f'<a href="{address}">x</a>')):
        assert "href" not in made and "x" in made


def test_a_link_opens_beside_the_page_and_tells_nothing_of_it():
    made = safe_markdown("[x](https://a.example/?a=1&b=2)")
    assert 'href="https://a.example/?a=1&amp;b=2"' in made and 'target="_blank"' in made and "noreferrer" in made


def test_what_honest_answers_use_is_shown():
    made = safe_markdown(
        "# Why\n\n*a* **b** `c` ~~d~~\n\n1. e\n2. f\n\n> g\n\n```python\nh = 1\n```\n\n"
        "<details><summary>i</summary>j</details>"
        "\n\n| k |\n|---|\n| l |\n\n$\\frac{m}{n}$\n\nx<sub>2</sub>"
    )
    for part in (
        "<h1>Why</h1>",
        "<em>a</em>",
        "<strong>b</strong>",
        "<code>c</code>",
        "<li>e</li>",
        "<blockquote>",
        "<td>l</td>",
    ):
        assert part in made, made
    for part in ("<pre>h = 1", "<summary>i</summary>", "$\\frac{m}{n}$", "x<sub>2</sub>"):
        assert part in made, made
    assert "¶" not in made


COMMANDS = (
    "href url style class cssId require unicode bbox mmlToken data def gdef let newcommand renewcommand toggle".split()
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "way",
    [
        "$\\%s{a}{b}$",
        "$$\\%s{a}{b}$$",
        "\\\\(\\%s{a}\\\\)",
        "\\begin{align}\\%s{a}\\end{align}",
        "$\\%s1{x}$",
        "$\\%s_x$",
    ]
    + ["&#36;&#92;%s{a}&#36;", "$&bsol;%s{a}$", "<p>$\\<!-- -->%s{a}$</p>", "$\\text{\\%s{a}{b}}$"],
)
def test_no_formula_acts(command, way):
    made = safe_markdown(way % command)
    assert not re.search(rf"\\{command}(?![a-zA-Z])", made), made


def test_other_formulas_stay():
    for source in (r"$\frac{a}{b}$", r"$\left(\hat{\theta}\right)$", r"$\classical$", r"$\define$", r"$\database$"):
        assert safe_markdown(source) == f"<p>{source}</p>\n"


# --- what is slow ---------------------------------------------------------------------------------

SLOW = [
    "a\n" + "\n" * 5_000 + "a",
    " \n" * 2_000,
    "a" + "\t" * 200 + "b",
    "x" * (showing.MAX_CELL + 1),
]


@pytest.mark.parametrize("source", SLOW)
@pytest.mark.parametrize("make", [safe_markdown, highlighted])
def test_what_is_long_or_slow_is_shown_as_it_was_written(make, source):
    assert make(source) == f"<pre>{source}</pre>"


@pytest.mark.parametrize("opener", ["\\\\(", "\\\\["])
def test_many_formulas_without_an_end_are_shown_as_they_were_written(opener):
    source = opener * (showing.MAX_FORMULAS + 1)
    assert safe_markdown(source) == f"<pre>{source}</pre>"


SUPERLINEAR = [
    "|-\n|",
    "||\n-|",
    "|a\n|-|\n|",
    "~|a|\n|-|\n",
    "\t|-\n|",
    "|:\u00a0-:\r|",
    ":|\x0b|\n|-",
    "*" * 5_000 + "*a",
    "*" * 5_000 + "**a*",
    "*a**",
]


def calls(function, *arguments):
    """How many functions are called while one is."""
    count = 0

    def tell(frame, event, function):
        nonlocal count
        count += 1

    sys.setprofile(tell)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return count


@functools.cache  # as the HTML is
def calls_for_ordinary_text():
    return calls(safe_markdown, "Some *ordinary* **text** in `words`.\n\n" * 100)


@pytest.mark.parametrize("part", SUPERLINEAR)
def test_what_takes_more_than_its_length_is_as_cheap_as_ordinary_text(part):
    source = (part * 4_000)[:4_000] if len(part) < 100 else part + part[5_000:] * 1_000
    assert len(source) < showing.MAX_CELL
    assert calls(safe_markdown, source) < 5 * calls_for_ordinary_text()
    assert safe_markdown(source) == showing.plain(source)


def test_honest_tables_and_lists_are_shown():
    table = "| a | b |\n|---|--:|\n" + "| *c* | - |\n" * 200
    assert safe_markdown(table).count("<td>") == 400
    assert safe_markdown("| a |\n|---|\n| b |\n\n" * showing.MAX_RULES).count("<table>") == showing.MAX_RULES
    assert safe_markdown("* a **b** *c*\n" * 100).count("<strong>b</strong>") == 100


def test_the_courses_own_cells_are_within_the_bounds():
    for path in sorted((ROOT / "solutions").glob("*/*.ipynb")):
        cells = [cell for cell in load(path)["cells"] if cell["id"] != "storyteller"]  # weights, see the test below
        texts = ["".join(cell["source"]) for cell in cells]
        assert sum(map(len, texts)) < showing.MAX_PAGE / 2, path
        for cell, text in zip(cells, texts, strict=True):
            made = safe_markdown(text) if cell["cell_type"] == "markdown" else highlighted(text)
            assert made != showing.plain(text), text


def test_of_a_long_cell_that_is_folded_the_beginning_is_shown():
    path = ROOT / "solutions" / "08_modern_block" / "08_modern_block.ipynb"
    (weights,) = [cell for cell in load(path)["cells"] if cell["id"] == "storyteller"]
    source = "".join(weights["source"])
    (shown,) = shown_cells({"cells": [weights]})
    assert len(source) > 200_000 > 2_000 > len(shown.source) and "more characters" in shown.source
    weights["metadata"]["jupyter"] = {}
    (shown,) = shown_cells({"cells": [weights]})
    assert len(shown.source) >= len(source), "a student's own, not folded"


class Lines:
    """Counts how often a parser is asked."""

    def __init__(self, monkeypatch):
        self.parsed = 0
        for name in ("_markdown", "_highlighted"):
            monkeypatch.setattr(showing, name, self.count)

    def count(self, source):
        self.parsed += len(source)
        return "parsed"


def test_a_page_of_many_cells_is_parsed_up_to_a_bound(monkeypatch):
    lines = Lines(monkeypatch)
    cells = [new_markdown_cell("a" * 5_000) for _ in range(100)] + [new_code_cell("b" * 5_000) for _ in range(100)]
    for _ in range(2):  # each page has its own
        lines.parsed = 0
        text = exported(cells)
        assert showing.MAX_PAGE - 5_000 <= lines.parsed <= showing.MAX_PAGE
        assert text.count("b" * 5_000) == 100 and text.count("a" * 5_000) + text.count("parsed") == 100


# --- code -----------------------------------------------------------------------------------------

CODE = [
    "import os\nx = f'{a!r}' # b",
    "%%html\n<div class='full-credit'>x",
    "%%javascript\nx",
    "!ls $x",
    "a?",
    "\x1b[1m é ° $",
    "",
]


@pytest.mark.parametrize("source", CODE)
def test_code_has_no_classes_but_of_tokens(source):
    made = highlighted(source, "x' class='y", {"magics_language": "full-credit"})
    classes = re.findall(r'<span class="([^"]*)">', made)
    assert set(classes) <= set(STANDARD_TYPES.values()) - {"err", ""}
    rest = re.sub(r'<span class="[^"]*">', "", made).replace('<div class="highlight hl-ipython3">', "")
    assert attributes(rest) == []


def test_no_class_of_a_token_means_anything_to_formgrader():
    scripts = "".join(path.read_text() for path in sorted(Path(handlers.static_path, "js").glob("*.js")))
    found = set(re.findall(r"[\"' ]\.([a-zA-Z_][\w-]*)", scripts))
    assert {"full-credit", "score", "comment"} <= found
    assert not found & {*STANDARD_TYPES.values(), "highlight", "hl-ipython3"}


# --- whole notebooks --------------------------------------------------------------------------------


def exported(cells, template="classic", sanitize=True, **resources):
    """The page of a notebook."""
    patches.apply()
    exporter = HTMLExporter(template_name=template, sanitize_html=sanitize)
    return exporter.from_notebook_node(new_notebook(cells=cells), resources=resources)[0]


def body(text):
    return text[text.index("<body") :]


@pytest.mark.parametrize("metadata", [{}, {"raw_mimetype": "text/html"}, {"format": "x"}, {"raw_mimetype": "no/such"}])
def test_a_raw_cell_is_text(metadata):
    cell = new_raw_cell("<div class='full-credit'></pre><script>alert(1)</script>", metadata=metadata)
    text = body(exported([cell]))
    assert "full-credit" in text and "<script" not in text and "<div class='full" not in text


def test_metadata_of_cells_says_nothing_on_a_page():
    metadata = {"tags": ["full-credit"], "collapsed": True, "jupyter": {"source_hidden": True}, "slideshow": {"x": "y"}}
    metadata["transient"] = {"remove_source": True}
    text = body(
        exported([new_code_cell("there = 1", metadata=metadata), new_markdown_cell("*too*", metadata=metadata)])
    )
    assert "full-credit" not in text and "there" in text and "<em>too</em>" in text


def test_outputs_are_text_pictures_and_the_kits_html():
    acts = "<script>alert(1)</script><b class=full-credit onclick=x>y</b>$\\class{a}{b}$"
    kinds = ("text/html", "text/latex", "text/markdown", "image/svg+xml", "application/javascript", "text/vnd.mermaid")
    outputs = [new_output("display_data", {kind: acts}, metadata={kind: {"isolated": True}}) for kind in kinds]
    outputs.append(new_output("display_data", {"image/png": "iVBORw0KGgo="}, metadata={"image/png": {"alt": "x' y='"}}))
    outputs.append(new_output("stream", text=f"\x1b[31m{acts}\x1b[38;2;1;2;3mz"))
    outputs.append(new_output("error", ename=acts, evalue=acts, traceback=[acts, f"\x1b[1;31m{acts}"]))
    text = body(exported([new_code_cell("x", outputs=outputs)]))
    assert not re.search(r"<(script|iframe|svg|math)|<[^>]*(full-credit|onclick|ansi-|style=)", text)
    assert "\x1b" not in text
    assert 'alt="A picture that this cell drew"' in text and "tex2jax_ignore" in text


def test_the_kits_html_keeps_its_tags_and_is_no_formula():
    made = safe_html(
        "<div><strong>attention: 1 of 2</strong></div>\n<div>✓ <em>values</em>: It is <code>$x$</code></div>"
    )
    assert made.startswith('<div class="tex2jax_ignore">') and "<strong>attention: 1 of 2</strong>" in made


def test_names_are_text():
    about = showing.with_safe_names(
        {"student": "<img src=x>", "notebook_path": "a\"b'<", "index": 1, "last_name": None}
    )
    assert about == {
        "student": "&lt;img src=x&gt;",
        "notebook_path": "a&quot;b&#x27;&lt;",
        "index": 1,
        "last_name": None,
    }


def test_pages_that_are_not_of_nbgrader_are_as_they_were():
    """JupyterLab's own export to HTML runs in the same server."""
    cell = new_markdown_cell("<div class='x'>y</div>")
    assert '<div class="x">y</div>' in exported([cell], sanitize=False)
    assert 'class="x"' not in exported([cell]) and html.BeautifulSoup("<p>", "html.parser").p is not None


def test_formgraders_page_is_safe_though_its_exporter_knows_no_configuration():
    """It is made when the server starts, maybe before a course is opened."""
    patches.apply()
    exporter = HTMLExporter(template_name="formgrade", extra_template_basedirs=[handlers.template_path])
    output = new_output("display_data", {"text/html": "<b class=full-credit>x</b>"})
    cells = [new_raw_cell("<b class=full-credit>"), new_markdown_cell("<b class=full-credit>")]
    about = {"index": 0, "total": 1, "student": "<b class=full-credit>"}
    nb = new_notebook(cells=[*cells, new_code_cell("x", outputs=[output])])
    text = exporter.from_notebook_node(nb, resources=about)[0]
    assert "full-credit" in text and not re.search(r"<b[^>]+full-credit", text)


@pytest.mark.parametrize("seed", range(10))
def test_any_text_makes_a_page_without_a_mark(seed):
    draw = random.Random(seed)
    pieces = [
        *HOSTILE,
        *CODE,
        "<",
        ">",
        "&",
        '"',
        "'",
        "`",
        "```",
        "$",
        "\\\\(",
        "\\",
        "\n",
        "\n\n",
        " ",
        "[",
        "](",
        ")",
        "*",
    ]
    pieces += [
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "</div>",
        "</pre>",
        "<table>",
        "<p",
        "class=full-credit",
        "=",
        "x",
    ]
    for _ in range(50):
        source = "".join(draw.choice(pieces) for _ in range(draw.randint(1, 12)))
        assert attributes(safe_markdown(source)) == [], source
        assert attributes(safe_html(source).replace(' class="tex2jax_ignore"', "")) == [], source
