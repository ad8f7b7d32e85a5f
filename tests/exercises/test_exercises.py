"""The graders against the mistakes, which they must reject and tell apart, and against right answers."""

import re
import runpy
from dataclasses import replace

import pytest
import torch
from conftest import ROOT
from pretended_gpu import PretendedGpu
from sample import changed
from seeds import SEEDS
from torch import nn

from autograder import course
from autograder.checks import api
from autograder.checks.proxies import Local, Submission
from autograder.checks.runner import Graders, Stopped
from autograder.errors import UsageError
from autograder.exercises.families.causal_head import checks as causal_head
from autograder.mistakes import matrix
from autograder.mistakes.bank import bank
from autograder.mistakes.diagnosis import Diagnostician, diagnose
from autograder.mistakes.evidence import likeness

EXERCISES = sorted(course.exercises(ROOT))
HONEST = sorted((ROOT / "autograder" / "exercises").glob("*/answers/*.py"))
STYLES = 4  # right answers of an exercise
SEED = 1  # of mistakes


pytestmark = pytest.mark.usefixtures("uncompiled")


def score(run):
    return sum(check.points for check in run.checks if check.passed)


# --- mistakes -------------------------------------------------------------------------------


def test_two_mistakes_in_one_submission_are_both_named(graders):
    class CrashesMended(nn.Module):
        """Original 001 without its crashes: it mixes the inputs, and takes any rank."""

        def __init__(self, k):
            super().__init__()
            self.k = k
            self.toqueries = nn.Linear(k, k, bias=False)
            self.tokeys = nn.Linear(k, k, bias=False)
            self.tovalues = nn.Linear(k, k, bias=False)

        def forward(self, x):
            scores = torch.mm(self.toqueries(x), self.tokeys(x).transpose(0, 1)) / self.k**0.5
            return torch.mm(scores.softmax(1), x)

    run = graders.run("SingleHeadSelfAttention", Local({"SingleHeadSelfAttention": CrashesMended}), 0)
    assert [d.id for d in diagnose(run, graders)] == ["inputs-as-values", "rank-not-checked"]


@pytest.mark.parametrize(
    ("shift", "left"),
    [
        ("", 3),
        (" - scores.mean(dim, keepdim=True)", 3),
        (" - scores.amax(dim, keepdim=True)", 6),
        (" - scores.max()", 4.5),
    ],
)
def test_the_one_idea_of_softmax_is_half_of_its_points(graders, diagnostician, shift, left):
    """Full marks less the prices of what is named, or the points of the checks that pass, if these are more."""
    powers = f"    powers = torch.exp(scores{shift})\n"
    text = f"def softmax(scores, dim=-1):\n{powers}    return powers / powers.sum(dim, keepdim=True)\n"
    values = {"torch": torch}
    exec(text, values)
    run = graders.run("softmax", Local(values, text), SEED)
    by_checks, named = score(run), diagnostician.diagnose(run) if run.failed() else []
    assert max(by_checks, 6 * (1 - sum(one.price for one in named))) == left


@pytest.mark.slow("it searches through all pairs")
def test_a_mistake_that_nobody_has_named_is_not_named(graders):
    def attention(query, key, value, mask=None):
        if min(query.dim(), key.dim(), value.dim()) < 2:
            raise ValueError("rank")
        weights = (query @ key.mT / 1.7).softmax(-1)
        return weights @ value, weights

    run = graders.run("attention", Local({"attention": attention}), 0)
    assert run.failed()
    assert [one.id for one in diagnose(run, graders)] == ["place-scale"]


@pytest.mark.parametrize("exercise", ["attention"])
def test_a_check_alone_sees_what_it_sees_among_all(graders, runs, exercise):
    whole = runs(exercise, "no-scale", SEED)
    for check in whole.checks:
        namespace = bank(exercise)["no-scale"].namespace()
        alone = graders.run(exercise, Local(namespace), SEED, only=check.name)
        assert [c.passed for c in alone.checks] == [check.passed]
        one, other = (run.transcripts[check.name] for run in (alone, whole))
        assert likeness(one, other, other).alike


def test_a_run_that_was_stopped_is_not_diagnosed(runs, diagnostician):
    run = replace(runs("attention", "no-scale", SEED), stopped=Stopped("timeout", "it took too long"))
    assert diagnostician.diagnose(run) == []


def test_the_diagnostician_keeps_a_bounded_number_of_banks(graders, monkeypatch):
    monkeypatch.setattr("autograder.mistakes.diagnosis.KEPT", 1)
    diagnostician = Diagnostician(graders)
    for seed in (1, 2):
        diagnostician.behaviours("attention", seed)
    assert list(diagnostician.known) == [("attention", 2)]


# --- right answers, and none ----------------------------------------------------------------------


def exercise_of(path, **others):
    return path.parent.parent.name


def style_of(path, **others):
    """What a right answer is drawn as: alone or, where the exercise has changed, with all its others."""
    exercise = exercise_of(path)
    return exercise if exercise in changed() else f"{exercise}/{path.stem}"


