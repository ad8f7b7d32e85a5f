"""A written answer is never 0 unseen: wherever it was written, it waits for a person, who is shown it."""

import copy
import json
import shutil

import one_process
import pytest
import small_course
from conftest import cell_of, load
from small_course import NAME, add_question, edit
from test_silence import formgrader, marks

from autograder import course

TEXT = "It is the number that is nearest to all of them."
ABOUT = "here the numbers are divided by the root of their variance"  # a comment on code
WAITS = (None, None, True)
NOTHING = (0.0, None, False)


def text(source, kind="markdown", **more):
    return {"cell_type": kind, "id": "own", "metadata": {}, "source": source, **more}


def code(source):
    return text(source, "code", outputs=[], execution_count=None)


def at(notebook):
    return notebook["cells"].index(cell_of(notebook, "why"))


def put(offset, cell):
    """Put a cell of the student's own beside the answer's: above it (0), or below it (1)."""
    return lambda notebook: notebook["cells"].insert(at(notebook) + offset, copy.deepcopy(cell))


def end(cell):
    return lambda notebook: notebook["cells"].append(copy.deepcopy(cell))


def start(cell):
    return lambda notebook: notebook["cells"].insert(1, copy.deepcopy(cell))


def answered(source, cell_type="markdown"):
    def change(notebook):
        cell = cell_of(notebook, "why")
        cell.update(cell_type=cell_type, source=source)
        if cell_type == "code":
            cell.update(outputs=[], execution_count=None)

    return change


def delete(notebook):
    notebook["cells"].remove(cell_of(notebook, "why"))


def lose(notebook):
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id")


def edit_the_question(notebook):
    cell = notebook["cells"][at(notebook) - 1]
    cell["source"] = "".join(cell["source"]) + f"\n\n**My answer:** {TEXT}"


def split(notebook):
    """As JupyterLab does it: both halves have the metadata, and the second one has the answer."""
    cell = copy.deepcopy(cell_of(notebook, "why"))
    cell.update(source=TEXT, id="second")
    notebook["cells"].insert(at(notebook) + 1, cell)


def merge(notebook):
    """The question's text and its answer become one cell, which has the text's metadata."""
    cell = notebook["cells"][at(notebook) - 1]
    cell["source"] = "".join(cell["source"]) + "\n\n" + TEXT
    delete(notebook)


def quote(notebook):
    """The answer is a line of the lesson, copied."""
    line = next(line for line in "".join(notebook["cells"][0]["source"]).splitlines() if len(line) > 20)
    notebook["cells"].append(text(line))


def turn(notebook):
    """A cell of the lesson's own check, copied, turned into text, with the answer in it."""
    notebook["cells"].append({**text(TEXT), "metadata": copy.deepcopy(cell_of(notebook, "normalise")["metadata"])})


def add(name, line):
    """Write a line of one's own into a cell of code of the course's."""

    def change(notebook):
        cell = cell_of(notebook, name)
        cell["source"] = "".join(cell["source"]) + "\n" + line

    return change


def among(name, line):
    """Write a line above the code of the answer to an exercise."""

    def change(notebook):
        cell = cell_of(notebook, f"{name}-solution")
        cell["source"] = f"{line}\n" + "".join(cell["source"])

    return change


def within(name, text):
    """Write a text into the function that answers an exercise."""

    def change(notebook):
        cell = cell_of(notebook, f"{name}-solution")
        head, body = "".join(cell["source"]).split("\n", 1)
        cell["source"] = f"{head}\n    {text}\n{body}"

    return change


def helper(notebook):
    """A function of one's own, explained."""
    code_of_it = "# this centres the numbers, so that the rest is only a division\n@staticmethod\ndef centred(x):\n"
    body = '    """Takes the mean of all numbers away from each."""\n    return x - x.mean()  # of all, as a rule'
    notebook["cells"].insert(1, code(code_of_it + body))


