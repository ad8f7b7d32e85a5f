"""The pages behind the instructor's page: what is shown leads on, and shows nobody's code as anything but text."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import desk_class
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from desk_class import built, kit, place, record
from desks import AppClient
from small_course import NAME
from test_instructor import OWN, Guard, Header, desk, hand_in, no_root, right, teacher

from autograder import course
from autograder.desk import charts, class_table, codes, instructor, overview, timeline
from autograder.desk.addresses import Addresses
from autograder.desk.app import CSP, make_app
from autograder.desk.overview import TROUBLE
from autograder.desk.tables import ATTEMPT
from autograder.groups import grouping
from autograder.verdict import without_grade

HERE = f"/instructor/{NAME}"
EVIL = "</code></pre><script>alert(1)</script><b>"


def page(client, path, status=200):
    answer = client.get(path)
    assert answer.status_code == status, answer.text[:300]
    assert CSP in answer.headers["content-security-policy"]
    found = BeautifulSoup(answer.text, "html.parser")
    assert not found.find_all("script", src=None) and not found.select("[style], [onclick]")
    return found


def links(found, within="main"):
    """The addresses to which a page leads, by their words."""
    return {a.get_text(" ", strip=True): a["href"] for a in found.select(f"{within} a[href]")}


def everywhere(client, start):
    """All pages below `start` to which links lead, by their addresses without the place on them."""
    waiting, found = [start], {}
    while waiting:
        path = waiting.pop()
        if path in found or not path.startswith(HERE):
            continue
        found[path] = page(client, path)
        waiting += [a["href"].partition("#")[0] for a in found[path].select("main a[href]")]
    return found


def a_class(place, record, grader):
    hand_in(record, place, "ada", no_root(place), no_root(place, "\n    # again"), right(place), no_root(place))
    hand_in(record, place, "bob", no_root(place, "  # mine"))
    hand_in(record, place, "cleo", {"normalise": "def normalise(x:\n    return x"})
    hand_in(record, place, "dora", {"normalise": OWN.format(3)})
    desk_class.grade_all(record, grader)


def test_everything_that_is_shown_leads_on(place, record, grader, teacher):
    """From the class each student, attempt, exercise and mistake is reached by links alone, and none is broken."""
    a_class(place, record, grader)
    found = everywhere(teacher, HERE)
    kinds = {urlsplit(path).path.removeprefix(HERE).split("/")[1:2][0] for path in found if path.count("/") > 2}
    assert kinds >= {"student", "attempt", "attempts", "mistake", "exercise"}
    for attempt in record.attempts():
        assert f"{HERE}/attempt/{attempt.id}" in found
    students = {path.partition("?id=")[2] for path in found if "/student?" in path}
    assert students == {"ada", "bob", "cleo", "dora"}


def test_only_instructors_see_the_pages(desk, place, record, grader):
    hand_in(record, place, "ada", right(place))
    (attempt,) = record.attempts()
    for who, status in (({}, 401), ({"x-who": "ada"}, 403)):
        client = AppClient(make_app(desk, instructor.routes()), headers=who)
        for path in ("student?id=ada", f"attempt/{attempt.id}", "attempts", "mistake?id=no-root", "exercise/normalise"):
            assert client.get(f"{HERE}/{path}").status_code == status
            assert client.post(f"{HERE}/{path}").status_code in (403, 405)


@pytest.mark.parametrize(
    "path",
    [
        "student?id=nobody",
        "student",
        "attempt/" + "0" * 32,
        "mistake?exercise=normalise&id=no-root",
        "exercise/nothing",
        "exercise/<script>",
    ],
)
def test_what_is_not_there_is_one_sentence(teacher, path):
    assert page(teacher, f"{HERE}/{path}", 404).select_one("[role=alert]").text.strip().endswith(".")


def test_an_attempt_of_another_assignment_is_not_shown_here(place, record, grader, teacher):
    hand_in(record, place, "ada", right(place))
    (attempt,) = record.attempts()
    with record.writing() as connection:
        connection.execute(sa.update(ATTEMPT).values(assignment="02_other"))
    page(teacher, f"{HERE}/attempt/{attempt.id}", 404)


def test_a_student_has_all_attempts_with_what_changed(place, record, grader, teacher):
    a_class(place, record, grader)
    found = page(teacher, f"{HERE}/student?id=ada")
    cards = found.select("ol.list > li")
    assert [card.h3.text for card in cards] == [f"Attempt {n}" for n in (4, 3, 2, 1)]
    assert [line.text for line in cards[2].select("ins")] == ["    # again"] and not cards[2].select("del")
    assert "→" in cards[0].select_one(".moved").text and "divides by the variance" in cards[0].text
    old, new = ([line.text for line in cards[1].select(kind)] for kind in ("del", "ins"))
    assert any(".sqrt()" in line for line in new) and not any(".sqrt()" in line for line in old)
    first = cards[3].select(".moved")
    assert first and not cards[3].select("ins, del"), "nothing was before the first one"


def test_many_attempts_are_on_pages(place, record, grader, teacher):
    hand_in(record, place, "ada", *[no_root(place, f"\n    # {n}") for n in range(21)])
    newest = page(teacher, f"{HERE}/student?id=ada")
    assert len(newest.select("ol.list > li")) == 20
    last = page(teacher, links(newest)["Earlier attempts"])
    assert [card.h3.text for card in last.select("ol.list > li")] == ["Attempt 1"]
    assert links(last)["Later attempts"] == f"{HERE}/student?id=ada&page=1"
    assert "None on this page" in page(teacher, f"{HERE}/student?id=ada&page=99999999").text


def test_the_named_line_is_marked_in_the_code(place, record, grader, teacher):
    hand_in(record, place, "ada", no_root(place), {"normalise": "def normalise(x):\n    y = x\n    return y / 0"})
    desk_class.grade_all(record, grader)
    first, second = record.attempts()
    (named,) = page(teacher, f"{HERE}/attempt/{first.id}").select("#normalise .named mark")
    line = record.verdict(first.id).exercise("normalise").diagnosis[0].line
    assert line and named.text.strip() == line
    found = page(teacher, f"{HERE}/attempt/{second.id}")
    assert "ZeroDivisionError" in found.text or "ValueError" in found.text
    assert links(found)["Attempt 1 before it"] == f"{HERE}/attempt/{first.id}"


@pytest.mark.parametrize(
    "code, named, said, marked",
    [
        ("a = 1\n  b = 2\nc", ["b = 2"], [], [2]),
        ("a = 1\nb = 2", [""], ["It raised an error, in code cell 3, line 1."], [1]),
        ("a = 1\nb = 2", [], ["It raised an error, in code cell 4, line 1."], []),
        ("x" * 500 + "\ny", ["x" * 160], [], [1]),
        ("xy\nx", ["x"], [], [2]),
        ("", ["x"], ["code cell 3, line 1"], []),
    ],
)
def test_which_lines_are_marked(code, named, said, marked):
    lines = codes.marked(codes.Code(code, 3, ""), named, said)
    assert [line.number for line in lines if line.is_named] == marked


def test_a_mistake_has_its_students_and_their_lines(place, record, grader, teacher):
    a_class(place, record, grader)
    found = page(teacher, f"{HERE}/mistake?exercise=normalise&id=no-root")
    assert {a.text for a in found.select(".rows a")} == {"Ada", "Bob"} and len(found.select("figure")) == 2
    assert found.select("figure mark") and "shown 4 times" in found.text.replace("\n", " ")
    broken = page(teacher, f"{HERE}/mistake?exercise=normalise&id={TROUBLE}error")
    assert broken.h1.text == "It could not run." and "SyntaxError" in broken.text and TROUBLE not in broken.text
    assert {a.text for a in broken.select(".rows a")} == {"Cleo"}


def test_a_mistake_of_the_whole_notebook_leads_to_its_page(place, record, grader, teacher):
    hand_in(record, place, "ada", right(place))
    desk_class.grade_all(record, grader)
    (attempt,) = record.attempts()
    verdict = record.verdict(attempt.id)
    stopped = [without_grade(one.exercise, one.max_score, "timeout", "It took 300 s.") for one in verdict.exercises]
    with record.writing() as connection:
        connection.execute(sa.update(ATTEMPT).values(verdict=replace(verdict, exercises=stopped).to_json()))
    for start in (HERE, f"{HERE}/student?id=ada"):
        found = page(teacher, links(page(teacher, start))["It ran too long."])
        assert "the whole notebook" in found.text and "It took 300 s." in found.text


def test_an_exercise_has_its_points_its_checks_and_its_equal_answers(place, record, grader, teacher):
    a_class(place, record, grader)
    found = page(teacher, f"{HERE}/exercise/normalise")
    assert "4 of 4 students have begun, 0 have it right" in found.text
    (alike,) = found.select("section[aria-labelledby=alike] .rows > li")
    assert alike.a.text == "2 students" and "2 answers like no other" in found.text
    chosen = page(teacher, alike.a["href"].partition("#")[0])
    assert {row.th.text for row in chosen.select("section:has(#who) tbody tr")} == {"Ada", "Bob"}
    checks = {a["href"].partition("#")[0]: a.text for a in found.select("td.count a")}
    assert checks and set(checks.values()) <= {"1 of 3", "2 of 3", "3 of 3"}
    for path, words in checks.items():
        assert len(page(teacher, path).select("section:has(#who) tbody tr")) == int(words.split()[0])
    bars = [a["href"].partition("#")[0] for a in found.select("svg a")]
    many = [len(page(teacher, path).select("section:has(#who) tbody tr")) for path in bars]
    assert sum(many) == 4 and all(many)
    assert not page(teacher, f"{HERE}/exercise/normalise?points=9&check=none&alike=none").select("#who")


@pytest.mark.parametrize(
    "one, other, is_same",
    [
        ("def f(x):\n    return x", "def f( x ):  # mine\n\n  return  x\n", True),
        ("x = '# a'", "x = '# b'", False),
        ("if a:\n    b\nc", "if a:\n    b\n    c", False),
        ("x = (1,\n  2)", "x = (1, 2)", True),
        ("def f(:\n  'open", "def f(:  # x\n   'open", True),
        ("x = 1", "y = 1", False),
    ],
)
def test_what_is_written_the_same(one, other, is_same):
    assert (grouping.bare(one) == grouping.bare(other)) is is_same


def test_what_students_wrote_is_shown_as_text(desk, place, record, grader, teacher):
    """Names, code, comments and messages; `page` looks for scripts."""
    name = "<script>alert(1)</script>"
    for code in (EVIL, f'raise ValueError("{EVIL}")', f"def normalise(x):\n    return x  # {EVIL}"):
        hand_in(record, place, name, {"normalise": code})
    desk_class.grade_all(record, grader)
    found = everywhere(teacher, HERE)
    assert len(found) > 8 and any(EVIL in one.text for one in found.values())
    assert not any(one.find_all("b", string=False) for one in found.values())


UNSEEN = "\u202e\u2066\x00\x1b\x07\x0b\x85\u2028\u200b\ud800"
HIDING = f"def normalise(x):\n    # a{UNSEEN}b\n    return x"


def test_what_is_not_printable_deceives_nobody(place, record, grader, teacher):
    """Text that is turned round, or seems to end a comment, is not the code that runs."""
    hand_in(record, place, "ada\u202e7", {"normalise": HIDING}, {"normalise": HIDING.replace("a", "e")})
    hand_in(record, place, "bob", {"normalise": HIDING})
    desk_class.grade_all(record, grader)
    for path, found in everywhere(teacher, HERE).items():
        assert not set(UNSEEN) & set(str(found)), path
    first = page(teacher, f"{HERE}/attempt/{record.attempts()[0].id}").select_one("#normalise")
    assert [number.text for number in first.select("pre .number")] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "code, lines",
    [
        ("a\r\nb\rc\n", ["a", "b", "c"]),
        ("a\x0c\n# b\u2028c\x85d", ["a\x0c", "# b\u2028c\x85d"]),
        ("", []),
        ("\n", [""]),
    ],
)
def test_lines_are_counted_as_python_counts_them(code, lines):
    assert codes.Code(code, 1, "").lines == lines
    assert grouping.shown(code) == "\n".join(lines)
    assert [line.text for line in codes.marked(codes.Code(code, 1, ""), [])] == lines


# --- the table ------------------------------------------------------------------------------------


def test_the_table_is_sorted_searched_and_filtered(place, record, grader, teacher):
    a_class(place, record, grader)
    hand_in(record, place, "emil", {})

    def names(query):
        return [row.th.text for row in page(teacher, f"{HERE}?{query}").select(".picture tbody tr")]

    assert names("") == ["Ada", "Bob", "Cleo", "Dora", "Emil"]
    assert names("sort=-name") == ["Emil", "Dora", "Cleo", "Bob", "Ada"]
    assert names("sort=-attempts")[0] == "Ada" and names("sort=latest")[-1] == "Emil"
    assert names("sort=normalise")[0] == "Cleo" and names("sort=-normalise")[-1] == "Emil", "who has none is last"
    assert names("q=+aD") == ["Ada"] and names("q=nobody") == []
    assert names("show=waiting") == ["Emil"] and names("show=right") == [] and len(names("show=mistakes")) == 4
    assert names("sort=<b>&show=<b>&page=x") == names("")
    found = page(teacher, f"{HERE}?sort=normalise&q=a")
    assert [th["aria-sort"] for th in found.select("th[aria-sort]")] == ["ascending"]
    assert found.select_one("#search")["value"] == "a"
    turned = found.select_one("th[aria-sort] a.sort")["href"]
    assert turned == f"{HERE}?q=a&sort=-normalise#picture"


def test_what_is_searched_for_is_shown_as_text(teacher):
    assert page(teacher, f'{HERE}?q="><script>alert(1)</script>').select_one("#search")["value"].startswith('">')


def test_who_is_stuck_can_be_shown_alone(place, record, grader, teacher):
    hand_in(record, place, "ada", *[no_root(place)] * 3)
    hand_in(record, place, "bob", right(place))
    desk_class.grade_all(record, grader)
    found = page(teacher, f"{HERE}?show=stuck")
    assert [row.th.text for row in found.select(".picture tbody tr")] == ["Ada"]
    assert "handed in the same wrong answer 3 times" in found.select_one("#live-stuck").text


# --- when -----------------------------------------------------------------------------------------


def at_hours(record, *hours):
    """Let attempts have arrived so many hours after a beginning, which is returned."""
    start, attempts = datetime(2026, 3, 2, 8, tzinfo=UTC), record.attempts()
    with record.writing() as connection:
        for attempt, hour in zip(attempts, hours, strict=True):
            moment = (start + timedelta(hours=hour)).timestamp() + 60
            connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == attempt.id).values(arrived=moment))
    return start


@pytest.mark.parametrize(
    "hours, due, each, counts",
    [
        ((0, 0, 2), None, "an hour", {0: 2, 2: 1}),
        ((0, 1, 5), 10, "an hour", {0: 1, 1: 1, 5: 1}),
        ((0, 1, 500), None, "3 hours", {0: 2, 498: 1}),
        ((0, 1, 9000), 9100, "a week", None),
    ],
)
def test_attempts_by_the_hour(place, record, hours, due, each, counts):
    hand_in(record, place, "ada", {}, {}, {})
    start = at_hours(record, *hours)
    moment = start + timedelta(hours=due) if due else None
    found = timeline.of(record, NAME, moment, start + timedelta(hours=hours[-1]))
    assert found.each == each and sum(span.count for span in found.spans) == 3 and len(found.spans) <= timeline.MOST
    if counts and found.hours == 1:
        assert {
            int((one.start - start).total_seconds()) // 3600: one.count for one in found.spans if one.count
        } == counts
    if due:
        assert found.spans[-1].until >= moment.timestamp() and ">due<" in found.picture(Addresses(FakeDesk(), NAME))


class FakeDesk:
    def path(self, *parts):
        return "/" + "/".join(parts)


def test_an_hour_leads_to_its_attempts_without_those_of_instructors(place, record, grader, teacher):
    data = json.dumps(desk_class.notebook(place, NAME, {})).encode()
    desk_class.hand_in(record, place, desk_class.visitor("", subject="t", role="instructor"), NAME, data)
    assert timeline.of(record, NAME, None, datetime.now(UTC)) is None
    hand_in(record, place, "ada", {}, {})
    hand_in(record, place, "bob", {})
    (hour,) = [a["href"] for a in page(teacher, HERE).select("#live-when svg a")][:1]
    rows = page(teacher, hour).select("tbody tr")
    assert [row.th.text for row in rows] == ["Ada", "Ada", "Bob"]
    assert "None." in page(teacher, f"{HERE}/attempts?since=5&until=9").text
    assert page(teacher, f"{HERE}/attempts?since=-1&until=99999999999999999999&page=0").select("tbody tr")


def test_a_bar_is_text_and_a_link():
    made = charts.bars("A <title>", [charts.Bar(2, "two <b>", "low <", "/x?a=1&b=2"), charts.Bar(0, "none")])
    found = BeautifulSoup(made, "html.parser")
    assert found.a["href"] == "/x?a=1&b=2" and found.a["aria-label"] == "two <b>" and not found.b
    assert len(found.select("rect")) == 1, "no bar where there is none"


def test_choices_that_are_not_understood_are_none():
    assert class_table.choice_of({"sort": "--name", "show": "x", "q": " " * 5 + "a" * 200}, ["one"]) == (
        class_table.Choice("name", "a" * 100, "")
    )
