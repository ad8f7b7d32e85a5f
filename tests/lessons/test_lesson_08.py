"""Lesson 08: what it says of norms, gates, rotated positions, shared heads and its poets is what comes out."""

import math
import re

import matplotlib.pyplot as plt
import pytest
import torch
import torch.nn.functional as F
from lessons import lesson, run

from autograder.mistakes.bank import bank, namespace_of

pytestmark = lesson("08")


@pytest.fixture(scope="module")
def ran():
    return run("08")


LONG = pytest.mark.slow("it trains three poets")


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=LONG), pytest.param(2, marks=LONG)])
def poets(ran, request):
    """Three of the lesson's poets, trained with a seed: name -> (poet, loss on the validation part)."""
    names = ("heads alone (lesson 07)", "in a block", "2 key heads")
    if request.param == 0:
        found = {name: ran.values["poets"][name] for name in names}
    else:
        found = {name: ran.values["made"](name, request.param)[0] for name in names}
    return {name: (poet, read(ran, poet, 16).mean().item()) for name, poet in found.items()}


def read(ran, poet, width):
    return ran.values["each_once"](ran.values["losses_at"](poet, width))


def numbers(line):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", line)]


def line_of(ran, cell, start):
    """The numbers in the only line of what a cell printed that starts like this."""
    (line,) = [line for line in ran.printed[cell].splitlines() if line.startswith(start)]
    return numbers(line.removeprefix(start))


# --- the parts ------------------------------------------------------------------------------------


def test_a_loud_token_decides_rows_until_it_is_normed(ran):
    assert ran.says("each of the other queries gives it nearly all of its weight, or none")
    calm, loud, normed = ran.values["seen_by"]
    others = [row for row in range(9) if row != 4]
    assert ((loud[others, 4] > 0.98) | (loud[others, 4] < 0.01)).all()
    assert (loud[others, 4] > 0.98).sum() >= 3 and calm[:, 4].max() < 0.6 and normed[:, 4].max() < 0.6
    assert ran.says("float16 ends at 65504, and 300² is beyond it") and torch.finfo(torch.float16).max == 65504
    assert "float16 is inf; sixteen 300s through your norm: 1.0" in ran.printed["rmsnorm-look"]
    calm_norm = ran.values["norm"](ran.values["calm"])
    assert torch.allclose(ran.values["norm"](ran.values["loud"]), calm_norm, atol=1e-5)


def test_a_gated_network_makes_four_of_two(ran):
    gated, plain = line_of(ran, "swiglu-look", "weights: SwiGLU")
    assert ran.says("3 · d · (8/3) d = 2 · d · 4 d") and gated == plain
    assert ran.says("SwiGLU multiplies two numbers that both grow: **four times**")
    assert "SwiGLU times 4.00" in ran.printed["swiglu-look"] and "ReLU times 2.00" in ran.printed["swiglu-look"]
    assert ran.says("dips below 0, to −0.28") and round(F.silu(torch.linspace(-6, 4, 2000)).min().item(), 2) == -0.28


def test_rotated_scores_know_the_distance_alone(ran):
    rotated, added = ran.values["rotated"], ran.values["added"]
    for i in range(-10, 11):
        assert torch.allclose(rotated.diagonal(i), rotated.diagonal(i)[:1], atol=1e-5)
        assert added.diagonal(i).std() > 0.05
    assert torch.allclose(ran.values["far"], rotated, atol=1e-3)
    assert ran.says("a query at place 7 and a key at place 5 is that of the same two at places 107 and 105")


def test_the_hands_turn_and_the_score_stays(ran):
    """At each stop of the slider: the score that the picture says is that of apply_rope."""
    assert ran.says("The angle between its two hands stays, and so does the score")
    query, key = (
        torch.tensor([[math.cos(angle) for angle in begins] + [math.sin(angle) for angle in begins]])
        for begins in ran.values["POINTS_AT"].values()
    )
    said = set()
    for place in (2, 3, 50, 1000):
        figure = ran.values["at_place"](place)
        title = figure.texts[0].get_text()
        cosines = [text.get_text() for ax in figure.axes for text in ax.texts if "cos of" in text.get_text()]
        assert len(set(cosines)) == 4, "two clocks seem to say the same"
        plt.close(figure)
        assert f"query (blue) at place {place}, key (orange) at place {place - 2}" in title
        turned = [ran.values["apply_rope"](x, torch.tensor([at])) for x, at in ((query, place), (key, place - 2))]
        said.add(title.rpartition(" ")[2])
        assert f"{(turned[0] @ turned[1].T).item():.2f}" in said
    assert len(said) == 1


