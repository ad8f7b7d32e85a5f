"""What a language model needs of the kit: generators and stub models as arguments, methods, attributes, modes."""

import runpy

import pytest
import torch
from conftest import ROOT
from sample import PARTS_OF_A_LESSON

from autograder import course
from autograder.checks import api
from autograder.checks.proxies import Counts, Local, StudentError, Submission, Transcript
from autograder.checks.runner import Graders
from autograder.demo import run as demo
from autograder.grading.grader import Workspace, cells_of
from autograder.mistakes.bank import bank, namespace_of, right_answer
from autograder.mistakes.diagnosis import diagnose
from autograder.mistakes.evidence import likeness
from autograder.sandbox.inside import stubs, wire
from autograder.sandbox.replies import Failure
from autograder.submission.read import read_file
from autograder.submission.restore import RestoredCell

pytestmark = PARTS_OF_A_LESSON


class Box:
    """An object that is no module."""

    size = 3

    def __init__(self, text):
        self.text = text

    def upper(self):
        return self.text.upper()

    def fail(self):
        raise KeyError(self.text)


def look(model, idx, generator=None, mode=None):
    if mode is not None:
        model.train(mode)
    with torch.no_grad():
        logits, loss = model(idx)
    return logits, loss, torch.rand(3, generator=generator)


NAMESPACE = {"Box": Box, "look": look, "spoil": lambda model: setattr(model, "seen", [1, "x"])}


@pytest.fixture
def here():
    return Submission(Local(NAMESPACE))


def rolled(submission, v=5, block_size=4):
    profile = [float(i) for i in range(v)]
    return submission.stub("Rolled", profile=profile, weights=list(range(1, block_size + 1)))


def test_methods_and_attributes_of_an_object(here):
    box = here.build("Box", "abc")
    assert box.method("upper")() == "ABC"
    assert box.attribute("size") == 3 and box.attribute("text") == "abc"
    assert box.method("fail").error().type == "KeyError"
    with pytest.raises(StudentError, match="has no attribute `colour`"):
        box.attribute("colour")
    assert box.method("colour").error().sentence() == "Your `Box` has no attribute `colour`."
    assert isinstance(box.attribute("upper"), wire.Opaque)


