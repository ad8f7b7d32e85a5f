"""The capstone's checks: what goes from process to process, and that nothing else does."""

import json
import math
from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT, load

from autograder import course
from autograder.checks.api import CheckFailed, Draw
from autograder.checks.gates import Gates
from autograder.checks.proxies import Local, StudentError, Submission
from autograder.checks.replay import RecordingTransport, RequestLog
from autograder.exercises.MyModel import checks
from autograder.exercises.reference import badges
from autograder.grading import blame
from autograder.mistakes.bank import answer_path, bank, namespace_of, right_answer
from autograder.sandbox import replies
from autograder.sandbox.inside import wire
from autograder.sandbox.replies import Failure
from autograder.verdict import MEASURES, Outcome, Verdict, VerdictError

NAME = "12_your_model"


def test_the_language_of_the_notebook_is_the_graders():
    cells = {c["id"]: "".join(c["source"]) for c in load(ROOT / "source" / NAME / f"{NAME}.ipynb")["cells"]}
    values = {}
    exec(cells["setup"] + "\n" + cells["language"], values)
    ours = badges.Language(torch.Generator().manual_seed(3))
    theirs = values["Language"](3)
    assert values["SIZE"] == badges.SIZE and torch.equal(theirs.numbers, ours.numbers)
    for one, other in zip(theirs.texts(5, 64, 4), ours.texts(5, 64, torch.Generator().manual_seed(4)), strict=True):
        assert torch.equal(one, other)
    text = " ".join(cells.values())
    for number in (checks.STEPS, checks.TEXTS, checks.LENGTH, checks.MOST_BYTES):
        assert f" {number} " in text
    for number in (checks.MOST_WEIGHTS, checks.MOST_PRODUCTS):
        assert f"{number:,}" in text
    assert all(f"{bar:.2f}" in cells["exercise"] for bar in checks.BARS.values())


def test_how_likely_a_token_is_is_how_often_it_comes():
    language = badges.Language(torch.Generator().manual_seed(0))
    texts, likely = language.texts(4000, 24, torch.Generator().manual_seed(1))
    numbers = language.numbers.argsort()[texts]
    told = numbers[:, : badges.NAMES] % badges.COLOURS
    questions = (numbers >= badges.QUESTION) & (numbers < badges.ANSWER)
    for text, place in questions[:, :-1].nonzero().tolist()[:500]:
        name = numbers[text, place] - badges.QUESTION
        assert numbers[text, place + 1] == badges.ANSWER + told[text, name] and likely[text, place + 1] == 0
    first = torch.bincount(numbers[:, badges.NAMES], minlength=badges.SIZE)
    assert (first > 0).sum() == 2 * badges.CHOICES
    assert first[first > 0].min() > 800 and likely[0, badges.NAMES].exp() == pytest.approx(0.25)


def test_texts_to_be_read_have_other_seeds_than_those_that_are_learnt_from():
    draw = Draw(1, "MyModel/x")
    seeds = {
        checks.drawn(draw, what).initial_seed()
        for what in ("the language", "what is learnt", "what is tried", "what is stepped through", "what is read")
    }
    assert len(seeds) == 5


def test_each_language_that_a_model_is_trained_in_is_drawn_anew():
    draw, whats = Draw(1, "MyModel/x"), ("the language", "what is learnt", "what is read")
    every = {checks.drawn(draw, what, nth).initial_seed() for what in whats for nth in range(checks.LANGUAGES)}
    assert len(every) == len(whats) * checks.LANGUAGES
    one, other = (checks.spoken(draw, nth) for nth in range(2))
    assert not torch.equal(one.follow, other.follow) and not torch.equal(one.numbers, other.numbers)


def test_whole_training_goes_by_the_language_that_is_asked_for(monkeypatch):
    monkeypatch.setattr(checks, "STEPS", 40)
    answer = Local(namespace_of("MyModel/grouped", right_answer("MyModel", "grouped")))
    submission = Submission(answer, gates=Gates(answer))
    draw = Draw(1, "MyModel/x")
    first, again = checks.trained(submission, draw), checks.trained(submission, draw)
    other = checks.trained(submission, draw, nth=1)
    assert first == again and first.above != other.above


