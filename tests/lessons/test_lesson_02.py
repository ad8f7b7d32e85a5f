"""What lesson 02 says of numbers, held against what its cells compute; what its head learns, on three seeds."""

import contextlib
import io
import re

import pytest
import torch
from lessons import lesson, run

pytestmark = lesson("02")

TOKENS = "The Professor who supervised the student published the paper".split()
PROFESSOR, STUDENT, PERSON = 1, 5, 1  # two tokens, and the feature that they share


@pytest.fixture(scope="module")
def ran():
    return run("02")


def test_what_published_gives_to_the_persons(ran):
    weights = ran.values["weights_published"]
    persons = (weights[PROFESSOR] + weights[STUDENT]).item()
    assert ran.says(f"Nearly all the weight, {persons:.2f}, goes to the two persons")
    assert ran.values["mixed"].argmax() == PERSON


def test_scores_are_symmetric_with_one_vector_only(ran):
    assert re.findall(r"(left|right): .*? (True|False)", ran.printed["roles-demo"]) == [
        ("left", "True"),
        ("right", "False"),
    ]


def test_the_published_picture(ran):
    given = ran.values["as_given"]
    who, published = given.sum(1)[[TOKENS.index("who"), TOKENS.index("published")]].tolist()
    assert ran.says(f"*who* uses only {who:.2f} of its attention") and published > 2
    assert torch.allclose(given.sum(0), torch.ones(9))  # "each column sums to 1"
    others = [token for token in range(9) if TOKENS[token] not in ("supervised", "published")]
    largest = ran.values["yours"][others].max().item()
    assert ran.says("none of their weights is above 0.2") and 0.15 < largest < 0.2


def test_the_trap_is_one_for_an_addition_only(ran):
    added, filled = ran.printed["attention-trap"].splitlines()
    assert "weights [[0.0, 0.0, 0.0]]" in added and "weights [[0.0, 0.0, 0.0]]" in filled
    assert "gradient of the query [[nan, nan]]" in added and "gradient of the query [[0.0, 0.0]]" in filled


def test_the_head_of_the_lesson_beats_the_baseline(ran):
    first, last = re.search(r"first step ([\d.]+), over the last twenty ([\d.]+)", ran.printed["learning"]).groups()
    assert float(first) > 0.4 and float(last) < 0.01
    secrets = torch.randn(100_000, 2, generator=torch.Generator().manual_seed(0)).mean(1)
    assert secrets.var().item() == pytest.approx(0.5, abs=0.01) and ran.says("its error is then 0.5")
    before = re.search(r"before: published looks at Professor ([\d.]+), at student ([\d.]+)", ran.printed["learning"])
    assert before.groups() == ("0.11", "0.11") and ran.says("with weights of about 0.11")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_said_of_the_learnt_head_is_true(ran, seed):
    with contextlib.redirect_stderr(io.StringIO()):  # the progress bar
        head, _, after, errors = ran.values["learn"](seed)
    assert sum(errors[-20:]) / 20 < 0.01
    assert after[[3, 6]][:, [PROFESSOR, STUDENT]].min() > 0.45  # nearly half to each, by both verbs
    assert all(set(row.topk(2).indices.tolist()) == {PROFESSOR, STUDENT} for row in after)  # and so do the others
    with torch.no_grad():
        pairs = (head.W_query.weight.T @ head.W_key.weight)[:6, :6]
    others = [feature for feature in range(6) if feature != PERSON]
    assert (pairs[:, PERSON] > 0).all() and (pairs[:, others] < 0).all()
    assert torch.allclose(head.W_value.weight[:, 6:], torch.eye(4), atol=0.05)


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
    assert not ran.with_cut_bars()
    assert ran.on_several_scales() == {"roles-demo", "learning-picture"}  # scores by hand; weights beside scores


def test_a_head_of_gpt2_is_as_large_as_it_is_said_to_be(ran):
    head = ran.values["SelfAttention"](768, 64, qkv_bias=True)
    size = sum(parameter.numel() for parameter in head.parameters())
    assert ran.says("144 heads", f"`SelfAttention(768, 64, qkv_bias=True)`, under a causal mask: {size:,} numbers")
    assert 768 == 12 * 64 and 144 == 12 * 12


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_head_fails_at_the_riddle(ran, seed):
    animal, street = ran.values["ANIMAL"], ran.values["STREET"]
    with contextlib.redirect_stderr(io.StringIO()):
        head, errors = ran.values["learn_the_riddle"](seed)
    assert ran.says("half of the baseline's error remains") and sum(errors[-100:]) / 100 == pytest.approx(0.5, abs=0.05)
    x = torch.cat([ran.values["known_words"], torch.zeros(2, 11, 4)], dim=2)
    with torch.no_grad():
        of_it = ran.values["attention"](head.W_query(x), head.W_key(x), head.W_value(x))[1][:, ran.values["IT"]]
    assert ran.says("nearly half to *animal* and nearly half to *street*, in both sentences")
    assert 0.4 < of_it[:, [animal, street]].min() and of_it[:, [animal, street]].max() < 0.55
    ratio = of_it[:, animal] / of_it[:, street]
    assert ran.says("It is the same in both sentences, and it would be with any matrices")
    assert ratio[0].item() == pytest.approx(ratio[1].item(), rel=1e-4)


def test_real_heads_have_the_sizes_that_are_drawn(ran):
    """In each of these models, the heads of a layer together are as wide as its input."""
    layers = {"GPT-2": 12, "ViT": 12, "Whisper": 32, "ESM-2": 33, "Llama": 32, "GPT-3": 96}
    for model, _, d, w, heads in ran.values["REAL"]:
        (number,) = [count for name, count in layers.items() if model.startswith((f"{name} ", f"{name}-B"))]
        assert heads * w == number * d
    assert ran.values["word_before"].sum(1).eq(1).all()