def test_generators_can_be_arguments(here):
    model, idx = rolled(here), torch.zeros(1, 2, dtype=torch.int64)
    draws = [here.function("look")(model, idx, wire.Generator(seed))[2] for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    assert torch.equal(draws[0], torch.rand(3, generator=torch.Generator().manual_seed(1)))
    assert here.last.drew is False
    here.function("look")(model, idx)
    assert here.last.drew is True


def test_no_generator_is_taken_from_the_sandbox():
    node = wire.pack(wire.Generator(3), [])
    assert isinstance(wire.unpack(node, [], objects={}), torch.Generator)
    with pytest.raises(wire.WireError):
        wire.unpack(node, [])
    for seed in ("x", None, 2**70, [1]):
        with pytest.raises(wire.WireError):
            wire.unpack({"generator": seed}, [], objects={})


def test_modes_can_be_read(here):
    model, idx = rolled(here), torch.zeros(1, 2, dtype=torch.int64)
    assert model.training() is True
    here.function("look")(model, idx, mode=False)
    assert model.training() is False


def test_what_a_stub_saw(here):
    model, idx = rolled(here), torch.tensor([[1, 2, 3]])
    here.function("look")(model, idx, mode=False)
    (call,) = model.seen()
    assert torch.equal(call.idx, idx)
    assert (call.targets, call.training, call.graph) == (None, False, False)
    assert model.seen() == []
    here.function("spoil").do(model)
    with pytest.raises(wire.WireError):
        model.seen()


def test_a_stub_notes_that_a_gradient_came_back():
    model, idx = stubs.Window(vocab_size=3, block_size=4, memory=2, width=2, n_hidden=3), torch.tensor([[0, 1, 2]])
    loss = model(idx, idx)[1]
    assert model.differentiated == 0
    loss.backward()
    assert model.differentiated == 1
    with torch.no_grad():
        model(idx, idx)


def test_a_stub_remembers_a_bounded_number_of_calls():
    model = stubs.Rolled([0.0, 1.0], [1])
    for _ in range(stubs.MOST_SEEN + 5):
        model(torch.zeros(1, 1, dtype=torch.int64))
    assert len(model.seen) == stubs.MOST_SEEN


@pytest.mark.parametrize("name", stubs.STUBS)
@pytest.mark.parametrize("shape", [(2, 5), (2, 0), (4,)])
def test_a_stub_refuses_what_does_not_fit(name, shape):
    made = {
        "Rolled": lambda: stubs.Rolled([0.0] * 3, [1] * 4),
        "Window": lambda: stubs.Window(vocab_size=3, block_size=4, memory=2, width=2, n_hidden=3),
        "Table": lambda: stubs.Table(vocab_size=3, block_size=4),
    }
    with pytest.raises(ValueError):
        made[name]()(torch.zeros(shape, dtype=torch.int64))


def test_rolled_by_hand():
    model = stubs.Rolled([5.0, 0.0, 1.0], [1, 2]).eval()
    logits, loss = model(torch.tensor([[2, 1]]), torch.tensor([[0, 1]]))
    # s is 2, then 1 + 2 · 2 = 5 = 2 (mod 3); so 5.0 stands at 2, 0.0 at 0 and 1.0 at 1
    assert logits.tolist() == [[[0.0, 1.0, 5.0], [0.0, 1.0, 5.0]]]
    right = -torch.tensor([0.0, 1.0, 5.0]).log_softmax(0)[:2].mean()
    assert loss.item() == pytest.approx(right.item())
    assert model.train()(torch.tensor([[2, 1]]))[0][0, 1].tolist() == [5.0, 0.0, 1.0]


def test_it_all_works_in_the_sandbox(grader):
    child = grader.parent.fork()
    try:
        source = (
            "import torch\nclass Box:\n    size = 3\n    def twice(self, x): return [x, 2.0 * x]\n"
            "def draw(model, generator): model.eval(); return torch.rand(2, generator=generator)\n"
            "def learn(model, idx): model(idx, idx)[1].backward()\n"
        )
        child.request({"op": "cell", "source": source, "name": "cell 1"})
        submission = Submission(
            type("Transport", (), {"ask": staticmethod(lambda m, t: child.request(m, t)), "lacks": {}})
        )
        box = submission.build("Box")
        assert box.method("twice")(1.5) == [1.5, 3.0] and box.attribute("size") == 3
        model = rolled(submission)
        got = submission.function("draw")(model, wire.Generator(5))
        assert torch.equal(got, torch.rand(2, generator=torch.Generator().manual_seed(5)))
        assert model.training() is False and model.seen() == []
        assert model.method("profile").attribute("grad") is None
        submission.function("learn").do(model, torch.tensor([[0, 1]]))
        assert isinstance(model.method("profile").attribute("grad"), torch.Tensor)
    finally:
        child.kill()


# --- what a refusal says --------------------------------------------------------------------------


def refusal(message):
    return StudentError(Failure("ValueError", message, None, 0, value_error=True))


@pytest.mark.parametrize("message", ["17 tokens, at most 13", "(2, 17, 4): 13", "n=17 > m=13", "'17' of '13'"])
def test_numbers_that_are_said_are_found(message):
    api.refuses(refusal(message), "it", 17, 13)


@pytest.mark.parametrize("message", ["117 and 132", "17", "too long", " ".join(map(str, range(100)))])
def test_numbers_that_are_not_said_are_not_found(message):
    with pytest.raises(api.CheckFailed):
        api.refuses(refusal(message), "it", 17, 13)


ANYTHING = " ".join([*map(str, range(100)), *"#~@^ЖЩЯфцλπ中"])


@pytest.mark.parametrize("exercise, check", [("get_batch", "test_too_short"), ("padding_mask", "test_too_long")])
def test_one_message_for_all_is_no_refusal(exercise, check):
    namespace = runpy.run_path(str(min((ROOT / "autograder" / "exercises" / exercise / "answers").glob("*.py"))))
    right = namespace[exercise]

    def wrong(*args, **kwargs):
        try:
            return right(*args, **kwargs)
        except ValueError:
            raise ValueError(ANYTHING) from None

    run = Graders().run(exercise, Local({**namespace, exercise: wrong}), 0)
    assert [one.name for one in run.failed()] == [check]


def test_one_message_for_all_characters_is_no_refusal():
    namespace = runpy.run_path(str(min((ROOT / "autograder" / "exercises" / "CharTokenizer" / "answers").glob("*.py"))))

    class Wrong(namespace["CharTokenizer"]):
        def encode(self, text):
            try:
                return super().encode(text)
            except ValueError:
                raise ValueError(ANYTHING) from None

    run = Graders().run("CharTokenizer", Local({"CharTokenizer": Wrong}), 0)
    assert [one.name for one in run.failed()] == ["test_unknown_character"]


# --- what is drawn ----------------------------------------------------------------------------------


def test_right_draws_are_within_the_bounds():
    chances = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    for seed in range(200):
        drawn = torch.multinomial(chances, 500, replacement=True, generator=torch.Generator().manual_seed(seed))
        api.frequencies(torch.bincount(drawn, minlength=4), chances, "draws", "abcd")


@pytest.mark.parametrize(
    "counts, says",
    [
        ([500, 0, 0, 0], "100.0% were a: too often to be chance"),
        ([275, 150, 75, 0], "0.0% were d: too rarely to be chance"),
        ([300, 180, 10, 10], "were c: too rarely to be chance"),
    ],
)
def test_draws_of_other_chances_are_rejected(counts, says):
    chances = torch.tensor([0.5, 0.3, 0.15, 0.05])
    with pytest.raises(api.CheckFailed, match=says):
        api.frequencies(torch.tensor(counts), chances, "draws", "abcd")


@pytest.mark.parametrize("many, draws", [(11, 3000), (25, 2000), (40, 400)])
def test_draws_that_are_too_even_are_rejected(many, draws):
    alike = torch.full((many,), 1 / many)
    for seed in range(200):
        drawn = torch.randint(many, (draws,), generator=torch.Generator().manual_seed(seed))
        api.frequencies(torch.bincount(drawn, minlength=many), alike, "draws", range(many))
    with pytest.raises(api.CheckFailed, match="more evenly than by chance"):
        api.frequencies(torch.bincount(torch.arange(draws) % many, minlength=many), alike, "draws", range(many))


@pytest.mark.parametrize("chances, draws", [([0.5, 0.5], 6), ([0.2, 0.3, 0.5], 8), ([0.25] * 4, 8)])
def test_the_bound_of_even_draws_is_one(chances, draws):
    chances = torch.tensor(chances, dtype=torch.float64)
    every = torch.cartesian_prod(*[torch.arange(len(chances))] * draws)
    counts = torch.stack([(every == i).sum(1) for i in range(len(chances))], dim=1)
    likely, far = chances[every].prod(1), ((counts - draws * chances) ** 2 / (draws * chances)).sum(1)
    for count, x in zip(counts[:: len(counts) // 50], far[:: len(counts) // 50], strict=True):
        assert likely[far <= x + 1e-12].sum().log() <= api.evenness(count, chances) + 1e-9


def test_counts_are_the_same_but_for_chance():
    def same(a, b):
        return likeness(Transcript([("noted", a)]), Transcript([("noted", b)]), Transcript()).alike

    one, two, other = (Counts(torch.tensor(c)) for c in ([480, 320, 200], [510, 300, 190], [300, 300, 400]))
    assert same([one], [two]) and same(one, one)
    assert not same(one, other) and not same(one, Counts(torch.tensor([500, 500])))
    assert not same(one, torch.tensor([480, 320, 200]))


# --- the exercises ----------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", ["CharTokenizer", "get_batch", "generate", "train"])
def test_right_answers_pass_in_the_sandbox(grader, exercise):
    """One after the other, each within the limits of a call; the notebook of the course is not needed for it."""
    graders = Graders()
    for path in sorted((ROOT / "autograder" / "exercises" / exercise / "answers").glob("*.py")):
        workspace = Workspace(grader.parent, [RestoredCell("code", path.read_text(), "")])
        try:
            workspace.begin_exercise()
            run = graders.run(exercise, workspace, 5)
        finally:
            workspace.close()
        assert run.stopped is None, (path.stem, run.stopped)
        assert [check.message for check in run.failed()] == [], path.stem


MENDED = {  # what stops the original of `generate`, in the order in which one meets it, and how it is mended
    "block_size": ("idx[:, -block_size:]", "idx[:, -model.block_size:]"),
    "three things": ("logits, loss, x =", "logits, loss ="),
    "generator": ('max_new_tokens):\n    "', 'max_new_tokens, generator=None):\n    "'),
    "handed on": ("num_samples=1)", "num_samples=1, generator=generator)"),
}


@pytest.mark.parametrize(
    "mended, score, named",
    [
        (0, 0, ["original-003"]),
        (1, 0, ["three-things-expected", "no-generator-taken"]),
        (2, 4.5, ["no-generator-taken", "train-mode"]),
        (3, 4.5, ["generator-ignored", "train-mode", "graph-recorded"]),
        (4, 5, ["train-mode", "graph-recorded"]),
    ],
)
def test_generate_as_it_was_given_is_named_defect_by_defect(mended, score, named):
    """What cannot be seen is named as soon as what stops the original has been mended."""
    source = bank("generate")["original-003"].source
    for old, new in list(MENDED.values())[:mended]:
        assert source.count(old) == 1
        source = source.replace(old, new)
    graders = Graders()
    run = graders.run("generate", Local(namespace_of(f"generate mended {mended}", source), source), 0)
    assert sum(check.points for check in run.checks if check.passed) == score
    assert [d.id for d in diagnose(run, graders)] == named


CHEATS = {
    "the losses that are hoped for": """
def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    return [1.4 - 0.7 * min(1.0, i / 40) for i in range(steps)]
""",
    "a model that praises itself": """
def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    type(model).logits = lambda self, idx: idx.new_zeros(*idx.shape, 4).float()
    model.seen = [{"idx": data[:3], "targets": data[:3], "training": True, "graph": True}] * 99
    return [0.7] * steps
""",
    "witnesses that were bribed": """
def generate(model, idx, max_new_tokens, generator=None):
    model.seen.append({"idx": idx, "targets": None, "training": False, "graph": False})
    return torch.cat([idx, torch.zeros(len(idx), max_new_tokens, dtype=torch.int64)], dim=1)
""",
    "a tokenizer that is equal to everything": """
class Always(list):
    def __eq__(self, other): return True
class Text(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class CharTokenizer:
    def __init__(self, text): self.vocab_size = Always()
    def encode(self, text): return Always()
    def decode(self, ids): return Text("no")
""",
    "attributes that never end": """
class CharTokenizer:
    def __init__(self, text): pass
    def __getattr__(self, name): return self
    def __call__(self, *args): return [self] * 10**5
""",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gets_nothing(grader, cheat):
    source = "import torch\n" + CHEATS[cheat]
    exercise = next(e for e in ("train", "generate", "CharTokenizer") if f" {e}" in source)
    workspace = Workspace(grader.parent, [RestoredCell("code", source, "")])
    graders = Graders()
    try:
        workspace.begin_exercise()
        run = graders.run(exercise, workspace, 5)
    finally:
        workspace.close()
    assert not [check.name for check in run.checks if check.passed]


MISTAKES = {
    ("generate", "flattened"): """
def generate(model, idx, max_new_tokens, generator=None):
    mode = model.training
    model.eval()
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(idx[:, -model.block_size :])[0][:, -1].double() / 2
            noise = torch.rand(logits.shape, generator=generator, dtype=torch.float64)
            idx = torch.cat([idx, (logits - (-noise.log()).log()).argmax(1, keepdim=True)], dim=1)
    model.train(mode)
    return idx
""",
    ("get_batch", "last-start-missing"): """
def get_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(f"{len(data)} against {block_size}")
    chances = torch.ones(max(1, len(data) - block_size - 1))
    starts = torch.multinomial(chances, batch_size, replacement=True, generator=generator)
    rows = torch.stack([data[s : s + block_size + 1] for s in starts])
    return rows[:, :-1], rows[:, 1:]
""",
    ("train", "batch-size-ignored"): """
def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=lr), []
    model.train()
    windows = data.unfold(0, model.block_size + 1, 1)
    for _ in range(steps):
        rows = windows[torch.multinomial(torch.ones(len(windows)), 32, replacement=True, generator=generator)]
        loss = torch.nn.functional.cross_entropy(model(rows[:, :-1])[0].flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
""",
}


@pytest.mark.parametrize("exercise, id", MISTAKES)
def test_a_mistake_is_named_however_chance_was_used(exercise, id):
    """What is drawn differs from that of the wrong answer in the bank: what is counted does not."""
    namespace = {"torch": torch}
    exec(MISTAKES[exercise, id], namespace)
    graders = Graders()
    run = graders.run(exercise, Local(namespace), 5)
    assert [d.id for d in diagnose(run, graders)] == [id]


def test_whatever_is_drawn_for_train_a_first_case_is_found():
    """280016407982470 draws a model for which no text of one block tells wrong targets from right ones."""
    graders, namespace = (
        Graders(),
        runpy.run_path(str(ROOT / "autograder" / "exercises" / "train" / "answers" / "plain.py")),
    )
    for seed in (280016407982470, *range(100)):
        (made,) = graders.run("train", Local(namespace), seed, only="test_one_step").checks
        assert made.passed, made.message


def test_training_by_a_wrong_schedule_is_paid_at_the_schedule(grader):
    """The course's answer calls `tqdm`, which the setup cell gives: it is what a right one does on such a schedule."""
    names = ["get_batch", "learning_rate", "clip_gradients", "train_by_recipe"]
    texts = {name: right_answer(name) for name in names} | {
        "learning_rate": bank("learning_rate")["pi-forgotten"].source
    }
    assert "tqdm(" in texts["train_by_recipe"]
    imports = "import math\n\nimport torch\nfrom tqdm import tqdm"
    cells = [RestoredCell("code", text, "") for text in (imports, *texts.values())]
    wanted = [course.exercises()[name] for name in ("learning_rate", "train_by_recipe")]
    schedule, training = grader.grade_cells(cells, wanted, 1).verdict.exercises
    assert [one.id for one in schedule.diagnosis] == ["pi-forgotten"] and schedule.by_prices < schedule.max_score
    assert [(one.id, one.price) for one in training.diagnosis] == [("stands-on-learning_rate", 0.0)]
    assert training.by_checks < training.by_prices == training.max_score


@pytest.mark.parametrize(
    ("student", "exercise", "mistake", "also"),
    [
        ("greta", "train", "targets-not-shifted", []),
        ("kaya", "BigramLanguageModel", "scale-by-embedding-width", ["Head"]),
    ],
)
def test_a_mistake_in_a_copy_is_named_where_the_copy_is(grader, tmp_path, student, exercise, mistake, also):
    """Greta's `train` has its own copy of `get_batch`, which is graded as well. Kaya's model has a copy of `Head`,
    which is not, so nothing else names its mistake.
    """
    lesson = course.find_assignment("07")
    (tmp_path / "release").symlink_to(ROOT / "release")
    demo.hand_in(tmp_path, lesson, [one for one in demo.read_class(lesson) if one.name == student])
    (path,) = tmp_path.glob("submitted/*/*/*.ipynb")
    wanted = [course.exercises()[name] for name in ("get_batch", exercise)]
    *_, outcome = grader.grade_cells(cells_of(read_file(path)), wanted, 1).verdict.exercises
    said = [(one.id, one.has_price) for one in outcome.diagnosis]
    assert said == [*((f"stands-on-{base}", True) for base in also), (mistake, True)]
