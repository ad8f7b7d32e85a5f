"""Formgrader itself, in a browser: whatever a student hands in, a click on it changes nothing, and nothing is hidden."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in, load
from mangling import code
from nbgrader.api import Gradebook

from autograder.notebooks.nbgrader_runs import Course

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

CELLS = ("setup", "attention-solution", "attention", "question-three-matrices")
QUESTION = "question-three-matrices"
TOKEN = "token-of-this-test"
NAMED = "<img src=x onerror=alert(1)> '&"  # a student

# what Formgrader's scripts listen to, look for or fill in, and what bootstrap's do
BUTTONS = "full-credit no-credit mark-graded score extra-credit comment tabbable save-icon score-saved help".split()
CLASSES = [
    *BUTTONS,
    "nbgrader_cell",
    "live-notebook",
    "modal fade in",
    "navbar-fixed-top",
    "hidden",
    "name-shown",
    "hide",
]
COVER = "position:fixed;top:0;left:0;width:100%;height:100%;z-index:9999;display:block"
TAGS = "div span p a b pre code table td h1 li details summary button input form label select textarea svg".split()

MARKDOWN = [
    *(f"<div class='{name}'>click {name}</div>\n\n<span class={name}>me</span>" for name in CLASSES),
    *(
        f"<{tag} class='full-credit' id=attention style='{COVER}' onclick=alert(1) data-toggle=dropdown>x"
        for tag in TAGS
    ),
    f"<div id='{QUESTION}' class='score' style='{COVER}'><input class=score value=0></div><div id=attention></div>",
    f"<div id='{QUESTION}-comment' class='comment'>x</div><a name=attention id=statusmessage href=#attention>y</a>",
    "<div class='panel nbgrader_cell'><button class='btn full-credit'>Full credit</button></div>",
    "<label for=attention>x</label><map><area class=full-credit href=#x></map><dialog open class=full-credit>y</dialog>",
    "```full-credit\nx\n```\n\n``` python .full-credit {.full-credit #attention}\nx\n```\n\n~~~mermaid\nx\n~~~",
    "# a {.full-credit}\n\n[x](y){.full-credit}\n\n[^1]\n\n[^1]: note\n\n- [ ] task\n\n: full-credit",
    "[a](/formgrader/gradebook) [b](../x) [c](?index=0) [d](#attention) [e](next) <a href=prev>f</a> <a href=//x.example>g</a>",
    "$\\class{full-credit}{x}\\cssId{attention}{y}\\style{position:fixed}{z}$ $\\def\\c{\\class}\\c{full-credit}{x}$",
    "<details open class='full-credit' style='position:fixed'><summary class=full-credit>more</summary>of it</details>",
    "<style>.score {display: none}</style><base href=//x.example><meta http-equiv=refresh content=0>",
    "</div></div></div></div></div><div class=full-credit>out of its place</div>",
    "<!-- <div class='full-credit'> --><div\nclass\n=\n'full-credit'>x</div><div/class=full-credit>y</div>",
    "&lt;div class=full-credit&gt; \u202e<b class=full-credit>turned\u202c &#60;div class=full-credit>",
]


def attacking(notebook):
    """The notebook with attacks in all places where a student's text comes to be shown."""
    cell_of(notebook, QUESTION)["source"] = "\n\n".join(MARKDOWN[:12])
    cell_of(notebook, QUESTION)["metadata"].update(
        tags=["full-credit"], collapsed=True, jupyter={"source_hidden": True}
    )
    solution = cell_of(notebook, "attention-solution")
    solution["source"] = (
        "def attention(query, key, value, mask=None):\n"
        "    raise ValueError('`<b class=full-credit>` $\\\\class{full-credit}{x}$ </div><div class=full-credit>')\n"
    )
    for number, text in enumerate(MARKDOWN):
        own = {"id": f"own-{number}", "metadata": {"tags": ["full-credit", "x' class='full-credit"]}, "source": text}
        notebook["cells"].append({**own, "cell_type": "markdown"})
        metadata = {"raw_mimetype": "text/html"} if number % 2 else {"format": "text/html"}
        notebook["cells"].append({**own, "cell_type": "raw", "id": f"raw-{number}", "metadata": metadata})
    for magic in ("%%html", "%%javascript", "%%markdown", "%%full-credit"):
        notebook["cells"].append(code(f"{magic}\n<div class='full-credit'>click</div>"))
    notebook["cells"].append(code("print('<div class=full-credit>\\x1b[1mclick</div>')\n'<div class=full-credit>'"))
    notebook["cells"].append(code("raise ValueError('</pre><div class=full-credit>')"))
    notebook["metadata"].update(
        title="</title><div class='full-credit'>", language_info={"name": "x' class='full-credit"}
    )
    return notebook


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A course of a code exercise and a written answer; one student attacks, another has an odd name."""
    place = tmp_path_factory.mktemp("formgrader")
    source = load(ROOT / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    source["cells"] = [c for c in source["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") in CELLS]
    hand_in(source, place / "source" / ASSIGNMENT)
    shutil.copy(ROOT / "nbgrader_config.py", place)
    Course(place).build(ASSIGNMENT)
    for name in ("mallory", NAMED):
        notebook = load(place / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
        hand_in(attacking(notebook) if name == "mallory" else notebook, place / "submitted" / name / ASSIGNMENT)
    ran = place / "ran"
    program = f"open({str(ran)!r}, 'w').write('by the server')\n"
    (place / "submitted" / "mallory" / ASSIGNMENT / "nbgrader_config.py").write_text(program)
    command = [sys.executable, "-m", "autograder", "grade", "02", "--jobs", "1"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


class Server:
    """A Jupyter server with Formgrader on a free port of this machine, and what a browser needs to see it."""

    def __init__(self, place, scratch):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "JUPYTER_NO_CONFIG": "", "HOME": str(scratch)}
        for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
            environment[f"JUPYTER_{name}"] = str(scratch / name)
        options = ["--ip=127.0.0.1", "--port=0", "--no-browser", "--allow-root", f"--IdentityProvider.token={TOKEN}"]
        extensions = "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}"
        self.log = scratch / "server.log"
        with open(self.log, "w") as log:
            command = [sys.executable, "-m", "jupyter_server", *options, extensions]
            self.process = subprocess.Popen(command, cwd=place, env=environment, stdout=log, stderr=log)
        self.url = self._url(scratch / "RUNTIME_DIR" / f"jpserver-{self.process.pid}.json")

    def _url(self, path):
        for _ in range(600):
            if path.is_file() and (text := path.read_text()):
                return json.loads(text)["url"].rstrip("/")
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def get(self, path, **headers):
        """The status and text of a page."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"token {TOKEN}", **headers})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def page(self, submission):
        return f"/formgrader/submissions/{submission}/"

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server(place, tmp_path_factory):
    server = Server(place, tmp_path_factory.mktemp("server"))
    yield server
    server.close()


def submission(place, student):
    """Formgrader's name of a student's notebook."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        return book.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, student).id
