"""What a student reads of an outcome: each reason once, in the order in which to look at what went wrong."""

import pytest
from test_class_report import Page

from autograder.nbgrader.safe_markdown import TAGS
from autograder.report import outcome_text
from autograder.report.outcome_text import failures
from autograder.verdict import CATEGORIES, NOT_TRIED, Check, Diagnosis, Outcome, Skipped, Verdict

ERROR = "Your code raised TypeError: {} is not 3, in code cell 7, line 2 (`x + 1`)."


def failed(category, reason, name="n", sentence="The sentence."):
    return Check(name, category, 1.0, False, f"{sentence} {reason}".strip(), reason)


def outcome(*checks, **others):
    return Outcome("attention", 0.0, float(len(checks)), "graded", list(checks), **others)


def both(outcome):
    text = outcome_text.as_text(outcome)
    return text, Page(outcome_text.as_html(outcome)).words


def test_equal_reasons_are_told_once():
    checks = [failed(c, "There is NaN in the output.", sentence=f"It is {c}.") for c in CATEGORIES]
    for text in both(outcome(*checks)):
        assert text.count("There is NaN") == 1 and "8 checks failed for the same reason" in text
        assert all(f"It is {c}." in text for c in CATEGORIES)


def test_one_error_is_told_once_though_it_says_other_sizes():
    checks = [failed("values", ERROR.format(n), sentence=f"Sentence {n}.") for n in (4, 5, 6)]
    checks.append(failed("values", ERROR.format(4).replace("line 2", "line 3")))
    for text in both(outcome(*checks)):
        assert "3 checks stopped at the same error: Your code raised TypeError: 4 is not 3" in text
        assert text.count("Your code raised") == 2, "another line is another error"


def test_an_error_without_a_place_is_told_once_too():
    checks = [failed("values", f"It stopped with TypeError: {n} arguments were given.") for n in (4, 5)]
    assert all(text.count("TypeError") == 1 for text in both(outcome(*checks)))


def test_an_error_in_place_of_a_value_error_is_told_with_the_others():
    error = ERROR.format(4)
    checks = [failed("values", error), failed("arguments", f"A key should raise a ValueError. {error}")]
    for text in both(outcome(*checks)):
        assert text.count("TypeError") == 1 and "should raise" not in text
    for text in both(outcome(checks[1])):
        assert "A key should raise a ValueError. Your code raised TypeError: 4 is not 3" in text


def test_what_was_not_tried_comes_last_and_says_so_once():
    reasons = [f"{NOT_TRIED}{n}% of the values are wrong (up to {n}.5e-05)." for n in (40, 7)]
    gated = [failed("shape", reason, sentence=f"Sentence {n}.") for n, reason in enumerate(reasons)]
    for text in both(outcome(*gated, failed("arguments", "It was accepted."))):
        assert text.count("easier case") == 1
        assert "2 checks were not tried, since an easier case is wrong already: 40% of the values" in text
        assert text.index("It was accepted.") < text.index("2 checks were not tried")


def test_a_single_reason_stays_with_its_check():
    for text in both(outcome(failed("values", "It is wrong."), Check("p", "shape", 1.0, True, "Right."))):
        assert "The sentence. It is wrong." in text and "same reason" not in text


def test_checks_without_a_reason_are_not_told_together():
    """As in results that older versions stored."""
    assert [len(f.checks) for f in failures([failed("values", ""), failed("values", "")])] == [1, 1]


def test_what_went_wrong_comes_in_order():
    checks = [failed(c, f"Wrong in {c}.") for c in reversed(CATEGORIES)]
    assert [f.checks[0].category for f in failures(checks)] == list(CATEGORIES)
    assert CATEGORIES == ("shape", "values", "masking", "gradients", "numerics", "device", "mode", "arguments")
    assert len(failures([failed("another", "x"), failed("mode", "y")])) == 2, "a category of a stored result"


def test_an_exercise_that_is_not_started_is_one_line():
    untouched = outcome(failed("values", ERROR.format(1)), diagnosis=[Diagnosis("a", "Says.")], not_started=True)
    for text in both(untouched):
        assert text == "attention: 0 of 1 points, not started"


