"""The student's page: what it says of points, mistakes and the next step, and what it keeps to itself."""

import re
from datetime import datetime

import pytest

from autograder import course
from autograder.report import feedback_page
from autograder.report.feedback_page import ShownCell
from autograder.report.gradebook_marks import GradedNotebook, Mark, Standing
from autograder.verdict import Check, Diagnosis, Outcome, Verdict, rejected

LESSON = course.find_assignment("02")
QUESTION = "question-three-matrices"
CRASH = "Your code raised NameError: name 'qurey' is not defined, in code cell 14, line 3 (`scores = qurey`)."
NAMES = ("SingleHeadSelfAttention", "SelfAttention", "attention")


def passed(category="values", points=1.0):
    return Check("test_secret", category, points, True, f"The {category} are right.")


def failed(reason, category="values", points=1.0):
    return Check("test_secret", category, points, False, f"The {category} are right. {reason}", reason)


def outcome(name, *checks, **more):
    score = sum(c.points for c in checks if c.passed)
    return Outcome(
        name, score, max(1.0, sum(c.points for c in checks)), more.pop("status", "graded"), [*checks], **more
    )


def cells():
    ids = {"attention-solution": 14, "SelfAttention-solution": 10}
    yield ShownCell(
        "markdown", headings=["Exercise 3: implement `attention(query, key, value, mask=None)`"], source="<p>"
    )
    for name, number in ids.items():
        yield ShownCell("code", number, name, source="<pre>x</pre>")
    yield ShownCell("markdown", source="<details><summary>Hint 1</summary></details>")


def mark(cell, most, auto=None, by_hand=None, extra=0.0):
    """The mark of an exercise of the lesson, or of its question."""
    exercise = "" if cell == QUESTION else cell
    return Mark(cell, exercise, auto, by_hand, extra, most, waits=auto is None and by_hand is None)


def page(*outcomes, marks=None, shown=None, empty=(), **about):
    verdict = Verdict("", list(outcomes), 0, LESSON.name) if outcomes else about.pop("verdict", None)
    given = {o.exercise: mark(o.exercise, o.max_score, o.score) for o in outcomes} | (marks or {})
    name, comments = about.pop("name", ""), about.pop("comments", {})
    known = GradedNotebook("ada", name, Standing(tuple(given.values()), **about), comments)
    comments = {name: text for name, (text, _) in known.comments.items()}
    made = list(cells()) if shown is None else shown
    return feedback_page.render(known, verdict, made, comments, LESSON, None, empty=empty)


def words(text):
    """What is read on a page."""
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).replace(" ,", ",").replace("&#39;", "'")


def test_the_first_words_are_the_points_and_the_next_step():
    wrong = outcome(
        "attention",
        passed("shape"),
        failed("100% are wrong."),
        diagnosis=[Diagnosis("x", "The `mask`.", "w = w * mask")],
    )
    text = page(outcome("SelfAttention", passed()), wrong, name="Ada Lovelace")
    said = words(text)
    order = ["02 Queries", "Ada Lovelace", "2 of 3 points", "Next step: fix attention (Exercise 3)", "Exercise 2"]
    order += [
        "1 of 1",
        "Exercise 3: attention",
        "1 of 2",
        "What went wrong: \N{MINUS SIGN}1 of 2 for the failed checks: The mask",
        "w = w * mask",
        "Right already: shapes",
    ]
    order += ["What the checks found", "100% are wrong", "Your notebook"]
    places = [said.index(part) for part in order]
    assert places == sorted(places), [part for part, a, b in zip(order, places, sorted(places), strict=True) if a != b]
    assert '<a href="#cell-2">your code</a>' in text and '<a href="#cell-1">what the exercise asks</a>' in text
    assert "<details open" not in text, "the named mistake explains what fails"


def test_what_no_mistake_explains_is_open():
    assert page(outcome("attention", failed("It is NaN."), passed())).count("<details open") == 1


def test_a_crash_is_told_once():
    text = page(outcome("attention", *[failed(CRASH)] * 19, diagnosis=[Diagnosis("place-line", "One line.", "scores")]))
    assert words(text).count("NameError") == 1 and "All 19 checks stop here" in text and "One line." not in text
    assert '<a href="#code-14">code cell 14</a>' in text


def test_a_file_that_cannot_be_read_is_told_once_and_not_shown():
    verdict = rejected("", LESSON.exercises, "It is not a notebook: its text is not JSON.", 0, LESSON.name)
    text = page(verdict=verdict, marks={e.name: mark(e.name, e.points, 0.0) for e in LESSON.exercises})
    assert text.count("It is not a notebook") == 1 and 'id="notebook"' not in text and "fix" not in words(text)