@pytest.mark.parametrize(
    "above, bar, left, counts, many",
    [
        ([0.20, 0.0, 0.0], "most", 60.0, 0.20, 1),
        ([0.25, 0.0, 0.0], "pairs", 60.0, 0.25, 1),
        ([0.25, 0.10, 0.0], "most", 60.0, 0.10, 2),
        ([0.25, 0.30, 0.21], "most", 60.0, 0.21, 3),
        ([0.35, 0.28, 0.31], "some", 60.0, 0.28, 3),
        ([math.inf, math.inf, math.inf], "pairs", 60.0, math.inf, 3),
        ([0.25, 0.10, 0.0], "most", 1.9, 0.25, 1),  # it takes a second, and might not be done in time
        ([0.25, CheckFailed("no"), 0.0], "most", 60.0, 0.25, 2),
        ([0.25, StudentError(Failure("ValueError", "no", None, 0)), 0.0], "most", 60.0, 0.25, 2),
    ],
)
def test_a_model_that_misses_a_bar_is_trained_again_and_the_best_counts(monkeypatch, above, bar, left, counts, many):
    tried = []

    def trained(submission, draw, nth=0):
        tried.append(nth)
        if isinstance(above[nth], Exception):
            raise above[nth]
        return checks.Trained(above[nth], 0.0, 1.0, False, False)

    monkeypatch.setattr(checks, "trained", trained)
    monkeypatch.setattr(Submission, "seconds_left", lambda submission: left)
    found = checks.best_trained(Submission(Local({})), Draw(1, "MyModel/x"), checks.BARS[bar])
    assert found.above == counts and tried == list(range(many))


def test_tokens_that_are_sent_one_by_one_are_never_sent_together():
    class Model(torch.nn.Module):
        def step(self, token, state):
            return torch.zeros(len(token), 3), [token]

    asked = RecordingTransport(Local({"Model": Model}))
    submission = Submission(asked)
    submission.build("Model").read(torch.tensor([1, 2]))
    log = RequestLog()
    log.keep("MyModel", 1, "test_step", asked)
    assert not log.known
    afresh = RecordingTransport(Local({"Model": Model}))
    Submission(afresh).afresh()
    log.keep("MyModel", 1, "test_step", afresh)
    assert not log.known


def test_a_model_that_is_built_again_learns_and_reads_from_the_beginning():
    """Requests may be asked twice, so an object may get the number of another."""
    text = torch.randint(3, (4, 2, 9), generator=torch.Generator().manual_seed(0))
    answer = {"MyModel": Counts}
    local = Local(answer)
    first, second = (Submission(local) for _ in range(2))
    models = [one.build("MyModel", 3) for one in (first, second)]
    assert [model.target for model in models] == [0, 0]
    losses = []
    for submission, model in zip((first, second), models, strict=True):
        submission.settle()
        losses.append(model.learn(text, [0.1] * 4, 1.0).losses)
        model.read(torch.tensor([1, 2]))
        assert [part.tolist() for part in model.memory(10)] == [[1]]
    assert torch.equal(*losses)


class Counts(torch.nn.Module):
    """A table of pairs, whose state counts the tokens."""

    def __init__(self, size):
        super().__init__()
        self.rows = torch.nn.Embedding(size, size)

    def forward(self, idx):
        return self.rows(idx)

    def step(self, token, state=None):
        return self.rows(token), [torch.tensor([1]) if state is None else state[0] + 1]


@pytest.mark.parametrize(
    "state, numbers",
    [
        ([torch.zeros(0, 7)], 0),
        ([torch.zeros(3)], 5),
        ([torch.zeros(3), 4], 3),
        ({"a": torch.zeros(3)}, 3),
        ([torch.zeros(3, device="meta")], 3),
        ("keys", 0),
        (None, 0),
    ],
)
def test_a_state_is_a_list_of_tensors_that_hold_something(state, numbers):
    tensors = []
    reply = {"ok": True, "numbers": numbers, "value": wire.pack(state, tensors)}
    with pytest.raises(wire.WireError):
        replies.memory(reply, tensors, most=100)


