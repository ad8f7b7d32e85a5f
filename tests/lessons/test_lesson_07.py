"""Lesson 07: what it says of the poem, of its trained models and of the published `generate`, held against them."""

import contextlib
import io
import math
import re

import pytest
import torch
from conftest import ROOT, load
from lessons import NAMES, lesson, run

from autograder.mistakes.bank import bank, namespace_of
from autograder.sandbox.inside.stubs import Rolled
from storyteller.train import BATCH, STEPS

pytestmark = lesson("07")


@pytest.fixture(scope="module")
def ran():
    return run("07")


def numbers(line):
    return [float(number) for number in re.findall(r"\d+\.\d+", line)]


def line_of(ran, cell, start):
    """The numbers in the only line of what a cell printed that starts like this."""
    (line,) = [line for line in ran.printed[cell].splitlines() if line.startswith(start)]
    return numbers(line.removeprefix(start))


@pytest.fixture
def ladder(ran):
    """Validation losses by the name of the rung."""
    rungs = [
        re.match(r"(.+?) {2,}(\d\S+) +(\d\S+) +(\d\S+)$", line) for line in ran.printed["ladder-demo"].splitlines()
    ]
    return {rung[1]: (float(rung[2]), float(rung[3]), float(rung[4])) for rung in rungs if rung}


# --- the poem -------------------------------------------------------------------------------------


def test_the_poem_is_as_it_is_said_to_be(ran):
    poem, cut = ran.values["poem"], int(0.9 * len(ran.values["poem"]))
    assert ran.says("about 7600 characters") and 7550 < len(poem) < 7650
    assert ran.says("log 54 ≈ 3.99") and len(set(poem)) == 54 and round(math.log(54), 2) == 3.99
    assert ran.says("The refrain comes twelve times in the training part and not once in the other")
    refrain = "The lamp goes round, the lamp goes round,"
    assert (poem[:cut].count(refrain), poem[cut:].count(refrain)) == (12, 0)
    assert ran.says("of six characters, about three quarters occur once")
    assert 0.72 < ran.values["seen_once"][6] < 0.8


def test_a_fresh_model_finds_all_characters_equally_likely(ran):
    fresh, even = numbers(ran.printed["model-look"])[:2]
    assert abs(fresh - even) < 0.1


# --- the experiment -------------------------------------------------------------------------------


def test_looking_at_a_model_changes_nothing(ran):
    losses_of, poet, data = (ran.values[name] for name in ("losses_of", "poet", "val_data"))
    for mode in (True, False):
        before = torch.get_rng_state()
        losses = losses_of(poet.train(mode), data)
        assert poet.training is mode and not losses.requires_grad
        assert torch.equal(torch.get_rng_state(), before)
    assert losses.shape == (len(data) - 16, 16)
    by_hand = poet(data[None, 5:21], data[None, 6:22])[1]
    assert losses[5].mean().item() == pytest.approx(by_hand.item(), abs=1e-5)


def test_the_curves_do_what_is_said_of_them(ran):
    training, validation = (line_of(ran, "training-demo", name) for name in ("training", "validation"))
    assert ran.says("to about 2.0: a perplexity of about 7") and abs(validation[-1] - 2.0) < 0.08
    assert ran.says("goes on falling, to about 1.4") and abs(training[-1] - 1.4) < 0.05
    assert all(one > other for one, other in zip(training, training[1:], strict=False))
    assert max(validation[1:]) - min(validation[1:]) < 0.1
    assert ran.says("mean over 745 characters", "standard error is about 0.07")
    assert "over 745 characters of the validation part: 0.07" in ran.printed["training-demo"]


