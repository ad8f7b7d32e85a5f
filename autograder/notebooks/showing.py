"""Shows what students wrote in somebody else's browser: Markdown to HTML, without anything that acts."""

import re
from html import escape

import nh3
from nbconvert.filters import markdown2html

from .remembering import remembering

TAGS = set(
    "a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s span strong sub "
    "summary sup table tbody td th thead tr ul".split()
)
ATTRIBUTES = {"a": {"href", "title", "class"}, "td": {"align"}, "th": {"align"}, "span": {"class"}, "div": {"class"}}

# a picture pasted into a cell: nbconvert gives up where it is not kept
_PASTED = re.compile(r"attachment:", re.IGNORECASE)

# MathJax turns these into links, styles and code of other places
_MATH_THAT_ACTS = re.compile(r"\\(href|url|style|class|cssId|require|unicode|bbox|mmlToken|data)\b")


def _only_whole_links(tag, name, value):
    """Leaves out links that depend on where the page lies: to a share of another machine, or into Formgrader."""
    return value if name != "href" or re.match(r"(https?://|mailto:|#)", value, re.IGNORECASE) else None


@remembering
def safe_markdown(source):
    """The HTML of a Markdown cell: no scripts, handlers, frames, pictures from elsewhere, or links but to web pages.

    Pictures that were pasted into the cell are not kept. A cell that the parser chokes on is shown as it was written.
    """
    source = _PASTED.sub("attachment-", _MATH_THAT_ACTS.sub(r"\\text", source))
    try:
        made = markdown2html(source)
    except Exception:  # one cell of one student, and the page of the whole notebook would be lost
        made = f"<pre>{escape(source)}</pre>"
    return nh3.clean(
        made,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        attribute_filter=_only_whole_links,
        link_rel="noopener noreferrer nofollow",
    )
