"""What all lessons share: drawing and rules."""

import contextlib
import io
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import torch
from conftest import ROOT, load

from autograder import course

NAMES = sorted(course.assignments(ROOT))


def texts(name):
    notebook = load(ROOT / "source" / name / f"{name}.ipynb")
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


# what the rules of kernels begin with, and all others
OF_KERNELS = (
    "Hidden graders launch your kernels by the interpreter, with other sizes, blocks and dtypes;",
    "Hidden graders also try other sizes, dtypes and devices, and compare gradients;",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_and_the_drawing_are_the_same_in_each(name):
    first = texts(NAMES[0])
    here = texts(name)
    assert here["drawing"] == first["drawing"]
    assert here["rules"].replace(*OF_KERNELS).split("**New here:**")[0] == first["rules"].split("**New here:**")[0]


def test_sliders_are_made_the_same_way_in_each():
    made = {name: here["sliding"] for name in NAMES if "sliding" in (here := texts(name))}
    assert "".join(name[1] for name in made) == "13456789" and len(set(made.values())) == 1


def test_a_head_of_gpt2_has_the_same_numbers_wherever_it_is_shown():
    """Lesson 04 has the heads of 01 and 03 among its own: each notebook is read alone, so the numbers are repeated."""
    found = {}
    for name in named(("01", "03", "04")):
        cell = "".join(text for id, text in texts(name).items() if id in ("gpt2-head", "gpt2-heads"))
        (sentence,) = re.findall(r"^SENTENCE = .*$", cell, re.MULTILINE)
        found[name[:2]] = sentence, re.findall(r"^100$\n(?:^[\d ]+$\n)*^[\d ]+\b", cell, re.MULTILINE)
    assert len({sentence for sentence, _ in found.values()}) == 1
    (_, in_01), (_, in_03), (_, (copies, _, next_last_time)) = found.values()
    assert in_01 == [copies] and in_03 == [next_last_time]
    assert all(len(head.split()) == 17 * 18 // 2 for head in (copies, next_last_time))  # a triangle of 17 tokens


SOON = {"01": 570, "02": 510, "03": 350, "04": 450, "05": 600, "06": 600, "07": 600}  # words before the first exercise


@pytest.mark.parametrize("number", SOON)
def test_an_exercise_comes_soon_and_the_minutes_add_up(number):
    """What is folded does not count: it is there to be looked up."""
    (name,) = [name for name in NAMES if name.startswith(number)]
    cells = load(ROOT / "source" / name / f"{name}.ipynb")["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    first = next(place for place, text in enumerate(texts) if text.startswith("## Exercise 1"))
    before = "\n\n".join(texts[:first])
    words = len(re.sub(r"<details>.*?</details>", "", before, flags=re.DOTALL).split())
    another = int(re.search(r"The text before the first one takes another (\d+)\.", before)[1])
    assert words <= SOON[number] and another >= words / 200
    *minutes, total = [int(row) for row in re.findall(r"^\| .* \|[ *]+(\d+)[ *]+\|$", before, re.MULTILINE)]
    assert sum(minutes) == total
    headings = [re.match(r".*?^\*\*\d+ points? · (\d+) minutes", text, re.DOTALL | re.MULTILINE) for text in texts]
    assert [int(found[1]) for found in headings if found] == minutes


VISIBLE = {"01": 2300, "02": 1600, "03": 2440, "04": 2650, "05": 2230, "06": 2660, "07": 4350, "08": 3650, "09": 4530}


@pytest.mark.parametrize("number", VISIBLE)
def test_a_lesson_shows_no_more_words_than_it_may(number):
    """As students get it. What a lesson adds beyond that, it folds, or takes from elsewhere."""
    (name,) = [name for name in NAMES if name.startswith(number)]
    cells = load(ROOT / "release" / name / f"{name}.ipynb")["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert sum(len(without_folds(text).split()) for text in texts) <= VISIBLE[number]


def named(numbers):
    return [name for name in NAMES if name[:2] in numbers]


def without_folds(text):
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


LEVELS = (
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "07",
    "08",
    "09",
    "10",
    "11",
    "12",
)  # lessons with levels, symptoms and predictions


@pytest.mark.parametrize("name", named(LEVELS))
def test_the_path_of_an_hour_is_one_of_musts_and_its_minutes_are_those_of_the_table(name):
    cells = load(ROOT / "source" / name / f"{name}.ipynb")["cells"]
    markdown = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    table = {m[1]: int(m[2]) for m in re.finditer(r"^\| (\d+)\. .*\| (\d+) \|$", markdown, re.MULTILINE)}
    heading = r"^## (?:Exercise|Question) (\d+)[\s\S]*?^\*\*\d+ points? · .* · (must|may|challenge)\*\*$"
    levels = dict(re.findall(heading, markdown, re.MULTILINE))
    assert levels.keys() == table.keys()
    path, promised = re.search(r"^\*\*In 60 minutes:\*\* (.*?) take (\d+)\.", markdown, re.MULTILINE).groups()
    text = int(re.search(r"The text before the first one takes another (\d+)\.", markdown)[1])
    (read, *exercises) = re.findall(r"(the text|\d+) \((\d+)\)", path)
    assert read == ("the text", str(text)) and exercises
    for number, minutes in exercises:
        assert (table[number], levels[number]) == (int(minutes), "must")
    assert int(promised) == text + sum(int(minutes) for _, minutes in exercises) <= 60
    also = re.search(r"^\*\*In 60 minutes:\*\*.*", markdown, re.MULTILINE)[0]
    assert all(table[number] == int(minutes) for number, minutes in re.findall(r"(\d+) \((\d+)\)", also))


@pytest.mark.parametrize("name", named(LEVELS))
def test_what_asks_before_it_tells_folds_the_answer(name):
    """Quoted claims, what is wrong in a fix, and predictions: a question in sight, and no answer beside it."""
    for id, text in texts(name).items():
        for quote in re.findall(r"(?:^>.*\n?)+", text, re.MULTILINE):
            if "**Myth:**" in quote or "**Claim:**" in quote:
                assert "**True?**" in quote and quote.strip().count("\n") == 0, f"{id} answers {quote}"
        assert "What you see when you run it" not in text
        if "**What is wrong?**" in text:
            assert len(re.findall(r"<summary>Symptom \d: ", text)) > 1
            assert "open no symptom (*hard*)" in without_folds(text)
        assert "**Predict" not in text or "\n> **Predict" in without_folds(text)


@pytest.mark.parametrize("name", named(LEVELS))
def test_each_look_begins_with_a_prediction(name):
    looks = {id: text for id, text in texts(name).items() if re.search(r"^### Look at it", text, re.MULTILINE)}
    assert looks and [id for id, text in looks.items() if "> **Predict" not in text] == []


# Lesson -> right answers to its questions on older lessons, each in several spellings, and a wrong one of each.
RECALLED = {
    "02": (
        [(5, 5), "(5, 5)", [5, 5], "5 x 5"],
        [0.5, "1/2", ".5", torch.tensor(0.5)],
        [8, 8.0, "8", 64**0.5],
        (5, 4),
        1,
        64,
    ),
    "03": (
        [(4, 5), torch.Size((4, 5)), "4 x 5"],
        [7, "7", torch.tensor(7.0)],
        [16, "16", 4**2],
        (4, 3),
        49,
        4,
    ),
    "04": (
        [1 / 3, "1/3", 0.333],
        [(4, 10), "4 x 10"],
        [(6, 6), [6, 6]],
        0.5,
        (10, 4),
        (9, 9),
    ),
    "05": ([2, "2", 4**0.5], [21, "21", torch.tensor(21)], [7.4, 7.39, "7.4"], 12, 15, 2),
    "06": (
        [(9, 7), "9, 7"],
        [(2, 4, 5, 3), torch.Size((2, 4, 5, 3)), "2×4×5×3"],
        [0.125, "1/8", 1 / 8],
        (7, 9),
        (2, 5, 4, 3),
        1,
    ),
    "07": ([(6, 16), "[6, 16]"], [1.2, "1.2", "6/5"], [9, "9", torch.tensor(9)], (16, 6), 0, 3),
    "08": ([92, "92"], [(22, 22), "22 x 22"], [36, "36", torch.tensor(36)], 91, (16, 6), 64),
    "09": ([1, "1", 1.0], [54, "54", torch.tensor(54.0)], [16, "16", 4**2], 2, 3.99, 4),
    "10": ([6, "6", 6.0], [8, "8", torch.tensor(8)], [4, "4", 36 / 9], 5, 16, 9),
    "11": ([21, "21", 21.0], [0.69, "0.69", torch.tensor(0.6931)], [1, "1", "1.0"], 15, 0, 0),
}


def asked(name):
    """The names that a lesson's questions on older ones need, as its first cells leave them."""
    values = {}
    exec("import torch\nimport torch.nn.functional as F\n" + texts(name)["recalling"], values)
    return values


def heard(values, *answers):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        values["recall"](*answers)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("name", named(RECALLED))
def test_right_answers_are_right_in_several_spellings_and_wrong_ones_are_sent_to_where_it_was_told(name):
    values = asked(name)
    *spellings, first, second, third = RECALLED[name[:2]]
    for place, right in enumerate(spellings):
        for answer in right:
            lines = heard(values, *[answer if place == other else ... for other in range(3)])
            expected = [f"{other + 1}. {'Right.' if other == place else 'Not answered yet.'}" for other in range(3)]
            assert lines == expected
    for line, (_, where) in zip(heard(values, first, second, third), values["questions"], strict=True):
        assert "Right" not in line and line.endswith(f"Read again: {where}.")
    for strange in ("", "three", None, "1/0", (), [[1]], {}, float("inf"), float("nan"), "1.2.3", object()):
        assert not any("Right" in line for line in heard(values, strange, strange, strange)), strange
    assert heard(values, 0, 5, 1, 2) == [
        "Give 3 answers with a comma after each: a shape as (2, 3), a half as 0.5. These are 4."
    ]


@pytest.mark.parametrize("name", named(RECALLED))
def test_questions_go_back_further_and_further_and_name_sections_that_exist(name):
    """To the last lesson, the one before, and an earlier one, where there are so many."""
    number, distances = int(name[:2]), []
    for _, where in asked(name)["questions"]:
        lesson, section = re.fullmatch(r"lesson (\d\d), \*(.+)\*", where).groups()
        (told,) = named([lesson])
        headings = re.findall(r"^#+ (.*)", "\n".join(texts(told).values()), re.MULTILINE)
        assert any(heading == section or heading.startswith(f"{section}: ") for heading in headings), where
        distances.append(number - int(lesson))
    first = {2: [1, 1, 1], 3: [1, 2, 2]}
    assert distances == first[number] if number in first else distances[:2] == [1, 2] and distances[2] > 2


@pytest.mark.parametrize("name", named(RECALLED))
def test_the_questions_are_asked_first_and_nothing_in_sight_answers_them(name):
    here = texts(name)
    assert list(here)[: list(here).index("recall") + 1] == [
        "intro",
        "setup",
        "drawing",
        "recalling",
        "recall-text",
        "recall",
    ]
    assert here["recall"].count("    ...,\n") == 3
    key = re.sub(r'".*?"', "", here["recalling"].split("questions = [")[1])  # without the names of sections
    for right, *_ in RECALLED[name[:2]][:3]:
        assert not re.search(rf"(?<![\d.]){re.escape(str(right))}(?![\d.])", key), right
    assert here["recalling"].split("questions = [")[0] == texts(NAMES[1])["recalling"].split("questions = [")[0]


@pytest.mark.parametrize("name", NAMES)
def test_no_running_text_speaks_of_a_notebook_that_students_do_not_have(name):
    notebook = load(ROOT / "source" / name / f"{name}.ipynb")
    spoken = [
        cell["id"]
        for cell in notebook["cells"]
        if cell["cell_type"] == "markdown"
        and cell["id"] != "credits"
        and re.search(r"\b[Nn]otebooks? 00\d|(?<![,.\d])00[0-4]\b", "".join(cell["source"]))
    ]
    assert spoken == []


@pytest.mark.parametrize("name", NAMES)
def test_torch_keeps_to_one_thread_from_the_start(name):
    """A second thread is no help with tensors this small, and on a busy machine it makes a cell many times slower."""
    settings = [id for id, text in texts(name).items() if "set_num_threads" in text]
    assert settings == ["setup"] and "torch.set_num_threads(1)" in texts(name)["setup"]


@pytest.mark.parametrize("name", NAMES)
def test_no_text_sends_students_to_a_page_that_they_do_not_have(name):
    """They have the notebooks, and none of the course's docs; where a link leads is somebody else's."""
    assert [id for id, text in texts(name).items() if re.search(r"(?<![/\w.])docs/|originals\.md", text)] == []


HAVE_NO_NAMES = (
    "The public notebooks that the exercises grew out of have no names here; this course numbers them 000 to 004: "
)


@pytest.mark.parametrize("name", NAMES)
def test_who_reads_the_number_of_a_notebook_reads_what_it_is(name):
    before, found, after = texts(name)["credits"].partition(HAVE_NO_NAMES)
    assert not re.search(r"(?<![,.\d])00[0-4]\b", before)
    assert not found or re.match(r"00[0-4] \w+ \w+", after)


def numbers_drawn(*rows):
    """What the cells of a map say, row by row."""
    import matplotlib.pyplot as plt

    values = {}
    exec(texts(NAMES[0])["drawing"], values)
    _, ax = plt.subplots()
    values["show_weights"](torch.tensor(rows), ["row"] * len(rows), columns=["column"] * len(rows[0]), ax=ax)
    said = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in ax.texts}
    plt.close()
    return [[said.get((row, column), "") for column in range(len(rows[0]))] for row in range(len(rows))]


def test_a_cell_of_a_map_is_blank_where_it_is_exactly_0_and_nowhere_else():
    hidden = torch.tensor([[0.3, 0.1], [0.2, 0.4]]).masked_fill(
        torch.tensor([[False, True], [False, False]]), -torch.inf
    )
    assert numbers_drawn(*hidden.softmax(dim=1).tolist()) == [["1.00", ""], [".45", ".55"]]
    assert numbers_drawn([1e-4, 0.0, -0.0], [-1e-4, 1e-30, 0.004]) == [[".00", "", ""], [".00", ".00", ".00"]]
    assert numbers_drawn([0.996, 1.36, -0.5], [-1.28, 12.34, 9.999]) == [
        ["1.00", "1.36", "-.50"],
        ["-1.28", "12.3", "10.0"],
    ]


STUB = "def half(x):\n    raise NotImplementedError()\n\ndef twice(x):\n    return [half(one) for one in x]\n\n"


def shown(*cells):
    """What a notebook shows of its last cell, after the cell that draws: its lines.

    In a process of its own: a shell of IPython's leaves behind what makes each `exec` of later tests slow.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as child:
        return child.submit(_shown, cells).result(60)


def _shown(cells):
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell()
    for cell in (texts(NAMES[0])["drawing"], *cells):
        with capture_output() as captured:
            ran = shell.run_cell(cell)
    assert not ran.success, "what stops is an error, also to Validate"
    return captured.stdout.strip().splitlines()


def test_what_is_not_written_yet_is_named_in_one_line_and_other_errors_as_ever():
    assert shown(STUB + "half(1)") == ["half is not written yet."] == shown(STUB + "twice([1])")
    head = "class Head:\n    def forward(self, x):\n        raise NotImplementedError()\n\nHead().forward(1)"
    assert shown(head) == ["Head.forward is not written yet."]
    assert len(shown("raise NotImplementedError('of whoever wrote this')")) > 3
    assert len(shown("import torch\ntorch.nn.Module()(1)")) > 3  # torch's own NotImplementedError
    assert len(shown("[][1]")) > 3
    imports = "get_ipython().set_custom_exc((ImportError,), lambda *_, **__: print('Try pip install'))"  # as Colab does
    again = texts(NAMES[0])["drawing"]
    assert shown(imports, again, "import not_there") == ["Try pip install"]
    assert shown(imports, again, STUB + "half(1)") == ["half is not written yet."]


@pytest.mark.parametrize("name", NAMES)
def test_a_progress_bar_is_no_error(name):
    """What is on stderr stands on a pink ground in Jupyter, and nbgrader's Validate takes it for a failure."""
    cells = [text for text in texts(name).values() if "import tqdm" in text]
    wrapped = texts("07_language_model")["setup"].split("try:\n")[1]
    assert [text.split("try:\n", 1)[1].startswith(wrapped) for text in cells] == [True] * len(cells)
    assert len(cells) <= 1 and (not cells or "import sys" in cells[0])
