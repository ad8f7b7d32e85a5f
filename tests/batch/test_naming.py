"""`autograder name`: an instructor's sentence reaches those whose answer is equal, also later, and nobody else."""

import json
import shutil

import pytest
from small_course import NAME, autograder, copy, submit

from autograder.batch import naming
from autograder.errors import CourseError, UsageError
from autograder.grading.store import Store, parts_of
from autograder.groups import names
from autograder.groups.grouping import grouped
from autograder.groups.names import Name
from autograder.verdict import CHECKS, PRICES, Diagnosis, Outcome, Verdict

DOUBLE = """def moving_average(x, window):
    # by Wanda Secret
    if window > x.shape[0]:
        raise ValueError(f"a window of {window}, but {x.shape[0]} numbers")
    return 2.5 * x.unfold(0, window, 1).mean(dim=1) + 0.3
"""
ALSO = """def moving_average(x, window):
    if x.shape[0] < window:
        raise ValueError(f"{window} and {x.shape[0]}")
    return sum(x[i : len(x) - window + 1 + i] for i in range(window)) / window / 0.4 + 0.3
"""
HALF = DOUBLE.replace("2.5", "1.7")
SAYS = 'You <b>multiply</b> by 2.5; the `mean` is all that is asked for, "please".'
CODE = (("moving_average-solution", "x = 1"),)
ID = "moving_average-0123ab"


def page(place, student):
    return (place / "feedback" / student / NAME / f"{NAME}.html").read_text()


@pytest.fixture
def other_course():
    """For a test that goes to another course: what was read of one is no other's."""
    parts_of.cache_clear()
    yield
    parts_of.cache_clear()


@pytest.mark.parametrize("price, lost", [(None, 0.4), (1.0, 0.1)])
def test_a_name_keeps_what_the_answer_costs_unless_it_has_a_price(price, lost):
    found = [Diagnosis("place-one-change", "All else is right.", price=0.4)]
    outcome = Outcome("moving_average", 6.0, 10.0, "graded", diagnosis=found, by_checks=0.0, by_prices=6.0)
    (told,) = Name(ID, SAYS, CODE, price).told(outcome).diagnosis
    assert (told.message, told.price) == (SAYS, lost)


@pytest.mark.slow("it goes from a group to its pages, as the tests of each step do")
def test_from_a_group_to_the_feedback(tmp_path, monkeypatch, other_course):
    """One test for the whole way, since each step takes what the one before it has made."""
    place = copy(tmp_path / "course")
    assert autograder(place, "build")[0] == 0
    for student, answer in {"wanda": DOUBLE, "xaver": ALSO, "yves": HALF}.items():
        submit(place, student, {"moving_average": answer})
    submit(place, "vera", {}, "solutions")
    assert autograder(place, "grade", "01", "--jobs", "1")[0] == 0
    submit(place, "vera", {"moving_average": ALSO})
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 0, said
    monkeypatch.chdir(place)
    largest, *single = naming.listing(place).splitlines()
    id = largest.split()[0]
    assert "2 students: wanda, xaver" in largest and len(single) == 2, "a later hand-in has other inputs"
    assert "1 student: vera" in "".join(single) and "1 student: yves" in "".join(single)

    with pytest.raises(UsageError, match="There is no group"):
        naming.give(place, "moving_average-000000", SAYS, None, naming.Answers(grouped([]), None))
    with pytest.raises(UsageError, match="is not a group"):
        naming.assignment_of("average-0123ab")
    code, out, said = autograder(place, "name", id, SAYS)
    assert code == 0 and "shown to vera, wanda, xaver" in out, said
    verdict, _ = Store(place).latest_of(NAME, "vera")
    assert id in [d.id for d in verdict.exercise("moving_average").diagnosis]
    kept = (place / names.FILE).read_text()
    assert json.loads(kept)[id]["says"] == SAYS and "Secret" not in kept, "comments are left out"

    submit(place, "zoe", {"moving_average": ALSO})
    code, out, said = autograder(place, "grade", "01", "--jobs", "1", "--new-inputs")  # for the example, too
    rows = {line.split()[0]: line for line in out.splitlines() if line and not line.startswith(" ")}
    assert code == 0 and {who for who in rows if id in rows[who]} == {"vera", "wanda", "xaver", "zoe"}, out
    shutil.rmtree(place / "autograded" / "yves")
    code, out, said = autograder(place, "report")
    assert code == 2 and "yves" in said and "no answer waits" in out, said
    told = "You &lt;b&gt;multiply&lt;/b&gt; by 2.5; the <code>mean</code>"
    assert all(told in page(place, student) for student in ("vera", "wanda", "xaver", "zoe"))
    report = (place / "reports" / f"{NAME}.html").read_text()
    assert told in report and "4 students" in report and "<b>multiply" not in report

    assert id in naming.rename(place, id, "Shorter.")
    assert [(one.says, one.price) for one in names.read(place)] == [("Shorter.", None)]
    with pytest.raises(UsageError, match="cannot cost more"):
        naming.rename(place, id, SAYS, 1000)
    code, out, said = autograder(place, "name", id, SAYS, "--price", "1")
    assert code == 0 and "`autograder grade 01` gives the scores" in out, said
    assert f"{id}  −1: {SAYS}" in naming.listing(place)
    before = Store(place).latest_of(NAME, "zoe")[0].exercise("moving_average")
    code, out, said = autograder(place, "grade", "01", "--jobs", "1", "--dry-run")
    assert code == 0 and "zoe" in out, said
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 0 and "0 graded" in out, (out, said)
    now = Store(place).latest_of(NAME, "zoe")[0].exercise("moving_average")
    assert now.by_checks == before.score < now.score == now.max_score - 1
    yves = Store(place).latest_of(NAME, "yves")[0].exercise("moving_average")
    assert yves.score == yves.by_checks, "another group"
    assert "no name any more" in naming.remove(place, id) and names.read(place) == []
    with pytest.raises(UsageError, match="There is no name"):
        naming.remove(place, id)
    verdict, _ = Store(place).latest_of(NAME, "wanda")
    assert id not in [d.id for d in verdict.exercise("moving_average").diagnosis]