def test_a_skipped_check_is_not_told_by_its_name():
    message = "On a GPU it is the same. Not tried: no GPU on this machine."
    for text in both(outcome(skipped=[vars(Skipped("test_cuda", message))])):
        assert message in text and "test_cuda" not in text


@pytest.mark.parametrize("reason", ["<script>alert(1)</script>", f"{NOT_TRIED}<b>", ERROR.replace("`", "<i>")])
def test_html_is_escaped_and_of_few_tags(reason):
    page = Page(outcome_text.as_html(outcome(*[failed("values", reason, sentence="`a < b`.")] * 3)))
    assert set(page.tags) <= TAGS and "script" not in page.tags and "i" not in page.tags and not page.attributes


def test_a_file_that_cannot_be_read_is_one_sentence_without_points():
    """What the points of the whole course come to is no news for whoever mistyped a name."""
    unread = [Outcome(name, 0.0, 5.0, "rejected", message="There is no such file.") for name in ("a", "b")]
    assert outcome_text.verdict_as_text(Verdict("x.ipynb", unread, 1)) == "x.ipynb: There is no such file."


def test_a_file_that_defines_nothing_is_one_sentence():
    missing = [Outcome(name, 0.0, 5.0, "missing", message=f"`{name}` is not defined.") for name in ("a", "b")]
    said = "x.py: It defines none of the exercises: a, b."
    assert outcome_text.verdict_as_text(Verdict("x.py", missing, 1)) == said
    assert outcome_text.verdict_as_text(Verdict("x.py", missing[:1], 1)) == "x.py: `a` is not defined."
    missing[1].message += " `B` is."
    assert outcome_text.verdict_as_text(Verdict("x.py", missing, 1)) == "x.py: `b` is not defined. `B` is."


def test_points_by_hand_are_in_the_total_of_a_whole_notebook():
    from autograder import course

    name, found = next(iter(course.assignments().items()))
    whole = Verdict("", [Outcome(e.name, 0.0, e.points, "missing") for e in found.exercises], 1, name)
    some = Verdict("", whole.exercises[:1], 1, name)
    assert f"{found.points - sum(e.points for e in found.exercises):g} more are given by hand" in (
        outcome_text.verdict_as_text(whole)
    )
    assert "by hand" not in outcome_text.verdict_as_text(some)
    assert "by hand" not in outcome_text.verdict_as_text(Verdict("", some.exercises, 1, "no such assignment"))


MINUS = "\N{MINUS SIGN}"


def test_text_and_html_say_what_a_mistake_costs():
    wrong = Outcome("f", 1.0, 10.0, "graded", diagnosis=[Diagnosis("x", "It is late.", price=0.25)], by_prices=7.5)
    priced = wrong.credited("prices")
    for said in (outcome_text.as_text(priced), outcome_text.as_html(priced)):
        assert (
            f"7.5 of 10 points, {MINUS}2.5 for the named mistake; the failed checks cost nothing more" in said
            and f"{MINUS}2.5 of 10: It is late." in said
        )
    for said in (outcome_text.as_text(wrong), outcome_text.as_html(wrong)):
        assert "1 of 10 points" in said and "nothing more" not in said
        assert f"{MINUS}9 of 10 for the failed checks: It is late." in said


def test_each_sentence_says_its_price_once_and_a_mistake_paid_elsewhere_none():
    two = [Diagnosis("x", "It is late.", price=0.25), Diagnosis("y", "It is long.", price=0.125)]
    paid = Diagnosis("stands-on-g", "This uses `g`.", price=0.0)
    wrong = Outcome("f", 1.0, 8.0, "graded", diagnosis=[paid, *two], by_prices=5.0)
    text = outcome_text.as_text(wrong.credited("prices"))
    assert f"5 of 8 points, {MINUS}3 for the named mistakes" in text
    assert f"{MINUS}2 of 8: It is late." in text and f"{MINUS}1 of 8: It is long." in text
    assert "wrong: This uses" in text
    text = outcome_text.as_text(wrong)
    assert f"{MINUS}7 of 8 for the failed checks: It is late." in text and "wrong: It is long." in text
    free = outcome_text.as_text(Outcome("f", 8.0, 8.0, "graded", diagnosis=two))
    assert MINUS not in free, "nothing was charged"