def test_the_ladder_is_as_it_is_said_to_be(ran, ladder):
    new = {name: validation for name, (_, validation, _) in ladder.items()}
    assert ran.says("tables of one character do: 2.28. With them it gets to about 2.0")
    assert new["the model without heads"] == pytest.approx(2.28, abs=0.015) and abs(new["the model"] - 2.0) < 0.08
    assert abs(new["table of 1 character, back-off"] - new["the model without heads"]) < 0.05
    assert ran.says("looks better by 0.1 than against the same counts")
    assert new["bigram table, add one"] - new["table of 1 character, back-off"] == pytest.approx(0.1, abs=0.03)
    assert ran.says("two characters gets 1.82, one of three 1.73", "More than three characters don't help")
    tables = [new[f"table of {n} characters, back-off"] for n in (2, 3, 4, 5)]
    assert tables[:2] == [1.82, 1.73] and min(tables) == tables[1]
    assert all(
        math.exp(validation) == pytest.approx(perplexity, rel=0.02) for _, validation, perplexity in ladder.values()
    )


@pytest.mark.parametrize("context", ["the", "she", "TH", "qqq", "x", ""])
def test_what_a_table_says_are_probabilities(ran, context):
    known, characters = ran.values["train_text"], ran.values["tokenizer"].characters
    for table in (
        lambda text: ran.values["table_losses"](known, text, 3),
        lambda text: ran.values["add_one_losses"](known, text),
    ):
        after = [table(f" {context}{character}")[-1] for character in characters]
        assert sum(math.exp(-loss) for loss in after) == pytest.approx(1)


def test_the_heads_see_about_four_characters(ran):
    assert ran.says("Each head puts more than nine tenths of its weight on the last four")
    printed = ran.printed["heads-demo"].splitlines()
    heads = [numbers(line.partition(":")[2]) for line in printed if line.startswith("head ")]
    assert len(heads) == 4 and all(head[-1] > 0.9 for head in heads)
    assert ran.says("One head puts more than two thirds of its weight on the character itself")
    assert max(head[0] for head in heads) > 2 / 3
    of_places = line_of(ran, "heads-demo", "loss by place:")
    assert of_places[0] - of_places[1] > 0.3 and of_places[1] - of_places[3] > 0.05
    assert max(of_places[3:]) - min(of_places[3:]) < 0.08


def test_the_weights_that_are_drawn_are_those_of_the_heads(ran):
    head, x = ran.values["poet"].sa_head.heads[0], torch.randn(2, 16, 64)
    weights = ran.values["weights_of"](head, x)
    assert torch.allclose(weights @ head.value(x), head(x), atol=1e-5)


def test_each_part_of_a_block_pays(ran):
    rungs = re.findall(r"^after 500 steps, (.+): ([\d.]+)$", ran.printed["block-demo"], re.MULTILINE)
    assert ran.says("heads alone are at about 2.04", "residual connection at 2.00", "MLP at 1.95", "LayerNorms at 1.87")
    assert [float(loss) for _, loss in rungs] == pytest.approx([2.04, 2.00, 1.95, 1.87], abs=0.025)
    assert [len(name.split(", ")) for name, _ in rungs] == [1, 2, 3, 4]


def test_a_block_overfits(ran):
    training, validation = (line_of(ran, "block-demo", name) for name in ("training", "validation"))
    assert ran.says(
        "at its lowest, about 1.86, after 500 to 750 steps",
        "rises, to 2.0 or more",
        "falls below 1",
    )
    assert min(validation) in validation[1:3] and abs(min(validation) - 1.86) < 0.025
    assert validation[-1] >= 2.0 and training[-1] < 1


def test_the_schedule_pays_and_depth_adds_a_few_hundredths(ran):
    rows = re.findall(r"training ([\d.]+)  validation ([\d.]+)", ran.printed["recipe-demo"])
    (_, plain), (memorised, scheduled), (held, dropped), (_, deep) = [[float(loss) for loss in row] for row in rows]
    assert ran.says(
        "lower by about 0.1", "1.83 in place of 1.95", "Dropout** changes little", "takes off a few hundredths"
    )
    assert (plain, scheduled) == (pytest.approx(1.95, abs=0.03), pytest.approx(1.83, abs=0.03))
    assert abs(dropped - scheduled) < 0.04 and held > memorised + 0.05 and 0 < dropped - deep < 0.1
    assert ran.says("two with the full recipe to about 1.8") and deep == pytest.approx(1.81, abs=0.03)