def test_a_state_that_is_too_large_is_not_sent():
    assert replies.memory({"ok": True, "numbers": 101, "value": wire.pack([], [])}, [], most=100) is None


@pytest.mark.parametrize("losses", [torch.zeros(3), torch.zeros(2, dtype=torch.float64), [0.0] * 3, None])
def test_training_answers_with_one_loss_for_each_step(losses):
    tensors = []
    reply = {"ok": True, "losses": wire.pack(losses, tensors), "products": 7}
    with pytest.raises(wire.WireError):
        replies.learnt(reply, tensors, 3)


def test_what_was_measured_is_stored_and_nothing_else_is_taken_for_it():
    outcome = Outcome("MyModel", 1.0, 1.0, "graded", measured={"loss": 0.5, "bytes": 128})
    data = json.loads(Verdict("", [outcome], seed=1).to_json())
    assert Verdict.from_dict(data).exercises[0].measured == {"loss": 0.5, "bytes": 128}
    del data["exercises"][0]["measured"]
    assert Verdict.from_dict(data).exercises[0].measured == {}  # an older record
    for wrong in ({"loss": "0"}, {"speed": 1.0}, {"loss": float("nan")}, [1.0], {"loss": True}):
        data["exercises"][0]["measured"] = wrong
        with pytest.raises(VerdictError):
            Verdict.from_dict(data)
    submission = Submission(Local({}))
    submission.measure("loss", float("inf"))
    assert submission.measured == {} and set(MEASURES) == {"loss", "bytes"}
    with pytest.raises(ValueError, match="none of what can be measured"):
        submission.measure("speed", 1.0)


def test_the_desk_tells_what_was_measured_only_where_it_tells_all():
    from autograder.desk import disclosure, settings

    outcome = Outcome("MyModel", 1.0, 1.0, "graded", measured={"loss": 0.5, "bytes": 128})
    told = {level: disclosure.limited(outcome, level) for level in (settings.POINTS, settings.NAMES, settings.ALL)}
    assert [found.measured for found in told.values()] == [{}, {}, {"loss": 0.5, "bytes": 128}]


class Summed(torch.nn.Module):
    """Rows of what came so far, with a part of them left out at random."""

    def __init__(self, size):
        super().__init__()
        self.rows = torch.nn.Embedding(size, size)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, idx):
        return self.dropout(self.rows(idx).cumsum(1))


class AlwaysRandom(Summed):
    def forward(self, idx):
        return torch.nn.functional.dropout(self.rows(idx).cumsum(1), 0.1)


class NormOfTexts(Summed):
    def forward(self, idx):
        rows = self.rows(idx).cumsum(1)
        return rows / rows.square().mean(dim=1, keepdim=True).sqrt()


@pytest.mark.parametrize(
    "made, random, early", [(Summed, False, False), (AlwaysRandom, True, True), (NormOfTexts, False, True)]
)
def test_dropout_is_no_look_at_what_comes(made, random, early):
    """`nn.Dropout` costs nothing; what is random in eval mode is told as that, before anything that follows from it."""
    submission = Submission(Local({"MyModel": made}))
    found = checks.rehearsed(submission, Draw(1, "MyModel/x"))
    assert (found.random, found.early, found.looks) == (random, early, True)
    if random or early:
        with pytest.raises(CheckFailed, match="come again" if random else "an earlier place"):
            checks.no_later_token(submission, found)
    else:
        checks.no_later_token(submission, found)


KEEPS = """
KEPT = []


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.rows = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx):
        return self.rows(idx) + self.rows(idx).cumsum(1)

    def step(self, token, state=None):
        if state is None:
            KEPT.clear()
        KEPT.append(self.rows(token))
        return KEPT[-1] + sum(KEPT), [token]
"""


@pytest.mark.slow("it trains a model")
def test_what_is_kept_outside_of_the_state_is_lost_halfway(grader, tmp_path):
    """In the sandbox, where the other process is another one."""
    path = tmp_path / "answer.py"
    path.write_text("import torch\nfrom torch import nn\n" + KEEPS)
    outcome = grader.grade_file(path, "MyModel").verdict.exercise("MyModel")
    passed = {check.name: check.passed for check in outcome.checks}
    assert passed["test_step"] and passed["test_causal"] and not passed["test_state"] and not passed["test_cache"]
    assert outcome.measured == {}


