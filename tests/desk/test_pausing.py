"""Periods that do not count: by command and at the desk, in what is collected, in penalties and on pages."""

from datetime import UTC, datetime, timedelta

import desk_class
import pytest
from bs4 import BeautifulSoup
from desk_class import built, client, desk, kit, place, record, text_of
from small_course import NAME
from test_desk_collecting import configure, handed_in, run
from test_extending import DUE, due, grade_ada_and_bob, gradebook, penalties

from autograder import course
from autograder.batch import pausing
from autograder.desk.visitors import FORM_TOKEN
from autograder.errors import UsageError
from autograder.grading.pauses import Pause
from autograder.grading.store import Store
from autograder.nbgrader.runs import NbgraderCourse

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
OF_DUE = ["2026-11-20", "2026-11-21"]  # it is due at noon of the first of these days


def test_from_the_begin_of_a_day_to_the_end_of_another(place):
    one = pausing.pause_of("2026-11-20", " 2026-11-24 ", ["bob", "ada", "ada"], ["01"])
    assert one == Pause(datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 25, tzinfo=UTC), ("ada", "bob"), (NAME,))
    assert pausing.shown(one) == f"2026-11-20 2026-11-24 --for ada --for bob {NAME}"
    two = pausing.pause_of("2026-11-20T12:00", "2026-11-20T18:30")
    assert two.end - two.begin == timedelta(hours=6.5) and pausing.shown(two) == "2026-11-20T12:00 2026-11-20T18:30"
    for said in (one, two):
        begin, end, *more = pausing.shown(said).split()
        names = [word for word in more if word not in ("--for", NAME)]
        assert pausing.pause_of(begin, end, names, [word for word in more if word == NAME]) == said


@pytest.mark.parametrize(
    "begin, end, says",
    [
        ("", "2026-11-24", "Write days as"),
        ("20.11.2026", "2026-11-24", "Write days as"),
        ("2026-02-30", "2026-03-01", "Write days as"),
        ("2026-11-20", "9999-12-31", "is no day"),
        ("0000-01-01", "2026-11-20", "is no day"),
        ("2026-11-20", "2028-11-20", "at most 366 days"),
        ("2026-11-24", "2026-11-20", "is before"),
        ("2026-11-20T12:00", "2026-11-20T12:00", "is before"),
        ("٢٠٢٦-11-20", "2026-11-24", "Write days as"),
        ("2026-11-20\0", "2026-11-24", "Write days as"),
        ("2026-11-20\u202e", "2026-11-24", "Write days as"),
        ("2" * 10**6, "2026-11-24", "Write days as"),
    ],
)
def test_no_period(begin, end, says):
    with pytest.raises(UsageError, match=says) as refused:
        pausing.pause_of(begin, end)
    assert len(str(refused.value)) < 200 and str(refused.value).isprintable()


