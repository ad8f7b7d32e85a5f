"""What lesson 01 says of numbers, held against what its cells compute."""

import math
import re

import matplotlib.pyplot as plt
import numpy
import pytest
import torch
from lessons import lesson, run

pytestmark = lesson("01")

TOKENS = "The Professor who supervised the student published the paper".split()


@pytest.fixture(scope="module")
def ran():
    return run("01")


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_the_score_by_hand(ran):
    line = ran.printed["scores-demo"].splitlines()[0]
    *factors, score = numbers(line)
    assert len(factors) == 12  # six features, of two tokens
    products = [a * b for a, b in zip(factors[::2], factors[1::2], strict=True)]
    assert sum(products) == pytest.approx(score, abs=0.006)
    assert f"supervised   score {score:5.2f}" in ran.printed["follow-one-token"]


def test_what_published_keeps_for_itself_and_the_other_verb(ran):
    weights = dict(re.findall(r"(\w+) +score +[\d.]+ +weight ([\d.]+)", ran.printed["follow-one-token"]))
    verbs = float(weights["published"]) + float(weights["supervised"])
    assert ran.says(f"gives {verbs:.2f} of its attention", f"and {1 - verbs:.2f} to the seven others")


def test_shares_are_no_weights_and_a_softmax_sees_differences_only(ran):
    first, _, third = ran.printed["why-exp-demo"].splitlines()
    scores, shares, weights = numbers(first)[:3], numbers(first)[3:6], numbers(first)[6:]
    assert min(shares) == -3 and sum(weights) == pytest.approx(1, abs=2e-3)
    assert [score + 100 for score in scores] == numbers(third)[:3] and weights == numbers(third)[6:]
    assert max(numbers(third)[3:6]) - min(numbers(third)[3:6]) < 0.03
    assert ran.says(f"$e^2 \\approx {math.exp(2):.1f}$") and weights[0] / weights[1] == pytest.approx(math.exp(2), 0.01)


def test_the_price_grows_with_the_square(ran):
    lines = [line.replace(",", "") for line in ran.printed["cost-demo"].splitlines()]
    found = [
        [float(number) for number in re.findall(r"[\d.]+", re.sub(r"\(.*?\)|float32", "", line))] for line in lines
    ]
    assert len(found) == 3
    for tokens, scores, megabytes in found:
        assert scores == tokens**2 and megabytes == pytest.approx(4 * tokens**2 / 1e6, abs=1e-4)


def test_where_exp_ends(ran):
    assert ran.says("infinity from about 89 on", "from about 710 on")
    assert torch.tensor(88.5).exp().isfinite() and torch.tensor(89.0).exp().isinf()
    with numpy.errstate(over="ignore"):
        assert numpy.isfinite(numpy.exp(709.5)) and numpy.isinf(numpy.exp(710.0))
    small, medium, *broken = ran.printed["overflow-demo"].splitlines()
    assert "nan" not in small + medium and all(line.count("nan") == 3 for line in broken)


def test_one_token_takes_everything_in_the_end(ran):
    weights = ran.values["softmax"](10_000 * ran.values["scores_published"])
    assert ran.says("In the end one token takes everything") and (weights > 0.001).sum() == 1


def test_the_published_picture(ran):
    given, right = ran.values["as_given"], ran.values["token_scores"].softmax(1)
    sums = dict(zip(TOKENS, given.sum(1).tolist(), strict=True))
    assert ran.says(f"*supervised* hands out {sums['supervised']:.2f} and *who* only {sums['who']:.2f}")
    assert torch.allclose(given, right.T)  # which is why it looks plausible
    off = given[0] / right[0] - 1  # by how much each weight of "The" is wrong
    articles = torch.tensor([token.lower() == "the" for token in TOKENS])
    assert off[articles].abs().max() < 0.02 and (off[~articles] < -0.1).sum() == 5
    article = right[0] * ran.values["sentence"][:, 0]
    assert article[articles].sum() > 0.95 * article.sum()  # nearly all of the feature comes from the articles


def test_variance_and_gradient(ran):
    variance, gradient = ran.values["measured"]["variance"], ran.values["measured"]["gradient"]
    for d, unscaled, scaled in zip(ran.values["sizes"], *variance, strict=True):
        assert unscaled == pytest.approx(d, rel=0.1) and scaled == pytest.approx(1, rel=0.1)
    assert gradient[0][0] / gradient[0][-1] > 10_000 and ran.says("more than ten thousand times smaller")
    assert max(gradient[1]) / min(gradient[1]) < 1.2


