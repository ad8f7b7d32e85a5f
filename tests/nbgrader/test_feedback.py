"""The feedback of a class: byte by byte what nbgrader's own command writes, whatever becomes of one page or process."""

import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
import warm
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in, load
from nbgrader.api import Gradebook
from tiny import STOPPED

from autograder.batch import feedback_pool
from autograder.errors import NbgraderError, UsageError
from autograder.nbgrader.runs import NbgraderCourse

pytestmark = pytest.mark.slow("nbgrader itself writes the pages of a class, to compare with")

CELLS = ("setup", "attention-solution", "attention", "question-three-matrices")
QUESTION = "question-three-matrices"
WRONG = "def attention(query, key, value, mask=None):\n    return value, key & 1 < 2 > 3  # &amp; &nbsp <b>'\"\n"
PRINTS = "print('\\x1b[31mred <b>', '&nbsp;')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
ANSWER = (
    "*Two* <b>roles\n\n<img src=x> $a<b$ &copy; &#32;\n\n    <script>\n\n- [x](files/y.png) https://a.example?a=1&b=2"
)
ONE_START = (
    "from autograder import cli; from autograder.batch import feedback_pool; feedback_pool.STARTS = 1; exit(cli.main())"
)
PLAIN = b"It is shown as plain text"
NAMES = ["ada", "b [1]*", "a b'\"&", "<img src=x onerror=alert(1)>", "zoë", "x.y", "late", "unreadable", "garbled"]
# what an instructor may have in the configuration: a preprocessor, a hook, other permissions
OWN_CONFIG = """
from nbgrader.preprocessors import NbGraderPreprocessor

class Sign(NbGraderPreprocessor):
    def preprocess(self, nb, resources):
        nb.cells[0].source += f"\\n\\nSigned: {resources['nbgrader']['score']}"
        return nb, resources

c.GenerateFeedback.preprocessors = ["nbgrader.preprocessors.GetGrades", Sign]
c.GenerateFeedback.post_convert_hook = lambda **about: open("hooks.txt", "a").write("x")
c.GenerateFeedback.permissions = 640
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A course of a code exercise and a written answer, with a class that was graded, by hand as well."""
    place = tmp_path_factory.mktemp("feedback")
    source = load(ROOT / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    source["cells"] = [c for c in source["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") in CELLS]
    hand_in(source, place / "source" / ASSIGNMENT)
    shutil.copy(ROOT / "nbgrader_config.py", place)
    NbgraderCourse(place).build(ASSIGNMENT)
    for number, name in enumerate(NAMES):
        notebook = load(place / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
        cell_of(notebook, QUESTION)["source"] = f"{ANSWER}\n\n{name}"
        if number % 2:
            cell_of(notebook, "attention-solution")["source"] = WRONG
            cell_of(notebook, "setup")["source"] += "\n" + PRINTS
        hand_in(notebook if name != "unreadable" else "{", place / "submitted" / name / ASSIGNMENT)
    (place / "submitted" / "ada" / ASSIGNMENT / "notes <&>.txt").write_text("kept")
    done = warm.run(place, "autograder", "grade", "02", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    grade_by_hand(place)
    return place


def grade_by_hand(place):
    """What a person adds: comments, scores, extra credit, a penalty."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        for number, name in enumerate(NAMES):
            where = (ASSIGNMENT, ASSIGNMENT, name)
            answer = book.find_grade(QUESTION, *where)
            answer.manual_score, answer.needs_manual_grade = number / 3, False
            book.find_comment(QUESTION, *where).manual_comment = f"Well **done** <b>{name}</b>\n\n`a<b` & $x$"
            if number % 3 == 0:
                book.find_grade("attention", *where).extra_credit = 0.1
                book.find_comment("attention-solution", *where).auto_comment = "<script>alert(1)</script>"
        book.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, "late").late_submission_penalty = 2.5
        book.db.commit()


def autograder(place, *arguments):
    environment, program = {**os.environ, "PYTHONPATH": str(ROOT)}, [sys.executable, "-m", "autograder"]
    done = subprocess.run([*program, *arguments], cwd=place, env=environment, capture_output=True, text=True)
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def pages(place):
    """All files of the feedback: their bytes and permissions, by path."""
    files = [path for path in (place / "feedback").rglob("*") if path.is_file()]
    return {str(p.relative_to(place)): (p.read_bytes(), p.stat().st_mode) for p in files}


def stock(place):
    """What nbgrader's own command writes."""
    shutil.rmtree(place / "feedback", ignore_errors=True)
    done = warm.run(place, "nbgrader", "generate_feedback", ASSIGNMENT)
    assert done.returncode == 0, done.stderr
    written = pages(place)
    shutil.rmtree(place / "feedback")
    return written


@pytest.fixture(scope="module")
def expected(place):
    """What nbgrader's own command writes for this class, wherever its course lies."""
    return stock(place)


@pytest.fixture
def copy(place, tmp_path):
    """A copy of the course that a test may spoil, without feedback."""
    return shutil.copytree(place, tmp_path / "copy", ignore=shutil.ignore_patterns("feedback"))


def page(student):
    return f"feedback/{student}/{ASSIGNMENT}/{ASSIGNMENT}.html"


# --- the pages ------------------------------------------------------------------------------------


def test_pages_are_what_nbgrader_writes(place, expected):
    assert {page(name) for name in NAMES} < expected.keys() and len(expected) == len(NAMES) + 1
    code, said = autograder(place, "report", "02", "--jobs", "2")
    assert code == 0, said
    written = pages(place)
    for name in expected:
        assert written[name] == expected[name], name
    assert written.keys() == expected.keys()
    late = written[page("late")][0].decode()
    assert "2.5 points are deducted, because it was handed in late" in late and "Well <strong>done</strong>" in late


@pytest.mark.slow("it starts processes that write pages")
def test_pages_are_what_nbgrader_writes_with_a_configuration_of_ones_own(copy):
    with open(copy / "nbgrader_config.py", "a") as file:
        file.write(OWN_CONFIG)
    expected = stock(copy)
    assert b"Signed" in expected[page("ada")][0]
    assert expected[page("ada")][1] & 0o777 == 0o640
    (copy / "hooks.txt").unlink()
    code, said = autograder(copy, "report", "02", "--jobs", "2")
    assert code == 0, said
    assert pages(copy) == expected
    assert (copy / "hooks.txt").read_text() == "x" * len(NAMES)


@pytest.mark.slow("it starts processes that write pages")
def test_one_broken_page_stops_no_other(copy):
    (copy / "autograded" / "garbled" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").write_text('{"cells": 1')
    (copy / "autograded" / "zoë" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").unlink()
    code, said = autograder(copy, "report", "02", "--jobs", "2")
    assert code == 2 and sum(line.startswith("autograder: ") for line in said.splitlines()) == 2, said
    assert "autograder: garbled: Feedback of" in said and "autograder: zoë: Feedback of" in said
    assert {name for name in NAMES if page(name) in pages(copy)} == {*NAMES} - {"garbled", "zoë"}
    assert (copy / "reports" / f"{ASSIGNMENT}.html").is_file()


@pytest.mark.parametrize("text", ["[]", "{", '{"cells": [1]}', '{"cells": [{"metadata": {}, "source": 1}]}'])
def test_no_plain_page_of_what_is_no_notebook_is_one_sentence(copy, text):
    (copy / "autograded" / "late" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").write_text(text)
    with pytest.raises(NbgraderError, match="Feedback of"):
        NbgraderCourse(copy).feedback(ASSIGNMENT)("late", plainly=True)


def test_what_would_go_wrong_for_all_is_one_sentence(copy):
    (copy / "gradebook.db").write_bytes(b"no database at all" * 1000)
    code, said = autograder(copy, "report", "02")
    assert code == 2 and said.count("\n") == 2 and "The gradebook cannot be used: file is not a database" in said, said


def test_jobs_are_a_number_from_1_up(place):
    code, said = autograder(place, "report", "02", "--jobs", "0")
    assert code == 2 and "--jobs takes a number from 1 up" in said


# --- processes that end -----------------------------------------------------------------------------


def started(place):
    """A run of the report, and its writers once there are two."""
    run = subprocess.Popen(
        [sys.executable, "-c", ONE_START] + ["report", "02", "--jobs", "2"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the tests may run where it is ignored
    )
    while run.poll() is None:
        below = psutil.Process(run.pid).children()
        found = [process for process in below if is_writer(process)]
        if len(found) == 2:
            return run, below, found
        time.sleep(0.01)
    raise AssertionError(run.communicate()[0])


def is_writer(process):
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # it has just ended
        return False


def ended(run, below):
    said, _ = run.communicate(timeout=120)
    assert not psutil.wait_procs(below, timeout=30)[1], "a process is left"
    assert "Traceback" not in said, said
    return run.returncode, said


@pytest.mark.slow("it kills processes")
@pytest.mark.parametrize("seconds", [0.0, 3.0])
def test_a_killed_writer_costs_nobody_a_page(copy, seconds):
    slowed(copy)
    run, below, found = started(copy)
    time.sleep(seconds)
    found[0].kill()
    code, said = ended(run, below)
    plain = [name for name in NAMES if PLAIN in pages(copy)[page(name)][0]]
    assert code == 0 and len(plain) <= 1 and said.count("is a plain page now") == len(plain), said


# what is wrong with the page of one student, in the words of a configuration
WRONG_WITH_ONE = {
    "takes long": "import time\ntime.sleep(1000)",
    "ends its process": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
}


@pytest.mark.parametrize("what", WRONG_WITH_ONE)
def test_a_page_that_is_not_done_is_a_plain_one_and_the_others_are_as_they_were(copy, expected, monkeypatch, what):
    (copy / "wrong.py").write_text(WRONG_WITH_ONE[what])
    with open(copy / "nbgrader_config.py", "a") as file:
        file.write(
            "\ndef hook(assignment=None, student=None, **about):\n    if student == 'late':\n"
            "        exec(open('wrong.py').read())\n"
            "c.GenerateFeedback.pre_convert_hook = hook\n"
        )
    monkeypatch.setattr(feedback_pool, "DEADLINE", 12.0)
    done = {student: rest for student, *rest in feedback_pool.feedback(copy, ASSIGNMENT, NAMES, 1)}
    assert done.pop("late") == [feedback_pool.PLAIN, True]
    assert done == {name: ["", True] for name in NAMES if name != "late"}
    text = pages(copy)[page("late")][0].decode()
    assert "plain text" in text and "points" in text and "<script" not in text
    assert "<code>attention</code>" in text and "not started" in text, "its points, and the graders' words"
    assert "*Two* &lt;b&gt;roles" in text and "Well **done** &lt;b&gt;late&lt;/b&gt;" in text
    assert {name: text for name, text in pages(copy).items() if name != page("late")} == {
        name: text for name, text in expected.items() if name != page("late")
    }


@pytest.mark.slow("it kills processes")
def test_ctrl_c_leaves_no_process_and_no_page_cut_short(copy):
    slowed(copy)
    run, below, _ = started(copy)
    while run.poll() is None and not pages(copy):
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)
    code, said = ended(run, below)
    assert code in STOPPED and said.strip().endswith("run the same command again to continue."), said
    written = [text for text, _ in pages(copy).values() if b"<html" in text]
    assert 0 < len(written) < len(NAMES) and all(text.rstrip().endswith(b"</html>") for text in written)


def test_writers_do_not_outlive_a_killed_head(copy):
    slowed(copy)
    run, below, _ = started(copy)
    run.kill()
    assert not psutil.wait_procs(below, timeout=30)[1]
    run.communicate()


def slowed(place):
    """Let every page take a while, so that there is time to disturb."""
    with open(place / "nbgrader_config.py", "a") as file:
        file.write("\nimport time\nc.GenerateFeedback.pre_convert_hook = lambda **about: time.sleep(1)\n")


def test_processes_that_never_begin_are_one_sentence(place, monkeypatch):
    monkeypatch.setattr(feedback_pool, "_work", os._exit)
    with pytest.raises(UsageError, match="killed before they start"):
        list(feedback_pool.feedback(place, ASSIGNMENT, NAMES, 1))
