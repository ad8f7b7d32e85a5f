"""What mistakes cost: by what they do, and only where those that are named explain all that is wrong."""

import pytest
import torch

from autograder import course
from autograder.checks.proxies import Local, Transcript
from autograder.checks.runner import Graders
from autograder.mistakes.bank import Bank, BankError, Mistake, bank
from autograder.mistakes.behaviour import Behaviours
from autograder.mistakes.diagnosis import Diagnostician
from autograder.mistakes.evidence import Observation
from autograder.mistakes.hypotheses import composed, right
from autograder.mistakes.prices import ALL, HALF, PRICES, left, price
from autograder.mistakes.uninformative import hides_the_rest
from autograder.verdict import NOT_TRIED, Diagnosis


@pytest.fixture(scope="module")
def graders():
    return Graders()


@pytest.fixture(scope="module")
def costs(graders):
    """The prices of what is named in an answer, by name."""
    diagnostician = Diagnostician(graders)

    def costs(exercise, local):
        return {d.id: d.price for d in diagnostician.diagnose(graders.run(exercise, local, 1))}

    return costs


def seen(failed=True, reason="It is wrong.", line=""):
    return Observation(failed, Transcript([]), reason if failed else "", line)


EDIT = Mistake("x", "f", "It is wrong.", "", {"a": "b"})
KINDS = {"usual": "values", "masks": "masking", "refuses": "arguments"}


@pytest.mark.parametrize(
    "alone, cost",
    [
        ({"refuses": seen()}, PRICES["arguments"]),
        ({"usual": seen(), "refuses": seen()}, PRICES["values"]),
        ({"masks": seen(), "usual": seen(reason=f"{NOT_TRIED}so.")}, PRICES["masking"]),
        ({"usual": seen(line="x = y"), "masks": seen(line="x = y")}, ALL),
        ({"usual": seen(line="x = y"), "masks": seen(False)}, PRICES["values"]),
        ({"usual": seen(line="x = y"), "masks": seen()}, PRICES["values"]),
    ],
    ids=["one", "the dearest", "what was not tried", "always an error", "an error at times", "an error beside a value"],
)
def test_a_price_is_that_of_the_dearest_kind_of_check_that_fails(alone, cost):
    assert price(EDIT, alone, KINDS) == cost


def test_what_is_no_edit_has_no_price_and_an_authors_own_counts():
    alone = {"refuses": seen()}
    assert price(Mistake("x", "f", "It is wrong.", ""), alone, KINDS) == ALL
    assert price(Mistake("x", "f", "It is wrong.", "", {"a": "b"}, price=0.5), alone, KINDS) == 0.5


def test_what_is_left_is_never_below_nothing_and_nothing_without_a_name():
    assert left([]) == left([Diagnosis("a", "")]) == 0
    assert left([Diagnosis("a", "", price=0.3), Diagnosis("b", "", price=0.1)]) == pytest.approx(0.6)
    assert left([Diagnosis(id, "", price=0.4) for id in "abc"]) == 0


def test_an_author_charges_half_at_most_or_all():
    """More than half is for what computes nothing of what is asked: then nothing is left."""
    every = [mistake for name in course.exercises() for mistake in bank(name).values() if mistake.price is not None]
    assert every and all(one.price <= HALF or one.price == ALL for one in every)


@pytest.mark.parametrize("wrong", [0, -0.1, 1.1])
def test_a_price_that_is_no_share_is_refused(wrong):
    with pytest.raises(BankError, match="the price of x is"):
        Bank("constant_vector_length").mistake("x", "Take a root.", {"k ** 0.5": "k"}, price=wrong)


def test_one_slip_is_paid_once(costs):
    assert costs("softmax", bank("softmax")["divided-by-max"].local()) == {"divided-by-max": PRICES["values"]}
    assert costs("softmax", bank("softmax")["epsilon-in-the-sum"].local()) == {"epsilon-in-the-sum": PRICES["numerics"]}