def as_databricks(answer=""):
    """Each text is a code cell with %md, and no cell has nbgrader's marks; the code is commented."""

    def change(notebook):
        among("normalise", f"# {ABOUT}")(notebook)
        cell_of(notebook, "why")["source"] = answer or cell_of(notebook, "why")["source"]
        lose(notebook)
        for number, cell in enumerate(notebook["cells"]):
            text = "".join(cell["source"])
            notebook["cells"][number] = code(f"%md\n{text}" if cell["cell_type"] == "markdown" else f"%python\n{text}")
        first = notebook["cells"][0]
        first["source"] = first["source"].replace("%md\n", "%md ")  # as it is written on one line

    return change


def as_marimo(answer=""):
    def change(notebook):
        among("normalise", f"# {ABOUT}")(notebook)
        cell_of(notebook, "why")["source"] = answer or cell_of(notebook, "why")["source"]
        lose(notebook)
        for number, cell in enumerate(notebook["cells"]):
            text = "".join(cell["source"])
            wrapped = f'mo.md(r"""\n{text}\n""")' if cell["cell_type"] == "markdown" else text
            notebook["cells"][number] = code(wrapped)
        notebook["cells"].insert(0, code("import marimo as mo"))

    return change


def as_deepnote(answer=""):
    """Each paragraph is a cell, and the last one is Deepnote's."""

    def change(notebook):
        among("normalise", f"# {ABOUT}")(notebook)
        cell_of(notebook, "why")["source"] = answer or cell_of(notebook, "why")["source"]
        lose(notebook)
        cells = []
        for cell in notebook["cells"]:
            parts = "".join(cell["source"]).split("\n\n") if cell["cell_type"] == "markdown" else []
            cells += [text(part) for part in parts] or [cell]
        address = "https://deepnote.com?utm_source=created-in-deepnote-cell&projectId=1"
        picture = (
            "<img alt='Created in deepnote.com' style='display:inline' src='data:image/svg+xml;base64,PD94' > </img>"
        )
        badge = f"<a style='text-decoration:none' href='{address}' target=\"_blank\">\n{picture}\n"
        badge += "Created in <span style='font-weight:600'>Deepnote</span></a>"
        notebook["cells"] = [*cells, text(badge)]

    return change


def from_kaggle(notebook):
    """What Kaggle has in a new notebook."""
    said = (
        "This Python 3 environment comes with many helpful analytics libraries installed",
        "It is defined by the kaggle/python Docker image: https://github.com/kaggle/docker-python",
        "For example, here's several helpful packages to load",
        'Input data files are available in the read-only "../input/" directory',
        "You can also write temporary files to /kaggle/temp/, but they won't be saved outside of the session",
    )
    notebook["cells"].insert(0, code("".join(f"# {line}\n" for line in said) + "import numpy as np"))


def saved_from_colab(notebook):
    page, picture = (
        "https://colab.research.google.com/github/a/b.ipynb",
        "https://colab.research.google.com/assets/b.svg",
    )
    badge = f'<a href="{page}" target="_parent"><img src="{picture}" alt="Open In Colab"/></a>'
    notebook["cells"].insert(0, {**text(badge), "metadata": {"id": "view-in-github", "colab_type": "text"}})


def both(*changes):
    def change(notebook):
        for one in changes:
            one(notebook)

    return change


