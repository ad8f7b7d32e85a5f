"""Rounds: nobody is graded twice on inputs that somebody may have seen, and the same work keeps its inputs."""

import json
import multiprocessing

import pytest
from conftest import ASSIGNMENT, hand_in
from stand_ins import Engine, Writer, run, verdict

from autograder import course
from autograder.batch.run import Batch, students
from autograder.grading.rounds import Rounds
from autograder.grading.store import Draft, Store
from autograder.report import regrade
from autograder.verdict import Graded

NAME = "02"


@pytest.fixture
def rounds(tmp_path):
    return lambda: Rounds(Store(tmp_path), NAME)


def test_a_later_hand_in_has_other_inputs_and_the_same_one_the_same(rounds):
    first = rounds().take({"ada": "a", "bela": "b"})
    assert first["ada"] == first["bela"], "a class shares its inputs"
    second = rounds().take({"ada": "a2", "bela": "b"})
    assert second["ada"] != first["ada"] and second["bela"] == first["bela"]
    third = rounds().take({"ada": "a3"})["ada"]
    assert third not in (first["ada"], second["ada"])
    assert rounds().take({"ada": "a"}) == {"ada": first["ada"]}, "the earlier one once more"
    assert rounds().take({"ada": "a4"})["ada"] not in (*first.values(), *second.values(), third)
    assert rounds().in_use() >= {first["bela"]}


def test_nobody_gets_inputs_of_which_feedback_was_given_out(rounds):
    seen = set(rounds().take({"ada": "a", "bela": "b"}).values()) | set(rounds().take({"ada": "a2"}).values())
    rounds().give_out()
    rounds().give_out()
    late = rounds().take({"zoe": "z", "bela": "b2", "carl": "c"})
    assert not seen & set(late.values()) and len(set(late.values())) == 1
    assert rounds().take({"bela": "b"})["bela"] in seen, "what was graded then stays as it is"


def test_nothing_is_given_out_where_nothing_was_graded(rounds, tmp_path):
    rounds().give_out()
    assert not list((tmp_path / ".autograder").rglob("*.json"))


def test_the_seed_of_one_round_says_nothing_about_another(rounds, tmp_path):
    """It has 48 bits, which a patient attacker can try out against inputs that were read out; the secret has 256."""
    seeds = [rounds().take({"ada": str(n)})["ada"] for n in range(50)]
    (path,) = (tmp_path / ".autograder" / "seeds").glob("*.json")
    assert len(set(seeds)) == 50 and all(0 <= seed < 2**48 for seed in seeds)
    assert len(bytes.fromhex(json.loads(path.read_text())["secret"])) == 32 and path.stat().st_mode & 0o077 == 0
    other = Rounds(Store(tmp_path / "other"), NAME)
    assert {other.seed(n) for n in range(50)}.isdisjoint(seeds)
    assert Rounds(Store(tmp_path), "03").seed() != rounds().seed()


DAMAGED = ["", "{", "[]", "{}", '{"seed": 7}', '{"secret": 7, "floor": 0, "rounds": {}}']
DAMAGED += [json.dumps({"secret": "00" * 32, "floor": f, "rounds": r}) for f, r in [(-1, {}), (0, []), (True, {})]]
DAMAGED += [json.dumps({"secret": "00" * 32, "floor": 0, "rounds": {"ada": r}}) for r in ({"a": -1}, {"a": "1"}, 3)]
DAMAGED += [json.dumps({"secret": s, "floor": 0, "rounds": {}}) for s in ("", "00" * 31, "zz" * 32)]


@pytest.mark.parametrize("text", DAMAGED)
def test_with_the_rounds_the_secret_is_lost(rounds, tmp_path, text):
    """So a damaged file never lets anybody have inputs once more that were seen."""
    before = rounds().take({"ada": "a"})["ada"]
    (path,) = (tmp_path / ".autograder" / "seeds").glob("*.json")
    path.write_text(text)
    after = rounds().take({"ada": "a"})["ada"]
    assert after != before and after == rounds().take({"ada": "a"})["ada"]


def take(place, student):
    Rounds(Store(place), NAME).take({student: "a"})


def test_two_processes_lose_none_of_each_other(tmp_path):
    """`nbgrader autograde` beside `autograder grade`."""
    Rounds(Store(tmp_path), NAME).take({"first": "a"})
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.starmap(take, [(tmp_path, f"s{n}") for n in range(60)])
    assert len(Rounds(Store(tmp_path), NAME).of) == 61


# --- in a batch -----------------------------------------------------------------------------------


class Drawn(Engine):
    """Gives full marks, but none for `worse`, and for `lucky` none on all inputs but the first; keeps the seeds."""

    def __init__(self, first=None):
        super().__init__()
        self.first, self.seeds = first, {}

    def graded(self, coming, total, alone=False):
        for task in coming:
            self.tasks.append(task.student)
            self.seeds.setdefault(task.student, []).append(task.seed)
            said = "".join(json.loads(task.data)["cells"][-1]["source"])
            graded = Graded(verdict("graded"))
            if "worse" in said or ("lucky" in said and task.seed != self.first):
                graded.verdict.exercises[0].score = graded.verdict.exercises[0].by_checks = 0.0
            graded.verdict.seed = task.seed
            yield task, graded


