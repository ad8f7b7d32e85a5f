"""Waived checks: everybody has their points, nobody pays for them, and each wrong name is one sentence."""

import json

import one_process
import pytest
from small_course import NAME, copy, submit

from autograder import course
from autograder.errors import CourseError
from autograder.grading import waivers
from autograder.grading.store import Store
from autograder.nbgrader import options
from autograder.nbgrader.runs import NbgraderCourse
from autograder.verdict import Check, Diagnosis, Outcome, Verdict

LINE = 'c.Exercises.waived = {"normalise": ["test_wrong_rank"]}\n'
NO_RANK = "def normalise(x):\n    return (x - x.mean()) / x.std({})\n"
RANK = "def normalise(x):\n    if x.dim() != 1:\n        raise ValueError\n    return (x - x.mean()) / x.std()\n"
HANDED_IN = {
    "right": {},
    "rank": {"normalise": NO_RANK.format("correction=0")},
    "both": {"normalise": NO_RANK.format("")},
    "value": {"normalise": RANK},
    "broken": {"normalise": "raise KeyError"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory, grader):
    """The small course, built and graded, with the command that works in it."""
    folder = copy(tmp_path_factory.mktemp("waivers") / "course")
    with one_process.kit(grader) as run:
        assert run(folder, "build") == 0
        for student, answers in HANDED_IN.items():
            submit(folder, student, answers, "solutions")
        assert run(folder, "grade", "01") == 0
        yield folder, run


def scores(folder):
    return {student: verdict.exercise("normalise").score for student, verdict in Store(folder).each(NAME)}


def test_everybody_has_the_points_and_the_preview_says_so_before(place, capsys):
    """Who failed it alone, among others, or has nothing graded; what is taken back is as before."""
    folder, run = place
    config = folder / "nbgrader_config.py"
    text, before = config.read_text(), scores(folder)
    config.write_text(text + LINE)
    capsys.readouterr()
    assert run(folder, "grade", "01", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "Nothing is written. The change would be: 4 gain, 0 lose, 1 stay" in said
    assert "Waived in normalise: test_wrong_rank, so everybody has 0.5 of 2 points" in said
    assert scores(folder) == before
    assert run(folder, "grade", "01") == 0
    after = scores(folder)
    assert after["right"] == after["rank"] == 2 and after["broken"] == 0.5
    assert after["both"] == after["value"] == 1.4, "nobody pays for it by a price either"
    assert run(folder, "report", "01") == run(folder, "export", "01", "csv") == 0
    page = (folder / "feedback" / "both" / NAME / f"{NAME}.html").read_text()
    assert "everybody has 0.5 of these points: what they were for is waived" in page
    assert "Waived:" in (folder / "reports" / f"{NAME}.html").read_text()
    assert "normalise waived test_wrong_rank" in (folder / "exports" / NAME / "grades.csv").read_text()
    config.write_text(text)
    assert run(folder, "grade", "01") == 0 and scores(folder) == before


@pytest.mark.parametrize(
    "given, says",
    [
        ({"softmaxx": ["test_values"]}, "is not an exercise of this course. Did you mean 'softmax'"),
        ({"softmax": ["test_agian"]}, "is not a check of softmax. Did you mean 'test_again'"),
        ({"softmax": "test_values"}, "should map names of exercises to lists"),
        (7, "should map names of exercises to lists"),
    ],
)
def test_a_wrong_name_is_one_sentence_with_the_near_ones(given, says):
    with pytest.raises(CourseError, match=says):
        waivers.configured(given)


WAIVED = '{"normalise": ["test_wrong_rank"]}'


@pytest.mark.parametrize(
    "lines, says",
    [
        (f"c.Exercises.waived = {WAIVED}", ""),
        (f"if False:\n    c.Exercises.waived = {WAIVED}", "nbgrader by {}"),
        (f'c.Exercises["waived"] = {WAIVED}', "they would go by {}"),
        (f"for_all = c.Exercises\nfor_all.waived = {WAIVED}", "they would go by {}"),
        (f"c.merge({{'Exercises': {{'waived': {WAIVED}}}}})", "they would go by {}"),
        (f"chosen = {WAIVED}\nc.Exercises.waived = chosen", "once, and write it out"),
        ('c["Exercises"].credit = "checks"', "nbgrader by 'checks'"),
        ('c.Exercises.credit = "checks"', ""),
    ],
)
def test_what_a_check_reads_is_what_a_grade_is_by(tmp_path, monkeypatch, lines, says):
    """Students and Gradescope go by the text alone: where the configuration says something else, it is refused."""
    folder = copy(tmp_path / "course")
    with (folder / "nbgrader_config.py").open("a") as file:
        file.write(f"\n{lines}\n")
    monkeypatch.chdir(folder)
    course.forget()
    found = list(options.faults(NbgraderCourse(folder).config))
    course.forget()
    assert len(found) == bool(says) and all(says in one for one in found)


def test_it_can_be_read_back_and_taken_back():
    checks = [
        Check("test_values", "values", 1.5, False, "It fails.", "It fails."),
        Check("x", "mode", 0.5, True, "Ok."),
    ]
    before = Outcome("normalise", 0.5, 2.0, "graded", checks, [Diagnosis("a", "b", price=0.4)], by_prices=1.2)
    made = waivers.Waivers({"normalise": ["x"]})
    made._checks["normalise"] = [_Check("test_values", 1.5), _Check("x", 0.5)]
    after = made.applied_to(before)
    assert after.given == 0.5 and after.by_checks == 0.5 and after.by_prices == pytest.approx(0.5 + 1.5 * 0.6)
    verdict = Verdict("", [after], 1)
    assert Verdict.from_dict(json.loads(verdict.to_json())) == verdict
    assert waivers.Waivers().applied_to(after) == before and made.applied_to(after) == after


@pytest.mark.parametrize(
    "worth, names, most",
    [
        ((0.1, 0.1, 1.5), "c", 1.7),
        ((0.1, 0.1, 1.0, 2.0), "bd", 4.2),
        ((1.0, 1.0, 1.0), "ab", 10.0),
        ((1.0, 2.0), "ab", 7.3),
    ],
)
def test_whoever_passes_the_others_has_all_points_and_no_more(worth, names, most):
    """Also where the points of a check are no round number."""
    checks = [_Check(name, points) for name, points in zip("abcd", worth, strict=False)]
    made = waivers.Waivers({"normalise": names})
    made._checks["normalise"] = checks
    for skipped in "abcd":
        tried = [c for c in checks if c.name not in names and c.name != skipped]
        passed = [Check(c.name, "values", c.points, True, "It is so.") for c in tried]
        after = made.applied_to(Outcome("normalise", most if tried else 0.0, most, "graded", passed))
        assert after.by_checks == most >= after.by_prices and after.full, skipped


def test_few_points_are_not_given_to_who_fails_the_rest():
    made = waivers.Waivers({"normalise": ["b"]})
    made._checks["normalise"] = [_Check("a", 1.0), _Check("b", 1.0)]
    failed = Check("a", "values", 1e-7, False, "It is so. No.", "No.")
    assert not made.applied_to(Outcome("normalise", 0.0, 1e-7, "graded", [failed])).full


class _Check:
    category, sentence = "values", "It is so."

    def __init__(self, name, points):
        self.name, self.points = name, points