@pytest.mark.drawn(3, "right answers of each exercise", by=style_of, each=exercise_of)
@pytest.mark.parametrize("path", HONEST, ids=lambda p: f"{p.parent.parent.name}/{p.stem}")
@pytest.mark.parametrize("seed", SEEDS)
def test_right_answers_get_full_marks(graders, diagnostician, path, seed):
    run = graders.run(path.parent.parent.name, Local(runpy.run_path(str(path))), seed)
    assert [check.message for check in run.failed()] == []
    assert diagnostician.diagnose(run) == []


@pytest.mark.parametrize("exercise", EXERCISES)
def test_there_are_right_answers_in_many_styles(exercise):
    found = sorted(path.name for path in HONEST if path.parent.parent.name == exercise)
    assert len(found) >= STYLES, (
        f"{exercise}: answers/ holds {len(found)} right answers ({', '.join(found)}), and the tests of this course ask"
        f" for {STYLES}, in different styles: each shows that no check is too strict"
    )


def an_honest_one(exercise):
    return next(path for path in HONEST if path.parent.parent.name == exercise)


def refuse(*args, **kwargs):
    raise ValueError("always")


def unfinished(*args, **kwargs):
    raise NotImplementedError


STUBS = {
    "nothing": lambda *args, **kwargs: None,
    "unfinished": unfinished,
    "refuses": refuse,
    "its input": lambda x, *args, **kwargs: x,
    "its inputs": lambda *args, **kwargs: args[:2],
    "zeros": lambda x, *args, **kwargs: torch.zeros_like(x),
    "not a number": lambda *args, **kwargs: float("nan"),
}


def declared(exercise, field, otherwise=None):
    """What an exercise's checks.py says of itself: `NO_DEVICE`, `METHODS`, `STANDS_FOR`."""
    return getattr(course.module_of(exercise, "checks"), field, otherwise)


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize("exercise", EXERCISES)
def test_what_computes_nothing_gets_nothing(graders, exercise, stub):
    """Neither a function nor a module that has the right layers, so that weights load, and computes nothing."""
    namespace, name = runpy.run_path(str(an_honest_one(exercise))), declared(exercise, "STANDS_FOR", exercise)
    right = namespace[name]
    wrong = STUBS[stub]
    if isinstance(right, type):
        methods = declared(exercise, "METHODS", ())
        says = {name: lambda self, *args, **kwargs: STUBS[stub](*args, **kwargs) for name in methods}
        says |= {"__init__": lambda self, *args: None} if says else {}
        says |= {"forward": lambda self, *args, **kwargs: STUBS[stub](*args, **kwargs)}
        wrong = type(name, (right,), says)
    run = graders.run(exercise, Local({**namespace, name: wrong}), 0)
    paid = ", ".join(check.name for check in run.checks if check.passed and check.points)
    assert score(run) == 0, (
        f"{exercise}: an answer that computes nothing ({stub}) gets {score(run):g} points for {paid}: have the check"
        " call the function with valid input first"
    )


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_class_that_cannot_be_built_gets_nothing(graders, exercise):
    assert score(graders.run(exercise, Local({exercise: unfinished}), 0)) == 0


LONG_CACHES = ["KVCache", "EvictingCache"]  # whose diagnosis takes fifteen seconds


@pytest.mark.drawn(1, "exercises on a pretended GPU", by="exercise", never=LONG_CACHES)
@pytest.mark.parametrize("exercise", [e for e in EXERCISES if not declared(e, "NO_DEVICE")])
def test_a_gpu_adds_a_check_and_no_points(graders, diagnostician, exercise):
    path = an_honest_one(exercise)
    without = graders.run(exercise, Local(runpy.run_path(str(path))), 0)
    run = graders.run(exercise, PretendedGpu(runpy.run_path(str(path))), 0)
    assert [check.name for check in run.checks if not check.passed] == []
    assert "test_cuda" in {check.name for check in run.checks}, (
        f"{exercise} has no check `test_cuda`: write one of 0 points, as causal_mask has, or say in checks.py why there"
        ' is no need of it: NO_DEVICE = "…"'
    )
    assert score(run) == score(without)
    # A mistake is named on a machine with a GPU as on one without.
    assert bank(exercise).seen_on_a_gpu in bank(exercise), (
        f"{exercise} has no mistake {bank(exercise).seen_on_a_gpu}: name one that fails `test_cuda`,"
        " `Bank(seen_on_a_gpu=…)`"
    )
    wrong = bank(exercise)[bank(exercise).seen_on_a_gpu]
    run = graders.run(exercise, PretendedGpu(wrong.namespace()), SEED)  # for which the bank is known already
    assert "test_cuda" in {check.name for check in run.failed()}, (
        f"{exercise}: {wrong.id} passes `test_cuda`: name a mistake that fails it, `Bank(seen_on_a_gpu=…)`"
    )
    assert [d.id for d in diagnostician.diagnose(run)] == [wrong.id]