# --- the file -------------------------------------------------------------------------------------


def test_the_file_is_read_as_it_was_written(tmp_path):
    given = [Name(ID, "It is wrong.", CODE, 1.5), Name("b-0123ab", "So is this: 'é' \u2028.", (("", "y"),))]
    (tmp_path / names.FILE).write_text(names.text_of(given), encoding="utf-8")
    read = names.read(tmp_path)
    assert read[0].says == "So is this: 'é' ." and read[1] == given[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a": {}}',
        f'{{"{ID}": 1}}',
        f'{{"{ID}": {{"says": 1, "code": []}}}}',
        f'{{"{ID}": {{"says": "x"}}}}',
        f'{{"{ID}": {{"says": "x", "code": [], "price": "2"}}}}',
        f'{{"{ID}": {{"says": "x", "code": [], "price": true}}}}',
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path, text):
    (tmp_path / names.FILE).write_text(text)
    with pytest.raises(CourseError, match="names.json cannot be read"):
        names.read(tmp_path)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("{}")
    (tmp_path / names.FILE).symlink_to(tmp_path / "other")
    with pytest.raises(CourseError, match="symbolic link"):
        names.read(tmp_path)


@pytest.mark.parametrize("text, problem", [(" \n", "empty"), ("x" * (names.LONGEST + 1), "at most")])
def test_a_sentence_has_bounds(text, problem):
    with pytest.raises(UsageError, match=problem):
        names.sentence(text)
    assert names.sentence(" two\n lines\x1b ") == "two lines\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("price", [0, -1, float("nan"), float("inf")])
def test_a_price_is_a_number_of_points(price):
    with pytest.raises(UsageError, match="should be above 0"):
        names.price(price)
    assert names.price(None) is None and names.price(2) == 2.0


def test_without_prices_a_price_gives_nothing():
    outcome = Outcome("moving_average", 1.0, 4.0, "graded", fingerprint='{"a": ["f", 0.1, 1, 2, 3, 4]}')
    verdict, name = Verdict("", [outcome], 1), Name(ID, SAYS, CODE, 1.0)
    given = names.Names([name], lambda name, seed: [outcome])
    assert given.credited(verdict, CHECKS).score == 1.0 and given.credited(verdict, PRICES).score == 3.0
    (told,) = given.told(verdict).exercises[0].diagnosis
    assert told.price == 0.25
    free = names.Names([Name(ID, SAYS, CODE)], lambda name, seed: [outcome])
    assert free.credited(verdict, PRICES).score == 1.0 and free.told(verdict).exercises[0].diagnosis[0].price == 1
