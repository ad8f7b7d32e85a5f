"""Parts of nbconvert's making of a page that write the same in less time.

nbconvert parses every page that it has made, looks for pictures without a text, and writes the page again: most of the
time goes there. Of a page that is plainly nested no tree is built here: BeautifulSoup is only asked about each tag
once, and does the whole of a page in which anything is out of the ordinary.
"""

import functools
import re

from bs4 import BeautifulSoup
from nbconvert.filters import Highlight2HTML

from .remembering import remembering

_TOKEN = re.compile(
    r"""</(?P<end>[a-z][a-z0-9]*)>"""
    r"""|<(?P<start>[a-z][a-z0-9]*)(?:\s+[a-zA-Z][a-zA-Z-]*(?:="[^"<>]*")?)*\s*/?>"""
    r"""|(?P<aside><!DOCTYPE\ html>|<!--[\w\s.,:;]*\w[\w\s.,:;]*-->)"""
    r"""|(?P<text>[^<]+)"""
)
_ORDINARY = re.compile(r"(?:[^&>]|&(?:lt|gt|amp|quot|\#39);)*")
_RAW = {"script": "<", "style": "<", "title": "<&>"}  # and what in them needs a parser to say where they end
_OTHER_RULES = {"textarea", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext", "template", "svg", "math"}
_LONG = 500  # characters of a tag that is not worth remembering: a picture
_SPACES = " \n\t\f\r"


class Highlight(Highlight2HTML):
    """nbconvert's filter for code, which remembers the cells that everybody has."""

    def __call__(self, source, language=None, metadata=None):
        if self.extra_formatter_options or "magics_language" in (metadata or {}):
            return super().__call__(source, language, metadata)
        return _highlighted(source, language or self.pygments_lexer)


@remembering
def _highlighted(source, language):
    return Highlight2HTML(language)(source)


class Soup:
    """Stands in for `BeautifulSoup(html, features="html.parser")`, which it becomes where a page calls for it."""

    # the selectors that nbconvert asks for, and without what nothing in a page can match
    NEEDS = {
        "img:not([alt])": re.compile(r"<img(?![^<>]* alt=\")", re.IGNORECASE),
        ".jp-Notebook div.jp-Cell-inputWrapper": re.compile("jp-Notebook"),
        ".jp-Notebook div.jp-OutputArea-output": re.compile("jp-Notebook"),
    }

    def __init__(self, html, features):
        self._html = html
        self._features = features

    @functools.cached_property
    def _tree(self):
        return BeautifulSoup(self._html, features=self._features)

    def __getattr__(self, name):
        return getattr(self._tree, name)

    def select(self, selector):
        needs = self.NEEDS.get(selector)
        return [] if needs and not needs.search(self._html) else self._tree.select(selector)

    def __str__(self):
        if "_tree" not in self.__dict__ and self._features == "html.parser":
            written = rewritten(self._html)
            if written is not None:
                return written
        return str(self._tree)


def rewritten(html):
    """`str(BeautifulSoup(html, "html.parser"))`, or None if that takes a parser to say."""
    parts, within, at, kept = [], [], 0, 0  # `within`: the elements that are open; `kept`: those that keep spaces
    while at < len(html):
        token = _TOKEN.match(html, at)
        if token is None:
            return None
        kind, at = token.lastgroup, token.end()
        if kind == "text":
            if at == len(html) and not _ORDINARY.fullmatch(token[0]):
                return None  # what begins with & at the very end has rules of its own
            parts.append(_text(token[0], bool(kept)))
        elif kind == "aside":
            parts.append(_alone(token[0]))
        elif kind == "end":
            if not within or within.pop() != token["end"]:
                return None
            kept -= token["end"] == "pre"
            parts.append(token[0])
        else:
            name = token["start"]
            if name in _OTHER_RULES:
                return None
            tag = token[0]
            made, is_void = _start(tag, name) if len(tag) < _LONG else _start.__wrapped__(tag, name)
            parts.append(made)
            if is_void:
                continue
            if tag.endswith("/>"):
                return None
            within.append(name)
            kept += name == "pre"
            if name in _RAW:
                end = html.find("</", at)
                inside = html[at:end]
                if not html.startswith(f"</{name}>", end) or set(_RAW[name]) & set(inside):
                    return None
                parts.append(_spaces(inside, bool(kept)))
                at = end
    return None if within else "".join(parts)


def _text(text, keeps_spaces):
    if not _ORDINARY.fullmatch(text):
        return _within(text, "pre" if keeps_spaces else "p")
    text = _spaces(text, keeps_spaces)
    return text.replace("&quot;", '"').replace("&#39;", "'") if "&" in text else text


@remembering
def _within(text, name):
    made = str(BeautifulSoup(f"<{name}>{text}</{name}>", "html.parser"))
    return made[len(name) + 2 : -len(name) - 3]


def _spaces(text, keep):
    """Text, or one character for text of nothing but spaces."""
    return text if keep or not text or text.strip(_SPACES) else "\n" if "\n" in text else " "


@functools.lru_cache(maxsize=10_000)
def _start(tag, name):
    """How a tag is written, and whether it is of an element that never holds anything."""
    made = str(BeautifulSoup(tag, "html.parser"))
    end = f"</{name}>"
    return (made[: -len(end)], False) if made.endswith(end) else (made, True)


@functools.lru_cache(maxsize=100)
def _alone(aside):
    return str(BeautifulSoup(aside, "html.parser"))
