"""What several heads need of the kit: modules as arguments, counted products, feedback that starts with the cause."""

import json
import re
import runpy

import pytest
import torch
from conftest import ROOT
from torch import nn

from autograder import course
from autograder.checks.proxies import Local, Submission
from autograder.checks.runner import Graders
from autograder.mistakes import repair
from autograder.mistakes.bank import bank, namespace_of, right_answer
from autograder.mistakes.name_check import cells_for
from autograder.mistakes.prices import PRICES
from autograder.sandbox.inside import wire

NAME = "04_multi_head_attention"
HONEST = ROOT / "autograder" / "exercises"


@pytest.fixture
def fill():
    """A submission with functions that take modules."""

    def fill(module, other, how="copy"):
        with torch.no_grad():
            if how == "copy":
                module.weight.copy_(other.out_proj.weight)
            else:
                module.weight = nn.Parameter(other.out_proj.weight.clone())

    return Submission(Local({"fill": fill, "Layer": lambda: nn.Linear(4, 4), "products": lambda x: (x @ x @ x).exp()}))


def test_modules_can_be_arguments(fill):
    layer, mha = fill.build("Layer"), fill.torch_module("MultiheadAttention", embed_dim=4, num_heads=2)
    fill.function("fill").do(layer, mha)
    assert fill.last.replaced is False
    assert torch.equal(layer.parameters()["weight"], mha.parameters()["out_proj.weight"])
    fill.function("fill").do(layer, other=mha, how="replace")
    assert fill.last.replaced is True
    assert fill.function("fill").refused(layer, layer).type == "AttributeError"


def test_parameters_can_be_frozen(fill):
    layer = fill.build("Layer")
    layer.freeze("bias")
    assert layer.frozen() == {"bias"}


def test_products_are_counted(fill):
    fill.function("products").counted(torch.eye(3))
    assert fill.last.products == 3
    fill.function("products")(torch.eye(3))
    assert fill.last.products == 0


