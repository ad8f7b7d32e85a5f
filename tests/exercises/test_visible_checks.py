"""The visible checks let right answers through, and stop at what costs points."""

import ast
import functools
import itertools
import math
import re
import time
from fractions import Fraction

import pytest
import torch
from conftest import ROOT

from autograder import course
from autograder.mistakes import visible
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.bank import edited as with_edits
from autograder.mistakes.matrix import COSTLY

EXERCISES = sorted(course.exercises(ROOT))
SECONDS = {"MyModel": 60}  # of CPU: its check trains a model
SHARE = Fraction(1, 10)  # of the costly mistakes may pass all the same

ANSWERS = [(name, path) for name in EXERCISES for path in sorted((course.folder_of(name) / "answers").glob("*.py"))]


@pytest.mark.drawn(8, "exercises whose visible check passes", by="exercise", never=["MyModel"])  # it trains
@pytest.mark.parametrize("exercise", EXERCISES)
def test_right_answers_pass_in_no_time(exercise, monkeypatch):
    # traced and guarded as ever, but not made into machine code, which takes a C++ compiler and a minute
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    answers = [
        path.read_text(encoding="utf-8") for path in sorted((course.folder_of(exercise) / "answers").glob("*.py"))
    ]
    for answer in answers:
        assert visible.objection(exercise, answer) is None
    started = time.process_time()  # what is imported late has been imported by now
    visible.objection(exercise, answers[0])
    assert time.process_time() - started < SECONDS.get(exercise, 2)


@pytest.mark.drawn(2, "exercises whose costly mistakes are seen", by="exercise")
@pytest.mark.parametrize("exercise", EXERCISES)
def test_costly_mistakes_do_not_pass(runs, exercise):
    def is_costly(id):
        run = runs(exercise, id, 1)  # the seed of test_exercises.py: they are made already
        return sum(check.points for check in run.failed()) >= COSTLY

    passed = [id for id, mistake in bank(exercise).items() if not visible.catches(mistake)]
    missed = [id for id in passed if is_costly(id)]
    needed = len(missed) * (1 - SHARE) / SHARE  # as many costly ones must be caught; grading stops at the last of them
    caught = (id for id in bank(exercise) if id not in passed and is_costly(id))
    found = len(list(itertools.islice(caught, math.ceil(needed))))
    assert found >= needed, f"these pass the visible check of {exercise}: {missed}"


@pytest.mark.parametrize("exercise", ["check_attention", "check_causal", "check_cross", "check_heads"])
def test_a_test_that_forgives_next_to_nothing_near_0_does_not_pass(exercise):
    """Right answers differ there by more than `allclose` allows by default, so that it would refuse some of them."""
    of = bank(exercise)
    assert visible.objection(exercise, of.around, of.right) is None
    assert "in another style" in str(visible.objection(exercise, of.around, of.right.replace(", atol=1e-4", "")))


# exercises that are a test, each with the one that it tests
TESTS = {"check_attention": "attention", "check_causal": "CausalAttention", "check_heads": "MultiHeadAttention"}
TESTS |= {"check_cross": "CrossAttention"}


@pytest.mark.parametrize("exercise", ["check_softmax", *TESTS])
def test_a_test_that_is_not_written_yet_is_told_from_one_that_refuses_what_is_right(exercise):
    head, of = f"def {exercise}(candidate):\n    ", bank(exercise)
    assert isinstance(visible.objection(exercise, of.around, f"{head}raise NotImplementedError()"), NotImplementedError)
    for refuses, why in (("assert False", "no message"), ("assert False, 'too large'", "too large")):
        refused = visible.objection(exercise, of.around, f"{head}{refuses}")
        assert isinstance(refused, AssertionError) and str(refused).endswith(f" is refused: AssertionError: {why}")
    assert "is let through" in str(visible.objection(exercise, of.around, f"{head}return"))


@pytest.mark.parametrize(("exercise", "tested"), TESTS.items())
def test_what_a_test_is_for_is_named_where_it_is_not_written_yet(exercise, tested):
    """A right test of an answer that is a stub: nothing is refused, since there is nothing to be tested."""
    stub = f"def {tested}(*_, **__):\n    raise NotImplementedError()"
    if tested != "attention":
        stub = f"class {tested}(nn.Module):\n    def __init__(self, *_, **__):\n        raise NotImplementedError()"
    assert isinstance(visible.objection(exercise, stub, bank(exercise).right), NotImplementedError)


