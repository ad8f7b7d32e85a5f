"""The page that compares two years: its intervals, what it counts, and that nothing a student wrote gets out."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from test_class_report import HOSTILE, assignment, graded, untouched, verdict

from autograder import course
from autograder.cli import main
from autograder.errors import UsageError
from autograder.grading import store
from autograder.grading.store import Store
from autograder.report import years
from autograder.report.years import Change, Share
from autograder.verdict import Diagnosis


@pytest.mark.parametrize(
    "now, then, low, high",
    [  # Newcombe 1998, table II, method 10
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((10, 10), (0, 10), 0.6075, 1.0),
        ((5, 56), (0, 29), -0.0381, 0.1926),
    ],
)
def test_intervals_are_the_papers(now, then, low, high):
    found = Change(Share(*then), Share(*now)).interval
    assert found == pytest.approx((low, high), abs=5e-5)


def test_nobody_is_no_difference():
    assert not Change(Share(0, 0), Share(5, 5)).is_clear and Share(0, 0).rate == 0


def classes(then, now):
    return years.tallied(enumerate(then)), years.tallied(enumerate(now))


def page_of(then, now):
    return BeautifulSoup(years.render("09_made_up", "2025", "2026", *classes(then, now)), "html.parser")


WRONG = verdict(graded("one", ["a"], {"b": "No."}, ["no-scale"]), graded("two", ["a"]))
RIGHT = verdict(graded("one", ["a", "b"]), graded("two", ["a"]))
BLANK = verdict(untouched("one", ["no-scale"]), graded("two", ["a"]))


def test_what_has_changed_for_certain_comes_first():
    page = page_of([WRONG] * 30 + [RIGHT] * 10, [WRONG] * 4 + [RIGHT] * 30 + [BLANK] * 6)
    clear = page.select_one("section[aria-labelledby=clear]").get_text(" ", strip=True)
    assert "−63 (−76 to −42) in one : What no-scale says." in clear and "1 of 1 that were compared." in clear
    rows = {row.find(["th", "td"]).text: [c.get_text(" ", strip=True) for c in row.find_all("td")] for row in
            page.select("#exercise-one tbody tr")}  # fmt: skip
    assert rows["Have begun"][:2] == ["40 of 40 (100%)", "34 of 40 (85%)"]
    assert rows["Have it right"][:2] == ["10 of 40 (25%)", "30 of 34 (88%)"]
    assert rows["Points, on average"] == ["62%", "94%", "+32"]


def test_what_one_year_alone_has_is_said():
    page = page_of([verdict(graded("old", ["a"]))], [verdict(graded("new", ["a"], {"b": "No."}, ["x"]))])
    assert "Last year had no such exercise" in page.select_one("#exercise-new").text
    assert "This year has no such exercise" in page.select_one("#exercise-old").text
    assert "None of 0." in page.text and "fewer than 10 students" in page.text


def test_points_are_those_of_checks_whatever_a_year_was_scored_by():
    priced = graded("one", ["a"], {"b": "No."}, ["no-scale"])
    priced.score, priced.by_prices = 1.6, 1.6
    _, found = years.tallied([("ada", verdict(priced))])
    assert found["one"].mean == 0.5 and found["one"].right == 0


def test_no_text_gets_out():
    bad = graded("one", ["a"], {"b": "No."}, ["no-scale"])
    bad.diagnosis[0].message = HOSTILE
    text = years.render("09_made_up", HOSTILE, "2026", *classes([verdict(bad)], [verdict(bad)]))
    assert "<script" not in text and BeautifulSoup(text, "html.parser").find("script") is None


@pytest.fixture
def two(tmp_path):
    """Two courses, in the later of which something is graded."""
    for name in ("attention-2025", "attention-2026"):
        (tmp_path / name / "source").mkdir(parents=True)
        (tmp_path / name / "nbgrader_config.py").write_text("")
    Store(tmp_path / "attention-2026").put_latest("09_made_up", "ada", WRONG, {})
    return tmp_path / "attention-2025", tmp_path / "attention-2026"


def test_the_page_is_written_beside_the_class_report(two):
    last, this = two
    Store(last).put_latest("09_made_up", "zoe", RIGHT, {})
    path = years.write(this, last, assignment(one=2, two=1))
    assert path == this / "reports" / "09_made_up-years.html"
    text = path.read_text()
    assert "attention-2025" in text and "zoe" not in text and "ada" not in BeautifulSoup(text, "html.parser").main.text


def test_who_is_excused_is_not_compared(two):
    last, this = two
    for student, what in (("zoe", RIGHT), ("yan", WRONG)):
        Store(last).put_latest("09_made_up", student, what, {})
    Store(last).put_excused("09_made_up", {"yan": "ill"})
    page = BeautifulSoup(years.write(this, last, assignment(one=2, two=1)).read_text(), "html.parser")
    assert "1 of 1" in " ".join(page.get_text(" ").split())
    Store(last).put_excused("09_made_up", {"yan": "ill", "zoe": ""})
    with pytest.raises(years.NothingGraded, match="Everybody with a result of 09_made_up in .* is excused"):
        years.write(this, last, assignment(one=2, two=1))


def test_what_cannot_be_compared_is_a_sentence(two, tmp_path):
    last, this = two
    for place, says in (
        (last, "Nothing of 09_made_up is graded in"),
        (this, "this course itself"),
        (tmp_path, "no course"),
    ):
        with pytest.raises(UsageError, match=says):
            years.write(this, place, assignment(one=2))


@pytest.mark.parametrize(
    "edit",
    [
        lambda v: v["exercises"].extend(v["exercises"][:1] * 3),
        lambda v: v["exercises"][0].update(max_score=1e-320, by_checks=1.0),
        lambda v: v["exercises"][0].update(max_score=-2.0, by_checks=-5.0),
        lambda v: v["exercises"][0].update(max_score=0.0, by_checks=9.0),
    ],
    ids=["an exercise many times", "hardly any points", "negative points", "no points"],
)
def test_a_store_that_somebody_has_edited_gives_shares_from_0_to_1(two, edit):
    last, this = two
    data = {"verdict": WRONG.to_dict(), "recorded": {}}
    edit(data["verdict"])
    store.write(last / ".autograder" / "verdicts" / "09_made_up" / "zoe.json", json.dumps(data))
    page = BeautifulSoup(years.write(this, last, assignment(one=2, two=1)).read_text(), "html.parser")
    cells = [row.find_all("td")[0].text for row in page.select("#exercise-one tbody tr")[:3]]
    assert cells[0] == "1 of 1 (100%)" and cells[2] in ("0%", "50%", "100%")


def test_a_mistake_without_a_sentence_is_compared():
    silent = graded("one", ["a"], {"b": "No."}, ["no-scale"])
    silent.diagnosis[0].message = ""
    assert "0 of 1" in page_of([RIGHT], [verdict(silent)]).select_one("#exercise-one").text


def test_results_that_cannot_be_read_are_not_called_ungraded(two):
    last, this = two
    data = {"verdict": {**WRONG.to_dict(), "schema": 0}, "recorded": {}}
    store.write(last / ".autograder" / "verdicts" / "09_made_up" / "zoe.json", json.dumps(data))
    with pytest.raises(UsageError, match="The one result of 09_made_up in .* cannot be read here"):
        years.write(this, last, assignment(one=2, two=1))


def test_names_that_one_year_alone_can_give_are_not_compared(two, monkeypatch):
    """The examples of last year's names are not graded on this course's checks, nor this year's on last year's."""

    class Named:
        def told(self, verdict):
            one, two = verdict.exercises
            own = Diagnosis("one-0123abcd", "My own sentence.")
            return replace(verdict, exercises=[replace(one, diagnosis=[*one.diagnosis, own]), two])

    last, this = two
    Store(last).put_latest("09_made_up", "zoe", WRONG, {})
    monkeypatch.setattr(Store, "names", Named())
    assert Store(this).latest("09_made_up")["ada"].exercises[0].diagnosis[-1].message == "My own sentence."
    text = years.write(this, last, assignment(one=2, two=1)).read_text()
    assert "My own sentence." not in text and "What no-scale says." in text


@dataclass(frozen=True)
class Renamed:
    """An assignment that the command can find."""

    name: str


def test_an_assignment_that_is_new_this_year_keeps_no_other_page(two, monkeypatch, capsys):
    """Unless it is asked for by name."""
    last, this = two
    known = {name: Renamed(name) for name in ("08_new", "09_made_up", "10_new")}
    for name in known:
        Store(this).put_latest(name, "ada", WRONG, {})
    Store(last).put_latest("09_made_up", "zoe", RIGHT, {})
    monkeypatch.chdir(this)
    monkeypatch.setattr(course, "assignments", lambda *_: known)
    assert main(["report", "--last", str(last)]) == 0
    said = capsys.readouterr().out
    assert [path.name for path in (this / "reports").iterdir()] == ["09_made_up-years.html"]
    assert "Nothing of 08_new is graded in" in said and "Nothing of 10_new is graded in" in said
    assert main(["report", "08_new", "--last", str(last)]) != 0
    assert "Nothing of 08_new is graded in" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "caf\udce9"])
def test_a_folder_with_an_impossible_name_is_no_course(two, name):
    with pytest.raises(UsageError, match="is no course"):
        years.write(two[1], Path(name), assignment(one=2))