def test_what_lacks_the_one_idea_of_an_exercise_is_paid_as_its_author_says(costs):
    assert costs("softmax", bank("softmax")["exp-without-max"].local()) == {"exp-without-max": 0.5}


def test_a_whole_answer_has_no_price(costs):
    assert costs("softmax", bank("softmax")["textbook-formula"].local()) == {"textbook-formula": ALL}


def test_what_never_ran_has_no_price(costs):
    id = "max-and-its-place-subtracted"
    assert costs("softmax", bank("softmax")[id].local()) == {id: ALL}


LAZY = """
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = self.W_key = self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {tuple(x.shape)}")
        return self.W_value(x)
"""


def test_what_hides_all_else_has_no_price(costs):
    """No check can load its weights into layers that are one and the same, so `forward` may hold anything."""
    space = {"torch": torch, "nn": torch.nn}
    exec(LAZY, space)
    assert costs("SelfAttention", Local(space, LAZY)) == {"one-projection": ALL}


def test_what_lets_other_mistakes_show_does_not_hide_them(graders):
    behaviours = Behaviours(bank("softmax"), graders, 1)
    hiding = {one.mistake.id for one in behaviours.singles if one.mistake.edits and hides_the_rest(one, behaviours)}
    assert {"sigmoid-weights", "max-and-its-place-subtracted"} <= hiding
    assert not hiding & {"divided-by-max", "exp-without-max", "not-divided", "log-softmax", "base-two"}


NOTHING_SEEN = """
def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"a window of {window} holds no token: it must be 1 at least")
    return torch.zeros(t, t, dtype=torch.bool)
"""


@pytest.mark.parametrize("refuses", [True, False])
def test_the_same_boolean_everywhere_has_no_price(costs, refuses):
    """It is what a mask does that hides the past from all that may see only the past."""
    text = NOTHING_SEEN if refuses else NOTHING_SEEN.replace("window < 1", "False")
    space = {"torch": torch}
    exec(text, space)
    found = costs("sliding_window_mask", Local(space, text))
    assert "nothing-seen" in found and set(found.values()) == {ALL}


@pytest.mark.parametrize(
    "exercise, id",
    [
        ("merge", "outputs-added"),
        ("merge", "shares-by-the-lse-itself"),
        ("apply_rope", "sine-and-cosine-added"),
        ("apply_rope", "multiplied-by-the-cosine-alone"),
        ("apply_rope", "product-of-cosines"),
        ("sliding_window_mask", "band-of-two"),
    ],
)
def test_what_leaves_out_the_step_that_the_exercise_is_about_costs_all(costs, exercise, id):
    assert costs(exercise, bank(exercise)[id].local()) == {id: ALL}


def test_two_slips_are_paid_both(costs):
    of = bank("softmax")
    pair = composed(right(of), of["divided-by-max"], of["weights-detached"])
    found = costs("softmax", pair.local())
    assert found == {"divided-by-max": PRICES["values"], "weights-detached": PRICES["gradients"]}


def test_beside_what_nobody_has_written_down_a_slip_has_no_price(costs):
    """The name is true, and yet the repair is not known."""

    def softmax(scores, dim=-1):
        scores = scores - scores.amax(-1, keepdim=True)  # of the last dimension, whatever `dim` is
        weights = torch.exp(scores) / torch.exp(scores).sum(dim, keepdim=True)
        return weights if scores.dtype == torch.float32 else weights.double().cos().to(scores.dtype)

    found = costs("softmax", Local({"softmax": softmax, "torch": torch}))
    assert set(found.values()) <= {ALL}


def test_of_mistakes_that_no_check_tells_apart_the_dearest_is_paid(costs, monkeypatch):
    of = bank("softmax")
    assert prices_of(costs, of) == PRICES["values"]
    monkeypatch.setattr(of, "alike", {"nothing-returned": "divided-by-max"})
    assert prices_of(costs, of) == ALL


def prices_of(costs, of):
    return costs("softmax", of["divided-by-max"].local())["divided-by-max"]
