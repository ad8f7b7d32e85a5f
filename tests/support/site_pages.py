"""What the site has beside docs/, for mkdocs.yml: pages from elsewhere in the repository, and links to its files.

A page is written for the repository. A link to a file that is no page of the site leads to that file in the repository;
where it is not known which repository that is, it is no link.
"""

import posixpath
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {  # the path of a page in the repository: its name in the site
    "README.md": "index.md",
    "release/README.md": "students.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "promises.md",
}


def path_of(name: str) -> str:
    """The path in the repository of a page of the site."""
    return next((path for path, page in ELSEWHERE.items() if page == name), f"docs/{name}")


def leads_to(target: str, page: str, repository: str | None) -> str | None:
    """Where a link on a page of the site leads: to another page, or into the repository. None if nobody knows."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not parts.path:
        return target
    path = posixpath.normpath(posixpath.join(posixpath.dirname(path_of(page)), parts.path))
    name = ELSEWHERE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    if name is not None:
        return parts._replace(path=posixpath.relpath(name, posixpath.dirname(page) or ".")).geturl()
    if not (ROOT / path).exists():
        return target  # which the strict build refuses
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"{repository.rstrip('/')}/{kind}/HEAD/{path}" if repository else None


class Links(Treeprocessor):
    """Rewrites the links of one page after another, before MkDocs looks at them."""

    page, repository = "index.md", None

    def run(self, root: Element) -> None:
        for element in root.iter():
            for attribute in ("href", "src"):
                if (target := element.get(attribute)) is None:
                    continue
                found = leads_to(target, self.page, self.repository)
                if found is None:
                    element.tag = "span"
                    del element.attrib[attribute]
                else:
                    element.set(attribute, found)


class Rewritten(Extension):
    """Puts `Links` before the step in which MkDocs resolves and checks links, which has the priority 0."""

    def __init__(self) -> None:
        super().__init__()
        self.links = Links()

    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(self.links, "repository", 1)


rewritten = Rewritten()


def on_config(config: MkDocsConfig) -> None:
    rewritten.links.repository = config.repo_url or None
    config.markdown_extensions.append(rewritten)  # type: ignore[arg-type]  # MkDocs passes it on as it is


def on_files(files: Files, config: MkDocsConfig) -> None:
    for path, name in ELSEWHERE.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    rewritten.links.page = page.file.src_uri
    if page.parent is None:
        page.meta["hide"] = ["navigation"]  # it would have this page alone