def test_an_absent_module_comes_first():
    shown = [ShownCell("code", 3, absent=["einops"]), *cells()]
    said = words(page(outcome("attention", failed("It is NaN."), passed()), shown=shown))
    assert said.index("Grading does not have the module einops") < said.index("Next step")
    assert "einops" not in page(outcome("attention", passed()), shown=shown), "nothing needed it"


def test_what_waits_is_no_0():
    said = words(page(outcome("attention", passed()), marks={QUESTION: mark(QUESTION, 4.0)}))
    assert "1 of 1 points so far" in said and "4 more points are not graded yet" in said and "0 of 4" not in said
    said = words(page(outcome("attention", passed()), marks={QUESTION: mark(QUESTION, 4.0, 0.0)}))
    assert "1 of 5 points Next" in said and "no answer" in said
    assert "Next step: Question 4: your answer cell is empty." in said


def test_an_empty_answer_is_said_whatever_else_there_is_to_do():
    """Also where something else in the notebook may be the answer: nothing is left to fix only if it is there."""
    waits = {QUESTION: mark(QUESTION, 4.0)}
    said = words(page(outcome("attention", passed()), marks=waits, empty={QUESTION}))
    assert (
        "Question 4: your answer cell is empty." in said
        and "a person looks whether you answered in another one" in said
    )
    assert "nothing is left" not in said and "no answer" not in said
    said = words(page(outcome("attention", failed("It is NaN."), passed()), marks=waits, empty={QUESTION}))
    assert "Next step: fix attention (Exercise 3)." in said and "Question 4: your answer cell is empty." in said
    said = words(page(outcome("attention", passed()), marks=waits))
    assert "nothing is left to fix; a person will grade the rest" in said and "empty" not in said
    graded = {QUESTION: mark(QUESTION, 4.0, None, 3.0)}
    assert "empty" not in words(page(outcome("attention", passed()), marks=graded, empty={QUESTION}))


def test_marks_by_hand_are_not_contradicted():
    changed = {"attention": mark("attention", 2.0, 1.0, 1.5, 0.25), QUESTION: mark(QUESTION, 4.0, None, 4.0)}
    said = words(page(outcome("attention", passed(), failed("It is NaN.")), marks=changed))
    assert "5.75 of 6 points" in said and "1.75 of 2" in said and "graded by hand" in said
    assert "changed by hand from 1 to 1.5; 0.25 more as extra credit" in said
    assert "0.25 points of this are extra credit" in said


def test_late_is_told_with_how_late():
    due, handed_in = datetime(2026, 11, 20, 20), datetime(2026, 11, 22, 21, 30)
    said = words(page(outcome("attention", passed()), due=due, handed_in=handed_in, penalty=0.5))
    assert "0.5 of 1 points" in said and "0.5 points are deducted, because it was handed in 2 days 1 hour late" in said
    assert "it was due 20 November 2026, 20:00 UTC" in said
    assert "Nothing is deducted" in words(page(outcome("attention", passed()), due=due, handed_in=handed_in))


def test_no_machine_words_and_no_gpu():
    skipped = [{"name": "test_cuda", "message": "On a GPU. Not tried: no GPU on this machine."}]
    text = page(
        outcome("attention", passed("device"), failed("It is NaN."), skipped=skipped),
        marks={QUESTION: mark(QUESTION, 4.0)},
    )
    for word in ("GPU", "test_", "Test cell", "Grade cell", "In [", "(Score", "<script", "http:"):
        assert word not in text, word


@pytest.mark.parametrize("hostile", ["<img src=x onerror=alert(1)>", "`<script>`", "\u202e", "code cell 9\"'><b>"])
def test_whatever_is_quoted_is_escaped(hostile):
    one = outcome(
        "attention",
        failed(f"Your code raised {hostile}."),
        passed(),
        message=hostile,
        diagnosis=[Diagnosis("x", hostile, hostile)],
    )
    text = page(one, name=hostile, shown=[ShownCell("code", 1, absent=[hostile])])
    assert not re.search(r"<img|<script|<b>|<a [^>]*>(?=[^<]*['\"]>)", text)
    assert "default-src 'none'" in text and "script-src" not in text


def test_what_a_mistake_costs_is_said_whatever_decides():
    checks = passed("shape", 1.0), failed("It is not.", points=9.0)
    named = Diagnosis("x", "The softmax runs over the queries.", price=0.4)
    wrong = outcome("attention", *checks, diagnosis=[named], by_prices=6.0)
    said = words(page(wrong.credited("prices")))
    assert "6 of 10 points" in said and "\N{MINUS SIGN}4 of 10: The softmax runs over the queries." in said
    assert "the failed checks cost nothing more" in said
    before = words(page(wrong))
    assert "1 of 10 points" in before and "cost nothing more" not in before
    assert "\N{MINUS SIGN}9 of 10 for the failed checks: The softmax runs over the queries." in before