def test_parts_and_solution_of_the_capstone_are_not_in_its_release():
    release = json.dumps(load(ROOT / "release" / NAME / f"{NAME}.ipynb"))
    solution = course.answer_of(course.solution_of("MyModel").source)
    for line in (line.strip() for line in solution.splitlines()):
        assert (
            len(line) < 40 or line.startswith(('"""', "def ", "class ", "#")) or json.dumps(line)[1:-1] not in release
        )


class OnlyNow(Summed):
    """In `step` a token sees itself alone."""

    def step(self, token, state=None):
        return self.rows(token), [token]


class FirstAndNow(Summed):
    def step(self, token, state=None):
        first = self.rows(token) if state is None else state[0]
        return first + self.rows(token) * (state is not None), [first]


class WithoutItself(Summed):
    """In `step` a token sees what came before it, the first one apart."""

    def step(self, token, state=None):
        past = torch.zeros(len(token), badges.SIZE) if state is None else state[0]
        now = past + self.rows(token)
        return now if state is None else past, [now]


@pytest.mark.parametrize(
    "made, looks", [(OnlyNow, [False] * 2), (FirstAndNow, [True, False]), (WithoutItself, [True] * 2)]
)
def test_what_step_looks_at_is_told_apart(made, looks):
    submission = Submission(Local({"MyModel": made}))
    found = checks.stepped(submission, Draw(1, "MyModel/x"))
    assert [found.tells(checks.FIRST_TOKEN), found.tells(checks.ANOTHER)] == looks
    with pytest.raises(CheckFailed, match="not at the first token, but later") as told:
        checks.agrees(submission, found)
    assert ("It sees what came before" in str(told.value)) == all(looks)


class ForgetsLate(Summed):
    """Its state is right for a while, in whatever process."""

    def step(self, token, state=None):
        past, many = state or (torch.zeros(len(token), badges.SIZE), torch.zeros(1))
        now = past * (many < checks.HALF + 1) + self.rows(token)
        return now, [now, many + 1]


class CountsOutside(Summed):
    """What it sums up is in the state, and how many tokens there were is in an attribute."""

    def step(self, token, state=None):
        self.many = 0 if state is None else getattr(self, "many", 0)
        past = torch.zeros(len(token), badges.SIZE) if state is None else state[0]
        now = past * (self.many > 0) + self.rows(token)
        self.many += 1
        return now, [now]


@pytest.mark.parametrize("made, goes_on", [(ForgetsLate, False), (CountsOutside, True)])
def test_what_is_lost_with_the_process_is_told_from_what_is_lost_anyhow(made, goes_on):
    submission = Submission(Local({"MyModel": made}, again=lambda: {"MyModel": made}))
    found = checks.stepped(submission, Draw(1, "MyModel/x"))
    assert found.goes_on == goes_on
    with pytest.raises(CheckFailed, match="in a new process" if goes_on else "in whatever process"):
        checks.remembers(submission, found)


@pytest.mark.parametrize(
    "exercise, left, blamed", [("MyModel", "ab", False), ("MyModel", "", True), ("Block", "ab", True)]
)
def test_a_part_is_blamed_only_if_the_course_s_own_makes_all_right(exercise, left, blamed):
    """In a model of any parts one that is called `KVCache` may be meant as something simpler."""

    def run(checks):
        rejected = [SimpleNamespace(name=name) for name in checks]
        return SimpleNamespace(exercise=exercise, stopped=None, rejected=lambda: rejected)

    assert blame._is_better(run(left), run("abc")) == blamed


