"""Formgrader itself, in a browser: whatever a student hands in, clicks on it change nothing, and nothing is hidden."""

import html
import re
import shutil
import urllib.parse

import formgrader
import pytest
import warm
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in, load
from formgrader import idle, opened, typed, until
from mangling import code
from nbgrader.api import Gradebook

from autograder.nbgrader.runs import NbgraderCourse

pytestmark = pytest.mark.slow("it starts Formgrader and a browser")

CELLS = ("setup", "attention-solution", "attention", "question-three-matrices")
QUESTION = "question-three-matrices"
IN_VIEW = """const field = document.getElementById(arguments[0]).getBoundingClientRect();
return field.top > -1 && field.bottom <= window.innerHeight"""
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
    "<label for=attention>x</label><map><area class=full-credit href=#x></map><dialog open class=no-credit>y</dialog>",
    "```full-credit\nx\n```\n\n``` python .full-credit {.full-credit #attention}\nx\n```\n\n~~~mermaid\nx\n~~~",
    "# a {.full-credit}\n\n[x](y){.full-credit}\n\n[^1]\n\n[^1]: note\n\n- [ ] task\n\n: full-credit",
    "[a](/formgrader/gradebook) [b](../x) [c](?index=0) [d](#attention) <a href=prev>e</a> <a href=//x.example>f</a>",
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
    NbgraderCourse(place).build(ASSIGNMENT)
    for name in ("mallory", NAMED):
        notebook = load(place / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
        hand_in(attacking(notebook) if name == "mallory" else notebook, place / "submitted" / name / ASSIGNMENT)
    ran = place / "ran"
    program = f"open({str(ran)!r}, 'w').write('by the server')\n"
    (place / "submitted" / "mallory" / ASSIGNMENT / "nbgrader_config.py").write_text(program)
    (place / "submitted" / "mallory" / ASSIGNMENT / "page.html").write_text("<script>document.title = 'ran'</script>")
    done = warm.run(place, "autograder", "grade", "02", "--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.fixture(scope="module")
def server(place, tmp_path_factory):
    server = formgrader.Server(place, tmp_path_factory.mktemp("server"))
    yield server
    server.close()


def address(place, student):
    """Formgrader's page of a student's notebook."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        return f"/formgrader/submissions/{book.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, student).id}/"


def given(place, student):
    """What the gradebook has of a student: points, comments, whether they wait for a person."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        found = book.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, student)
        grades = {g.name: (g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade) for g in found.grades}
        return grades, {c.name: c.manual_comment for c in found.comments}, found.flagged


# --- what the server says --------------------------------------------------------------------------


def test_a_name_is_text_on_every_page(place, server):
    name = urllib.parse.quote(NAMED, safe="")
    pages = [address(place, NAMED), f"/formgrader/manage_students/{name}"]
    pages.append(f"/formgrader/manage_students/{name}/{ASSIGNMENT}")
    for path in pages:
        status, text = server.get(path)
        assert status == 200 and "onerror" in text and "<img" not in text, path


def test_a_link_makes_the_server_run_nothing(place, server):
    """Formgrader opens another course by `?path=FOLDER`, and runs what it finds there."""
    status, _ = server.get(f"/formgrader?path=submitted/mallory/{ASSIGNMENT}")
    assert status == 403
    status, _ = server.get(f"/formgrader?path=submitted/mallory/{ASSIGNMENT}", Referer="https://somewhere.example/")
    assert status == 403
    assert not (place / "ran").exists()


def test_no_page_but_jupyters_own_makes_it_run_anything(place, server, tmp_path):
    (tmp_path / "link").symlink_to(place / "submitted" / "mallory" / ASSIGNMENT)
    inner = f"{place}/submitted/mallory/{ASSIGNMENT}"
    for page in ("/formgrader/manage_students", "/formgrader/", "/", "", "/files/page.html"):
        for path in (place, inner):
            assert server.get(f"/formgrader?path={path}", Referer=server.url + page)[0] == 403, page
    within = (inner, f"submitted/mallory/{ASSIGNMENT}", f"{place}/submitted", f"{place}/autograded", tmp_path / "link")
    for path in within:  # as links in a notebook that JupyterLab shows
        assert server.get(f"/formgrader?path={path}", Referer=f"{server.url}/lab/tree/x.ipynb")[0] == 403, path
    assert not (place / "ran").exists()


def test_from_jupyterlab_another_course_can_be_opened(place, server):
    status, _ = server.get(f"/formgrader?path={place}", Referer=f"{server.url}/lab")
    assert status == 200
    status, _ = server.get("/formgrader")
    assert status == 200


# --- what a browser does ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(server, tmp_path_factory):
    with formgrader.browser(server, tmp_path_factory.mktemp("browser")) as browser:
        yield browser


ALERT = "window.alert = () => {window.ran = true}"

# every element of the student's text is clicked, and told that it has changed
CLICK = """
var clicked = 0;
document.querySelectorAll('.rendered_html, .input_area, .output_area, #notebook-container > *').forEach((text) => {
  [text].concat(Array.from(text.querySelectorAll('*'))).forEach((element) => {
    if (element.closest('.panel-heading, .panel-footer')) return;
    ['mousedown', 'mouseup', 'change', 'submit', 'focus', 'blur'].forEach((name) => {
      element.dispatchEvent(new Event(name, {bubbles: true, cancelable: true}));
    });
    element.click();
    clicked += 1;
  });
});
return clicked;
"""

# at the middle of each of Formgrader's own inputs lies that input, scrolled to
COVERED = """
return Array.from(document.querySelectorAll('input.score, input.extra-credit, textarea.comment, button.full-credit'))
  .filter((element) => {
    element.scrollIntoView({block: 'center'});
    var box = element.getBoundingClientRect();
    return document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2) !== element;
  }).map((element) => element.outerHTML);
"""


def test_clicks_on_a_students_text_change_nothing(place, server, browser):
    before = given(place, "mallory")
    opened(browser, server, address(place, "mallory"))
    there = browser.current_url, len(browser.window_handles)
    assert browser.execute_script(CLICK) > 500
    idle(browser)
    assert given(place, "mallory") == before
    assert (browser.current_url, len(browser.window_handles)) == there
    assert browser.execute_script(COVERED) == []


def test_the_test_of_clicks_sees_a_button(place, server, browser):
    """The positive control: what the attacks write, put into the page as it is."""
    before = given(place, "mallory")
    opened(browser, server, address(place, "mallory"))
    button = f"<div class='full-credit' style='{COVER}'>click</div>"
    cell = f"document.getElementById('{QUESTION}').closest('.nbgrader_cell')"
    browser.execute_script(f"{cell}.querySelector('.panel-body').innerHTML += arguments[0]", button)
    assert browser.execute_script(COVERED)
    browser.execute_script(CLICK)
    idle(browser)
    until(lambda: given(place, "mallory") != before)


def test_typed_scores_and_comments_stay(place, server, browser):
    path = address(place, "mallory")
    opened(browser, server, path)
    for field, text in ((QUESTION, "0.5"), ("attention", "3"), (f"{QUESTION}-comment", "Not yet.")):
        typed(browser, field, text)
    browser.execute_script(CLICK)
    idle(browser)
    opened(browser, server, path)
    grades, comments, _ = given(place, "mallory")
    assert (grades[QUESTION][1], grades["attention"][1], comments[QUESTION]) == (0.5, 3.0, "Not yet.")
    assert browser.find_element("id", QUESTION).get_property("value") == "0.5"


def test_a_links_page_opens_beside_it(place, server, browser):
    opened(browser, server, address(place, NAMED))
    assert (
        browser.execute_script("return document.querySelectorAll('.rendered_html a:not([target=_blank])').length") == 0
    )


def test_no_page_of_formgrader_runs_a_name(place, server, browser):
    name = urllib.parse.quote(NAMED, safe="")
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": ALERT})
    lists = ["gradebook", f"gradebook/{ASSIGNMENT}/{ASSIGNMENT}", "manage_students", f"manage_submissions/{ASSIGNMENT}"]
    for page in [*lists, f"manage_students/{name}", address(place, NAMED).removeprefix("/formgrader/")]:
        browser.get(f"{server.url}/formgrader/{page}")
        idle(browser)
        assert not browser.execute_script("return window.ran"), page
        assert not browser.execute_script("return document.querySelectorAll('img').length"), page


@pytest.mark.parametrize("mathjax", ["never comes", "is loaded"])
def test_the_links_of_the_page_by_hand_lead_to_the_answer(place, server, browser, monkeypatch, mathjax):
    """Formgrader itself scrolls to a field once MathJax is there; without it, the browser does."""
    monkeypatch.chdir(place)
    done = warm.run(place, "autograder", "report", "02", "--by-hand", "--formgrader", server.url)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (place / "reports" / f"{ASSIGNMENT}-by-hand.html").read_text()
    first, *links = re.findall(r'href="([^"]*/formgrader/[^"]*)"', text)
    assert server.get(first.removeprefix(server.url))[0] == 200
    signal = formgrader.MATHJAX
    if mathjax == "is loaded":
        signal = signal.replace("Interest: () => {}", "Interest: (heard) => setTimeout(() => heard('End'), 500)")
    monkeypatch.setattr(formgrader, "MATHJAX", signal)
    for link in links:
        opened(browser, server, html.unescape(link).removeprefix(server.url))
        until(lambda: browser.execute_script(IN_VIEW, QUESTION))


LINKS = "return Array.from(document.querySelectorAll('a')).filter((a) => a.href.includes('path='))"


def test_the_links_of_a_students_name_run_nothing(place, server, browser):
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        for up in ("%2e%2e", ".%2E", ".."):
            name = f"{up}?path=submitted%2Fmallory%2F{ASSIGNMENT}&x="
            book.add_student(name)
            book.add_submission(ASSIGNMENT, name)
    for page in ("manage_students", f"manage_submissions/{ASSIGNMENT}"):
        browser.get(f"{server.url}/formgrader/{page}")
        idle(browser)
        until(lambda: len(browser.execute_script(LINKS)) >= 3)
        for number in range(len(browser.execute_script(LINKS))):
            browser.execute_script("arguments[0].click()", browser.execute_script(LINKS)[number])
            until(lambda page=page: not browser.current_url.endswith(page))
            assert not (place / "ran").exists(), browser.current_url
            browser.get(f"{server.url}/formgrader/{page}")
            idle(browser)
            until(lambda: len(browser.execute_script(LINKS)) >= 3)


def test_a_file_that_was_handed_in_runs_nothing(place, server, browser):
    browser.get(f"{server.url}{address(place, 'mallory')}page.html")
    assert "document.title" in browser.page_source and browser.title != "ran"
