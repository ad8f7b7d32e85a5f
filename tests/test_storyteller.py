"""The storyteller: its tales, its recipe, the weights that students get, and what these are said to be able to do."""

import json
import random
import re

import pytest
import torch
from conftest import ROOT, load

from storyteller import cells, measure, model, tales, train, weights

WORDS = len(measure.VOCABULARY)
SAID = (ROOT / "docs" / "storyteller.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def storyteller():
    return weights.load(weights.FILE.read_text(), WORDS)


# --- the tales ------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", [False, True], ids=["training", "held-out"])
def test_who_is_kept_apart_in_training_never_meets_there(new):
    rng = random.Random(1)
    for _ in range(300):
        words = tales.tell(rng, new).words
        animals = {word for word in words if word in tales.ANIMALS}
        crossed = re.findall(r"the (\w+) didn't cross the (\w+)(?: to the (\w+))?", " ".join(words))
        meetings = [(a, b) for a in animals for b in animals if a != b]
        meetings += [(x, place) for x, *places in crossed if x != "animal" for place in places if place]
        assert all(tales.held_out(*pair) == new for pair in meetings)


def test_in_an_easy_tale_nothing_stands_between():
    rng = random.Random(5)
    told = [" ".join(tales.tell(rng, easy=True).words) for _ in range(300)]
    assert "didn't cross" in "".join(told) and "didn't fit" in "".join(told)
    assert not re.search(r"didn't cross the \w+ to|because , said|packed|lent|borrowed", " ".join(told))


def test_the_vocabulary_holds_all_words():
    rng, known = random.Random(6), set(measure.VOCABULARY)
    assert all(known >= set(tales.tell(rng, new).words) for new in (False, True) for _ in range(1000))


def wanted(kind, before):
    """What a reader who looks back says next, by the last sentence that asks for it."""
    text = " ".join(before)
    if kind.startswith("crossing"):
        x, place, said = re.findall(r"the (\w+) didn't cross the (\w+) .*?it was too (\w+)", text)[-1]
        return x if said in tales.TIRED else place
    if kind.startswith("chase"):
        x, y, said = re.findall(r"the (\w+) didn't catch the (\w+) .*?too (\w+)", text)[-1]
        return x if said in tales.SLOW else y
    if kind.startswith("fit"):
        thing, holder, said = re.findall(r"the (\w+) didn't fit into the (\w+) .*?too (\w+)", text)[-1]
        return thing if said in tales.BIG else holder
    x, verb, y = re.findall(r"the (\w+) (lent|borrowed) (?:a \w+ from )?the (\w+)", text)[-1]
    return y if verb == "lent" else x


def test_a_reference_is_settled_by_what_stands_before():
    rng, asked = random.Random(2), 0
    for tale in (tales.tell(rng) for _ in range(300)):
        for at, kind in tale.references:
            if kind.startswith(("crossing", "chase", "fit", "thanks")):
                assert tale.words[at] == wanted(kind, tale.words[:at])
                asked += 1
            elif kind == "the other one":
                animals = set(tale.words[:at]) & set(tales.ANIMALS)
                assert len(animals) == 2 and tale.words[at] in animals
    assert asked > 300


def test_a_text_has_capitals_and_no_blank_before_a_full_stop():
    words = (
        "<s> the fox lent the hare a key . “ thank you , ” said the hare . what was too wet ? the pier . “ a hat . ” "
    )
    words += "the end . </s>"
    told = "The fox lent the hare a key. “Thank you,” said the hare. What was too wet? The pier. “A hat.” The end."
    assert tales.pretty(words.split()) == told


# --- the recipe -----------------------------------------------------------------------------------


def test_a_smaller_training_learns(capsys):
    """Not that it gets as far as the shipped one: that takes minutes."""
    made = train.train(steps=80, every=20)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", capsys.readouterr().out)]
    assert losses[0] > 4.5 and losses[-1] < 3.5
    assert not made.training and "forward" not in vars(made.layers[0].attention)


def test_training_computes_what_the_layers_of_lesson_08_compute():
    plain, fused = train.made(WORDS, seed=0), train.made(WORDS, seed=0)
    model.fuse(fused)
    read = torch.randint(WORDS, (2, 30), generator=torch.Generator().manual_seed(0))
    assert torch.allclose(plain(read), fused(read), atol=1e-5)


# --- what is stored -------------------------------------------------------------------------------


def test_the_order_of_pairs_is_that_of_lesson_08():
    weight = torch.randn(64, 5)
    stored = weights.neighbours(weight)
    assert torch.equal(weights.neighbours(stored, back=True), weight)
    assert torch.equal(model.PARTS["interleaved_to_halves"](stored, 4), weight)


def test_what_is_stored_comes_back(storyteller):
    text = weights.FILE.read_text()
    assert len(text) < 250_000
    assert weights.pack(storyteller) + "\n" == text
    _, sha256 = weights.unpack(text, WORDS)
    assert f"`{sha256}`" in SAID


@pytest.mark.parametrize("lesson", cells.LESSONS)
def test_the_notebooks_hold_it(storyteller, lesson):
    """As `python -m storyteller.cells` puts it there."""
    notebook = load(ROOT / "source" / lesson / f"{lesson}.ipynb")
    texts = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    assert texts["storyteller"] == cells.loader(storyteller, cells.LESSONS[lesson])
    assert texts.get("golden", wanted := cells.golden(storyteller)) == wanted
    assert ("golden" in texts) == (lesson == "08_modern_block")
    names: dict = {"torch": torch}
    exec(texts["storyteller"], names)
    assert names["WORDS"] == measure.VOCABULARY
    told = tales.tell(random.Random(3)).words
    assert names["as_text"](told) == tales.pretty(told)


@pytest.mark.parametrize("folder", ["source", "release", "solutions"])
def test_no_notebook_is_larger_than_a_megabyte(folder):
    for lesson in cells.LESSONS:
        path = ROOT / folder / lesson / f"{lesson}.ipynb"
        assert path.stat().st_size < 1_000_000
        assert json.loads(path.read_text(encoding="utf-8"))


# --- what it can do -------------------------------------------------------------------------------


def test_it_looks_back(storyteller):
    got = measure.scores(storyteller, new=True, count=200)
    assert set(got["kinds"]) > {"crossing tired", "crossing wide", "chase slow", "chase fast", "fit big", "list"}
    low = {kind: right / asked for kind, (right, asked) in got["kinds"].items() if right < 0.9 * asked}
    assert set(low) <= {"list"} and low["list"] > 0.8
    table = measure.Table(count=2000)
    assert got["loss"] + 0.4 < table.loss(new=True, count=200)


@pytest.mark.parametrize("between", [False, True], ids=["plain", "others between"])
def test_it_solves_the_riddle_of_lesson_01(storyteller, between):
    assert measure.pairs_right(storyteller, measure.pairs(100, between=between))[2] >= 98


def test_at_it_no_head_knows_the_end(storyteller):
    """Equal to the last bit in both sentences: the adjective comes later."""
    tired, wide = (
        measure.numbered([f"<s> the animal didn't cross the street because it was too {end}".split()])
        for end in ("tired", "wide")
    )
    first, second = measure.heads(storyteller, tired), measure.heads(storyteller, wide)
    assert torch.equal(first[:, :, :, :-1], second[:, :, :, :-1])
    assert not torch.equal(first[1:, :, :, -1], second[1:, :, :, -1])


def test_three_other_ways_give_the_golden_logits(storyteller):
    """float32, torch's own attention, float64: within 2e-4."""
    names: dict = {}
    exec(cells.golden(storyteller), names)
    fused = weights.load(weights.FILE.read_text(), WORDS)
    model.fuse(fused)
    for right in (storyteller, fused, weights.load(weights.FILE.read_text(), WORDS).double()):
        for prompt, logits in names["GOLDEN"].items():
            found = right(measure.numbered([prompt.split()]))[0, -1]
            for word, z in logits.items():
                assert found[measure.PLACES[word]].item() == pytest.approx(z, abs=2e-4)