@pytest.mark.parametrize("blamed", [False, True])
def test_mistakes_of_a_part_are_looked_for_only_if_it_is_to_blame(grader, tmp_path, monkeypatch, blamed):
    """In a model of any parts a wrong one is often meant as something simpler. No solution is there to be seen."""
    asked = []

    def noted(run):
        assert not run.transport.has_solutions or blamed and run.exercise == "MyModel"
        asked.append(run.exercise)
        return []

    monkeypatch.setattr(grader.diagnostician, "diagnose", noted)
    monkeypatch.setattr(grader.diagnostician, "ask_ahead", lambda run: noted(run) or asked.append("ahead"))
    if blamed:
        monkeypatch.setattr(blame, "_is_better", lambda *given: True)
    path = tmp_path / "answer.py"
    part = "class RMSNorm(nn.Identity):\n    pass\n"
    uses = KEEPS.replace("return KEPT[-1] + sum(KEPT)", "return RMSNorm()(KEPT[-1] + sum(KEPT))")
    path.write_text("\n\n".join(["import torch\nfrom torch import nn", part, uses]))
    grader.grade_file(path, "MyModel")
    # beside a right part, then as it is, then for the mistakes of its own copy of the part, which nothing else names
    assert asked == (["RMSNorm", "MyModel", "ahead", "MyModel", "MyModel"] if blamed else ["MyModel"])


@pytest.mark.slow("the capstone's parts take seconds to diagnose")
@pytest.mark.parametrize("wrong, blamed", [("cache", "KVCache"), ("attention", "GroupedQueryAttention")])
def test_a_part_is_blamed_by_its_own_name(grader, tmp_path, monkeypatch, wrong, blamed):
    """The course's answer to `KVCache` defines the attention that uses it as well."""
    answer = (course.folder_of("MyModel") / "answers" / "grouped.py").read_text()
    slips = {"cache": ("self.keys, self.values = keys, values", "pass"), "attention": (".tril(start)", "")}
    assert answer.count(slips[wrong][0]) == 1
    path = tmp_path / "answer.py"
    path.write_text(answer.replace(*slips[wrong]))
    monkeypatch.setattr(grader.diagnostician, "diagnose", lambda run: [])
    monkeypatch.setattr(grader.diagnostician, "ask_ahead", lambda run: None)
    named = [one.id for one in grader.grade_file(path, "MyModel").verdict.exercise("MyModel").diagnosis]
    assert named == [f"stands-on-{blamed}"]


class OfTokens(torch.nn.Module):
    """Logits of each token alone, through a matrix."""

    def __init__(self, size):
        super().__init__()
        self.rows, self.layer = torch.nn.Embedding(size, 6), torch.nn.Linear(6, size, bias=False)

    def forward(self, idx):
        return self.layer(self.rows(idx))


class OfFilters(OfTokens):
    """The same through a filter that is as wide as a token."""

    def __init__(self, size):
        super().__init__(size)
        self.layer = torch.nn.Conv1d(6, size, 1, bias=False)

    def forward(self, idx):
        return self.layer(self.rows(idx).mT).mT


def test_a_filter_multiplies_as_a_matrix_does():
    text = torch.randint(3, (1, 2, 9), generator=torch.Generator().manual_seed(0))
    models = [Submission(Local({"MyModel": made})).build("MyModel", 3) for made in (OfTokens, OfFilters)]
    counts = [model.learn(text, [0.1], 1.0).products for model in models]
    assert abs(counts[0] - counts[1]) < 100 and min(counts) > 3 * 16 * 18


def without_mlp_in_step():
    """The delta rule's answer with one line of `step` missing."""
    head, line, tail = (
        answer_path("MyModel", "delta")
        .read_text()
        .rpartition("            x = x + self.think[layer](self.norms[2 * layer + 1](x))\n")
    )
    assert line
    return head + tail


@pytest.mark.slow("it trains a model for 20 steps, and steps through texts")
@pytest.mark.parametrize("slip", ["not causal", "a line of `step` missing"])
def test_what_does_not_depend_on_a_slip_keeps_its_points(graders, slip):
    """Neither the budget nor what the state holds depends on what `forward` looks at, or on whether the forms agree."""
    is_step = slip != "not causal"
    text = without_mlp_in_step() if is_step else bank("MyModel")["not-causal"].source
    run = graders.run("MyModel", Local(namespace_of("MyModel/slip", text)), 1)
    passed = {check.name for check in run.checks if check.passed}
    expected = {"test_forward", "test_weights", "test_products", "test_state", "test_cache"}
    assert passed == expected | ({"test_causal"} if is_step else set())
