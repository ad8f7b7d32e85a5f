"""Lesson 04: its sentences against what its cells print and compute."""

import json
import re

import pytest
import torch
from conftest import ROOT
from lessons import NAMES, run
from torch import nn


@pytest.fixture(scope="module")
def ran():
    return run("04")


@pytest.fixture(scope="module")
def learnt(ran):
    """The layers that the lesson trains, for three seeds: (layer with one head, layer with two)."""
    return [(ran.values["trained"](1, seed), ran.values["trained"](2, seed)) for seed in (0, 1, 2)]


def crowd(ran):
    return ran.values["crowds"](1000, torch.Generator().manual_seed(99))


def test_the_ages_that_are_told_are_those_printed(ran):
    one, persons, things = re.findall(r"an age of (\d+)", ran.printed["why-heads-demo"])
    assert ran.says(f"From {one} alone nobody can tell two ages. With {persons} and {things} side by side")
    assert int(things) < int(one) < int(persons)


def test_the_picture_of_cutting_tells_right_from_wrong(ran):
    """Head 0 in the three ways: its block of every token, two tokens mixed, every second feature."""
    two_steps, one_step, every_second = (ran.values[name][0] for name in ("two_steps", "one_step", "every_second"))
    assert two_steps.tolist() == [[0, 1], [10, 11], [20, 21]]
    assert one_step.tolist() == [[0, 1], [2, 3], [10, 11]]
    assert every_second.tolist() == [[0, 2], [10, 12], [20, 22]]


def moved(module, x):
    """How far the outputs are from changing places with the tokens."""
    order = torch.tensor([3, 0, 4, 1, 2])
    return (module(x[:, order]) - module(x)[:, order]).abs().max().item()


def test_what_one_sees_of_the_wide_heads_as_published(ran):
    """With both crashes mended: `tokeys` and `tovalues` have no part, and order matters. Own names mend both."""
    cells = json.loads((ROOT / "source" / NAMES["04"] / f"{NAMES['04']}.ipynb").read_text(encoding="utf-8"))["cells"]
    source = "".join(next(cell for cell in cells if cell["id"] == "wide-solution")["source"])
    original = re.sub("(?m)^# ?", "", source.split("### BEGIN ORIGINAL\n")[1].split("### END ORIGINAL")[0])
    first, inner = original.replace("nn.module", "nn.Module").split("        def forward", 1)
    mended = first + "    def forward" + inner.replace("\n    ", "\n")
    own_names = mended.replace("keys = queries.tr", "keys = keys.tr").replace(
        "values = queries.tr", "values = values.tr"
    )
    assert own_names != mended
    torch.manual_seed(0)
    x = torch.randn(2, 5, 6)
    for code, wrong in ((mended, True), (own_names, False)):
        scope = {"torch": torch, "nn": nn, "F": nn.functional}
        exec(code, scope)
        module = scope["SelfAttentionWide"](6, 3)
        assert (moved(module, x) > 0.01) is wrong and (moved(module, x) < 1e-6) is not wrong
        module(x).sum().backward()
        assert (module.tokeys.weight.grad is None) is wrong and (module.tovalues.weight.grad is None) is wrong
    assert ran.says("the output stays the same. And when tokens change places", "Here other numbers come out.")


def test_the_number_of_heads_does_not_tell_the_order(ran):
    """The myth of the dog and the meat: without a mask, tokens that change places change nothing for the others."""
    torch.manual_seed(0)
    for heads in (1, 2, 4):
        assert moved(ran.values["SelfAttentionWide"](4, heads), torch.randn(1, 5, 4)) < 1e-6


def test_both_layers_learn_with_as_many_parameters(ran):
    assert len(set(re.findall(r"\((\d+) parameters\)", ran.printed["learnt"]))) == 1
    assert ran.says("Both have the same number of parameters")


def test_two_heads_do_what_one_can_not(ran, learnt):
    x, reports = crowd(ran)
    baseline = reports[:, 1:].pow(2).mean().item()
    for one, two in learnt:
        left = ran.values["error_of"](one, x, reports).item() / baseline
        assert 0.4 < left < 0.5  # "nearly half of the baseline's error"
        assert ran.values["error_of"](two, x, reports).item() < 0.005  # "Their error is close to 0."


def test_the_two_heads_divide_the_work(ran, learnt):
    """After the first row each head has nearly all its weight on one kind, and each on another; the single one not."""
    x, _ = crowd(ran)
    for one, two in learnt:
        on_persons = []
        for layer, heads in ((one, 1), (two, 2)):
            weights = torch.stack([ran.values["weights_of"](layer, each, heads) for each in x[:50]])
            on_persons.append((weights * x[:50, None, None, :, 0]).sum(dim=-1)[:, :, 1:])  # (50, heads, 8)
        assert 0.25 < on_persons[0].mean() < 0.75
        persons, things = sorted(on_persons[1].mean(dim=(0, 2)).tolist(), reverse=True)
        assert persons > 0.9 and things < 0.1


def test_more_width_does_not_help_one_head(ran):
    """It lacks not room, but a second row of weights: a head four times as wide is left with as much."""
    x, reports = crowd(ran)
    torch.manual_seed(0)
    wide, generator = ran.values["MultiHeadAttention"](3, 32, 9, 0.0, 1), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(wide.parameters(), lr=0.02)
    for _ in range(200):
        loss = ran.values["error_of"](wide, *ran.values["crowds"](64, generator))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert ran.values["error_of"](wide, x, reports).item() > 0.4 * reports[:, 1:].pow(2).mean().item()


def test_rounding_is_called_rounding(ran):
    assert "which is rounding" in ran.printed["load-look"] and "more than rounding" not in ran.printed["mha-look"]


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