def test_the_learning_rate_warms_up_and_falls_along_half_a_cosine(ran):
    rates = [ran.values["learning_rate"](step, 1000, 3e-3, 100) for step in range(1000)]
    assert rates[0] < 1e-4 and max(rates) == rates[99] == pytest.approx(3e-3) and rates[-1] < 1e-6
    assert rates[550] == pytest.approx(1.5e-3)  # half of the way down
    assert rates[:100] == sorted(rates[:100]) and rates[100:] == sorted(rates[100:], reverse=True)


def test_top_p_leaves_the_fewest_characters_that_have_p_together(ran):
    best, blocks = ran.values["best"].eval(), ran.values["val_data"].unfold(0, 16, 1)[:50]
    with torch.no_grad():
        probabilities = best(blocks)[0][:, -1].softmax(dim=1)
        left = ran.values["Nucleus"](best, 0.8)(blocks)[0][:, -1]
    kept = left.isfinite()
    for row, mine in zip(probabilities, kept, strict=True):
        assert row[mine].sum() >= 0.8 > row[mine].sum() - row[mine].min() and row[mine].min() >= row[~mine].max()
    assert torch.allclose(left.softmax(dim=1), probabilities * kept / (probabilities * kept).sum(dim=1, keepdim=True))
    assert ran.says("For p = 0.8 the next cell finds that 1 to 11 characters stay, 3 on average")
    least, most, average = re.search(
        r"leaves (\d+) to (\d+) characters, ([\d.]+) on", ran.printed["colder-demo"]
    ).groups()
    assert least == "1" and abs(int(most) - 11) <= 2 and abs(float(average) - 3) < 0.5


def test_a_higher_temperature_leaves_more_characters(ran):
    assert ran.says(
        "It leaves more. The flatter the probabilities are",
        "At 0.1 the first character has nearly all",
        "At 4 none has a tenth",
    )
    top_p, start = ran.values["top_p"], torch.tensor([ran.values["tokenizer"].encode(ran.values["BEGUN"])])
    with torch.no_grad():
        logits = ran.values["best"].eval()(start)[0][0, -1]
    left = [int(top_p(logits / heat, 0.8).isfinite().sum()) for heat in (0.1, 0.5, 1, 2, 4)]
    assert left == sorted(left) and left[0] == 1 < left[2] < left[4]
    assert (logits / 0.1).softmax(dim=0).max() > 0.9 and (logits / 4).softmax(dim=0).max() < 0.1


def test_a_text_worth_reading_takes_more_text(ran):
    weights = sum(parameter.numel() for parameter in ran.values["best"].parameters())
    assert ran.says("This model has 108,000 weights, and read 6,845 characters") and round(weights / 1000) == 108
    assert len(ran.values["train_data"]) == 6845
    assert ran.says("has 134,528 weights, and saw 102,400 tales made by rules, from 367 words")
    assert BATCH * STEPS == 102_400 and len(ran.values["WORDS"]) == 367
    assert sum(weight.numel() for weight in ran.values["stored"].values()) == 134_528


def test_the_storyteller_is_read_as_in_lesson_04(ran):
    """And both tales are its own: each word is likely, but for the one of which the text speaks."""
    there = load(ROOT / "source" / NAMES["04"] / f"{NAMES['04']}.ipynb")["cells"]
    (cell,) = ["".join(cell["source"]) for cell in there if cell["id"] == "storyteller-read"]
    assert cell.startswith(ran.texts["storyteller-read"])
    first, second = ran.printed["tale-demo"].strip().split("\n\n")
    assert first.startswith("It was May") and len(first.split()) > 30
    assert ran.says("hit *thick*", "three times in 100,000") and second.startswith("Thick ")
    share = ran.values["read"](["<s>"])[0][-1].softmax(dim=0)[ran.values["WORDS"].index("thick")]
    assert round(share.item() * 1e5) == 3
    (tamed,) = re.findall(r"top-p 0.8, the storyteller:\n(.+)", ran.printed["colder-demo"])
    assert tamed.startswith("The ") and tamed.endswith(".")


