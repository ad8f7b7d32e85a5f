"""A factor that all numbers have in common is told; what only looks like one is not."""

import pytest
import torch

from autograder.checks.proxies import Local, Transcript
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank, namespace_of
from autograder.mistakes.diagnosis import Diagnostician
from autograder.mistakes.output_factor import output_factor
from autograder.verdict import Check

SHAPES = ((2, 5, 4), (3, 7, 4), (2, 5, 4))


class Right:
    """A right answer that returns these values, in each check."""

    def __init__(self, values):
        self.values = values

    def answers(self, check):
        return transcript(self.values)


def transcript(values):
    return Transcript([("answer", [value, None, None], None, False, False) for value in values])


def told(of, values=None, category="values"):
    """What is told of an answer that makes `of(right)` of each right value."""
    generator = torch.Generator().manual_seed(1)
    values = values or [torch.randn(shape, generator=generator) for shape in SHAPES]
    failed = [Check("test_it", category, 1.0, False, "It is so.")]
    found = output_factor(failed, {"test_it": transcript([of(value) for value in values])}, Right(values))
    return found and found.says


@pytest.mark.parametrize(
    "of, begins",
    [
        (lambda x: 0.9 * x, "What it returns is 0.9 times what it should be, in each number."),
        (lambda x: -x, "What it returns is -1 times"),
        (
            lambda x: x / x.shape[-2],
            "What it returns is 1/n times what it should be, with n for the size of its second",
        ),
        (lambda x: x * x.shape[-2] ** 0.5, "What it returns is √n times"),
        (lambda x: 2 * x.double(), "What it returns is 2 times"),
    ],
)
def test_a_factor_is_told(of, begins):
    assert told(of).startswith(begins)


def test_a_factor_of_one_part_or_of_all(draw=torch.randn):
    pairs = [(draw(2, 5, 4), draw(2, 5, 7)) for _ in range(3)]
    assert told(lambda x: (x[0], 0.5 * x[1]), pairs).startswith("The second part of what it returns is 0.5 times")
    assert told(lambda x: (0.5 * x[0], 0.5 * x[1]), pairs).startswith("Each part of what it returns is 0.5 times")
    assert told(lambda x: (0.5 * x[0], 0.7 * x[1]), pairs) is None
    assert told(lambda x: (0.5 * x[0], x[1] + 1), pairs) is None


@pytest.mark.parametrize(
    "of",
    [
        lambda x: x,
        lambda x: x + 0.1,
        lambda x: 0.9 * x + 1e-2,
        lambda x: 0 * x,
        lambda x: x * x.shape[0] if x.shape[0] == 2 else x * 5,
        lambda x: x * torch.arange(1, x.shape[-1] + 1),
        lambda x: torch.zeros_like(x) + torch.nan,
        lambda x: 0.9 * x[:1],
        lambda x: None,
        lambda x: (0.9 * x,),
    ],
    ids=["right", "shifted", "scaled and shifted", "zeros", "two", "by feature", "NaN", "shape", "None", "tuple"],
)
def test_what_is_no_common_factor_is_not_told(of):
    assert told(of) is None


def test_what_is_a_single_number_is_not_told_by_its_factor():
    """It would say what the right number is."""
    assert told(lambda x: 0.9 * x, [torch.tensor(3.0), torch.tensor(5.0)]) is None
    assert told(lambda x: 0.9 * x, [torch.full((9,), 3.0), torch.full((9,), 5.0)]) is None
    assert told(lambda x: 0.9 * x, [torch.randn(2, 5)]) is None


def test_only_checks_of_values_say_what_the_factor_is():
    assert told(lambda x: 0.9 * x, category="numerics") is None


def test_a_factor_is_told_in_place_of_a_place():
    text = "import torch\n\n" + bank("softmax").right.replace("return powers", "return 0.9 * powers")
    graders = Graders()
    run = graders.run("softmax", Local(namespace_of("answer", text), text), 1)
    assert [found.id for found in Diagnostician(graders).diagnose(run)] == ["fact-times"]


def test_no_factor_is_told_by_what_is_infinite():
    """Any finite number is as near as rounding to what differs from it by less than infinity."""
    values = [torch.randn(shape).index_fill(-1, torch.tensor(0), float("-inf")) for shape in SHAPES]
    assert told(torch.zeros_like, values) is None
    assert told(torch.ones_like, [1e-200 * torch.randn(shape, dtype=torch.float64) for shape in SHAPES]) is None


@pytest.mark.parametrize(
    "of, given, says",
    [
        (lambda x, n: x / n**0.5, [2.0, 5.0, 3.0], "1/√`heads` times"),
        (lambda x, p: x * (1 - p), [0.5, 0.25, 0.1], "1 - `heads` times"),
        (lambda x, n: x / 2, [2.0, 2.0, 2.0], "0.5 times"),
    ],
)
def test_a_factor_is_told_by_the_name_of_an_argument(of, given, says):
    generator = torch.Generator().manual_seed(1)
    values = [torch.randn(shape, generator=generator) for shape in SHAPES]
    failed = [Check("test_it", "values", 1.0, False, "It is so.")]
    came = transcript([of(value, number) for value, number in zip(values, given, strict=True)])
    found = output_factor(
        failed, {"test_it": came}, Right(values), lambda check: [{"heads": number} for number in given]
    )
    assert found.says == f"What it returns is {says} what it should be, in each number."


def test_of_two_arguments_that_fit_neither_is_told():
    values = [torch.randn(2, 5), torch.randn(3, 5), torch.randn(4, 5)]
    failed = [Check("test_it", "values", 1.0, False, "It is so.")]
    came = transcript([value * number for value, number in zip(values, (7, 11, 13), strict=True)])
    given = [{"one": number, "other": number} for number in (7.0, 11.0, 13.0)]
    assert output_factor(failed, {"test_it": came}, Right(values), lambda check: given) is None
    assert (
        output_factor(failed, {"test_it": came}, Right(values), lambda check: [{"one": n["one"]} for n in given])
        is not None
    )
