"""What is tried is bounded: what takes too much or never ends is one hypothesis, and the verdict comes all the same.

Nothing here hands the diagnostician an answer before it asks: what is tested is the way that a submission takes.
"""

import dataclasses
import json
import resource
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import small_course
from conftest import ROOT
from runaways import KINDS

from autograder import bounds, course
from autograder.grading import watchdog
from autograder.grading.apart import ROOM, GraderApart
from autograder.mistakes import attention_factor, behaviour, diagnosis
from autograder.mistakes.bank import Mistake, bank, right_answer
from autograder.mistakes.hypotheses import composed, right
from autograder.mistakes.name_check import cells_for

RUNS_AWAY = pytest.mark.drawn(1, "ways to run away, where something is tried")

LIMIT = 8 * 2**30  # bytes of addresses of any process: a limit that fails takes this, and not the machine
MOST = 1536  # MB that any process of grading may take

INNER_CACHE = right_answer("KVCache")
for old, new in (
    ("        self.rope_base, self.qk_norm = rope_base, qk_norm\n", "{}        self.cache = KVCache()\n"),
    ("        b, t, _ = x.shape\n", "        cache = self.cache if cache is None else cache\n{}"),
):
    assert INNER_CACHE.count(old) == 1
    INNER_CACHE = INNER_CACHE.replace(old, new.format(old))


# A process counts as its own what the one had that started it: so a small one starts it, and prints its most.
START = """
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
code = subprocess.call(sys.argv[3:], stdout=open(sys.argv[2], "w"))
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


def checked(folder, exercise, *answers):
    """The outcomes of answers by `autograder check`, and the memory of its largest process, in MB."""
    paths = []
    for number, answer in enumerate(answers):
        paths.append(folder / f"answer_{number}.py")
        paths[-1].write_text("\n\n\n".join(cell.code for cell in cells_for(exercise, answer)), encoding="utf-8")
    command = [sys.executable, "-m", "autograder", "check", *paths, "--exercise", exercise, "--seed", "1"]
    start = [sys.executable, "-S", "-c", START, str(LIMIT), folder / "said", *command, "--format", "json"]
    told = subprocess.run(start, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    code, most = map(int, told.split())
    assert code == 1
    verdicts = [json.loads(line) for line in (folder / "said").read_text().splitlines()]
    return [verdict["exercises"][0] for verdict in verdicts], most


@pytest.mark.slow("it grades for half a minute")
def test_an_answer_for_which_a_pair_of_mistakes_doubles(tmp_path):
    """Its diagnosis combines a cache that is shared with one that keeps inputs, and each call doubles what is kept."""
    (outcome,), most = checked(tmp_path, "KVCache", INNER_CACHE)
    assert most < MOST
    assert (outcome["status"], outcome["score"]) == ("graded", 8.5)
    assert outcome["diagnosis"]


@pytest.mark.slow("it grades 58 answers")
def test_every_mistake_of_that_bank_by_the_way_of_a_submission(tmp_path):
    """As `check` grades them, one after another, each is named, or the one from which no check can tell it."""
    of = bank("KVCache")
    mistakes = [*of.values(), *of.variants]
    outcomes, most = checked(tmp_path, "KVCache", *("\n\n\n".join([one.beside, one.source]) for one in mistakes))
    assert most < MOST
    for mistake, outcome in zip(mistakes, outcomes, strict=True):
        named = [one["id"] for one in outcome["diagnosis"]]
        assert named in ([mistake.id], [of.alike.get(mistake.id)]), (mistake.name, named)


# --- what runs away, wherever it is tried ---------------------------------------------------------

BANK = bank("attention")
TWO = composed(right(BANK), BANK["softmax-over-queries"], BANK["no-scale"]).source
NAMES = ["no-scale", "softmax-over-queries"]
PAIR = ("no-scale", "always-causal")  # tried before it is known that only the other pair explains all
FACTOR = BANK.right.replace("F.softmax(", "F.softmax(1.3 * ")
assert FACTOR != BANK.right


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    with GraderApart(learnt=tmp_path_factory.mktemp("learnt")) as grader:
        yield grader


@pytest.fixture
def impatient(apart, monkeypatch):
    """A grader that forgets what ran away, and does not wait long for what is tried."""
    monkeypatch.setattr(bounds, "SECONDS", 1.0)
    monkeypatch.setattr(bounds, "LATE", 0.5)
    monkeypatch.setattr(bounds.State, "barred", set())
    yield apart
    apart.end_process()


@pytest.fixture(params=("recursion that doubles", "100 GB", "a loop in C", "a fork that sleeps"))
def runaway(request, tmp_path):
    """Code that runs away, and leaves a mark in a file each time."""
    mark = tmp_path / "tried"
    return Runaway(f"\n    open({str(mark)!r}, 'a').write('.')\n    {KINDS[request.param]}\n", mark, request.param)


@dataclasses.dataclass
class Runaway:
    code: str
    mark: Path
    kind: str

    def before(self, source, name="attention"):
        """A source in which a function runs away before it does its work."""
        return f"{source}\n\n_usual_{name} = {name}\n\n\ndef {name}(*given, **named):{self.code}    return " + (
            f"_usual_{name}(*given, **named)\n"
        )

    def run(self):
        """Run away here."""
        exec(f"import torch\ndef run():{self.code}\nrun()", {})

    @property
    def times(self):
        return len(self.mark.read_text()) if self.mark.exists() else 0


def below(grader):
    """The processes below this one, without those of a grader's sandbox."""
    every = psutil.Process().children(recursive=True)
    start = grader.parent.process
    of_sandbox = [start.pid, *(p.pid for p in psutil.Process(start.pid).children(recursive=True))] if start else []
    return {p.pid for p in every} - set(of_sandbox)


