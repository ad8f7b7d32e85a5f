"""What hostile students hand in, graded as a class: everybody has a row, and all pages that show it are harmless."""

import re
import shutil
import sys
from html.parser import HTMLParser
from urllib.parse import urlsplit

import attacks
import pytest
import small_course
from conftest import ASSIGNMENT, ROOT, hand_in, load
from nbconvert.exporters import HTMLExporter
from nbgrader.api import Gradebook
from nbgrader.server_extensions.formgrader import handlers
from pygments.token import STANDARD_TYPES
from traitlets.config.loader import PyFileConfigLoader

from autograder.grading.store import Store
from autograder.nbgrader.runs import NbgraderCourse

pytestmark = pytest.mark.slow("it grades a class of attacks")

TOKENS = set(STANDARD_TYPES.values())  # the classes that highlighting gives
IN_CLASS = (
    "a_folder a_pipe a_socket a_symbolic_link binary_in_a_cell doubled_cells format_that_is_a_text ids_of_megabytes "
    "many_cells metadata_of_other_types no_notebook special_files_beside_it two_notebooks"
).split()
CLASS = {
    attack.folder.name: attack
    for attack in attacks.attacks()
    if attack.folder.parent.name == "showing"
    or (attack.folder.parent.name == "mangled" and attack.folder.name in IN_CLASS)
}
SHOWING = [name for name, attack in CLASS.items() if attack.folder.parent.name == "showing"]
NAMES = [
    "<img src=x onerror=alert(1)>",
    "--help",
    "a b'\"&",
    "\x1b[31m\u202e",
    "two\nlines",
    "full-credit $\\class{a}{b}$",
]  # of students, each with a right notebook


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A course whose class handed in nothing but attacks, and one honest notebook; graded and reported on."""
    place = tmp_path_factory.mktemp("shown")
    shutil.copytree(ROOT / "source" / ASSIGNMENT, place / "source" / ASSIGNMENT)
    shutil.copy(ROOT / "nbgrader_config.py", place)
    NbgraderCourse(place).build(ASSIGNMENT)
    solution = load(ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    for name in ("honest", *NAMES):
        hand_in(solution, place / "submitted" / name / ASSIGNMENT)
    with attacks.world() as world:
        for name, attack in CLASS.items():
            folder = place / "submitted" / name / ASSIGNMENT
            folder.mkdir(parents=True)
            attack.hand_in(folder, world)
        code, *said = small_course.real(place, sys.executable, "-m", "autograder", "grade", "02", "--jobs", "2")
        assert code == 0, said
        assert not any(c in "".join(said) for c in "\x1b\u202e"), "the terminal was spoken to by a student"
        code, *said = small_course.autograder(place, "report", "02")
        assert code == 0, said
    return place


@pytest.mark.parametrize("name", CLASS)
def test_everybody_has_the_row_that_is_deserved(place, name):
    expect = CLASS[name].expect
    verdict = Store(place).latest(ASSIGNMENT)[name]
    asked = [e for e in verdict.exercises if e.exercise == (expect["exercise"] or e.exercise)]
    assert asked and not [problem for outcome in asked for problem in attacks.met(outcome, expect)]
    with Gradebook(f"sqlite:///{place}/gradebook.db") as gradebook:
        rows = {g.name: g.auto_score for g in gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, name).grades}
    assert {e.exercise: e.score for e in verdict.exercises}.items() <= rows.items()


def test_odd_names_have_rows_too(place):
    assert Store(place).latest(ASSIGNMENT).keys() == {"honest", *NAMES, *CLASS}


def test_nothing_special_is_copied(place):
    for folder in ("autograded", "feedback"):
        for path in (place / folder).rglob("*"):
            assert path.is_dir() or (path.is_file() and not path.is_symlink()), path
    assert not any("root:" in p.read_text(errors="replace") for p in (place / "feedback").rglob("*") if p.is_file())


# --- what a browser would do with a page ----------------------------------------------------------

URLS = {"href", "src", "action", "formaction", "data", "poster", "srcset", "background", "xlink:href", "cite", "ping"}
QUIET = set(
    "html head body title main div span p pre code br hr h1 h2 h3 h4 h5 h6 a b i u s em strong small sub sup del kbd dl"
    " dt dd ul ol li blockquote details summary table thead tbody tr th td img".split()
)
MARKS = {"class", "id", "name", "for", "role", "tabindex", "type", "value", "open", "hidden", "dir", "contenteditable"}


# what a page may have and an honest student's lacks: where something is wrong, the feedback says more
OURS = {
    ("div", "class"): {"mistake", "comment", "inner", "cell", "head"},
    ("p", "class"): {"mistake", "soft", "links", "about", "next"},
    ("span", "class"): {
        "pill zero",
        "pill partial",
        "pill waits",
        "soft",
        "soft worth",
        "hidden",
        "mark",
        "formula",
        "to",
    },
    ("span", "tabindex"): {"0"},
    ("span", "role"): {"group"},
    ("ul", "class"): {"checks", "facts"},
    ("details", "open"): {""},
}


class Page(HTMLParser):
    """What of a page acts or could: scripts, handlers, styles, addresses, comments, elements that are not QUIET."""

    def __init__(self, text):
        super().__init__()
        self.acts = set()
        self.tags = set()
        self.marks = set()  # by which scripts and styles find elements
        self.pictures = []
        self.inside = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.inside = tag if tag in ("script", "style") else None
        if tag not in QUIET:
            self.acts.add((tag, *sorted(name for name, _ in attributes)))
        for name, value in attributes:
            value = value or ""
            if name in MARKS or name.startswith("data-"):
                self.marks.add((tag, name, value))
            if tag == "img" and name == "src" and value.startswith("data:image/png;base64,"):
                self.pictures.append(value)
            elif name in URLS and urlsplit(value.strip()).scheme in ("http", "https", "mailto") and tag == "a":
                continue  # a link to a web page, which waits for a click
            elif name in URLS and value.startswith("#"):
                continue
            elif name in URLS or name.startswith("on") or name in ("style", "srcdoc", "http-equiv"):
                self.acts.add((tag, name, value))

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.acts.add((self.inside, data))

    def handle_comment(self, data):
        self.acts.add(("comment", data))


def feedback(place, student):
    return (place / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()


def formgrader(place, student, monkeypatch):
    """The page that Formgrader shows of an autograded notebook."""
    monkeypatch.chdir(place)
    config = PyFileConfigLoader("nbgrader_config.py", path=str(place)).load_config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    about = {"assignment_id": ASSIGNMENT, "notebook_id": ASSIGNMENT, "submission_id": "1", "index": 0, "total": 1}
    about.update(base_url="", student="s", last_name="", first_name="", notebook_path="")
    path = place / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    return HTMLExporter(config=config).from_filename(str(path), resources=about)[0]


@pytest.mark.parametrize("name", [*SHOWING, "binary_in_a_cell", "format_that_is_a_text"])
@pytest.mark.parametrize("shown", ["feedback", "formgrader"])
def test_a_page_does_no_more_than_an_honest_ones(place, monkeypatch, shown, name):
    show = feedback if shown == "feedback" else lambda *of: formgrader(*of, monkeypatch)
    hostile, honest = Page(show(place, name)), Page(show(place, "honest"))
    if CLASS[name].expect["score"] == 0:  # it lacks what an honest one has
        assert hostile.acts <= honest.acts, hostile.acts - honest.acts
    else:
        assert hostile.acts == honest.acts, (hostile.acts - honest.acts, honest.acts - hostile.acts)
    assert len("".join(hostile.pictures)) < 5_000_000
    marks = {mark for mark in hostile.marks - honest.marks if not is_of_the_kit(*mark)}
    assert not marks


def is_of_the_kit(tag, name, value):
    """Whether the parts of any page are marked so: the place of a cell, a kind of output, of check or of token."""
    if name == "id":
        return re.fullmatch(r"cell-id=cell-\d+|(cell|code|part)-\d+", value)
    if value in OURS.get((tag, name), ()):
        return True
    kinds = r"(output_(text|error|stream|stdout|stderr|subarea|png|area|execute_result|html) *)+|prompt output_prompt"
    kinds += "|panel-footer"  # of a comment
    return name == "class" and ((tag == "div" and re.fullmatch(kinds, value)) or (tag == "span" and value in TOKENS))


def test_the_check_of_pages_sees_what_acts():
    """The positive control: what the attacks write, unsanitised, is not let through."""
    bad = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<a href='javascript:alert(1)'>a</a>", "<svg>"]
    bad += [
        "<iframe src=//e>",
        "<p style='display:none'>",
        "<a href=' java\tscript:x'>",
        "<form action=x>",
        "<base href=x>",
    ]
    for text in bad:
        assert Page(text).acts, text
    for text in (
        "<div class=full-credit>",
        "<p id=x>",
        "<a name=x>",
        "<b data-toggle=x>",
        "<span class='k full-credit'>",
    ):
        assert not any(is_of_the_kit(*mark) for mark in Page(text).marks) and Page(text).marks, text
    assert not Page("<p>x <a href='https://a.example'>b</a><code>&lt;script&gt;</code></p>").acts


def test_the_class_report_does_nothing(place):
    page = Page((place / "reports" / f"{ASSIGNMENT}.html").read_text())
    assert not page.tags & {"script", "iframe", "object", "embed", "form", "svg", "math", "img", "base", "link"}
    attributes = {act[1:] for act in page.acts if len(act) == 3 and act[0] in QUIET}
    assert {name for name, _ in attributes} <= {"href", "style"}
    by_hand = f"{ASSIGNMENT}-by-hand.html"
    assert all(value.startswith("../feedback/") or value == by_hand for name, value in attributes if name == "href")
    assert all(re.fullmatch(r"[\w%.:; -]*", value) for name, value in attributes if name == "style")


def test_the_page_for_grading_by_hand_does_nothing(place):
    page = Page((place / "reports" / f"{ASSIGNMENT}-by-hand.html").read_text())
    assert not page.tags & {"script", "iframe", "object", "embed", "form", "svg", "img", "base", "link"}
    assert not [act for act in page.acts if len(act) == 3 and act[1].startswith("on")]
