"""Several mistakes in one answer: all are named, in the order in which to mend them, and none that is not there."""

import itertools
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograder import course
from autograder.checks import check
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders, Stopped
from autograder.mistakes import pairs
from autograder.mistakes.bank import bank, namespace_of
from autograder.mistakes.behaviour import Behaviours
from autograder.mistakes.diagnosis import Diagnostician, Search
from autograder.mistakes.hypotheses import right
from autograder.sandbox.replies import Place

PAIRS = {"attention": 12, "softmax": 12, "Head": 8}  # how many are tried: `make matrix` tries more


@pytest.fixture(scope="module")
def graders():
    return Graders()


@pytest.fixture(scope="module")
def diagnostician(graders):
    return Diagnostician(graders)


def named(graders, diagnostician, exercise, code, seed=1):
    run = graders.run(exercise, Local({exercise: code, "torch": torch, "nn": nn, "F": F}), seed)
    return [d.id for d in diagnostician.diagnose(run)]


def attention(query, key, value, scale=True, fill=float("-inf"), clear=True, rank=True, mask=None):
    if rank and min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("each of them needs two dimensions")
    scores = torch.einsum("...td,...sd->...ts", query, key)
    scores = scores / key.shape[-1] ** 0.5 if scale else scores
    if mask is None:
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device)
    weights = torch.where(mask, scores, fill).softmax(-1)
    weights = torch.where(mask.any(-1, keepdim=True), weights, 0.0) if clear else weights
    return weights @ value, weights


@pytest.mark.parametrize(
    "slips, names",
    [
        ({"scale": False, "rank": False}, ["no-scale", "rank-not-checked"]),
        ({"scale": False, "fill": 0.0}, ["no-scale", "mask-fills-with-zero"]),
    ],
)
def test_two_mistakes_in_another_style_are_both_named(graders, diagnostician, slips, names):
    def answer(query, key, value, mask=None):
        return attention(query, key, value, mask=mask, **slips)

    assert named(graders, diagnostician, "attention", answer) == names


@pytest.mark.slow("two mistakes at once are searched for")
@pytest.mark.parametrize("exercise", PAIRS)
def test_of_two_mistakes_at_least_one_is_named_and_no_other(graders, diagnostician, exercise):
    found = pairs.named(exercise, graders, diagnostician, PAIRS[exercise], seed=1)
    assert found.wrong == []
    assert found.both >= PAIRS[exercise] / 3
    assert found.both + found.hidden >= 0.75 * found.tried  # in most of the rest, one of them hides the other


def test_a_mistake_is_named_for_most_of_what_it_explains(graders, diagnostician):
    """Filled with 0 and not cleared: that is no edit of the bank's, but the missing scale shows in most checks."""

    def answer(query, key, value, mask=None):
        return attention(query, key, value, scale=False, fill=0.0, clear=False, mask=mask)

    names = named(graders, diagnostician, "attention", answer)
    assert names[0] == "no-scale" and set(names) <= {"no-scale", "mask-fills-with-zero"}


def test_a_mistake_beside_one_that_nobody_has_written_down_is_named_alone(graders, diagnostician):
    def answer(query, key, value, mask=None):
        output, weights = attention(query, key, value, rank=False, mask=mask)
        return output, weights if query.device.type == "cpu" else weights[..., :1]  # unknown to the bank

    assert named(graders, diagnostician, "attention", answer) == ["rank-not-checked"]


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_scale_that_fits_no_width_has_its_factor_for_a_name(graders, diagnostician, factor):
    """Of vectors of width 4, twice the right scale is none at all, and half of it is 1/4: so they are wider."""

    def answer(query, key, value, mask=None):
        return attention(factor * query, key, value, mask=mask)

    assert named(graders, diagnostician, "attention", answer) == ["fact-scores-times"]


def test_no_refusal_is_missed_where_a_right_call_stops_as_well(graders, diagnostician):
    code = bank("CrossAttention").right.replace("context_mask.dim()", "'context_mask'.dim()")
    space = {"torch": torch, "nn": nn, "F": F}
    exec(bank("CrossAttention").around + "\n\n" + code, space)
    assert "rank-of-the-mask-not-checked" not in named(
        graders, diagnostician, "CrossAttention", space["CrossAttention"]
    )


def test_what_gives_0_for_all_numbers_is_not_told_that_it_does_so_for_negative_ones(graders, diagnostician):
    assert named(graders, diagnostician, "constant_vector_length", lambda c, k: 0.0) == []