ANSWERED = {
    "below": put(1, text(TEXT)),
    "above": put(0, text(TEXT)),
    "deleted": both(put(1, text(TEXT)), delete),
    "lost": both(answered(TEXT), lose),
    "lost-below": both(put(1, text(TEXT)), lose),
    "split": split,
    "merged": merge,
    "question": edit_the_question,
    "code-cell": put(1, code("answer = 'the nearest'")),
    "prose-as-code": end(code("It is the nearest, you see")),
    "comment": end(code(f"# {TEXT}\nx = 1")),
    "comment-in-exercise": lambda notebook: cell_of(notebook, "normalise-solution").update(
        source=f"# Why? {TEXT}\n" + "".join(cell_of(notebook, "normalise-solution")["source"])
    ),
    "short-comment": end(code("# the nearest")),
    "printed": start(code("print('the nearest')")),
    "string": start(code(f'"""\n{TEXT}\n"""')),
    "as-code": answered(TEXT, "code"),
    "raw": put(1, text(TEXT, "raw")),
    "picture": put(1, text("![image.png](attachment:image.png)")),
    "picture-in-cell": answered("![a.png](attachment:a.png)"),
    "chinese": put(1, text("因为它最近")),
    "html-comment": answered("<!-- the nearest -->"),
    "end": end(text(TEXT)),
    "start": start(text("Yes.")),
    "emoji": put(1, text("🤷")),
    "quote": quote,
    "turned": turn,
    "in-check": add("normalise", f"# {TEXT}"),
    "in-setup": add("setup", f'"""{TEXT}"""'),
    "over-check": lambda notebook: cell_of(notebook, "moving_average").update(source="It is the nearest, you see"),
    "over-solution": lambda notebook: cell_of(notebook, "normalise-solution").update(
        cell_type="markdown", source="It is the nearest, you see"
    ),
    "below-solution": add("normalise-solution", "It is the nearest, you see"),
    "copied-check": lambda notebook: notebook["cells"].append(
        {**code(f"# {TEXT}"), "metadata": copy.deepcopy(cell_of(notebook, "normalise")["metadata"])}
    ),
    "f-string": start(code("print(f'the nearest')")),
    "displayed": start(code("display(Markdown(r'the nearest'))")),
    "magic": start(code("%%markdown\nnearest")),
    "behind-badge": answered(f"{course.BADGE}x)](y) {TEXT}"),
    "chinese-comment": end(code("x = 1  # 因为它离所有的数最近")),
    "one-line": answered("YOUR ANSWER\n\nYOUR ANSWER HERE: the nearest"),
    "numbered-comment": among("normalise", "# Question 3: the nearest"),
    "german-number": among("normalise", "# Frage 3: weil er am nächsten liegt (nearest)"),
    "chinese-number": within("normalise", "# 问题3：因为它离所有的数最近 nearest"),
    "bare-number": among("normalise", "# 3) nearest"),
    "named-in-docstring": within("normalise", '"""Why the mean? It is the nearest."""'),
    "german-below-solution": add("normalise-solution", "Weil er allen am nächsten liegt, nearest"),
    "chinese-below-solution": add("normalise-solution", "因为它离所有的数最近，nearest"),
    "solution-is-text": lambda notebook: cell_of(notebook, "normalise-solution").update(source=f"# {TEXT}"),
    "one-word-over-solution": lambda notebook: cell_of(notebook, "normalise-solution").update(source="Nearest"),
    "databricks": as_databricks(TEXT),
    "marimo": as_marimo(TEXT),
    "deepnote": as_deepnote(TEXT),
}
UNANSWERED = {
    "untouched": lambda notebook: None,
    "emptied": answered(""),
    "blanks": both(answered(" \n\t\u00a0\u200b\n"), put(1, text(" \n\u200b"))),
    "old-placeholder": answered("YOUR ANSWER\n\nYOUR ANSWER HERE"),
    "no-placeholder": answered("YOUR ANSWER\n"),
    "deleted-alone": delete,
    "lost-alone": lose,
    "scratch": start(code("x = 3\nprint('x is', x)  # look")),
    "looked-into-check": add("normalise", "print(got)"),
    "colab": saved_from_colab,
    "moved": lambda notebook: notebook["cells"].insert(1, notebook["cells"].pop(at(notebook))),
    "comment-on-code": among("normalise", f"# {ABOUT}"),
    "comment-behind-code": within("normalise", f"x = x + 0  # {ABOUT}, of width 3, 3 of them"),
    "german-comment": among("normalise", "# hier werden die Zahlen durch die Wurzel ihrer Varianz geteilt"),
    "chinese-comment-on-code": among("normalise", "# 这里把所有的数除以它们方差的平方根"),
    "docstring": within("normalise", f'"""{ABOUT}"""'),
    "string-in-assert": within("moving_average", f"assert len(x), {ABOUT!r}"),
    "copied-solution": lambda notebook: notebook["cells"].append(
        {
            **code(f"# {ABOUT}\n" + "".join(cell_of(notebook, "normalise-solution")["source"])),
            "metadata": copy.deepcopy(cell_of(notebook, "normalise-solution")["metadata"]),
        }
    ),
    "lost-and-commented": both(among("normalise", f"# {ABOUT}"), lose),
    "helper": helper,
    "broken": both(among("normalise", f"# {ABOUT}"), add("normalise-solution", "    retrun x")),
    "open-string": add("normalise-solution", "print('this is what comes of all the numbers)"),
    "not-implemented": lambda notebook: cell_of(notebook, "normalise-solution").update(
        source="# YOUR CODE HERE\nraise NotImplementedError"
    ),
    "kaggle": from_kaggle,
    "databricks-blank": as_databricks(),
    "marimo-blank": as_marimo(),
    "deepnote-blank": as_deepnote(),
}