def test_what_bfloat16_makes_of_places(ran):
    assert ran.says("bfloat16 makes 256 of 257, and 260 of 259. Of 8192 places it tells 897 apart")
    assert torch.tensor([257, 259]).bfloat16().tolist() == [256, 260]
    assert len(torch.arange(8192).bfloat16().unique()) == 897
    assert ran.says("Of the whole numbers above 256 bfloat16 can hold every second one, above 512 every fourth")
    assert torch.arange(256, 513).bfloat16().unique().diff().unique().tolist() == [2]
    assert torch.arange(512, 1025).bfloat16().unique().diff().unique().tolist() == [4]
    assert ran.says("With d = 16, the slowest pair needs some 20,000 places for a full turn")
    assert 2 * math.pi / 10000 ** (-14 / 16) == pytest.approx(20_000, rel=0.02)


def test_only_the_right_order_gives_the_right_scores(ran):
    assert ran.says("Without reordering, even the diagonal is right")
    wanted, ways = ran.values["wanted"], ran.values["ways"]
    assert torch.allclose(ways["by your function"], wanted, atol=1e-5)
    for name in ("as they are", "reordered across heads"):
        assert (ways[name] - wanted).abs().max() > 1
    off = (ways["as they are"] - wanted).diagonal(dim1=1, dim2=2)
    assert off.abs().max() < 1e-5
    original = namespace_of("the original", bank("interleaved_to_halves")["across-heads"].source)[
        "interleaved_to_halves"
    ]
    rows = torch.arange(16.0)[:, None]
    assert original(rows, 2)[:, 0].tolist() == ran.values["across"].tolist()


def test_what_shared_heads_save(ran):
    rows = [numbers(line) for line in ran.printed["gqa-look"].splitlines()[1:]]
    assert [row[0] for row in rows] == [4, 2, 1] and [row[2] for row in rows] == [256, 128, 64]
    assert ran.says("Each query head still has a score for each pair") and len({row[3] for row in rows}) == 1
    per_token = 2 * 80 * 64 * 128 * 2
    assert ran.says("2.6 million, for **each token**") and round(per_token / 1e6, 1) == 2.6
    assert ran.says("131,072 tokens that is 344 GB, more than twice what its weights take")
    assert round(per_token * 131072 / 1e9) == 344 > 2 * 2 * 70.6


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_deep_stack_needs_norms_and_the_line(ran, seed):
    sizes, gradients = {}, {}
    for name in ("pre-norm", "post-norm", "no thick line", "no norm"):
        line, slopes = ran.values["on_the_line"](name, seed=seed)
        sizes[name] = line[-1].square().mean().sqrt().item()
        gradients[name] = (slopes[0].norm() / slopes[-2].norm()).item()
    assert ran.says("the RMS ends at 1.4") and sizes["pre-norm"] == pytest.approx(1.4, abs=0.1)
    assert not sizes["no norm"] < 10
    assert ran.says("more than ten thousand times as long") and (gradients["no thick line"] > 10_000 or seed)
    assert gradients["no thick line"] > 1000
    assert ran.says("With the line, it hardly changes", "Pre-norm or post-norm makes no difference to be seen here")
    assert 0.5 < gradients["pre-norm"] < 2.5 and 0.5 < gradients["post-norm"] < 2.5
    assert ran.says("the RMS is in the thousands after 24 blocks") and (seed or sizes["no norm"] > 1000)


# --- the poets ------------------------------------------------------------------------------------


def test_the_table_is_that_of_lesson_07(ran):
    assert ran.says("the best of that lesson's baselines: 1.73") and "a loss of 1.73" in ran.printed["bench"]
    assert ran.says("Each of its 761 characters but the first counts once") and len(ran.values["new"]) == 761
    assert len(ran.values["by_table"]) == len(read(ran, ran.values["final"], 16)) == 760
    seen, ends = ran.values["poem"], ran.values["table_of_three"]
    assert sum(ends(seen, f" she{c}")[-1].item() for c in ran.values["alphabet"]) == pytest.approx(1, abs=1e-5)


