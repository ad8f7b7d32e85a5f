"""What Formgrader's pages lack (nbgrader 0.9.6), where a server has loaded it.

A student's name is written into them as if it were HTML; what was handed in beside a notebook is served like a page of
the server's own; and whoever follows a link to `/formgrader?path=FOLDER`, from whatever page, has the server run the
nbgrader_config.py of that folder, which may be what a student handed in.
"""

import sys

from tornado.web import HTTPError

PACKAGE = "nbgrader.server_extensions.formgrader"
NOTHING_ACTS = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'"


def apply():
    """Put the patch in place in a server; elsewhere Formgrader is not even imported."""
    if f"{PACKAGE}.handlers" not in sys.modules:
        return
    handlers = sys.modules[f"{PACKAGE}.handlers"]
    handlers.BaseHandler.render = render
    handlers.SubmissionFilesHandler.content_security_policy = NOTHING_ACTS
    if handlers.FormgraderHandler.get.__name__ != "get_from_here":
        handlers.FormgraderHandler.get = _only_from_here(handlers.FormgraderHandler.get)


def render(self, name, **known):
    """A page of Formgrader's from its template, with all that is filled in escaped."""
    environment = self.settings["nbgrader_jinja2_env"]
    if not environment.autoescape:
        environment = self.settings["nbgrader_jinja2_env"] = environment.overlay(autoescape=True)
    return environment.get_template(name).render(**known)


def _only_from_here(get):
    def get_from_here(self):
        if self.get_argument("path", "") and not self.check_referer():
            raise HTTPError(403, "Open another course from JupyterLab's menu, not by a link.")
        return get(self)

    return get_from_here