@pytest.fixture(scope="module")
def kit_in(grader):
    with one_process.kit(grader) as run:
        yield run


@pytest.fixture(scope="module")
def built(tmp_path_factory, kit_in):
    """A course with a written question, and a student for each way to answer it or not."""
    place = small_course.copy(tmp_path_factory.mktemp("written") / "course")
    edit(place, add_question)
    assert kit_in(place, "build") == 0
    for student, change in {**ANSWERED, **UNANSWERED}.items():
        path = small_course.submit(place, student, {}, "solutions")
        notebook, released = load(path), load(place / "release" / NAME / f"{NAME}.ipynb")
        cell_of(notebook, "why")["source"] = cell_of(released, "why")["source"]
        change(notebook)
        path.write_text(json.dumps(notebook))
    return place


@pytest.fixture
def kit(place, kit_in, monkeypatch, capsys):
    monkeypatch.chdir("/")

    def run(*arguments):
        capsys.readouterr()
        return kit_in(place, *arguments), *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def graded(built, kit_in):
    assert kit_in(built, "grade", "01") == 0
    return built


@pytest.fixture
def place(graded, tmp_path):
    return shutil.copytree(graded, tmp_path / "course")


def test_the_placeholder_says_what_to_do(graded):
    released = cell_of(load(graded / "release" / NAME / f"{NAME}.ipynb"), "why")
    assert course.PLACEHOLDER in "".join(released["source"])


@pytest.mark.parametrize("student", ANSWERED)
def test_whatever_may_be_an_answer_waits(graded, student):
    assert marks(graded)[student, "why"] == WAITS


@pytest.mark.parametrize("student", UNANSWERED)
def test_nothing_is_nothing(graded, student):
    assert marks(graded)[student, "why"] == NOTHING


@pytest.mark.parametrize(
    "student", ["below", "deleted", "lost", "code-cell", "turned", "in-check", "untouched", "old-placeholder"]
)
def test_nbgraders_own_autograde_agrees(place, student):
    before = marks(place)
    assert formgrader(place, student)["success"]
    assert marks(place) == before


def test_pages_show_the_answers_and_never_say_that_there_is_none(place, kit):
    code, out, _ = kit("grade", "01", "--dry-run")
    assert code == 0
    code, out, said = kit("report", "01", "--jobs", "1")
    assert code == 0, said
    assert f"{len(ANSWERED)} answers wait" in out
    by_hand = (place / "reports" / f"{NAME}-by-hand.html").read_text()
    waiting, blank = by_hand.split(f"<details><summary>{len(UNANSWERED)} blank: 0 points each")
    for student in ANSWERED:
        page = (place / "feedback" / student / NAME / f"{NAME}.html").read_text()
        assert "no answer" not in page and "not graded yet, 4 points" in page and "points so far" in page, student
        assert f"<bdi>{student}</bdi>" in waiting and f"<bdi>{student}</bdi>" not in blank, student
    for student in UNANSWERED:
        page = (place / "feedback" / student / NAME / f"{NAME}.html").read_text()
        assert "no answer" in page and "“Why?”: your answer cell is empty" in page and "nothing is left" not in page
        assert f"<li><bdi>{student}</bdi></li>" in blank.split("</details>")[0]
    shown = {part.split("</bdi>")[0]: part for part in waiting.split("<bdi>")[1:]}
    for student, part in shown.items():
        words = {
            "chinese": "因为",
            "chinese-comment": "因为",
            "emoji": "🤷",
            "start": "Yes.",
            "quote": "",
            "one-word-over-solution": "Nearest",
        }.get(student, "nearest")
        assert ("image.png" if student == "picture" else "a.png" if "picture" in student else words) in part, student
    code, out, _ = kit("export", "01", "csv")
    assert code == 0, out