@pytest.mark.parametrize("by_the_kit", [True, False], ids=["grade", "nbgrader autograde"])
def test_it_counts_for_what_is_collected_and_in_penalties(place, record, run, due, by_the_kit):
    configure(place, 'c.Desk.counts = "latest"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    code, said, _ = run("pause", *OF_DUE, "--for", "ada")
    assert code == 0 and f"ada: {NAME} is due on 2026-11-22 12:00 UTC." in said
    right = desk_class.mistaken(place, NAME, "normalise", "", "")
    for student in ("ada", "bob"):
        handed_in(record, place, student, right, 47 * HOUR)
    found = grade_ada_and_bob(place, run, by_the_kit)
    assert found["ada"] == 0 and found["bob"] > 0
    with gradebook(place) as book:
        assert book.find_assignment(NAME).duedate == DUE.replace(tzinfo=None)
        assert {s.extension for s in book.assignment_submissions(NAME)} == {None}


def test_penalties_follow_what_is_paused_later(place, record, run, due):
    configure(place, 'c.Desk.counts = "latest"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    handed_in(record, place, "ada", desk_class.mistaken(place, NAME, "normalise", "", ""), 36 * HOUR)
    assert run("collect", "01", "--desk")[0] == run("grade", "01")[0] == 0
    assert penalties(place)["ada"] > 0
    assert run("pause", *OF_DUE)[0] == 0 and penalties(place)["ada"] == 0
    assert run("pause")[1].splitlines()[-1] == " ".join(OF_DUE)
    assert run("pause", *OF_DUE)[0] == 0 and len(Store(place).pauses()) == 1  # once
    code, said, _ = run("pause", "--undo", *OF_DUE)
    assert code == 0 and "No longer paused" in said and penalties(place)["ada"] > 0
    assert "There is no pause." in run("pause")[1]


def test_an_extension_is_added_before_it_is_moved(place, run, due):
    assert run("pause", *OF_DUE)[0] == 0
    assert "is due on 2026-11-23 12:00 UTC, 1 day after the class" in run("extend", "ada", "01", "1d")[1]
    assert "ada: 1 day, until 2026-11-23 12:00 UTC" in run("extend")[1]
    assert "is due on 2026-11-22 14:00 UTC for the class" in run("extend", "--all", "01", "2h")[1]
    assert run("pause", "2026-11-23", "2026-11-23", "--for", "ada")[0] == 0
    said = run("extend", "ada", "01", "1d")[1]
    assert "ada: 01_averages is due on 2026-11-24 14:00 UTC, 1 day after the class, moved by a pause." in said
    assert "ada: 01_averages is due with the class, on 2026-11-22 14:00 UTC." in run("extend", "ada", "01", "none")[1]
    assert "No due date moves." in run("pause", "2026-01-01", "2026-01-02")[1]


@pytest.mark.parametrize(
    "words, says",
    [
        (["2026-11-20"], "Say from when to when"),
        (["--for", "ada"], "Say from when to when"),
        ([*OF_DUE, "99"], "There is no assignment '99'"),
        ([*OF_DUE, "--for", "adda"], "did you mean 'ada'?"),
        ([*OF_DUE, "--for", "x\u202e" * 10**5], "is not in the gradebook"),
        ([*OF_DUE, *["--for", "ada"] * 101], "at most 100 students"),
        (["--undo", *OF_DUE], "There is no such pause"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(place, run, due, words, says):
    code, _, warned = run("pause", *words)
    assert code != 0 and says in warned and "Traceback" not in warned and len(warned) < 500
    assert Store(place).pauses() == []


def test_there_is_an_end_to_pauses(place, run, due, monkeypatch):
    monkeypatch.setattr(pausing, "MOST", 2)
    for day in ("2026-11-20", "2026-11-22"):
        assert run("pause", day, day)[0] == 0
    assert "There are 2 pauses already" in run("pause", "2026-11-24", "2026-11-24")[2]
    assert run("pause", "2026-11-20", "2026-11-20")[0] == 0


def test_who_has_left_the_class(place, run, due):
    assert run("pause", *OF_DUE, "--for", "ada")[0] == 0
    Store(place).put_dropped(["ada"])
    assert "There is no pause." in run("pause")[1]
    assert "ada was dropped" in run("pause", "2026-11-24", "2026-11-24", "--for", "ada")[2]
    assert run("pause", "--undo", *OF_DUE, "--for", "ada")[0] == 0


# --- at the desk ----------------------------------------------------------------------------------


def around_now():
    """Yesterday and tomorrow, as a form has them."""
    today = datetime.now(UTC)
    return f"{today - DAY:%Y-%m-%d}", f"{today + DAY:%Y-%m-%d}"


def forms(page):
    found = BeautifulSoup(page.text, "html.parser").select("form[action*=pauses]")
    return [(one["action"], {f["name"]: f.get("value", "") for f in one.select("input, select")}) for one in found]


def test_at_the_desk(desk, place, record, due):
    with gradebook(place) as book:
        book.find_assignment(NAME).duedate = (datetime.now(UTC) - HOUR).replace(tzinfo=None)
        book.db.commit()
    ada, bob, teacher = client(desk, "ada"), client(desk, "bob"), client(desk, "teacher")
    assert ada.get("/api/me").json()["assignments"][0]["is_over"]
    ((action, sent),) = forms(teacher.get("/instructor"))
    begin, end = around_now()
    answer = teacher.post(action, data={**sent, "begin": begin, "end": end, "student": "ada", "assignment": NAME})
    assert answer.status_code == 303
    mine = ada.get("/api/me").json()["assignments"][0]
    assert mine["is_paused"] and not mine["is_over"] and not mine["is_extended"]
    assert "moved by a pause" in text_of(ada.get("/")) and "extension" not in text_of(ada.get("/"))
    assert bob.get("/api/me").json()["assignments"][0]["is_over"]
    page = text_of(teacher.get(f"/instructor/{NAME}/student?id=ada"))
    assert ", moved by a pause: the class's is" in page
    assert f"{begin} to {end}, for ada, in {NAME}" in text_of(teacher.get("/instructor"))
    (undo, kept), _ = forms(teacher.get("/instructor"))
    assert teacher.post(undo, data=kept).status_code == 303 and Store(place).pauses() == []
    assert ada.get("/api/me").json()["assignments"][0]["is_over"]
    assert teacher.post(action, data={**sent, "begin": begin, "end": end}).status_code == 303
    assert not bob.get("/api/me").json()["assignments"][0]["is_over"]


def test_several_students_of_one_pause_are_undone_together(desk, place, run, due):
    assert run("pause", *OF_DUE, "--for", "ada", "--for", "bob", "01")[0] == 0
    teacher = client(desk, "teacher")
    (undo, kept), _ = forms(teacher.get("/instructor"))
    as_a_browser = {name: value.replace("\n", "\r\n") for name, value in kept.items()}
    assert teacher.post(undo, data=as_a_browser).status_code == 303 and Store(place).pauses() == []


@pytest.mark.parametrize("form", ["pauses", "pauses/undo"])
@pytest.mark.parametrize(
    "who, changed, status",
    [
        ("ada", {}, 403),
        ("", {}, 401),
        ("teacher", {"token": "no"}, 403),
        ("teacher", {"token": ""}, 403),
        ("teacher", {"begin": "9999-12-31"}, 422),
        ("teacher", {"end": "2026-11-24\0"}, 422),
        ("teacher", {"student": "nobody\u202e"}, 422),
        ("teacher", {"assignment": "of another course"}, 422),
        ("teacher", {"begin": "2" * 10**6}, 413),
        ("teacher", {f"more{n}": "" for n in range(9)}, 400),
    ],
)
def test_who_pauses_nothing(desk, place, run, due, form, who, changed, status):
    kept = Pause(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
    Store(place).put_pauses([kept])
    sent = {"begin": "2026-11-20", "end": "2026-11-24", "student": "", "assignment": "", "token": "yes", **changed}
    answer = client(desk, who).post(f"/instructor/{form}", data=sent)
    assert answer.status_code == status and "\u202e" not in answer.text and len(answer.text) < 10**5
    assert Store(place).pauses() == [kept]


@pytest.mark.parametrize("is_new", [True, False])
def test_two_instructors_at_once_keep_what_the_other_did(place, run, due, monkeypatch, is_new):
    first, second = (pausing.pause_of(f"2026-11-{day}", f"2026-11-{day}") for day in (20, 22))
    if not is_new:
        pausing.pause(place, first)
    locked = pausing.locked

    def after_the_other(*about):
        monkeypatch.setattr(pausing, "locked", locked)
        pausing.pause(place, second)
        return locked(*about)

    monkeypatch.setattr(pausing, "locked", after_the_other)
    (pausing.pause if is_new else pausing.undo)(place, first)
    assert {*Store(place).pauses()} == ({first, second} if is_new else {second})


@pytest.mark.parametrize("begin, end", [("0001-01-01", "0001-02-01"), ("0042-03-01T10:30", "0042-03-01T11:00")])
def test_of_any_year_it_is_listed_as_it_is_typed(begin, end):
    one = pausing.pause_of(begin, end)
    words = pausing.words(one)
    assert (words["begin"], words["end"]) == (begin, end) and pausing.pause_of(words["begin"], words["end"]) == one


def test_what_is_kept_is_taken_back_of_who_is_no_longer_in_the_gradebook(place, run, due):
    for words in (["pause", *OF_DUE, "--for", "ada"], ["excuse", "ada", "01"], ["extend", "ada", "01", "1d"]):
        assert run(*words)[0] == 0
    with NbgraderCourse(place).gradebook() as book:
        book.remove_student("ada")
    for words in (["pause", *OF_DUE, "--for", "ada", "--undo"], ["excuse", "ada", "01", "--undo"]):
        assert run(*words)[0] == 0
        assert run(*words)[0] != 0
    assert run("extend", "ada", "01", "none")[0] == 0
    results = Store(place)
    assert not results.pauses() and not results.excused(NAME) and not results.extensions(NAME)


def test_whatever_a_name_is_the_list_can_be_printed_and_typed(place, run, due):
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    Store(place).put_pauses([Pause(moment, moment + DAY, ("ada l; x",), ("\ud800\x1b[31m",))])
    code, said, _ = run("pause")
    assert code == 0 and "--for 'ada l; x'" in said and "\x1b" not in said and said.encode()


@pytest.mark.parametrize("by_form", [True, False])
def test_of_an_assignment_that_is_gone_it_is_taken_back(desk, place, run, due, by_form):
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    one = Pause(moment, moment + DAY, (), ("08_gone",))
    Store(place).put_pauses([one])
    if by_form:
        sent = {**pausing.words(one), FORM_TOKEN: "yes"}
        assert client(desk, "teacher").post("/instructor/pauses/undo", data=sent).status_code == 303
    else:
        assert run("pause", *run("pause")[1].split("\n")[-2].split(), "--undo")[0] == 0
    assert Store(place).pauses() == []
