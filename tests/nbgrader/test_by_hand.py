"""The page for grading by hand: question, scheme and answers, and nothing that an answer holds acts in it."""

import re

import pytest
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in

from autograder import course
from autograder.nbgrader import by_hand
from autograder.report.standing import Mark, Member, Roster, Standing

QUESTION = "question-three-matrices"
ANSWER = (
    '# *Mine* <script>alert(1)</script> <img src=x onerror="alert(2)"> [x](javascript:alert(3))'
    " <math><mtext>y</mtext></math>"
)
ADDRESS = "http://localhost:8888/"


@pytest.fixture
def place(tmp_path, release):
    """A course in which three students have handed in, whose files are as if they were graded."""
    for student, text in {"ada": ANSWER, "bob": "Graded *already*.", "cleo": None}.items():
        if text:
            cell_of(release, QUESTION)["source"] = text
        hand_in(release, tmp_path / "autograded" / student / ASSIGNMENT)
    return tmp_path


def made(place, formgrader=""):
    given = {"ada": None, "bob": 2.5, "<b>gone": None}
    members = [
        Member(
            student, standing=Standing((Mark(QUESTION, "", None, points, 0.0, 4.0, points is None),)), page=f"page-{n}"
        )
        for n, (student, points) in enumerate(given.items())
    ]
    return by_hand.render(place, course.find_assignment("02", ROOT), Roster(members, 28.0, [QUESTION]), formgrader)


def test_it_has_question_scheme_and_answers(place):
    text = made(place)
    assert "why three matrices and not one" in text and "Marking scheme (4 points)" in text
    assert "2 answers wait" in text and "<h3>2 answers wait</h3>" in text and "1 graded already" in text
    assert "Graded <em>already</em>." in text and "<strong>2.5</strong> of 4" in text
    assert text.index("<bdi>ada") < text.index("graded already") < text.index("<bdi>bob")
    assert "gone from autograded/" in text, "of somebody whose folder is gone"


def test_formulas_are_shown_in_questions_and_answers(place, release):
    cell_of(release, QUESTION)["source"] = r"The scores are $X W W^\top$."
    hand_in(release, place / "autograded" / "ada" / ASSIGNMENT)
    text = made(place)
    assert text.count("<math>") > 2 and "$" not in text and r"\top" not in text


def test_nothing_in_an_answer_acts(place):
    text = made(place)
    assert "<em>Mine</em>" in text and "<bdi>&lt;b&gt;gone" in text
    shown = re.sub(r"<pre><code>[^<>]*</code></pre>", "", text)  # the answer as it was written, as text
    assert not any(bad in shown for bad in ("<script", "<img", "onerror", "javascript:", "<b>gone", "<mtext>"))
    assert text.count("<h1") == 1, "headings of an answer are none of the page's"


def test_links_lead_to_formgrader_where_its_address_is_known(place):
    text = made(place, ADDRESS)
    assert f'href="{ADDRESS}formgrader/submissions/page-0/?index=9#{QUESTION}"' in text
    assert f'href="{ADDRESS}formgrader/gradebook/{ASSIGNMENT}/"' in text and "manual_grading" not in text
    assert "formgrader/submissions" not in made(place) and "jupyter lab" in made(place)


def test_a_running_server_is_found_by_its_folder(place, monkeypatch):
    servers = [
        {"root_dir": "/elsewhere", "url": "http://localhost:1/"},
        {"root_dir": str(place), "url": "javascript:alert(1)"},
        {"root_dir": str(place), "url": "http://localhost:8888/lab"},
        {},
    ]
    monkeypatch.setattr("jupyter_server.serverapp.list_running_servers", lambda: servers)
    assert by_hand.running_formgrader(place) == "http://localhost:8888/lab/"


def test_pictures_and_files_that_were_handed_in_are_shown(place, release):
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    cell = cell_of(release, QUESTION)
    cell["source"], cell["attachments"] = "![image.png](attachment:image.png)", {"image.png": {"image/png": picture}}
    for folder in ("autograded", "submitted"):
        hand_in(release, place / folder / "ada" / ASSIGNMENT)
    beside = place / "submitted" / "ada" / ASSIGNMENT / "beside"
    beside.mkdir()
    (beside / "onlinetext.html").write_text("<p>More <script>alert(1)</script></p>")
    (beside / "scan.pdf").write_bytes(b"%PDF-1.4")
    text = made(place)
    assert text.count(f"data:image/png;base64,{picture}") == 1 and "only the notebook" not in text
    assert "Handed in beside the notebook" in text and "More" in text and "scan.pdf" in text
    assert "<script>alert" not in text