def test_the_block_pays_and_the_rest_is_within_chance(ran, poets):
    losses = {name: loss for name, (_, loss) in poets.items()}
    assert ran.says("It takes the loss from 2.0 to 1.8")
    assert losses["heads alone (lesson 07)"] == pytest.approx(2.0, abs=0.06)
    assert losses["in a block"] == pytest.approx(1.8, abs=0.05)
    assert ran.says("lies close together**, between 1.72 and 1.82") and 1.70 < losses["2 key heads"] < 1.83
    by_poet = (-read(ran, poets["2 key heads"][0], 16)).exp()
    together = -((by_poet + ran.values["by_table"]) / 2).log().mean().item()
    assert ran.says("Together they get to about 1.6, well below") and together == pytest.approx(1.6, abs=0.05)


def test_the_ladder_is_as_it_is_said_to_be(ran):
    printed = ran.printed["poet"] + ran.printed["poet-deeper"]
    rungs = {name: numbers(printed.split(name)[1].splitlines()[0]) for name in ran.values["rungs"]()}
    after = ["rotary positions", "two blocks", "2 key heads", "1 key head"]
    assert all(1.70 < rungs[name][0] < 1.84 for name in after)
    assert ran.says("there the loss falls from 1.3 to 1.1")
    assert rungs["rotary positions"][1] == pytest.approx(1.3, abs=0.05)
    assert all(rungs[name][1] == pytest.approx(1.1, abs=0.07) for name in after[1:])
    assert ran.says("128 per character instead of 512") and (rungs["1 key head"][4], rungs["two blocks"][4]) == (
        128,
        512,
    )
    assert ran.says("The standard error of a difference is 0.03")
    assert line_of(ran, "poet-deeper", "standard error")[-1] == pytest.approx(0.03, abs=0.011)


def test_looking_at_a_poet_changes_nothing(ran):
    poet, before = ran.values["final"], torch.get_rng_state()
    first, again = read(ran, poet, 16), read(ran, poet, 16)
    assert not poet.training and torch.equal(first, again) and torch.equal(torch.get_rng_state(), before)
    part = ran.values["new"][None, :16]
    assert torch.allclose(
        F.cross_entropy(poet(part)[0], ran.values["new"][1:17], reduction="none"), first[:16], atol=1e-4
    )


def test_a_long_text_must_be_trained(ran):
    before, after = (line_of(ran, "longer", name) for name in ("trained on 16 places", "and 100 steps on 64"))
    assert ran.says("at 64 places it is 2.8 to 2.9") and before[-1] == pytest.approx(2.85, abs=0.15)
    assert before[-1] > 2.4  # worse than the table of one character, lesson 07
    assert ran.says("On 64 places it is about 1.85, on 16 it was about 1.75")
    assert after[-1] == pytest.approx(1.85, abs=0.06) and before[1] == pytest.approx(1.75, abs=0.04)
    places = ran.values["losses_at"](ran.values["long"], 64).mean(dim=0)
    assert ran.says("nearly as low at place 60 as at place 16") and abs(places[59] - places[15]) < 0.12
    assert ran.says("twice as large as the largest was before")
    short, long = (numbers(line)[-1] for line in ran.printed["longer"].splitlines() if "texts of" in line)
    assert long == 2 * short == 8 * 4 * 64 * 64 * 4


def test_gates_wait_for_something(ran):
    gates = ran.values["gates"][:, ran.values["busiest"]]
    assert ran.says("at most characters they are near 0 or in the dip, and at a few they are wide open")
    assert (gates > gates.amax(dim=0) / 2).float().mean() < 0.2
    assert ran.says("More than half of all gates are below 0") and (ran.values["gates"] < 0).float().mean() > 0.5
    assert ran.says("few are really closed") and (ran.values["gates"].abs() < 0.1).float().mean() < 0.3


