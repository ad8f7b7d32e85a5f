"""The class report, from made-up verdicts: what it says, and that nothing a student wrote gets out of its place."""

from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

from autograder.report import class_report
from autograder.verdict import Check, Diagnosis, Outcome, Verdict, without_grade

HOSTILE = '<script>alert("1")</script>'
VOID = {"meta", "link", "br", "img", "input", "hr"}


def assignment(**points):
    exercises = tuple(SimpleNamespace(name=name, points=value) for name, value in points.items())
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
        self.tags, self.links, self.attributes, self.text, self.open = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"
        self.words = " ".join(" ".join(self.text).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]
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


def tally(outcomes):
    """The summary of the exercise `one`, from its outcomes by student."""
    found = class_report.ExerciseTally(SimpleNamespace(name="one", points=2.0))
    for student, outcome in outcomes.items():
        found.add(student, outcome)
    return found.summary()


# --- what it says ---------------------------------------------------------------------------------


def test_headline():
    verdicts = {
        "ada": verdict(graded("one", ["a", "b"]), graded("two", ["c"])),
        "bob": verdict(graded("one", ["a"], {"b": "No."}), graded("two", ["c"])),
        "cleo": verdict(without_grade("one", 2.0, "timeout", "slow"), graded("two", ["c"])),
        "dan": verdict(without_grade("one", 2.0, "rejected", "no"), without_grade("two", 1.0, "rejected", "no")),
    }
    headline = class_report.Headline()
    for student, one in verdicts.items():
        headline.add(student, one)
    numbers = headline.summary()
    assert (numbers["students"], numbers["full"], numbers["ungraded"], numbers["max"]) == (4, 1, 2, 3.0)
    assert (numbers["mean"], numbers["median"]) == (1.5, 1.5)
    assert [reason["text"] for reason in numbers["reasons"]] == ["ran too long", "could not be read"]
    words = page(assignment(one=2.0, two=1.0), verdicts).words
    assert "It ran too long: cleo ( one )" in words
    assert "It could not be read: dan" in words


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
    found = tally(outcomes)["mistakes"]
    assert [(m["id"], m["students"]) for m in found] == [("no-scale", ["ada", "bob"]), ("mask-inverted", ["bob"])]
    assert found[0]["says"] == "What no-scale says."


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
    first, second = tally(outcomes)["checks"]
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
        found.add(check)
    assert found.sentence() == expected


def test_sentence_of_a_check_that_somebody_passed():
    outcomes = {"ada": graded("one", [], {"a": "No."}), "bob": graded("one", ["a"]), "cleo": graded("one", ["a"])}
    (check,) = tally(outcomes)["checks"]
    assert (check["sentence"], check["failed"], check["of"]) == ("The sentence of a.", 1, 3)


def test_a_list_of_a_large_class_names_the_first_and_counts_the_others(monkeypatch):
    monkeypatch.setattr(class_report, "NAMED", 2)
    verdicts = {name: verdict(graded("one", [], {"a": ""}, ["m"])) for name in "abcd"}
    verdicts |= {name: verdict(without_grade("one", 1.0, "timeout", "slow")) for name in "vwx"}
    parsed = page(assignment(one=1.0), verdicts)
    assert "a , b and 2 others" in parsed.words
    assert "It ran too long: v , w and 1 other." in parsed.words
    assert sum(link.startswith("../feedback/") for link in parsed.links) == len(verdicts), "the table has everybody"


def test_nobody_and_nothing():
    assert "No submission of this exercise could be graded." in page(assignment(one=2.0), {}).words
    empty = page(assignment(one=2.0), {"ada": verdict()})
    assert "not graded" in empty.words


def test_backticks_become_code():
    text = class_report.render(assignment(one=1.0), [("ada", verdict(graded("one", [], {"a": ""}, ["`<b>`"])))])
    assert "What <code>&lt;b&gt;</code> says." in text


def test_it_is_accessible():
    text = class_report.render(assignment(one=1.0), [("ada", verdict(graded("one", ["a"])))])
    assert '<html lang="en">' in text
    assert 'scope="row"' in text and 'scope="col"' in text and "<caption>" in text
    assert "prefers-color-scheme: dark" in text


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
    assert "&lt;b&gt; \u202eevil" in parsed.words


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
