"""Lesson 06: what its sentences say of its pictures and of its learning is what comes out."""

import math
import re

import pytest
import torch
from lessons import lesson, run

pytestmark = lesson("06")

FITTING = [10, 12, 7]  # the small yellow star, the large yellow square, the large red square
OF_ONE_KIND = [range(2), range(2, 6), range(6, 10)]  # sizes, colours, shapes


@pytest.fixture(scope="module")
def ran():
    return run("06")


@pytest.fixture(scope="module")
def pointers(ran):
    """What three seeds learn: the module, its losses, and the share of new boards on which it points rightly."""
    return [ran.values["learn_to_point"](seed) for seed in range(3)]


def test_one_cell_fits_three_words_and_a_maximum_does_not_see_it(ran):
    fits = ran.values["C"] > 0.5
    assert not fits[:3].any() and fits.sum(dim=0).tolist().count(3) == 1
    assert fits.any(dim=0).sum() == 12  # "and twelve cells do"
    best = ran.values["best_word"][fits.any(dim=0)]
    assert torch.allclose(best, best[:1])


def test_each_word_that_is_heard_takes_cells_away(ran):
    assert ran.says("Eight cells are small, two of them yellow, and one of these is a star")
    for words, cells in ((3, 16), (4, 8), (5, 2), (6, 1)):
        heard = ran.values["C"][:words].sum(dim=0)
        assert int((heard == heard.max()).sum()) == cells


def test_patches_of_a_photograph_are_found_by_colour_and_place(ran):
    """The flag's stripe, the ribbons, the shirt and the sky, as rows and columns of 18 x 16 patches."""
    assert ran.values["seen_patches"].shape == (288, 12)
    for asked, rows, columns in (
        ("red on the left", (9, 12), (1, 5)),
        ("red on the right", (15, 17), (10, 14)),
        ("white at the bottom", (13, 16), (6, 9)),
        ("blue on the right", (0, 11), (12, 15)),
    ):
        weights = ran.values["patch_weights"][f"what is {asked}"]
        row, column = divmod(int(weights.argmax()), 16)
        assert rows[0] <= row <= rows[1] and columns[0] <= column <= columns[1], asked
        inside = weights[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1]
        assert inside.sum() > 0.5, asked


def test_the_star_is_found_and_so_is_another_thing(ran):
    assert re.findall(r"row (\d), column (\d)", ran.printed["parallel-look"]) == [("3", "3"), ("3", "4")]


def test_pointing_is_learnt_on_three_seeds(pointers):
    for _, losses, hits in pointers:
        assert abs(losses[0] - math.log(16)) < 0.1 and losses[-1] < 0.01
        assert hits == 1.0


def test_what_the_lesson_prints_of_pointing_is_what_its_text_says(ran):
    first, last, hits = map(float, re.findall(r"[\d.]+(?= at| %|%)", ran.printed["point-look"]))
    assert abs(first - 2.77) < 0.1 and last < 0.01 and hits == 100
    moved = float(re.search(r"differ by at most ([\d.]+)", ran.printed["learnt-dictionary"])[1])
    assert moved < 1e-5 and re.search(r"no to their own property: \w+", ran.printed["learnt-dictionary"])


def test_the_learnt_dictionary_has_signs_by_chance_and_says_no_to_rivals(ran, pointers):
    turned_by_seed = []
    v, q, _ = ran.values["draw_boards"](300)
    for module, _, _ in pointers:
        ordered, turned = ran.values["put_signs_in_order"](module)
        turned_by_seed.append(tuple(turned))
        assert (ordered(v, q)[2] - module(v, q)[2]).abs().max() < 1e-6
        learnt = ordered.W_b.weight.detach()[3:13, :10]
        assert learnt.diag().min() > 0.4
        for kind in OF_ONE_KIND:
            for word in kind:
                rivals = learnt[word, [other for other in kind if other != word]]
                assert rivals.max() < -0.1
    assert len(set(turned_by_seed)) == 3 and all(turned_by_seed)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_answers_alone_teach_where_to_look(ran, seed):
    _, answered, looked = ran.values["learn_to_answer"](seed)
    assert answered > 0.99 and looked > 0.99


def test_boards_for_questions_of_colour_have_one_thing_that_fits_and_its_colour_is_the_answer(ran):
    v, q, colour, right = ran.values["draw_colour_questions"](200)
    assert v.shape == (200, 16, 18) and q.shape == (200, 6, 14)  # two widths, as the text says
    size_and_shape = torch.cat([q[:, :, 4:6], q[:, :, 10:]], dim=2).sum(dim=1)  # (200, 6)
    of_cells = torch.cat([v[:, :, :2], v[:, :, 6:10]], dim=2)  # (200, 16, 6)
    fits = (of_cells * size_and_shape[:, None]).sum(dim=2) == 2
    assert (fits.sum(dim=1) == 1).all() and torch.equal(fits.long().argmax(dim=1), right)
    assert torch.equal(v[torch.arange(200), right, 2:6].argmax(dim=1), colour)
    assert len(set(right.tolist())) == 16


def test_what_is_said_of_the_answers_is_printed_and_drawn(ran):
    assert ran.says("It answers, and it looks at the right cell")
    answered, looked = map(float, re.findall(r"([\d.]+)%", ran.printed["answer-look"]))
    assert answered > 99 and looked > 99
    assert ran.values["board"][ran.values["a_v_of_answer"][0].argmax()] == "large green circle"


def test_without_the_star_the_word_star_loses_its_weight(ran):
    a_v, a_q = ran.values["guided"](
        ran.values["cells_to_features"](ran.values["without_star"])[None], ran.values["question"][None]
    )[2:]
    assert (a_v[0] > 0.24).sum() == 4
    small, yellow, star = a_q[0, 3:].tolist()
    assert star < 0.1 < 0.4 < min(small, yellow)


def test_a_softmax_normalises_the_count_of_fitting_words_away(ran):
    words = ran.values["new_v_by_hand"][0][:, ran.values["asked"]]  # (16, 6)
    assert torch.allclose(words.sum(dim=1), torch.ones(16))
    three, one, none = words[FITTING]
    assert torch.allclose(three[3:], torch.full((3,), 1 / 3), atol=0.02)
    assert one.max() > 0.95 and torch.allclose(none, torch.full((6,), 1 / 6), atol=1e-4)


def test_the_streams_are_two_blocks_of_one_joint_attention(ran):
    masked, unmasked = map(float, re.findall(r"by (\S+)\n", ran.printed["one-sequence-look"]))
    assert masked < 1e-6 and unmasked > 0.01


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []


def test_heat_maps_that_are_compared_have_one_scale(ran):
    assert not ran.with_cut_bars() and not ran.on_several_scales()


def test_two_streams_keep_a_width_of_their_own(ran):
    assert ran.printed["two-widths-look"].strip() == "after three exchanges: cells (1, 16, 18), words (1, 6, 14)"