WAYS = {
    "a product": lambda x, w: x @ w,
    "einsum": lambda x, w: torch.einsum("ij,jk->ik", x, w),
    "a linear layer": lambda x, w: nn.functional.linear(x, w.mT),
    "one by one": lambda x, w: (x[:, :, None] * w).sum(1),
    "by division": lambda x, w: (x[:, :, None] / (1 / w)).sum(1),
    "a filter": lambda x, w: nn.functional.conv1d(x.mT, w.mT[:, :, None]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
def test_what_is_multiplied_is_work_whatever_multiplies(way, mode):
    x, weight = torch.ones(5, 4), torch.ones(4, 3)
    made = Submission(Local({"made": lambda x, weight: mode()(WAYS[way])(x, weight)})).function("made")
    assert 5 * 4 * 3 <= made.work(x, weight) <= 3 * 5 * 4 * 3
    made(x, weight)
    assert made.submission.last.work == 0


def test_views_are_no_work_and_what_reads_is():
    ways = {"views": lambda x: x.view(20).expand(9, 20).mT[:3], "reads": lambda x: x.sum(), "makes": torch.ones_like}
    submission = Submission(Local(ways))
    assert [submission.function(way).work(torch.ones(5, 4)) for way in ways] == [0, 20, 20]


def test_weights_that_may_be_missing(fill):
    layer = fill.build("Layer")
    layer.load({"weight": torch.eye(4), "scale": torch.ones(4)}, optional=["scale"])
    assert torch.equal(layer.parameters()["weight"], torch.eye(4))


def test_no_handle_is_taken_from_the_sandbox():
    node = wire.pack([wire.Handle(0)], [])
    assert wire.unpack(node, [], objects={0: "a module"}) == ["a module"]
    with pytest.raises(wire.WireError):
        wire.unpack(node, [])
    with pytest.raises(wire.WireError):
        wire.unpack(node, [], objects={})


def test_the_originals_lose_and_hear_why(grader):
    """The release, handed in as it is: no points, and each crash is named by its exception and place."""
    graded = grader.grade_file(ROOT / "release" / NAME / f"{NAME}.ipynb", seed=1)
    results = {e.exercise: e for e in graded.verdict.exercises}
    assert sum(e.score for e in results.values()) == 0
    wide = results["SelfAttentionWide"]
    assert wide.status == "error"
    assert "AttributeError: module 'torch.nn' has no attribute 'module'" in wide.message
    assert [d.id for d in results["SelfAttentionWithTricks"].diagnosis] == ["original-002"]
    assert [d.id for d in results["MultiHeadSelfAttention"].diagnosis] == ["original-001"]


@pytest.mark.slow("it grades one answer again after each mended line")
def test_wide_heads_crash_by_crash(grader, tmp_path):
    """Original 000, mended one crash after the other: the feedback names the next defect each time."""
    cells = json.loads((ROOT / "source" / NAME / f"{NAME}.ipynb").read_text())["cells"]
    source = "".join(next(c for c in cells if c["id"] == "wide-solution")["source"])
    original = source.split("### BEGIN ORIGINAL\n")[1].split("### END ORIGINAL")[0]
    original = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n" + re.sub(
        "(?m)^# ?", "", original
    )
    defined = original.replace("nn.module", "nn.Module")
    first, inner = defined.split("        def forward", 1)
    method = first + "    def forward" + inner.replace("\n    ", "\n")
    own_names = method.replace("keys = queries.tr", "keys = keys.tr").replace(
        "values = queries.tr", "values = values.tr"
    )
    folded_twice = own_names.replace("keys = keys.tr", "keys = keys.transpose(1, 2).contiguous().view(b * h, t, k).tr")
    found = {}
    for name, code in {"defined": defined, "method": method, "right": own_names, "twice": folded_twice}.items():
        (tmp_path / f"{name}.py").write_text(code)
        result = grader.grade_file(tmp_path / f"{name}.py", "SelfAttentionWide", seed=1).verdict.exercises[0]
        found[name] = result.score, [d.id for d in result.diagnosis]
    assert found["defined"] == (0, ["forward-inside-init"])
    assert found["method"][1] == ["crashes-mended"] and found["method"][0] < 5
    assert found["right"] == (5, [])
    assert found["twice"][0] < 5


@pytest.mark.parametrize("id", ["no-scale", "scale-by-embedding-width", "keys-as-values", "softmax-over-queries"])
def test_a_wrong_head_is_said_first(id):
    """When a single head is wrong already, the checks of the stack's values say so before anything else."""
    graders = Graders()
    run = graders.run("StackedHeads", Local(bank("StackedHeads")[id].namespace()), 1)
    failed = {check.name: check.message for check in run.failed()}
    for name in ("test_one_head", "test_output", "test_sizes_that_are_equal", "test_gradients"):
        assert "look at your `Head`" in failed[name]


def test_loading_says_that_the_layer_must_be_mended_first():
    namespace = runpy.run_path(str(HONEST / "load_from_torch" / "answers" / "plain.py"))
    namespace["MultiHeadAttention"] = lambda *args, **kwargs: nn.Linear(4, 4)
    graders = Graders()
    run = graders.run("load_from_torch", Local(namespace), 1)
    assert len(run.failed()) == len(run.checks)
    assert all("First fix your `MultiHeadAttention`" in check.message for check in run.checks)


def test_what_the_loaded_layer_makes_wrong_is_paid_there(grader, tmp_path):
    """The function is right, but one check asks what the layer gives afterwards, and the text does not name it."""
    parts = bank("MultiHeadAttention")["heads-averaged"].source, right_answer("load_from_torch")
    path = tmp_path / "answer.py"
    path.write_text("\n\n\n".join(["import torch\nimport torch.nn.functional as F\nfrom torch import nn", *parts]))
    layer, load = grader.grade_file(path, seed=1).verdict.exercises
    assert [one.id for one in layer.diagnosis] == ["heads-averaged"] and layer.by_prices < layer.max_score
    assert [(one.id, one.price) for one in load.diagnosis] == [("stands-on-MultiHeadAttention", 0.0)]
    assert load.score < load.by_prices == load.max_score


OWN_HEAD = {
    "known": (" * k.shape[-1] ** -0.5", "", PRICES["values"]),
    "right by one edit": ("torch.bmm(wei, v)", "torch.bmm(v, wei)", repair.NEVER_RAN),
}


@pytest.mark.parametrize("old, new, price", OWN_HEAD.values(), ids=OWN_HEAD)
def test_what_is_wrong_with_a_head_of_its_own_is_paid_here(grader, old, new, price):
    """An answer that brings its own head has not handed it in with lesson 03: it costs what a slip costs."""
    right = right_answer("StackedHeads", "plain")
    assert right.count(old) == 1
    cells = cells_for("StackedHeads", right.replace(old, new))
    (outcome,) = grader.grade_cells(cells, [course.exercises()["StackedHeads"]], 1).verdict.exercises
    assert outcome.diagnosis[0].id == "stands-on-Head"
    assert outcome.by_prices == pytest.approx((1 - price) * outcome.max_score)


EXERCISES = [e.name for e in course.assignments(ROOT)[NAME].exercises]


@pytest.mark.drawn(3, "exercises of many heads in the sandbox")
@pytest.mark.parametrize("exercise", EXERCISES)
def test_right_answers_pass_in_the_sandbox(grader, exercise):
    for path in sorted((HONEST / exercise / "answers").glob("*.py")):
        result = grader.grade_file(path, exercise).verdict.exercises[0]
        assert result.score == result.max_score, (path.stem, [c.message for c in result.checks if not c.passed])


def test_room_for_few_tokens_costs_the_check_of_long_texts_alone():
    """What a step costs is counted after fewer tokens where more don't fit."""
    small = next(one for one in bank("KVCache").variants if one.id == "room-too-small" and "256" in one.source)
    run = Graders().run("KVCache", Local(namespace_of("small", bank("KVCache").around, small.source), small.source), 7)
    assert [check.name for check in run.failed()] == ["test_long"], run.failed()