# --- what checks are written with ------------------------------------------------------------------


def test_a_pattern_is_compared_entry_by_entry():
    right = torch.tensor([[True, False], [True, True]])
    api.boolean(right.clone(), right)
    api.pattern(right.float(), right)
    for value, why in [
        (right.float(), "dtype"),
        (~right, "100%"),
        (right.mT, r"the first is the one at \(0, 1\)"),
        (None, "None"),
    ]:
        with pytest.raises(api.CheckFailed, match=why):
            api.boolean(value, right)


def test_what_lies_on_meta_has_no_values_to_compare():
    nothing, right = torch.empty(2, device="meta"), torch.ones(2, dtype=torch.float64)
    for compare in (api.close, api.pattern):
        with pytest.raises(api.CheckFailed, match="is on the device `meta`"):
            compare(nothing, right)
    api.on_meta(nothing, (2,))


def dropping(p, seed=0, keep=None):
    """Weights of four equal sequences, and what dropout makes of them."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(16, 16, generator=generator, dtype=torch.float64).tril().add(0.01).tril().expand(4, 16, 16)
    kept = torch.rand(4, 16, 16, generator=generator) >= p if keep is None else keep.expand(4, 16, 16)
    return weights, weights * kept / (1 - p)


def test_dropout_is_recognised():
    for seed in range(30):
        weights, dropped = dropping(0.25, seed)
        causal_head.dropped(dropped, weights, 0.25, dropped)


def test_what_is_no_dropout_of_weights_is_rejected():
    weights, dropped = dropping(0.25)
    same_for_all = dropping(0.25, keep=torch.rand(16, 16, generator=torch.Generator().manual_seed(0)) >= 0.25)[1]
    wrong = {
        "no weight was dropped": (weights, weights),
        "on the weights only": (dropped, dropping(0.25, seed=1)[1]),
        "values are wrong": (dropped * 0.75, dropped * 0.75),
        "of the weights were kept": (dropping(0.5)[1] * 0.5 / 0.75, dropping(0.5)[1] * 0.5 / 0.75),
        "in each sequence": (same_for_all, same_for_all),
    }
    for why, (one, other) in wrong.items():
        with pytest.raises(api.CheckFailed, match=why):
            causal_head.dropped(one, weights, 0.25, other)


def test_loading_weights_leaves_what_never_learns():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = nn.Parameter(torch.ones(2), requires_grad=False)
            self.bias = nn.Parameter(torch.ones(2))
            self.weight = nn.Parameter(torch.ones(2))

    submission = Submission(Local({"Module": Module}))
    module = submission.build("Module")
    module.load({"weight": torch.full((2,), 3.0)})
    got = {name: p.tolist() for name, p in module.parameters().items()}
    assert got == {"mask": [1, 1], "bias": [0, 0], "weight": [3, 3]}


# --- the checks themselves ------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", EXERCISES)
def test_points_are_those_of_the_course(graders, exercise):
    checks = graders.checks[exercise]
    assert sum(check.points for check in checks) == course.exercises(ROOT)[exercise].points
    witnessed = sum(check.points for check in checks if check.witnessed)
    assert witnessed <= 0.1 * sum(check.points for check in checks)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_checks_say_what_they_are_about(graders, exercise):
    for check in graders.checks[exercise]:
        assert check.category in api.CATEGORIES
        assert 20 < len(check.sentence) < 200 and check.sentence.endswith(".")
        assert (check.points * 8).is_integer()  # halves, or eighths in a warm-up: they add up without rounding


def test_the_matrix_is_a_page_of_what_was_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(matrix, "PAGE", tmp_path / "reports" / "matrix.md")
    matrix.main(["causal_mask"])
    page = matrix.PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^##+ (.+)$", page, re.MULTILINE) == ["03_causal_attention", "causal_mask"]
    assert all(f"| {id} " in page for id in bank("causal_mask"))
    (summary,) = (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| causal_mask |"))
    mistakes, rejected, named = summary[1:4]
    assert mistakes == rejected == named == str(len(bank("causal_mask")))
    assert re.fullmatch(r"\d+ of \d+", summary[5]) and summary[8] == "0"  # pairs: both, and none wrong
    assert int(summary[6]) <= int(summary[7]) - int(summary[5].split()[0])  # one shows, in those with one name
    assert re.search(r"\| inverted .*\| 50% \|", page)
    with pytest.raises(UsageError, match="There is no exercise 'mask'"):
        matrix.main(["mask"])


def test_a_crash_leaves_the_matrix_as_it_was(monkeypatch, tmp_path):
    monkeypatch.setattr(matrix, "PAGE", tmp_path / "matrix.md")
    matrix.PAGE.write_text("what was there", encoding="utf-8")
    monkeypatch.setattr(Graders, "run", refuse)
    with pytest.raises(ValueError, match="always"):
        matrix.main(["causal_mask"])
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["what was there"]
