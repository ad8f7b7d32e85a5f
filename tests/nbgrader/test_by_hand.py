"""The page for grading by hand: question, scheme and answers, and nothing that an answer holds acts in it."""

import re

import pytest
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in

from autograder import course
from autograder.nbgrader import by_hand, pictures
from autograder.report.gradebook_marks import Mark, Member, Roster, Standing

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


PHOTO = bytes.fromhex("89504e470d0a1a0a0000000d494844520000000100000001080200000090") + bytes(100_000)


def with_files(place, **files):
    """A course in which each student has handed in these files beside the notebook."""
    for student in ("ada", "bob"):
        hand_in({"cells": []}, place / "submitted" / student / ASSIGNMENT)
        for name, data in files.items():
            path = place / "submitted" / student / ASSIGNMENT / "beside" / name.replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)


def test_the_page_has_room_for_a_class_and_names_what_is_beyond_it(place, monkeypatch):
    with_files(place, a_png=PHOTO, b_png=PHOTO, c_png=PHOTO, d_txt=b"x" * 15_000, e_rst=b"y")
    whole = made(place)
    assert whole.count("data:image/png") == 6 and whole.count("x" * 15_000) == 2
    monkeypatch.setattr(pictures.Room.__init__, "__defaults__", (300_000,))
    text = made(place)
    assert text.count("data:image/png") == 2 and len(text) < len(whole) - 500_000
    for student in ("ada", "bob"):
        for name in ("e.rst", *(("a.png", "b.png", "c.png") if student == "bob" else ("c.png",))):
            assert f"submitted/{student}/{ASSIGNMENT}/beside/{name}" in text
    monkeypatch.setattr(pictures.Room.__init__, "__defaults__", (0,))
    text = made(place)
    assert "data:image/png" not in text and "x" * 15_000 not in text and "beside/a.png</code>: open it there" in text


def test_beyond_its_room_no_file_is_read(place, monkeypatch):
    with_files(place, a_png=PHOTO, b_txt=b"x")
    read = []
    monkeypatch.setattr(pictures.files, "read_beside", lambda *where: read.append(where) or PHOTO)
    assert "open it there" in pictures.Pictures(place, ASSIGNMENT, "ada", pictures.Room(0)).shown() and not read


@pytest.mark.parametrize(
    "page",
    [
        "<p>hello</p><![ my answer",
        "<p>hello</p><!-- my answer",
        "<p>hello</p><script>my answer",
        "<p>hello</p><a href='my answer",
        "<p>hello</p><title>my answer",
        "<p>hello</p><textarea><style>my answer",
        "<p>hello <![CDATA[ my answer",
    ],
)
def test_all_of_a_page_is_shown_that_the_parser_does_not_read_to_its_end(place, page):
    assert "my answer" in pictures.text_of(page) and "hello" in pictures.text_of(page)
    with_files(place, a_html=page.encode())
    shown = str(pictures.Pictures(place, ASSIGNMENT, "ada").shown())
    assert "my answer" in shown and "<script>" not in shown and "<![" not in shown and "<a href" not in shown


@pytest.mark.parametrize(
    "page", ["<p>hello</p>", "hello", "<!-- aside --><p>hello", "<div><p>hello", "<![x[y]]> <b>hello"]
)
def test_a_page_that_is_read_to_its_end_is_shown_as_its_text(page):
    assert pictures.text_of(page) == "hello"


def test_a_long_page_is_cut_off_and_says_so(place):
    with_files(place, a_html=b"<p>hello</p>" * 20_000, b_html=b"<!--" + b"x" * 200_000, c_md=b"z" * 30_000)
    shown = str(pictures.Pictures(place, ASSIGNMENT, "ada").shown())
    assert shown.count("… (cut off here: open the file for the rest)") == 3
    assert "hello" in shown and "&lt;p&gt;" not in shown and "&lt;!--xxx" in shown