class Keeps(Writer):
    """Remembers what a Recorder does: the latest verdict, with the answers."""

    def __init__(self, place):
        super().__init__()
        self.place = place

    def add(self, student, submitted, graded, key):
        from autograder.submission.answers import answers_of
        from autograder.submission.restore import restore

        super().add(student, submitted, graded, key)
        assignment = course.find_assignment(NAME)
        answers = answers_of(restore(submitted, assignment.cells, assignment))
        Store(self.place).put_latest(ASSIGNMENT, student, graded.verdict, {"key": key, "answers": answers})


def test_a_batch_draws_new_inputs_for_a_later_hand_in_and_the_old_ones_for_a_regrade(tmp_path, submit):
    for student in ("ada", "bela"):
        submit(student)
    engine = Drawn()
    run(tmp_path, engine, Writer())
    (first,) = engine.seeds["ada"]
    submit("ada", "graded again")
    submit("bela")  # the same bytes once more
    submit("carl", "late")
    engine = Drawn()
    run(tmp_path, engine, Writer(), renew=True)
    assert engine.seeds == {"ada": [engine.seeds["ada"][0]], "bela": [first], "carl": [first]}
    (second,) = engine.seeds["ada"]
    assert second != first
    Rounds(Store(tmp_path), ASSIGNMENT).give_out()
    submit("dora", "later still")
    submit("carl", "late, but better")
    engine = Drawn()
    run(tmp_path, engine, Writer())
    assert engine.seeds.keys() == {"carl", "dora"} and engine.seeds["carl"] == engine.seeds["dora"]
    assert not {first, second} & set(engine.seeds["dora"])


def test_an_equal_file_of_another_student_is_graded_on_the_inputs_of_that_student(tmp_path, submit):
    """Mallory's second file is Ada's first: each gets a result for the inputs of their own round."""
    submit("ada", "the same")
    submit("mallory", "a first one")
    run(tmp_path, Drawn(), Writer())
    submit("mallory", "the same")
    engine = Drawn()
    run(tmp_path, engine, Writer(), renew=True)
    assert engine.seeds["ada"] != engine.seeds["mallory"]


def test_a_draft_leaves_no_round_behind(tmp_path, submit):
    submit("ada")
    run(tmp_path, Drawn(), Writer())
    before = {path: path.read_bytes() for path in (tmp_path / ".autograder").rglob("*") if path.is_file()}
    submit("ada", "another")
    found = []
    for options in ({}, {}, {"new_inputs": True}):
        made = Batch(tmp_path, course.find_assignment(NAME), students(tmp_path, ASSIGNMENT), Draft(tmp_path), **options)
        found.append(made.seeds["ada"])
    assert found[0] == found[1] != found[2]
    assert {path: path.read_bytes() for path in (tmp_path / ".autograder").rglob("*") if path.is_file()} == before
    engine = Drawn()
    run(tmp_path, engine, Writer())
    assert engine.seeds["ada"] == found[:1], "what was foretold is what is done"


def test_the_results_may_be_deleted(tmp_path, submit):
    import shutil

    submit("ada")
    engine = Drawn()
    run(tmp_path, engine, Writer())
    first = engine.seeds["ada"]
    submit("ada", "table")
    shutil.rmtree(tmp_path / ".autograder" / "results")
    engine = Drawn()
    run(tmp_path, engine, Writer())
    assert engine.seeds["ada"] != first


def test_a_score_that_changes_by_its_inputs_alone_is_shown_as_such(tmp_path, submit, solution):
    """Luck is told from work: of the one whose answer is as it was, and only of that one."""

    def answers(student, last, more=""):
        found = json.loads(json.dumps(solution))
        cell = next(c for c in found["cells"] if "SingleHeadSelfAttention-solution" in str(c["metadata"]))
        cell["source"] = "".join(cell["source"]) + more
        found["cells"][-1]["source"] = [last]
        hand_in(found, tmp_path / "submitted" / student / ASSIGNMENT)

    for student in ("ada", "bela", "carl"):
        answers(student, "lucky" if student != "carl" else "graded")
    engine, writer = Drawn(), Keeps(tmp_path)
    rounds = Rounds(Store(tmp_path), ASSIGNMENT)
    rounds.renew()
    engine.first = rounds.seed()
    made, _ = run(tmp_path, engine, writer)
    assert made.changes == []
    answers("ada", "lucky, with another text elsewhere")
    answers("bela", "lucky", "\n# another answer")
    answers("carl", "worse")
    engine = Drawn(engine.first)
    made, _ = run(tmp_path, engine, writer)
    assert [(c.student, c.exercise, c.by_inputs, c.gain < 0) for c in made.changes if c.by_inputs] == [
        ("ada", "SingleHeadSelfAttention", True, True),
    ]
    said = regrade.as_text(made.changes, 3, {})
    assert said.count("The inputs alone changed the points of unchanged code") == 1
    assert said.endswith("a check depends on luck: ada (SingleHeadSelfAttention).")
    told = [json.loads(line) for line in regrade.as_json(made.changes).splitlines()]
    assert [change["student"] for change in told if change["by_inputs"]] == ["ada"]