def test_of_a_longer_text_some_7000_blocks_are_looked_at(ran):
    assert ran.says("number 11 of Project Gutenberg") and "some 7,000" in ran.values["losses_of"].__doc__
    for length, blocks in [(6845, 6829), (140_000, 6666)]:
        assert ran.values["losses_of"](ran.values["poet"], torch.zeros(length, dtype=torch.int64)).shape == (blocks, 16)


# --- AdamW and checkpoints ------------------------------------------------------------------------


def filled(ran, cell, text, *places):
    """What a cell prints, and its names, with the lines in place of `places` that a text folds away."""
    assert "waits for your" in ran.printed[cell]
    folded = re.search(r"<summary>The (?:two )?lines?</summary>\n\n(.*?)\n", ran.texts[text])[1]
    code = ran.texts[cell]
    for place, line in zip(places, re.findall(r"`(.*?)`", folded), strict=True):
        assert code.count(place) == 1
        code = code.replace(place, line)
    values, out = {**ran.values}, io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, values)
    return out.getvalue(), values


def test_adamw_by_hand_is_torchs_and_its_first_step_is_the_learning_rate(ran):
    printed, _ = filled(ran, "adamw-look", "adamw-text", "new_m, new_v = ..., ...")
    first, last = printed.splitlines()
    assert ran.says("each weight moves by the learning rate, 0.003", "to the last digits of float64")
    least, most = re.search(r"moves these weights by (\S+) to (\S+)", first).groups()
    assert 0.0025 < float(least) <= float(most) == 0.003
    small, large = map(float, re.search(r"lm_head: (\S+) to (\S+);", first).groups())
    assert large > 1000 * small
    assert float(re.search(r"differ by (\S+) at most", last)[1]) < 1e-12


def test_a_run_that_was_stopped_goes_on_to_the_last_bit_only_with_all_of_its_state(ran):
    rows = re.findall(
        r"left out: (\w+) +weights differ by (\S+) +at most, loss on new text ([\d.]+)", ran.printed["checkpoint-look"]
    )
    assert [name for name, *_ in rows] == ["nothing", "optimizer", "chance"]
    assert rows[0][1] == "0" and all(float(far) > 0.01 for _, far, _ in rows[1:])
    losses = [float(loss) for *_, loss in rows]
    assert ran.says("The losses hardly differ") and max(losses) - min(losses) < 0.07
    assert ran.says("some 13 bytes for each weight", "12 for itself and two averages")
    assert 12.5 < float(re.search(r"the file: ([\d.]+) bytes", ran.printed["checkpoint-look"])[1]) < 13.5


def test_pieces_make_the_poem_shorter(ran):
    printed, values = filled(
        ran, "pieces", "pieces-text", "...  # 1. yours: this pair occurs `often` times more", "commonest = ..."
    )
    assert ran.says("The first merge of the poem should be *he*") and "the first merges: he ␣t" in printed
    assert ran.says("With 200 merges the poem is less than half as long", "about 250 rows instead of 54")
    counts = re.findall(r"(\d+) merges: (\d+) pieces, (\d+) different", printed)
    first, _, last = (tuple(map(int, row)) for row in counts)
    assert first == (0, len(ran.values["poem"]), 54) and last[1] < first[1] / 2 and 245 <= last[2] <= 255
    cut, merges = values["cut_into_pieces"], values["merges"]
    assert "".join(cut(ran.values["poem"], merges)) == ran.values["poem"]
    assert cut(" the harbour", merges)[0] == " the" and len(cut(" the harbour", merges)) > 2


def test_short_words_are_mostly_right_and_long_ones_mostly_not(ran):
    assert ran.says("Short words are mostly right, long ones mostly not")
    known = set(re.findall(r"\w+", ran.values["poem"].lower()))
    written = re.findall(r"\w+", ran.printed["sample-demo"].lower())
    for words, right in [([w for w in written if len(w) <= 3], True), ([w for w in written if len(w) >= 6], False)]:
        assert len(words) >= 5
        assert (sum(word in known for word in words) > len(words) / 2) is right


