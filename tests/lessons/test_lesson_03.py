"""Lesson 03: its sentences against what its cells print and compute."""

import math
import re

import matplotlib.pyplot as plt
import pytest
import torch
from lessons import lesson, run

pytestmark = lesson("03")


@pytest.fixture(scope="module")
def ran():
    return run("03")


@pytest.fixture(scope="module")
def learnt(ran):
    """The lesson's two trained models, for three seeds: name -> list of (model, loss on new recitals, share right)."""
    values, found = ran.values, {"causal": [], "without the mask": []}
    new = values["recitals"](500, torch.Generator().manual_seed(99))
    for seed in (0, 1, 2):
        for name, kind in (("causal", values["CausalAttention"]), ("without the mask", values["WithoutMask"])):
            torch.manual_seed(seed)
            model, _ = values["trained"](kind(19, 16, 10, 0.0), name, seed)
            alone = (values["go_on"](model, new[:, :4])[:, 4:] == new[:, 4:]).float().mean().item()
            found[name].append((model, values["loss_of"](model, new).item(), alone))
    return found


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def test_the_loop_the_matrix_and_the_softmax_agree(ran):
    assert ran.printed["averages"].count("True") == 2


def test_as_a_text_grows_all_rows_change_or_none(ran):
    """The slider marks them, and its first panel holds what it says: the weights without a mask."""
    assert ran.says("On the left all of them", "On the right none: **a row, once written, stays**")
    for words in range(2, 10):
        figure = ran.values["with_words"](words)
        left, right = ([text.get_text() for text in ax.texts if text.get_text()[0] in "cna"] for ax in figure.axes)
        plt.close(figure)
        assert left == ["changed"] * (words - 1) + ["new"] and right == ["as before"] * (words - 1) + ["new"]
    whole = ran.values["weights_of_first"](9, True)
    assert torch.equal(whole, ran.values["filled_with_minus_infinity"]), "the third way"
    assert torch.allclose(whole[:5, :5], ran.values["weights_of_first"](5, True))


def test_the_table_of_noise(ran):
    """The variances and their sentence; and what nn.Linear's start gives at another width."""
    left, right = (numbers(line) for line in ran.printed["masked-weights-look"].splitlines())
    said = ran.texts["masked-weights-seen"]
    assert f"{left[0]:.2f} against {right[0]:.2f}" in said and left[0] / right[0] == pytest.approx(16, rel=0.05)
    assert left[1] < 0.7  # "far from a softmax that is all 0 or 1"
    assert "16 · ⅓ · ⅓ is 1.8" in said and round(16 / 9, 1) == 1.8
    torch.manual_seed(0)
    query, key = (torch.nn.Linear(1024, 1024, bias=False)(torch.randn(256, 1024)) for _ in range(2))
    assert query.var().item() == pytest.approx(1 / 3, rel=0.05)
    scores = query @ key.T
    assert "about 114" in said and scores.var().item() == pytest.approx(114, rel=0.1)
    assert "0.11 with the scale" in said and (scores / 32).var().item() == pytest.approx(0.11, rel=0.1)


def test_the_second_row_is_the_first_one_scaled(ran):
    ratios = numbers(ran.printed["dropout-in-004-look"])
    assert len(ratios) == 6 and all(ratio == pytest.approx(0.477, abs=0.0015) for ratio in ratios)
    assert ran.says("times 0.477")


def test_the_baseline_and_the_honest_limit(ran):
    assert ran.says(f"ln 8 = {math.log(8):.2f}", f"{0.3 * math.log(8):.2f} on average")
    first = ran.values["recitals"](2000, torch.Generator().manual_seed(5))[:, 1:]
    assert ((first[:, 3:] - first[:, :-3]) % 8 == 1).all()  # three turns before, plus one
    assert torch.bincount(first[:, :3].flatten(), minlength=8).min() > 600  # the first three: any letter


def test_the_causal_head_is_honest_and_right(ran, learnt):
    limit = 0.3 * math.log(8)
    for model, loss, alone in learnt["causal"]:
        assert limit - 0.01 < loss < limit + 0.02 and alone > 0.99
        assert _looks(ran, model, -2, range(3, 10), causal=True) > 0.8


def test_without_the_mask_it_copies_and_cannot_go_on(ran, learnt):
    values = ran.values
    for model, loss, alone in learnt["without the mask"]:
        assert loss < 0.02 and alone < 1 / 8  # "guessing would be right one time in eight"
        assert _looks(ran, model, 1, range(9), causal=False) > 0.6
        new = values["recitals"](500, torch.Generator().manual_seed(7))
        last = model(values["features"](new[:, :10]))[:, -1].argmax(dim=1)
        assert (last == new[:, 10]).float().mean() > 0.95  # "There it had to learn the rule, and did."
    assert "100% of 3500" in ran.printed["learnt"]


def _looks(ran, model, step, places, causal):
    """The mean weight that these places give to the one `step` places on."""
    x = ran.values["features"](ran.values["recitals"](200, torch.Generator().manual_seed(3))[:, :10])
    scores = model[0].W_query(x) @ model[0].W_key(x).transpose(1, 2) / 4
    if causal:
        scores = scores.masked_fill(~torch.ones(10, 10, dtype=torch.bool).tril(), float("-inf"))
    weights = scores.softmax(dim=2)
    return torch.stack([weights[:, place, place + step] for place in places]).mean().item()


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
    assert not ran.with_cut_bars() and not ran.on_several_scales()


def test_the_mask_of_gpt2_is_ours_in_float32_and_nan_in_float16(ran):
    single, half = ran.printed["gpt2-look"].splitlines()
    assert single.startswith("float32: largest difference 0.0e+00, NaN in 0 of")
    assert half.startswith("float16") and "NaN in 81 of 81" in half
    assert ran.says("In float16, 10¹⁰ is infinite") and torch.tensor(1e10, dtype=torch.float16).isinf()


def test_at_it_both_sentences_are_equal_to_the_last_bit(ran):
    assert ran.says("At *it* the two outputs are **equal to the last bit**")
    assert "at “it”: 0.0\n" in ran.printed["riddle"] + "\n"
    apart = ran.values["apart"]
    assert (apart[:10] == 0).all() and apart[10] > 0.1


def test_a_head_of_gpt2_looks_for_what_followed_last_time(ran):
    head, words = ran.values["gpt2_head"], ran.values["SENTENCE"]
    assert words[10] == words[1] == "dog" and words[2] == "on" and head[10].argmax() == 2
    assert ran.says("For *on*, with 0.85") and head[10, 2].item() == pytest.approx(0.85)
    assert head.triu(1).count_nonzero() == 0


def test_the_masks_that_leaked_let_all_look_ahead(ran):
    right, times_zero, inverted = (ran.values["who_notices"](mask) for mask in ran.values["shipped"].values())
    assert torch.equal(right, torch.ones(9, 9).tril()) and times_zero.eq(1).all()
    assert inverted.triu(1).sum() == 36 and inverted.tril(-1).sum() == 0