def test_the_poet_writes_words_of_the_poem(ran):
    written = ran.values["written_by"](ran.values["final"], "\n\n", 120, seed=3)
    assert len(written) == 120 and set(written) <= set(ran.values["alphabet"])
    assert len(ran.printed["sample"]) > 300


def test_what_is_turned_by_hand(ran):
    turned = ran.values["apply_rope"](torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([1]))[0]
    assert ran.says("Out comes (−1.984, 1.960, 2.462, 4.020)") and ran.says("out comes (0.2, 1.4)")
    assert turned.tolist() == pytest.approx([-1.984, 1.960, 2.462, 4.020], abs=5e-4)
    normed = ran.values["RMSNorm"](2)(torch.tensor([1.0, 7.0]))
    assert normed.tolist() == pytest.approx([0.2, 1.4], abs=1e-4)
    assert ran.says("1 · 0.540 − 3 · 0.841 = −1.984", "2 · 0.010 + 4 · 1.000 = 4.020")
    assert [round(f(1.0), 3) for f in (math.cos, math.sin)] == [0.540, 0.841]


def test_minutes_add_up(ran):
    """The minutes in the headings are those of the overview, and these add up to what it says."""
    rows = re.findall(r"^\| (?!exercise|-|\*\*)(.+?) \|.*\| (\d+) \|$", ran.texts["intro"], re.M)
    assert sum(int(minutes) for _, minutes in rows) == 190 and "**190**" in ran.texts["intro"]
    headings = [re.search(r"· (\d+) minutes ·", text) for text in ran.texts.values()]
    assert [found[1] for found in headings if found] == [minutes for name, minutes in rows if name[0].isdigit()]


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []


def test_heat_maps_that_are_compared_have_one_scale(ran):
    assert not ran.with_cut_bars() and ran.on_several_scales() == {
        "halves-look",
        "rope-look",
    }  # two kinds of numbers in each
    (scales,) = [picture.scales for picture in ran.pictures if picture.cell == "halves-look"]
    assert len(scales) == 2  # the right scores, which have signs, and three times how far off


def test_the_slips_named_for_a_rotation_by_hand_are_computed_right(ran):
    """The numbers in the visible check: neighbours, backwards, another exponent, growing frequencies."""
    c, s, x = math.cos, math.sin, (1, 2, 3, 4)

    def turned(pairs, angles):
        y = [0.0] * 4
        for (i, j), a in zip(pairs, angles, strict=True):
            y[i], y[j] = x[i] * c(a) - x[j] * s(a), x[i] * s(a) + x[j] * c(a)
        return y

    halves, neighbours = ((0, 2), (1, 3)), ((0, 1), (2, 3))
    slips = [
        turned(neighbours, (1, 0.01)),
        turned(halves, (-1, -0.01)),
        turned(halves, (1, 0.1)),
        turned(halves, (1, 100)),
    ]
    assert list(ran.values["slips"].values()) == [pytest.approx(slip, abs=1e-4) for slip in slips]


# --- the storyteller ------------------------------------------------------------------------------


def test_right_parts_give_the_golden_logits_and_the_same_tale(ran):
    assert ran.says("Right parts come within 2e-4 of the golden logits")
    assert line_of(ran, "storyteller-load", "largest difference from the golden logits:")[0] < 2e-4
    assert "the tale that right parts tell: True" in ran.printed["storyteller-load"]


def test_a_student_chooses_the_beginning(ran, capsys):
    assert ran.printed["storyteller-yours"].startswith(
        "A badger called Wilma lived by the sea with a donkey called Pepper."
    )
    exec(ran.texts["storyteller-yours"].replace("badger", "dragon"), dict(ran.values))
    assert capsys.readouterr().out.startswith("It does not know dragon. It knows: <s> </s> ,")


def test_what_mistakes_make_of_the_storyteller(ran):
    """Three spoil the tale, two only the logits."""
    right, told = ran.values["tale"], ran.values["wrong_tales"]
    off = [found for found, _ in told.values()]
    assert ran.says("The logits are off by more than 10", "by about 3, and by less than 1")
    assert min(off[:3]) > 10 and round(off[3]) == 3 and 0.1 < off[4] < 1
    same = [tale == right[: len(tale)] for _, tale in told.values()]
    assert same == [False, False, False, False, True] and ran.says("it tells the same tale")
