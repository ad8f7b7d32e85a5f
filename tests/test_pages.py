"""The pages of the repository lead to each other: every relative link, every anchor, every picture."""

import re
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT
from markdown_it import MarkdownIt

FILES = ROOT, ROOT / "docs", ROOT / "release", ROOT / "tests" / "hostile", ROOT / "tests" / "strangers"
PAGES = sorted(page for folder in FILES for page in folder.glob("*.md"))
MARKDOWN = MarkdownIt("commonmark").enable("table")


def parts(page, kind):
    """The tokens of a page, with those inside of paragraphs, headings and cells."""
    tokens = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    return [part for token in tokens for part in (token, *(token.children or ())) if part.type == kind]


def anchors(page):
    """Of its headings, as GitHub makes them: small letters, no punctuation, a hyphen for each space."""
    found = []
    tokens = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type == "heading_open":
            text = "".join(part.content for part in inline.children if part.type in ("text", "code_inline"))
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found.append(f"{anchor}-{found.count(anchor)}" if anchor in found else anchor)
    return found


def faults(page, root=ROOT):
    """The links of a page that lead nowhere."""
    targets = [part.attrs["href"] for part in parts(page, "link_open")]
    for target in [*targets, *(part.attrs["src"] for part in parts(page, "image"))]:
        url = urlsplit(target)
        if url.scheme or url.netloc:
            continue
        path = (page.parent / unquote(url.path)).resolve() if url.path else page
        if not (path.exists() and path.is_relative_to(root)):
            yield f"{target}: no such file"
        elif url.fragment and url.fragment not in anchors(path):
            yield f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    assert list(faults(page)) == []


def test_what_leads_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Two words\n[a](#two-words) [b](#two) [c](https://a.b/c) ![d](no.png)\n\n    [e](code.md)\n")
    assert list(faults(page, tmp_path)) == ["#two: no such heading", "no.png: no such file"]


def test_headings_have_the_anchors_that_github_makes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A package, or a newer one\n## What `--x y` does\n## Again\n## Again\n```\n# no heading\n```\n")
    assert anchors(page) == ["a-package-or-a-newer-one", "what---x-y-does", "again", "again-1"]
