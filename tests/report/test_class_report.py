"""The class report, from made-up verdicts: what it says, and that nothing a student wrote gets out of its place."""

import itertools
import json
import re
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

from autograder.groups.grouping import grouped
from autograder.report import class_report
from autograder.report.gradebook_marks import Mark, Member, Roster, Standing, of_verdicts
from autograder.verdict import Check, Diagnosis, Outcome, Verdict, without_grade

CODE = [("ada", "def one(): <b>")]
HOSTILE = '<script>alert("1")</script>'
VOID = {"meta", "link", "br", "img", "input", "hr"}


def assignment(**points):
    exercises = tuple(SimpleNamespace(name=name, points=value, grade_id=name) for name, value in points.items())
    return SimpleNamespace(name="09_made_up", exercises=exercises)


def graded(name, passed, failed=(), diagnosis=()):
    """An exercise of one point per check; `failed` maps checks to what their messages say besides the sentence."""
    checks = [Check(n, "values", 1.0, True, f"The sentence of {n}.") for n in passed]
    checks += [Check(n, "masking", 1.0, False, f"The sentence of {n}. {more}") for n, more in dict(failed).items()]
    named = [Diagnosis(id, f"What {id} says.") for id in diagnosis]
    return Outcome(name, float(len(passed)), float(len(checks)), "graded", checks, named)


def untouched(name, diagnosis):
    """An exercise that is as it was released: a buggy original."""
    outcome = graded(name, [], {"a": "No."}, diagnosis)
    outcome.not_started = True
    return outcome


def verdict(*exercises):
    return Verdict("", list(exercises), seed=1, assignment="09_made_up")


