"""A softmax written by hand inside another exercise gets the names of softmax's bank, and a right one gets none."""

from dataclasses import replace

import pytest
from sample import LONG_DIAGNOSES

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes import own_softmax
from autograder.mistakes.bank import Bank, bank, namespace_of
from autograder.mistakes.diagnosis import Diagnostician
from autograder.mistakes.own_softmax import PREFIX, mistakes_in
from autograder.mistakes.text import Text

pytestmark = LONG_DIAGNOSES

HELPER = """
def softmax_by_hand(s):
    total = {TOTAL}
    e = torch.exp(s - total)
    return e / {SUM}


"""
LARGEST = "s.amax(-1, keepdim=True) if s.shape[-1] else 0.0"
RIGHT = {"TOTAL": LARGEST, "SUM": "e.sum(-1, keepdim=True)"}
CALLS = {"attention": "F.softmax(scores, dim=-1)", "SelfAttention": "F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)"}


@pytest.fixture(scope="module")
def told():
    graders = Graders()
    diagnostician = Diagnostician(graders)

    def tell(exercise, parts, changes=(), by=diagnostician):
        """What is told of a right answer with a softmax of its own, made of these `parts`."""
        text = bank(exercise).right
        called = CALLS[exercise].replace("F.softmax(", "softmax_by_hand(").replace(", dim=-1", "")
        for old, new in ((CALLS[exercise], called), *changes):
            assert old in text
            text = text.replace(old, new)
        helper = HELPER
        for name, part in (RIGHT | parts).items():
            helper = helper.replace(f"{{{name}}}", part)
        text = f"import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n{helper}{text}"
        run = graders.run(exercise, Local(namespace_of("answer", bank(exercise).around, text), text), 1)
        return [found.id for found in by.diagnose(run)]

    return tell


@pytest.mark.parametrize("exercise", CALLS)
@pytest.mark.parametrize(
    "parts, id",
    [
        ({"TOTAL": "s.sum(-1, keepdim=True)"}, "sum-subtracted"),
        ({"SUM": "e.sum()"}, "sum-over-everything"),
        ({"SUM": "1"}, "not-divided"),
        ({"SUM": "e.sum(-1, keepdim=True) ** 1.5"}, None),  # nobody has a name for this
    ],
)
def test_its_mistakes_have_the_names_of_softmax(told, exercise, parts, id):
    found = told(exercise, parts)
    assert found == [PREFIX + id] if id else not any(name.startswith(PREFIX) for name in found)


def test_a_sum_without_keepdim_is_named_where_only_softmax_knows_it(told):
    assert "sum-without-keepdim" not in bank("attention")
    assert told("attention", {"SUM": "e.sum(-1)"}) == [f"{PREFIX}keepdim-forgotten"]


def test_an_exercise_s_own_name_comes_first(told):
    assert told("SelfAttention", {"SUM": "e.sum(-1)"}) == ["sum-without-keepdim"]


def test_beside_another_mistake_both_are_named(told):
    found = told("attention", {"SUM": "e.sum()"}, [(" / key.shape[-1] ** 0.5", "")])
    assert sorted(found) == ["no-scale", f"{PREFIX}sum-over-everything"]


@pytest.mark.slow("two mistakes at once are searched for")
def test_beside_another_mistake_an_exercise_s_own_name_comes_first(told):
    """Where its edits can be made together, and else the one of softmax, which says the same."""
    found = told("attention", {"TOTAL": "0.0"}, [(" / key.shape[-1] ** 0.5", "")])
    assert sorted(found) == ["exp-without-max", "no-scale"]
    found = told("SelfAttention", {"SUM": "e.sum(-1)"}, [(" / K.shape[-1] ** 0.5", "")])
    assert sorted(found) == ["no-scale", f"{PREFIX}keepdim-forgotten"]


@pytest.mark.parametrize("exercise", CALLS)
def test_a_right_one_gets_no_name(told, exercise):
    scale = f" / {'key' if exercise == 'attention' else 'K'}.shape[-1] ** 0.5"
    assert told(exercise, {}) == []
    assert told(exercise, {}, [(scale, "")]) == ["no-scale"]


def test_what_two_mistakes_do_alike_gets_neither_name(told, monkeypatch):
    """To name one of them would be a guess."""

    def with_a_twin(of):
        made = mistakes_in(of)
        return [*made, *(replace(one, id=f"{PREFIX}twin") for one in made if one.id == f"{PREFIX}sum-over-everything")]

    assert told("attention", {"SUM": "e.sum()"}, by=Diagnostician(Graders())) == [f"{PREFIX}sum-over-everything"]
    monkeypatch.setattr(own_softmax, "mistakes_in", with_a_twin)
    found = told("attention", {"SUM": "e.sum()"}, by=Diagnostician(Graders()))
    assert found and all(name.startswith("place-") for name in found)


@pytest.mark.parametrize(
    "definition, cells, may_be",
    [
        ("def f(x):\n    return F.softmax(x, -1)", (), False),
        ("def f(x):\n    return x.exp() / x.exp().sum()", (), True),
        ("def f(x):\n    return 2 ** x", (), True),
        ("def f(x):\n    return x ** 2", (), False),
        ("def f(x):\n    return softmax(x)", ("def softmax(x):\n    return x / x.sum()",), True),
        ("def f(x):\n    return g(x)", ("def g(x):\n    return h(x)", "def h(x):\n    return torch.exp(x)"), True),
        ("def f(x):\n    return x", ("def g(x):\n    return torch.exp(x)",), False),
        ("def f(x):\n    return g(x)", ("def g(x):\n    return g(x)",), False),
        ("", (), False),
    ],
)
def test_who_wrote_a_softmax_by_hand(definition, cells, may_be):
    assert Text(definition, cells).has_own_softmax is may_be


def test_they_are_made_wherever_the_right_answer_calls_torch_s():
    made = {name: mistakes_in(bank(name)) for name in course.exercises() if isinstance(bank(name), Bank)}
    assert not made["softmax"] and not made["causal_mask"]
    for name in ("attention", "Head", "LatentAttention", "MultiHeadCrossAttention", "top_p"):
        assert len(made[name]) > 30, name
        assert all(one.exercise == name and one.says.startswith("In your softmax: ") for one in made[name])
        assert len({one.key for one in made[name]}) == len(made[name])