class InFloat32(ast.NodeTransformer):
    """Takes the roots of numbers as beginners do, `torch.sqrt(torch.tensor(d))`, with the few digits of float32."""

    def __init__(self):
        self.roots = 0

    def visit_BinOp(self, node):
        self.generic_visit(node)
        exponent = ast.unparse(node.right)
        if isinstance(node.op, ast.Pow) and exponent in ("0.5", "-0.5", "1 / 4", "0.25", "-0.25", "1 / 2"):
            self.roots += 1
            node.left = ast.parse(
                f"torch.tensor(float({ast.unparse(node.left)}), dtype=torch.float32)", mode="eval"
            ).body
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if ast.unparse(node.func) in ("math.sqrt", "sqrt"):
            self.roots += 1
            node = ast.parse(f"torch.sqrt(torch.tensor(float({ast.unparse(node.args[0])})))", mode="eval").body
        return node


def with_roots_in_float32(text):
    """An answer with each root of a number taken in float32, or None if it takes none."""
    roots = InFloat32()
    tree = roots.visit(ast.parse(text))
    return ast.unparse(tree) if roots.roots else None  # `torch` is imported by the setup cell


ROOTED = [
    pytest.param(name, text, id=f"{name}/{path.stem}")
    for name, path in ANSWERS
    if course.exercises(ROOT)[name].assignment < "06"
    and re.search(r"\*\*|sqrt", answer := path.read_text(encoding="utf-8"))  # most have none, and need no parsing
    and (text := with_roots_in_float32(answer))
    and not hasattr(course.module_of(name, "checks"), "NO_TENSORS")  # a plain number has no dtype to be kept
]


@pytest.mark.drawn(20, "roots in float32")
@pytest.mark.parametrize("exercise, answer", ROOTED)
def test_a_root_in_float32_does_not_pass(exercise, answer, monkeypatch):
    """It costs points, and only widths whose root float32 does not have exactly, such as 3 or 5, show it."""
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    assert "float" in str(visible.objection(exercise, answer))


DROPOUT = ("dropout-on-scores", "dropout-not-scaled")
IN_ONE_HEAD = (*DROPOUT, "dropout-on-output", "dropout-on-values", "dropout-same-for-all", "dropout-on-masked-scores")
MUST_NOT_PASS = {  # whatever they cost: each breaks what the text asks for in words
    "scaled_self_attention": ("exp-without-max", "one-max-for-all-rows", "through-float32", "epsilon-in-the-sum"),
    "SelfAttentionNaive": ("through-float32", "epsilon-in-the-sum"),
    "self_attention": ("through-float32", "epsilon-in-the-sum"),
    "padding_mask": ("zero-taken-for-none",),
    "Head": (*IN_ONE_HEAD, "mask-not-moved"),
    "CausalAttention": (*IN_ONE_HEAD, "mask-not-moved"),
    "StackedHeads": ("exp-without-max", "epsilon-of-a-millionth", "softmax-in-float32", "scale-in-float32"),
    "MultiHeadAttention": (
        *DROPOUT,
        "dropout-on-the-output",
        "dropout-on-the-output-as-well",
        "dropout-keeps-with-p",
        "dropout-alike-in-all-heads",
        "heads-in-a-loop",
        "mask-is-a-plain-attribute",
        "mask-made-on-the-cpu",
    ),
    "load_from_torch": ("memory-shared", "new-parameters-share-memory"),
}


@pytest.mark.parametrize("exercise, id", [(exercise, id) for exercise, ids in MUST_NOT_PASS.items() for id in ids])
def test_what_the_text_forbids_in_words_does_not_pass(exercise, id):
    assert visible.catches(bank(exercise)[id])


PLAIN = {
    "Head": ('self.register_buffer("tril", ', "self.tril = ("),
    "CausalAttention": ('self.register_buffer("mask", ', "self.mask = ("),
}


@pytest.mark.parametrize("exercise", PLAIN)
def test_a_mask_that_is_a_plain_attribute_does_not_pass(exercise):
    """A tensor that is no buffer stays behind when the module moves."""
    answer = with_edits(
        right_answer(exercise, None if exercise == "Head" else "plain"), dict([PLAIN[exercise]]), exercise
    )
    assert "moved to another device" in str(visible.objection(exercise, answer))


def test_weights_that_share_memory_do_not_pass():
    """By `.data` of the weights alone, as a student wrote it."""
    mistake = bank("load_from_torch")["memory-shared"]
    half = {old: new for old, new in mistake.edits.items() if "weight.detach()" in new}
    assert len(half) == 1
    answer = with_edits(right_answer("load_from_torch"), half, "load_from_torch")
    assert "share memory" in str(visible.objection("load_from_torch", mistake.beside, answer))