class Page(HTMLParser):
    """A parsed page: its tags, links and text; raises if tags are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.attributes, self.text, self.open, self.ids = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"
        self.words = " ".join(" ".join(self.text).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def page(course_assignment, verdicts):
    return Page(class_report.render(course_assignment, sorted(verdicts.items())))


def person(student, number=1, **about):
    return class_report.Person(number, Member(student, standing=Standing(()), **about))


def mistakes_of(outcomes):
    """The Mistakes of a class, from the outcomes of the exercise `one` by student."""
    found = class_report.Mistakes()
    for student, outcome in outcomes.items():
        found.add(person(student), verdict(*filter(None, [outcome])))
    return found


def tally(outcomes):
    """The summary of the exercise `one`, from its outcomes by student."""
    found = class_report.ExerciseTally(SimpleNamespace(name="one", points=2.0, grade_id="one"))
    for student, outcome in outcomes.items():
        found.add(person(student), outcome, outcome.score if outcome else 0.0)
    return found.summary(mistakes_of(outcomes))


def standing(student, score=1.0, **about):
    """Somebody who has one mark, for the exercise `one` of two points."""
    return member(student, mark("one", 2.0, score), **about)


def mark(cell, most, auto=None, by_hand=None, extra=0.0, waits=False):
    """A mark of the exercise `one`, or of an answer that a person grades."""
    return Mark(cell, "one" if cell == "one" else "", auto, by_hand, extra, most, waits)


def member(student, *marks, **about):
    """Somebody who has handed in, with these marks."""
    when = {name: about.pop(name) for name in ("handed_in", "due", "penalty") if name in about}
    return Member(student, standing=Standing(marks, **when), **about)


def roster_page(*standings, by_hand=(), **verdicts):
    """The page of a class of the exercise `one`, whose gradebook holds these standings."""
    roster = Roster(sorted(standings, key=lambda one: one.order), 2.0, list(by_hand))
    verdicts = verdicts or {one.student: verdict(graded("one", ["a"], {"b": "No."})) for one in standings}
    return class_report.render(assignment(one=2.0), sorted(verdicts.items()), roster, lambda group: CODE)


# --- what it says ---------------------------------------------------------------------------------


def test_headline():
    verdicts = {
        "ada": verdict(graded("one", ["a", "b"]), graded("two", ["c"])),
        "bob": verdict(graded("one", ["a"], {"b": "No."}), graded("two", ["c"])),
        "cleo": verdict(without_grade("one", 2.0, "timeout", "slow"), graded("two", ["c"])),
        "dan": verdict(without_grade("one", 2.0, "rejected", "no"), without_grade("two", 1.0, "rejected", "no")),
    }
    roster = of_verdicts(assignment(one=2.0, two=1.0), verdicts.items())
    headline = class_report.Headline(roster)
    for one in roster.members:
        headline.add(class_report.Person(1, one), verdicts[one.student])
    numbers = headline.summary()
    assert (numbers["students"], numbers["full"], numbers["max"]) == (4, 1, 3.0)
    assert (numbers["mean"], numbers["median"]) == (1.5, 1.5)
    assert [reason["text"] for reason in numbers["reasons"]] == ["ran too long", "could not be read"]
    words = page(assignment(one=2.0, two=1.0), verdicts).words
    assert "It ran too long : cleo ( one )" in words
    assert "It could not be read : dan" in words


def test_distribution():
    bars = class_report.distribution([0.0, 0.5, 1.0, 2.0, 3.5, 4.0, 4.0], 4.0)
    assert [bar["count"] for bar in bars] == [1, 1, 1, 1, 1, 2]
    assert [bar["height"] for bar in bars] == [0.5, 0.5, 0.5, 0.5, 0.5, 1.0]
    assert [bar["count"] for bar in class_report.distribution([], 4.0)] == [0] * 6


def test_mistakes_are_counted_and_the_most_common_comes_first():
    outcomes = {
        "ada": graded("one", [], {"a": ""}, ["no-scale"]),
        "bob": graded("one", [], {"a": ""}, ["mask-inverted", "no-scale"]),
        "cleo": graded("one", ["a"]),
    }
    found = [(one.id, many) for one, many in tally(outcomes)["mistakes"]]
    assert found == [("no-scale", 2), ("mask-inverted", 1)]
    first, second = class_report.teach(mistakes_of(outcomes), [])
    assert (first["id"], first["says"], first["many"]) == ("no-scale", "What no-scale says.", 2)
    assert (second["id"], second["exercises"]) == ("mask-inverted", [("one", 1)])


def test_one_mistake_in_two_exercises_is_taught_once():
    found = class_report.Mistakes()
    found.add(person("ada"), verdict(*(graded(name, [], {"a": ""}, ["no-scale"]) for name in ("one", "two"))))
    found.add(person("bob"), verdict(graded("two", [], {"a": ""}, ["no-scale"])))
    (lesson,) = class_report.teach(found, [])
    assert lesson["many"] == 2 and lesson["exercises"] == [("two", 2), ("one", 1)]


def test_what_only_says_where_is_not_taught():
    outcomes = {"ada": graded("one", [], {"a": ""}, ["place-values", "stands-on-two"])}
    assert not class_report.teach(mistakes_of(outcomes), [])


def test_an_original_that_nobody_has_touched_is_no_mistake():
    assert not tally({"ada": untouched("one", ["original-001"])})["mistakes"]
    words = page(assignment(one=1.0), {"ada": verdict(untouched("one", ["original-001"]))}).words
    assert "not started" in words and "original-001" not in words


def test_checks_are_sorted_by_how_often_they_fail():
    outcomes = {
        "ada": graded("one", ["a", "b"]),
        "bob": graded("one", ["b"], {"a": "It is NaN."}),
        "cleo": without_grade("one", 2.0, "error", "no"),
        "dan": None,
    }
    found = tally(outcomes)
    (first,), (second,) = found["failing"], found["passing"]
    assert (first["sentence"], first["failed"], first["of"], first["rate"]) == ("The sentence of a.", 1, 2, 0.5)
    assert (second["sentence"], second["failed"]) == ("The sentence of b.", 0)


@pytest.mark.parametrize(
    "messages, expected",
    [
        (["It works. It has NaN.", "It works. It raised TypeError."], "It works."),
        (["It works. It has NaN.", "It works. Its shape is (1,)."], "It works."),
        (["It works.", "It works. It has NaN."], "It works."),
        (["It works. It has NaN."], "It works. It has NaN."),
        (["It works for x.", "It works for y."], "It works for …"),
        (["One. Two. 5 off.", "One. Two. 6 off."], "One. Two."),
    ],
)
def test_sentence_of_a_check_that_nobody_passed(messages, expected):
    checks = [Check("a", "values", 1.0, False, m) for m in messages]
    found = class_report.CheckTally(checks[0])
    for check in checks:
        found.add(check, 0.0)
    assert found.sentence() == expected


def test_sentence_of_a_check_that_somebody_passed():
    outcomes = {"ada": graded("one", [], {"a": "No."}), "bob": graded("one", ["a"]), "cleo": graded("one", ["a"])}
    (check,) = tally(outcomes)["failing"]
    assert (check["sentence"], check["failed"], check["of"]) == ("The sentence of a.", 1, 3)


def test_a_list_of_a_large_class_names_the_first_and_counts_the_others(monkeypatch):
    monkeypatch.setattr(class_report, "NAMED", 2)
    verdicts = {name: verdict(graded("one", [], {"a": ""}, ["m"])) for name in "abcd"}
    verdicts |= {name: verdict(without_grade("one", 1.0, "timeout", "slow")) for name in "vwx"}
    parsed = page(assignment(one=1.0), verdicts)
    assert "a , b and 2 others" in parsed.words
    assert "It ran too long : v , w and 1 other." in parsed.words
    assert sum(link.startswith("../feedback/") for link in parsed.links) == len(verdicts), "the table has everybody"


# --- what the gradebook says ------------------------------------------------------------------------


def test_names_are_those_of_the_roster_and_sorted():
    text = roster_page(standing("a1", last="Zuse", first="Konrad"), standing("z1", last="Ärger"), standing("m"))
    table = text[text.index('id="students"') :]
    places = [table.index(name) for name in ("m</bdi>", "Zuse, Konrad", "Ärger")]
    assert places == sorted(places) and "<bdi>a1</bdi>" in table


def test_scores_are_those_of_the_gradebook_and_changes_are_told():
    due = datetime(2026, 5, 1)
    late = {"due": due, "handed_in": due + timedelta(days=3, hours=2)}
    changed = member("ada", mark("one", 2.0, 1.0, 1.5, 0.25), penalty=1.0, **late)
    words = Page(roster_page(changed)).words
    assert "1.75 / 2" in words and "by hand, from 1" in words and "0.25 of it extra" in words
    assert "late by 3 days 2 hours, −1" in words and "0.75 / 2" in words
    assert "mean, of 2 0.75" in words


def test_who_has_not_handed_in_and_what_waits():
    waits = member("ada", mark("one", 2.0, 2.0), mark("essay", 4.0, waits=True))
    empty = member("bob", mark("one", 2.0, 2.0), mark("essay", 4.0, 0.0))
    words = Page(roster_page(waits, empty, Member("carl", last="Gauss"), by_hand=["essay"])).words
    assert "1 answer waits to be graded by hand: essay (1)" in words and "Scores so far" in words
    assert "1 has not handed in Gauss" in words and "handed in, of 3 2" in words
    assert "2 of 2 so far" in words and "no answer" in words
    assert "not handed in" in words[words.index("Students") :]


def test_who_was_taken_out_of_the_gradebook_is_left_out():
    verdicts = {name: verdict(graded("one", ["a"], {"b": ""}, ["m"])) for name in ("ada", "bob")}
    words = Page(roster_page(standing("ada"), **verdicts)).words
    assert "bob" not in words and "1 student" in words and "2 students" not in words


def test_mistakes_and_students_link_to_each_other():
    parsed = Page(roster_page(standing("ada"), ada=verdict(graded("one", ["a"], {"b": ""}, ["m"]))))
    assert parsed.links.count("#student-1") == 1 and parsed.links.count("#mistake-1") == 2
    assert {"student-1", "mistake-1"} <= set(parsed.ids)


def test_every_link_within_the_page_leads_somewhere(hostile):
    parsed = page(assignment(one=1.0), hostile)
    assert {link[1:] for link in parsed.links if link.startswith("#")} <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))


# --- equal answers ----------------------------------------------------------------------------------


def nameless(*sums, checks=("a",)):
    outcome = graded("one", [], dict.fromkeys(checks, "No."), ["place-values"])
    outcome.fingerprint = json.dumps({check: ["form", 0.001, *(sums or (1.0, 2.0, 3.0, 4.0))] for check in checks})
    return verdict(outcome)


def test_equal_answers_without_a_name_are_shown_and_taught():
    verdicts = {"ada": nameless(), "bob": nameless(1.0002, 2.0, 3.0, 4.0), "cleo": nameless(1.1, 2.0, 3.0, 4.0)}
    text = roster_page(*map(standing, verdicts), **verdicts)
    found = Page(text)
    group = grouped(sorted(verdicts.items())).all()[0]
    assert group.students == ["ada", "bob"] and f"2 students: {group.id}" in found.words
    assert "wrong in the same way" in found.words and "def one(): &lt;b&gt;" in text
    assert f"#group-{group.id}" in found.links and {link[1:] for link in found.links if link[0] == "#"} <= {*found.ids}


# --- which checks are telling -----------------------------------------------------------------------


def test_correlations_are_told_of_large_classes_only():
    outcomes = {
        f"s{n}": graded("one", ["a"] if n % 2 else [], {} if n % 2 else {"a": ""}) for n in range(class_report.ENOUGH)
    }
    assert not tally(dict(list(outcomes.items())[1:]))["telling"]
    found = class_report.CheckTally(Check("a", "values", 1.0, True, "It."))
    for n in range(class_report.ENOUGH):
        found.add(Check("a", "values", 1.0, n >= 20, "It."), total=float(n))
    assert 0.7 < found.telling() < 1.0
    for n in range(100):
        found.add(Check("a", "values", 1.0, n < 50, "It."), total=float(n))
    assert found.telling() < 0, "who passes it does badly elsewhere"


def test_nobody_and_nothing():
    assert "No submission of this exercise could be graded." in page(assignment(one=2.0), {}).words
    empty = page(assignment(one=2.0), {"ada": verdict()})
    assert "not graded" in empty.words and "No mistake was named." in empty.words


def test_backticks_become_code():
    text = class_report.render(assignment(one=1.0), [("ada", verdict(graded("one", [], {"a": ""}, ["`<b>`"])))])
    assert "What <code>&lt;b&gt;</code> says." in text


def test_it_is_accessible():
    text = class_report.render(assignment(one=1.0), [("ada", verdict(graded("one", ["a"])))])
    assert '<html lang="en">' in text
    assert 'scope="row"' in text and 'scope="col"' in text and "<caption>" in text
    assert "prefers-color-scheme: dark" in text and "print-color-adjust: exact" in text
    levels = [int(tag[1]) for tag in Page(text).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and all(after - before <= 1 for before, after in itertools.pairwise(levels))


# --- hostile input --------------------------------------------------------------------------------


@pytest.fixture
def hostile():
    """Verdicts in which every text that could come from outside is hostile."""
    check = Check(HOSTILE, HOSTILE, 1.0, False, f"It works. {HOSTILE} `{HOSTILE}`")
    named = Diagnosis(HOSTILE, f"{HOSTILE} `</code>{HOSTILE}`")
    bad = Outcome("one", 0.5, 1.0, "graded", [check], [named], HOSTILE, [{"name": HOSTILE, "message": HOSTILE}])
    return {
        HOSTILE: verdict(bad),
        '" onmouseover="alert(1)': verdict(without_grade("one", 1.0, "error", '" onclick="alert(2)')),
        "javascript:alert(3)": verdict(bad),
        "../../etc/passwd?x#y": verdict(bad),
        "&lt;b&gt; \u202eevil": verdict(bad),
        "not utf-8 \udcff": verdict(bad),
    }


def test_nothing_hostile_becomes_markup(hostile):
    parsed = page(assignment(one=1.0), hostile)
    assert not {"script", "img", "iframe", "object", "form"} & set(parsed.tags)
    assert not [name for name in parsed.attributes if name.startswith("on")]
    assert HOSTILE in parsed.words, "it should be shown as text"
    assert "&lt;b&gt; \N{REPLACEMENT CHARACTER}evil" in parsed.words


def test_links_lead_to_the_feedback_and_nowhere_else(hostile):
    links = [link for link in page(assignment(one=1.0), hostile).links if not link.startswith("#")]
    assert len(links) == len(hostile)
    for link, student in zip(links, sorted(hostile), strict=True):
        parts = urlsplit(link)
        assert not parts.scheme and not parts.netloc and not parts.query and not parts.fragment
        assert parts.path.count("/") == 4 and parts.path.startswith("../feedback/")
        assert unquote(parts.path.split("/")[2], errors="surrogateescape") == student


def test_the_page_loads_nothing(hostile):
    text = class_report.render(assignment(one=1.0), hostile.items())
    assert "http://" not in text and "https://" not in text and "url(" not in text and "@import" not in text


# --- the file -------------------------------------------------------------------------------------


def test_write(tmp_path, hostile):
    path = class_report.write(tmp_path, assignment(one=1.0), hostile.items())
    assert path == tmp_path / "reports" / "09_made_up.html"
    text = path.read_text(encoding="utf-8")
    Page(text)
    class_report.write(tmp_path, assignment(one=1.0), [])
    assert path.read_text(encoding="utf-8") != text
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert Path(path).stat().st_mode & 0o044


def test_students_come_before_the_exercises_and_the_checks_are_folded():
    verdicts = {"ada": verdict(graded("one", ["a"], {"b": "No."}))}
    page = class_report.render(assignment(one=2.0), sorted(verdicts.items()))
    assert page.index('id="students-title"') < page.index('id="exercise-title-1"')
    shown = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert 'class="checks"' in page and 'class="checks"' not in shown


def measured_answers(*numbers):
    """A verdict for each student, with what was measured."""
    found = []
    for student, measured in numbers:
        outcome = graded("model", ["a"])
        outcome.measured = measured
        found.append((student, verdict(outcome)))
    return found


def test_what_was_measured_is_drawn_one_dot_a_student_without_names(tmp_path):
    answers = measured_answers(
        ("ada", {"loss": 0.02, "bytes": 128.0}), ("bela", {"loss": 0.05, "bytes": 32.0}), ("carl", {"bytes": 64.0})
    )
    path = class_report.write(tmp_path, assignment(model=1), answers)
    picture = (tmp_path / "reports" / "09_made_up-model.svg").read_text()
    assert picture.count("<circle") == 2 and not re.search("ada|bela|carl", picture)
    page = path.read_text()
    assert page.count("<circle") == 2
    words = Page(page).words
    assert {"0.02 nats", "0.05 nats", "64 bytes"} <= set(re.findall(r"[\d.]+ (?:nats|bytes)", words))
    assert (
        sorted(set(re.findall(r"\b([A-C]): [\d.]+ (?:nats|bytes)", words))) == ["A", "B", "C"]
        and "09_made_up-model.svg" in page
    )


def test_where_nothing_was_measured_there_is_no_picture(tmp_path):
    path = class_report.write(tmp_path, assignment(model=1), measured_answers(("ada", {}), ("bela", {"bytes": 1.0})))
    assert "<svg" not in path.read_text() and list(path.parent.iterdir()) == [path]


def test_a_single_dot_and_extreme_numbers_are_drawn_within_the_picture():
    from autograder.report import measured

    for numbers in ([(0.0, 0.0)], [(1e9, 1e-9), (1.0, 50.0)]):
        drawn = measured.picture("model", [measured.Dot("A", size, loss) for size, loss in numbers])
        for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn):
            assert 0 <= float(x) <= measured.WIDTH and 0 <= float(y) <= measured.HEIGHT