def test_without_answers_the_checks_alone_decide(graders, diagnostician):
    """A sandbox may be gone when the diagnosis asks: what the checks saw is there all the same."""

    class Gone(Local):
        def ask(self, message, tensors):
            raise Stopped("killed", "it is gone")

    run = graders.run("attention", bank("attention")["no-scale"].local(), 1)
    run.transport = Gone(run.transport.bench.namespace, run.transport.text)
    assert [d.id for d in diagnostician.diagnose(run)] == ["no-scale"]
    behaviours = diagnostician.behaviours("attention", 1)
    assert Search(run, behaviours, diagnostician.odds).all_answers() is None


STOPS = """def attention(query, key, value, mask=None):
    return query.no_such_method(key, value)
"""


def without_a_search(monkeypatch):
    of = Behaviours.of

    def alone(self, mistakes):
        assert len(mistakes) < 2, "nothing behind that line can be seen"
        return of(self, mistakes)

    monkeypatch.setattr(Behaviours, "of", alone)


def test_nothing_is_searched_for_where_something_is_not_written_though_other_checks_pass(
    graders, diagnostician, monkeypatch
):
    def answer(query, key, value, mask=None):
        if mask is not None:
            return softmaxx(query @ key.mT) @ value  # noqa: F821
        return attention(query, key, value)

    without_a_search(monkeypatch)
    run = graders.run("attention", Local({"attention": answer}), 1)
    run.places = {
        check.name: Place("the answer", 4, "return softmaxx(query @ key.mT) @ value") for check in run.failed()
    }
    assert any(check.passed for check in run.checks)
    assert [found.id for found in diagnostician.diagnose(run)] == ["place-line"]


def test_a_search_ends_after_so_many_combinations_and_then_names_none(graders, diagnostician, monkeypatch):
    """However many of them are known already: the same class gets the same names when it is graded again."""

    def answer(query, key, value, mask=None):
        return attention(query, key, value, mask=mask, scale=False, rank=False)

    run = graders.run("attention", Local({"attention": answer}), 1)
    behaviours = diagnostician.behaviours("attention", 1)
    search = Search(run, behaviours, diagnostician.odds)
    assert [mistake.id for mistake in search.mistakes()] == ["no-scale", "rank-not-checked"]
    for most in (len(search.tried) - 1, 3):
        monkeypatch.setattr("autograder.mistakes.diagnosis.TRIED", most)
        again = Search(run, behaviours, diagnostician.odds)
        assert "rank-not-checked" not in [mistake.id for mistake in again.mistakes()]
        assert len(again.tried) == most + 1
    monkeypatch.setattr("autograder.mistakes.diagnosis.TRIED", len(search.tried))
    again = Search(run, behaviours, diagnostician.odds)
    assert [mistake.id for mistake in again.mistakes()] == ["no-scale", "rank-not-checked"]


def test_no_combinations_are_tried_where_one_line_stops_everything(graders, diagnostician, monkeypatch):
    without_a_search(monkeypatch)
    run = graders.run("attention", Local(namespace_of("answer", STOPS), STOPS), 1)
    (place,) = diagnostician.diagnose(run)
    assert (place.id, place.line) == ("place-line", "return query.no_such_method(key, value)")


def with_a_broken_check(category):
    """The checks of `softmax`, and one that always ends by an error of its own."""

    @check(category, points=1)
    def test_broken(submission, draw):
        """It is as it should be."""
        submission.function("softmax")(draw.normal(3))
        draw.no_such_thing()

    module = ModuleType("checks")
    vars(module).update(vars(course.module_of("softmax", "checks")), test_broken=test_broken)
    return Graders({"softmax": module})


@pytest.mark.parametrize("category", ["values", "numerics"])
def test_a_check_that_could_not_judge_is_no_sign_of_a_mistake(graders, diagnostician, category):
    """Whatever it is called: a right answer is told nothing, and a wrong one the same as without that check."""
    broken = with_a_broken_check(category)
    run = broken.run("softmax", right(bank("softmax")).local(), 1)
    assert [c.name for c in run.failed()] == ["test_broken"] and list(run.unjudged) == ["test_broken"]
    assert run.rejected() == [] and Diagnostician(broken).diagnose(run) == [] and run.fingerprint == ""
    for id, mistake in itertools.islice(bank("softmax").items(), 4):
        run = broken.run("softmax", mistake.local(), 1)
        assert [d.id for d in Diagnostician(broken).diagnose(run)] == [id]
