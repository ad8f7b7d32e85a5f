"""Lesson 05: what its sentences say of its pictures and of its learning is what comes out."""

import re

import pytest
import torch
from lessons import lesson, run

pytestmark = lesson("05")

SENTENCE = "The Professor who supervised the student published the paper".split()
NOTE = "A scholar wrote an article".split()


@pytest.fixture(scope="module")
def ran():
    return run("05")


def found(weights, rows, columns):
    """Each row's name and the name of the column that it gives most to."""
    return {row: columns[line.argmax()] for row, line in zip(rows, weights, strict=True)}


def test_only_the_right_way_hears_the_note_and_not_its_order(ran):
    changes = {
        name: (float(word), float(order))
        for name, word, order in re.findall(
            r"(\w+): shape .* in the note changes ([\d.]+), .* changes ([\d.]+)", ran.printed["wrong-first"]
        )
    }
    assert changes["asks_itself"] == (0, 0)
    assert min(changes["keys_of_its_own"]) > 0.1
    assert changes["asks_the_context"][0] > 0.1 and changes["asks_the_context"][1] == 0


def test_each_word_finds_its_counterpart_once_the_padding_is_hidden(ran):
    unmasked, hidden = ran.values["no_mask"], ran.values["padding_hidden"]
    assert (unmasked[:, 5:] > 0.1).all() and not hidden[:, 5:].any()
    words = found(hidden, range(9), NOTE)
    assert [words[i] for i in (1, 5)] == ["scholar"] * 2 and [words[i] for i in (3, 6)] == ["wrote"] * 2
    assert words[8] == "article" and (hidden[[0, 4, 7]][:, [0, 3]].sum(dim=1) > 0.9).all()
    assert hidden.max(dim=1).values.argmin() == SENTENCE.index("who") and hidden[2].max() < 0.3


def test_a_causal_mask_hides_what_the_note_looks_for(ran):
    weights, whole = ran.values["looking_back"], ran.values["asked_back"].softmax(dim=1)
    lost = {"wrote": ["supervised", "published"], "article": ["paper"]}
    for asking, asked in lost.items():
        columns = [SENTENCE.index(word) for word in asked]
        assert whole[NOTE.index(asking), columns].sum() > 0.9 and not weights[NOTE.index(asking), columns].any()


def test_what_scholar_gives_to_the_two_words_that_find_it(ran):
    weights = ran.values["with_tags"](ran.values["note"][:5], ran.values["sentence"])[NOTE.index("scholar")]
    professor, student = (weights[SENTENCE.index(word)].item() for word in ("Professor", "student"))
    assert ran.says(f"It gives {professor:.2f} to *Professor*", f"and {student:.2f} to *student*")
    person = ran.values["sentence"][:, ran.values["features"].index("person")]
    assert person[SENTENCE.index("Professor")] > person[SENTENCE.index("student")]


def test_a_token_shared_by_two_shares_its_own_weight(ran):
    asks, asked = (weights for weights, _, _, _ in ran.values["shown"])
    scholar = NOTE.index("scholar")
    sharing = [SENTENCE.index("Professor"), SENTENCE.index("student")]
    assert (asks[sharing, scholar] > 0.9).all() and not asks[:, 5:].any()
    assert asked[scholar, sharing].sum() > 0.9 and asked[scholar].max() < 0.65


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_reversing_is_learnt_as_an_anti_diagonal_and_only_with_places(ran, seed):
    model, right = ran.values["learn_to_reverse"](seed)
    weights = model.alignment(ran.values["word"])
    assert right > 0.999 and weights.flip(1).diag().min() > 0.8
    _, without = ran.values["learn_to_reverse"](seed, with_places=False)
    assert 0.18 < without < 0.24  # "about one letter in five"


def test_the_word_of_the_picture_is_reversed(ran):
    assert "'stressed' comes out as 'desserts'" in ran.printed["reverse-look"]
    with_places, without = (float(share) for share in re.findall(r"([\d.]+)%", ran.printed["reverse-look"]))
    assert with_places > 99.9 and 18 < without < 24
    assert ran.values["seen"][0].max() < 0.4  # no pattern before the first step


def test_where_to_look_is_learnt_before_what_to_write(ran):
    assert ran.says("After 25 steps each letter to be written already looks most at its own", "some 25 steps more")
    seen, wrote = ran.values["seen"], ran.values["wrote"]
    assert torch.equal(seen[25].argmax(dim=1), torch.arange(8).flip(0)) and wrote[25] != "desserts"
    assert wrote[50] == "desserts" == wrote[250]


def test_each_head_finds_its_own_and_no_padding(ran):
    seen = ran.values["seen_by_heads"]
    assert not seen[:, :, 5:].any()
    for head, pairs in enumerate([{1: 1, 5: 1}, {3: 2, 6: 2}, {8: 4}]):
        for asking, asked in pairs.items():
            assert seen[asking, head, asked] > 0.9


def test_the_less_a_token_has_of_what_a_head_compares_the_more_even_is_its_row(ran):
    largest = ran.values["seen_by_heads"].amax(dim=2)  # (9, 3)
    for head, feature in enumerate(ran.values["matches"]):
        has = ran.values["sentence"][:, ran.values["features"].index(feature)]
        assert (largest[has.argsort(), head].diff() > -1e-4).all()


def test_cross_attention_lets_words_hear_the_note_but_not_one_another(ran):
    encoder, decoder, between = (changes for changes, _, _ in ran.values["reach"])
    assert encoder.all() and torch.equal(decoder, torch.ones(9, 9).tril())
    assert between[:, :5].all() and torch.equal(between[:, 5:], torch.eye(9))


def test_an_encoder_decoder_of_the_students_classes_needs_all_its_attentions(ran):
    whole, no_encoder, no_decoder = (float(share) for share in re.findall(r"([\d.]+)%", ran.printed["whole-look"]))
    assert whole > 97  # "Nearly all words come out right."
    assert ran.says("About three quarters of the words are then right") and 69 < no_encoder < 81
    assert ran.says("About nine tenths are then right") and 86 < no_decoder < 94
    assert ran.says("*stressed* becomes *se*") and "stressed: se\n" in ran.printed["whole-look"]
    assert re.search("attended: ted\nsenators: s\n", ran.printed["whole-look"])


def test_the_encoder_decoder_does_not_see_what_it_is_to_write(ran):
    """Change a letter written later, and no earlier prediction moves; what is to be written is what the text says."""
    model, written = ran.values["finder"], torch.tensor([[8, 1, 2, 3, 4]])
    context = model.encode(torch.randint(8, (1, 8)))
    before, after = model.decode(written, context), model.decode(torch.tensor([[8, 1, 2, 7, 4]]), context)
    assert torch.allclose(before[:, :3], after[:, :3], atol=1e-6) and not torch.allclose(before[:, 3], after[:, 3])
    assert ran.values["repeated_letters"]([6, 7, 5, 2, 6, 6, 2, 1]) == [8, 6, 2, 8, -100, -100]
    assert ran.values["repeated_letters"]([0, 1, 2, 3, 4, 5, 6, 7]) == [8, 8, -100, -100, -100, -100]


def test_the_layers_agree_with_torch(ran):
    for cell in ("special-case-look", "multi-look"):
        (difference,) = re.findall(r": (\S+e-\d+)", ran.printed[cell])
        assert float(difference) < 1e-6


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
    assert not ran.with_cut_bars() and not ran.on_several_scales()