def test_the_commands_say_what_is_empty(place, kit):
    code, out, _ = kit("grade", "01")
    assert code == 0 and f"{len(UNANSWERED)} written answers are blank and have 0 points" in out
    path = place / "submitted" / "comment-on-code" / NAME / f"{NAME}.ipynb"
    empty = "\n“Why?”: your answer cell is empty.\n"
    assert empty in kit("check", path)[1]
    assert empty not in kit("check", place / "submitted" / "below" / NAME / f"{NAME}.ipynb")[1]
    assert "your answer cell" not in kit("check", path, "--exercise", "normalise")[1]
    blank = {"id": "why", "message": empty.strip()}
    assert json.loads(kit("check", path, "--format", "json")[1])["blank"] == [blank]
    assert json.loads(kit("check", path, "--format", "json", "--exercise", "normalise")[1])["blank"] == []
    answered = place / "submitted" / "below" / NAME / f"{NAME}.ipynb"
    assert json.loads(kit("check", answered, "--format", "json")[1])["blank"] == []


def test_each_of_several_questions_is_0_or_waits_by_itself(tmp_path, kit_in):
    """A comment on the code waits for the question that it names; a text of one's own may answer any."""
    place = small_course.copy(tmp_path / "course")
    edit(place, add_question)
    edit(place, lambda notebook: add_question(notebook, "whence", 2))
    assert kit_in(place, "build") == 0
    answers = {
        "named": among("normalise", "# Question 4: it is the nearest"),
        "code": among("normalise", f"# {ABOUT}"),
        "text": end(text(TEXT)),
        "other-cell": lambda notebook: cell_of(notebook, "why").update(source=f"{TEXT} And whence? From a hat."),
    }
    for student, change in answers.items():
        path = small_course.submit(place, student, {}, "solutions")
        notebook = load(path)
        for question in ("why", "whence"):
            cell_of(notebook, question)["source"] = ""
        change(notebook)
        path.write_text(json.dumps(notebook))
    assert kit_in(place, "grade", "01") == 0
    found = {student: (marks(place)[student, "why"], marks(place)[student, "whence"]) for student in answers}
    assert found == {
        "named": (NOTHING, WAITS),
        "code": (NOTHING, NOTHING),
        "text": (WAITS, WAITS),
        "other-cell": (WAITS, WAITS),
    }


def test_answers_to_two_questions_may_be_merged_into_one_cell(tmp_path, kit_in):
    """The second question's cell is gone then; where only the first one was answered, the second has 0 points."""
    place = small_course.copy(tmp_path / "course")
    edit(place, add_question)
    edit(place, lambda notebook: add_question(notebook, "whence", 2))
    assert kit_in(place, "build") == 0
    for student in ("merged", "first"):
        path = small_course.submit(place, student, {}, "solutions")
        notebook = load(path)
        first, asked, second = (cell_of(notebook, "why"), notebook["cells"][-2], cell_of(notebook, "whence"))
        first["source"], second["source"] = "It is the nearest.", "" if student == "first" else "From a hat."
        if student == "merged":
            first["source"] += "\n\n" + "".join(asked["source"]) + "\n\n" + second["source"]
            del notebook["cells"][-2:]
        path.write_text(json.dumps(notebook))
    assert kit_in(place, "grade", "01") == 0
    assert marks(place)["merged", "whence"] == WAITS and marks(place)["first", "whence"] == NOTHING
    assert marks(place)["merged", "why"] == marks(place)["first", "why"] == WAITS


@pytest.mark.slow("it grades a class, as others here do")
def test_a_lesson_that_was_changed_after_its_release_is_no_answer(place, kit):
    """Nor is the placeholder of an earlier release."""

    def change(notebook):
        notebook["cells"][0]["source"] = ["# Another title\n", *notebook["cells"][0]["source"][1:]]
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = "".join(cell["source"]).replace("Why the mean?", "Why is it the mean?")
        cell_of(notebook, "why")["source"] = "MINE\n\n### BEGIN SOLUTION\nIt is.\n### END SOLUTION"

    shutil.rmtree(place / "submitted" / "quote")  # of a line that stands in both releases
    before = marks(place)
    edit(place, change)
    assert kit("build", "01")[0] == 0
    assert kit("grade", "01")[0] == 0
    assert marks(place) == before