def outcome_of(grader, exercise, answer):
    """The outcome of an answer; this process must not have grown, and nothing may be left of what it started."""
    before, there = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, below(grader)
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of other tests: the largest so far
    wanted = [course.exercises()[exercise]]
    (outcome,) = grader.grade_cells(cells_for(exercise, answer), wanted, 1).verdict.exercises
    grader.end_process()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**17
    # the one that grades is forked from this one, which is larger than a command's after some thousand tests
    larger = before + 3 * ROOM // 2048
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < max(MOST * 1024, others + 1, larger)
    sleeping = [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "1000"]]
    assert not sleeping and below(grader) <= there
    return outcome


@RUNS_AWAY
@pytest.mark.parametrize("runaway", KINDS, indirect=True)
def test_a_mistake_that_runs_away(impatient, runaway, monkeypatch):
    wrong = Mistake("runaway", "attention", "It runs away.", runaway.before(BANK.right))
    monkeypatch.setattr(BANK, "mistakes", {"runaway": wrong, **BANK.mistakes})
    outcome = outcome_of(impatient, "attention", TWO)
    assert runaway.times and (outcome.status, outcome.score) == ("graded", 3.5)
    assert [each.id for each in outcome.diagnosis] == NAMES


@RUNS_AWAY
def test_a_pair_that_runs_away(impatient, runaway, monkeypatch):
    def made(right, *mistakes):
        both = composed(right, *mistakes)
        is_it = tuple(one.id for one in mistakes) == PAIR
        return dataclasses.replace(both, source=runaway.before(both.source)) if both and is_it else both

    monkeypatch.setattr(behaviour, "composed", made)
    outcome = outcome_of(impatient, "attention", TWO)
    assert runaway.times and (outcome.status, outcome.score) == ("graded", 3.5)
    assert [each.id for each in outcome.diagnosis] == NAMES