def test_a_colder_model_keeps_to_the_words_of_the_poem_and_ends_in_a_loop(ran):
    assert ran.says("more of the words are in the poem", "the model ends in a loop")
    _, half, least, _ = re.split(r"(?:temperature|top-p) [\d.]+:\n", ran.printed["colder-demo"])
    known = set(re.findall(r"\w+", ran.values["poem"].lower()))
    shares = [
        sum(word in known for word in words) / len(words)
        for words in (re.findall(r"\w+", text.lower()) for text in (ran.printed["sample-demo"], half))
    ]
    assert shares[1] > shares[0] + 0.05
    end = least.strip()[-60:]
    assert any(end[period:] == end[:-period] for period in range(1, 31))


# --- what is said of the published code -----------------------------------------------------------


def test_the_published_generate_fails_as_it_is_said_to(ran):
    model, idx = Rolled([1.0, 0.0, 2.0], [1, 2]), torch.zeros(1, 1, dtype=torch.int64)
    namespace = namespace_of("generate as it was published", bank("generate")["original-003"].source)
    generate = namespace["generate"]
    assert ran.says("stops with a `NameError`", "it stops with a `ValueError`")
    with pytest.raises(NameError, match="block_size"):
        generate(model, idx, 5)
    namespace["block_size"] = 2
    try:
        with pytest.raises(ValueError, match="unpack"):
            generate(model, idx, 5)
    finally:
        del namespace["block_size"]
    assert ran.says("Given a `generator`, it stops with a `TypeError`")
    with pytest.raises(TypeError, match="generator"):
        generate(model, idx, 5, generator=torch.Generator())


def test_the_published_model_fails_as_it_is_said_to(ran):
    namespace = {**ran.values}
    exec(bank("BigramLanguageModel")["original-003"].source, namespace)
    published = namespace["BigramLanguageModel"]
    assert ran.says("stops with a `TypeError`", "nothing at all, it stops with a `NameError`")
    with pytest.raises(TypeError, match="positional"):
        published(54, 32, 8, 4)
    with pytest.raises(NameError):
        published()
    namespace.update(vocab_size=54, n_embd=32, block_size=8, device="cpu")
    assert ran.says("another `TypeError`: its heads want five arguments")
    with pytest.raises(TypeError, match="missing 3 required"):
        published()


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []


def test_heat_maps_that_are_compared_have_one_scale(ran):
    assert not ran.with_cut_bars() and not ran.on_several_scales()


# --- what training costs --------------------------------------------------------------------------


def test_the_answer_of_what_training_costs(ran):
    d, blocks, v, short, long = 768, 12, 50257, 1024, 16384
    matrices, head = blocks * 12 * d**2, v * d
    mixed = {t: blocks * 2 * t * d for t in (short, long)}
    answer = ran.texts["question-training-cost"].replace("{,}", ",")
    for number in (12 * d**2, matrices, head, *mixed.values(), matrices + head + mixed[short], 16 * 124_439_808):
        assert f"{number:,}" in answer, number
    assert matrices == max(matrices, head, mixed[short]) and mixed[long] > matrices + head
    assert round(matrices / (matrices + head + mixed[short]), 2) == 0.60
    assert round(mixed[long] / (matrices + head + mixed[long]), 2) == 0.71
    flops = 6 * (matrices + head + mixed[short])
    assert f"{flops:,} FLOPs".replace(",", "{,}") in ran.texts["question-training-cost"].replace("$ FLOPs", " FLOPs")
    assert round(flops * 1e10 / 1e14) == 85_444 and round(flops * 1e10 / 1e14 / 3600) == 24


def test_a_step_is_three_times_the_forward_pass(ran):
    first, second = ran.printed["training-cost-look"].splitlines()
    assert first.endswith("3.00 times as many") and second.endswith("16 bytes for a parameter")