def test_between_no_scores_and_huge_ones_weights_tell_words_apart_and_can_move(ran):
    """The slider's ends, and its start."""
    assert ran.says("At 0 all words weigh the same. At 10,000 one has everything, and on the right nothing is left")
    scores = ran.values["sentence"] @ ran.values["sentence"][6]
    shown = {}
    for factor in (0, 5, 10_000):
        figure = ran.values["at_factor"](factor)
        shown[factor] = [torch.tensor([float(bar.get_width()) for bar in ax.patches]) for ax in figure.axes]
        plt.close(figure)
        moves = torch.autograd.functional.jacobian(lambda z: z.softmax(0), factor * scores).diagonal()
        assert torch.allclose(shown[factor][1], moves, atol=1e-6)
    assert torch.allclose(shown[0][0], torch.full((9,), 1 / 9))
    assert shown[10_000][0].max() == 1 and shown[10_000][1].max() < 1e-6
    assert shown[5][0].max() - shown[5][0].min() > 0.4 and shown[5][1].max() > 0.2


def test_long_vectors_win(ran):
    unscaled = ran.values["maps"][1][1][0, :, -9:] / 1e-4
    student, professor = TOKENS.index("student"), TOKENS.index("Professor")
    own, other = unscaled[student, student].item(), unscaled[student, professor].item()
    assert ran.says(f"{own:.2f} for itself, and {other:.2f} for *Professor*")
    length = ran.values["sentence"].norm(dim=1)
    assert ran.says(f"({length[professor]:.2f} against {length[student]:.2f})")
    cosine = torch.cosine_similarity(*ran.values["sentence"][[student, professor]], dim=0)
    assert cosine > 0.99  # nearly the same direction


def test_one_layer_cannot_tell_the_animal_from_the_street_and_two_can(ran):
    """The riddle of the first page: in one layer *it* weighs animal against street whatever word comes last."""
    animal, street, it, tired, wide = torch.randn(5, 8, generator=torch.Generator().manual_seed(0)).double()
    layer = ran.values["scaled_self_attention"]

    def leaning(last, layers):
        """By how much the last of some layers lets *it* prefer the animal to the street: the logarithm of a ratio."""
        x = torch.stack([animal, street, it, last])[None]
        for _ in range(layers - 1):
            x = x + layer(x)
        tagged = torch.cat([x, 1e-6 * torch.eye(4, dtype=torch.float64)[None]], dim=2)  # as in the lesson, faint tags
        weights = layer(tagged)[0, 2, -4:]
        return (weights[0] / weights[1]).log().item()

    assert leaning(tired, 1) == pytest.approx(leaning(wide, 1))
    assert abs(leaning(tired, 2) - leaning(wide, 2)) > 0.1
    assert ran.says(
        "By attention alone, this riddle takes two layers",
        "in the first, *it* picks up *tired* or *wide*; in the second, it uses that to choose",
    )


@pytest.mark.parametrize(
    "number, written",
    [(1.0, "1.00"), (0.9996, "1.00"), (0.25, ".25"), (-0.25, "-.25"), (-0.001, ".00"), (1.25, "1.25")],
)
def test_equal_numbers_look_alike_in_a_heat_map(ran, number, written):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    ran.values["show_weights"](torch.tensor([[number, 0.5]]), ["row"], columns=["a", "b"], ax=ax)
    assert ax.texts[0].get_text() == written
    plt.close("all")


def test_read_backwards_nothing_changes(ran):
    assert float(re.search(r"at most (\S+)", ran.printed["self-attention-look"]).group(1)) < 1e-6


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
    assert not ran.with_cut_bars() and not ran.on_several_scales()


def test_a_head_of_gpt2_looks_at_the_earlier_copy_of_a_word(ran):
    head = ran.values["gpt2_head"]
    assert ran.values["SENTENCE"][1] == ran.values["SENTENCE"][10] == "dog"
    assert head[10, 1].item() == pytest.approx(0.55)
    assert ran.says("The second *dog* gives 0.55 to the first one, and the rest to itself") and head[10, 10] > 0.44
    assert (head.sum(1) - 1).abs().max() < 0.04 and head.triu(1).count_nonzero() == 0