@RUNS_AWAY
def test_a_factor_that_is_fitted_runs_away(impatient, runaway, monkeypatch):
    usual = attention_factor._multiplying

    def made(*given):
        found = usual(*given)
        return found and dataclasses.replace(found, source=runaway.before(found.source))

    monkeypatch.setattr(attention_factor, "_multiplying", made)
    outcome = outcome_of(impatient, "attention", FACTOR)
    assert runaway.times and outcome.status == "graded" and 0 < outcome.score < outcome.max_score


@RUNS_AWAY
def test_a_candidate_that_runs_away(impatient, runaway, monkeypatch):
    """A test of the student's stops it, as it stops any that raises an error."""
    wrong = dataclasses.replace(BANK["no-scale"], source=runaway.before(BANK["no-scale"].source))
    monkeypatch.setattr(BANK, "mistakes", {**BANK.mistakes, "no-scale": wrong})
    outcome = outcome_of(impatient, "check_attention", right_answer("check_attention"))
    assert runaway.times and (outcome.status, outcome.score) == ("graded", outcome.max_score)


@RUNS_AWAY
def test_a_check_that_runs_away(impatient, runaway, monkeypatch):
    """As a reference may at a student's sizes: it is the course's fault, and costs no other exercise."""
    monkeypatch.setattr(watchdog, "SECONDS", 2.0)
    checks = impatient.graders.checks["softmax"]
    strange = dataclasses.replace(checks[-1], test=lambda submission, draw: runaway.run())
    monkeypatch.setitem(impatient.graders.checks, "softmax", [*checks[:-1], strange])
    cells = [*cells_for("softmax", right_answer("softmax")), *cells_for("attention", BANK.right)]
    wanted = [course.exercises()[name] for name in ("softmax", "attention")]
    one, other = impatient.grade_cells(cells, wanted, 1).verdict.exercises
    impatient.end_process()
    assert runaway.times and other.score == other.max_score
    if "fork" in runaway.kind:  # the course may start what it likes, as long as it ends with the grading
        assert one.score == one.max_score
    elif one.status == "graded":
        assert one.unjudged
    else:
        assert (one.status, runaway.times) == ("error", 2)


@RUNS_AWAY
def test_naming_that_runs_away(impatient, runaway, monkeypatch):
    """The points are as the checks say, and there are no names."""
    monkeypatch.setattr(watchdog, "SECONDS", 5.0)
    monkeypatch.setattr(diagnosis.Search, "mistakes", lambda search: runaway.run() or [])
    outcome = outcome_of(impatient, "attention", TWO)
    assert runaway.times == 1 and (outcome.status, outcome.by_checks) == ("graded", 3.5)
    assert not {each.id for each in outcome.diagnosis} & set(NAMES)


@pytest.mark.slow("it grades a class")
def test_a_class_with_answers_for_which_a_mistake_ends_the_process(tmp_path):
    """As a course is used: its bank has a mistake that crashes, and only the process that tries it ends, once."""
    place = small_course.copy(tmp_path / "course")
    with (place / "exercises" / "normalise" / "mistakes.py").open("a") as mistakes:
        crash = "x.dim() != 1 or __import__('ctypes').string_at(0)"
        mistakes.write(f'BANK.mistake("runaway", "It crashes.", {{"x.dim() != 1": "{crash}"}})\n')
    assert small_course.command(place, "autograder", "build")[0] == 0
    answer = "def normalise(x):\n    if x.dim() != 1:\n        raise ValueError('no')\n    return {}\n"
    for student, value in (("ada", "x * 2"), ("bela", "x * 3"), ("cora", "x * 4")):
        small_course.submit(place, student, {"normalise": answer.format(value)}, "solutions")
    code, out, said = small_course.real(place, "autograder", "grade", "01", "--jobs", "1")
    assert code == 0 and "3 graded" in out
    assert said.count("a process of grading ended") == 1 and "normalise/runaway" in said
    scores = {row.split()[0]: row.split()[1] for row in out.splitlines() if row.startswith(("ada", "bela", "cora"))}
    assert len(set(scores.values())) == 1 and not scores["ada"].startswith(("0/", "4/"))