@pytest.mark.parametrize("id", ["reshaped-in-one-step", "merged-without-transposing", "reshaped-both-ways"])
def test_heads_that_mix_tokens_with_features_are_not_told_of_the_future(id):
    error = str(visible.objection("MultiHeadAttention", bank("MultiHeadAttention")[id].source))
    assert "mixed with features" in error and "looked ahead" not in error


def test_an_answer_that_fails_is_told_why():
    error = visible.objection("softmax", "def softmax(scores, dim=-1):\n    return scores")
    assert isinstance(error, AssertionError) and "by hand the weights are 1/4 and 3/4" in str(error)
    assert isinstance(visible.objection("softmax", "scores = "), SyntaxError)
    assert isinstance(visible.objection("softmax", "pass"), NameError)


def test_the_visible_check_holds_no_hidden_part():
    for exercise in EXERCISES:
        text = visible.text_of(exercise)
        assert "assert " in text and "### BEGIN" not in text and "# exercise:" not in text


# --- lessons 06 to 09 -----------------------------------------------------------------------------

ROOTS = {  # exercise: a right answer, and the root of the width in it
    "BigramLanguageModel": ("one_product", "q.shape[-1] ** 0.5"),
    "CoAttentionStreams": ("plain", "k.shape[-1] ** 0.5"),
    "GroupedQueryAttention": ("loops", "w**0.5"),
    "KVCache": ("plain", "self.head_dim**0.5"),
    "LatentAttention": ("head_by_head", "self.head_dim**0.5"),
    "cached_attention": ("einsum_loop", "d**0.5"),
    "capped_attention": ("gemma", "query.shape[-1] ** 0.5"),
    "sink_attention": ("exponentials", "query.size(-1) ** 0.5"),
    "tiled_attention": ("two_passes", "q.size(-1) ** 0.5"),
}


def answer(exercise, name):
    """The text of a right answer."""
    return (course.folder_of(exercise) / "answers" / f"{name}.py").read_text(encoding="utf-8")


def edited(exercise, name, old, new):
    """A right answer in which one text is replaced, wherever it is."""
    text = answer(exercise, name)
    assert old in text, f"{old!r} is not in {exercise}/answers/{name}.py"
    return text.replace(old, new)


def told(exercise, *texts):
    """What the visible check says to an answer: a sentence of its own, and no error of torch."""
    error = visible.objection(exercise, *texts)
    assert type(error) is AssertionError, f"{exercise}: {error!r}"
    return str(error)


def told_of(exercise, id):
    """The same of a mistake in the bank."""
    mistake = bank(exercise)[id]
    return told(exercise, mistake.beside, mistake.source)


@pytest.mark.parametrize("exercise", ROOTS)
def test_a_root_in_float32_is_seen_in_float64(exercise):
    name, root = ROOTS[exercise]
    width = root.split("**")[0].strip()
    told(exercise, edited(exercise, name, root, f"torch.tensor({width}).sqrt()"))


def test_what_a_cache_or_a_mask_should_save_is_seen():
    assert "4 times as many" in told_of("KVCache", "query-heads-cached")
    assert "gets 7: what they made" in told_of("KVCache", "inputs-cached")
    assert "36 × 36" in told_of("tiled_attention", "whole-mask-first")
    assert "32 × 40" in told_of("tiled_attention", "all-scores-first")


@pytest.mark.parametrize("exercise", ["ParallelCoAttention", "AlternatingCoAttention", "CoAttentionStreams"])
def test_exchanged_masks_are_called_masks(exercise):
    said = told_of(exercise, "masks-exchanged")
    assert "v_mask" in said and "q_mask" in said and "(b, n)" in said and "(b, t)" in said


@pytest.mark.parametrize(
    "exercise, id, sentence",
    [
        ("ParallelCoAttention", "no-tanh-on-affinity", "no tanh on C"),
        ("ParallelCoAttention", "no-tanh-on-hidden", "no tanh on H_v"),
        ("train", "gradients-pile-up", "pile up"),
        ("train", "new-optimizer-each-step", "new optimiser"),
        ("train_by_recipe", "gradients-pile-up", "pile up"),
        ("train_by_recipe", "new-optimizer-each-step", "new optimiser"),
        ("apply_rope", "neighbours-turned", "neighbours"),
        ("apply_rope", "turned-backwards", "other way round"),
        ("apply_rope", "exponent-i", "2i/d"),
        ("apply_rope", "frequencies-grow", "slower"),
    ],
)
def test_usual_slips_are_told_apart(exercise, id, sentence):
    assert sentence in told_of(exercise, id)
