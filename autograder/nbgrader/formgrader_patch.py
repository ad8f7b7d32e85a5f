"""Closes security holes in Formgrader's pages (nbgrader 0.9.6), if a server has loaded it.

Without it, a student's name is written into the pages as if it were HTML. Files handed in beside a notebook are served
like the server's own pages. And whoever follows a link to `/formgrader?path=FOLDER`, from any page, makes the server
run the nbgrader_config.py in that folder, which a student may have handed in. Formgrader's own pages contain such a
link if a student's name is `%2e%2e?path=FOLDER`, and JupyterLab shows the links in a notebook.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tornado.web import HTTPError

from . import private_names

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = "nbgrader.server_extensions.formgrader"
NOTHING_ACTS = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'"
CONFIGURATION = "nbgrader_config.py"
WITH_MENUS = ("lab", "doc", "tree", "notebooks")  # the paths of pages with menus that open a course


def apply() -> None:
    """Put the patch in place in a server; elsewhere Formgrader is not even imported."""
    if f"{PACKAGE}.handlers" not in sys.modules:
        return
    handlers = sys.modules[f"{PACKAGE}.handlers"]
    if handlers.BaseHandler.render is not render:
        private_names.require(private_names.OF_FORMGRADER)
    handlers.BaseHandler.render = render
    handlers.SubmissionFilesHandler.content_security_policy = NOTHING_ACTS
    if handlers.FormgraderHandler.get.__name__ != "get_from_here":
        handlers.FormgraderHandler.get = _only_from_here(handlers.FormgraderHandler.get)


def render(self: Any, name: str, **known: Any) -> str:
    """Render a Formgrader page from its template, with every inserted value escaped."""
    environment = self.settings["nbgrader_jinja2_env"]
    if not environment.autoescape:
        environment = self.settings["nbgrader_jinja2_env"] = environment.overlay(autoescape=True)
    return environment.get_template(name).render(**known)


def _only_from_here(get: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get_from_here(self: Any) -> Any:
        path = self.get_argument("path", "")
        if path and not (self.check_referer() and _is_from_a_menu(self)):
            raise HTTPError(403, "Open another course from JupyterLab's menu, not by a link.")
        if path and _is_within_a_course(path):
            raise HTTPError(
                403, "This folder is inside a course, among students' files, and is not a course of its own."
            )
        return get(self)

    return get_from_here


def _is_from_a_menu(handler: Any) -> bool:
    """Whether the request comes from one of Jupyter's own pages: Formgrader's pages, and files, hold only links."""
    path = urlsplit(handler.request.headers.get("Referer", "")).path
    return any(f"{path}/".startswith(f"{handler.base_url}/{page}/") for page in WITH_MENUS)


def _is_within_a_course(path: str) -> bool:
    """Whether a folder lies below another course, by its path as written or after resolving links."""
    above = [parent for made in (os.path.abspath, os.path.realpath) for parent in Path(made(path)).parents]
    return any((parent / CONFIGURATION).exists() for parent in above)
