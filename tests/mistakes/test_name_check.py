"""`autograder name-check`: how names are judged, how answers are read, and the command on a folder of its own."""

import json

import pytest
import strangers

from autograder import cli, course
from autograder.errors import UsageError
from autograder.mistakes.name_check import Answer, Judgement, Totals, answers_in, cells_for, table
from autograder.sandbox import jail
from autograder.verdict import Diagnosis, Outcome

SOFTMAX = """def softmax(scores, dim=-1):
    e = (scores - scores.amax(dim, keepdim=True)).exp()
    return e / e.sum()
"""


def judged(expect, named, score=1.0, also=(), line=""):
    ids = frozenset(expect) - {"?"}
    answer = Answer("softmax", "mine", "", ids, frozenset(also), "?" in expect)
    return Judgement(answer, Outcome("softmax", score, 4.0, "graded", [], [Diagnosis(id, "", line) for id in named]))


@pytest.mark.parametrize(
    "expect, also, named, kind",
    [
        ({"a", "b"}, {"c"}, ["a"], "right"),
        ({"a", "b"}, {"c"}, ["c"], "other"),
        ({"a", "b"}, {"c"}, ["a", "d"], "false"),
        ({"a", "?"}, (), ["a"], "right"),
        ({"?"}, (), [], "none"),
        ({"?"}, (), ["a"], "false"),
    ],
)
def test_one_false_name_outweighs_a_right_one(expect, also, named, kind):
    assert judged(expect, named, also=also).kind == kind


def test_full_marks_are_counted_apart():
    assert judged({"a"}, [], score=4.0).kind == "full"
    totals = Totals([judged({"a"}, [], score=4.0), judged({"a", "b"}, ["a"], line="x = 1"), judged({"?"}, ["a"])])
    assert (totals.answers, totals.full, totals.lose, totals.known) == (3, 1, 2, 1)
    assert (totals.right, totals.complete, totals.false, totals.none, totals.line) == (1, 0, 1, 0, 1)


def test_the_totals_are_printed_by_exercise_with_precision_and_recall():
    text = table([judged({"a"}, ["a"]), judged({"a", "b"}, ["c"])])
    assert "precision: 1 of 2 (50%)" in text and "recall: 1 of 3 (33%)" in text
    softmax, every = (line.split() for line in text.splitlines()[1:3])
    assert softmax[0] == "softmax" and every[0] == "all" and softmax[1:] == every[1:]


def write(folder, name, text):
    path = folder / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


def test_an_answer_says_what_to_expect_of_it(tmp_path):
    heading = "# wrong: some\n# expect: exp-without-max, ?\n# also: sum-over-everything\n"
    (answer,) = answers_in(write(tmp_path, "softmax/mine", heading + SOFTMAX))
    assert (answer.expected, answer.also, answer.unknown) == ({"exp-without-max"}, {"sum-over-everything"}, True)
    assert answer.wanted == ["exp-without-max", "?"]


def test_an_answer_may_expect_a_fact(tmp_path):
    (answer,) = answers_in(write(tmp_path, "softmax/mine", "# expect: fact-times\n" + SOFTMAX))
    assert answer.expected == {"fact-times"}


@pytest.mark.parametrize(
    "name, text, problem",
    [
        ("softmax/mine", SOFTMAX, "softmax/mine.py: It does not begin with a comment"),
        ("softmax/mine", "# expect: no-scale\n" + SOFTMAX, "It expects no-scale, which is no mistake in the bank"),
        ("softmix/mine", "# expect: ?\n" + SOFTMAX, "softmix: There is no such exercise"),
        ("mine", "# expect: ?\n" + SOFTMAX, "There are no answers"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(tmp_path, name, text, problem):
    with pytest.raises(UsageError, match=problem):
        answers_in(write(tmp_path, name, text))


def test_a_folder_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(UsageError, match="There is no folder"):
        answers_in(tmp_path / "nothing")


def test_the_strangers_can_be_read():
    with strangers.unpacked() as folder:
        answers = answers_in(folder)
    assert len(answers) >= 120 and {answer.exercise for answer in answers} <= course.exercises().keys()


def test_an_answer_stands_on_the_course_s_own_solutions():
    """Of the names that it uses and does not define, and of those that these use in turn, after the setup cells."""
    text = "def load_from_torch(ours, theirs):\n    return MultiHeadAttention\n"
    setup, _drawing, _parts, *bases, own = [cell.source for cell in cells_for("load_from_torch", text)]
    assert "import torch" in setup and own == text
    assert [course.defined_in(base) for base in bases] == [{"MultiHeadAttention"}]
    assert len(cells_for("load_from_torch", text + "\nclass MultiHeadAttention:\n    pass\n")) == 4


@pytest.mark.slow("it starts the command")
@pytest.mark.skipif(jail.refusal() is not None, reason="no sandbox here")
def test_the_command(tmp_path, capsys):
    write(tmp_path, "softmax/all", f"# expect: sum-over-everything\n{SOFTMAX}")
    write(tmp_path, "softmax/stub", "# expect: ?\ndef softmax(s, dim=-1):\n    raise NotImplementedError\n")
    write(tmp_path, "attention/other", "# expect: no-scale\ndef attention(query):\n    return query\n")
    assert cli.main(["name-check", str(tmp_path), "--seed", "1", "--exercise", "softmax", "--format", "json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["answer"], one["kind"]) for one in found] == [("all", "right"), ("stub", "none")]
    assert cli.main(["name-check", str(tmp_path / "softmax")]) == 2
    assert "no answers" in capsys.readouterr().err
