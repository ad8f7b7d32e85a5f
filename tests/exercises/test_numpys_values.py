"""Numbers and arrays of NumPy's in this course: a number counts as one, and an array in a tensor's place does not."""

import contextlib
import io

import numpy as np
import pytest
import torch
from odd_answers import Odd

from autograder.mistakes.bank import namespace_of, right_answer
from autograder.mistakes.name_check import cells_for

CASTS = {bool: np.bool_, int: np.int64, float: np.float64}


def numbers(value):
    """The value with its plain numbers as NumPy gives them."""
    if isinstance(value, (list, tuple)):
        return type(value)([numbers(part) for part in value])
    return CASTS[type(value)](value) if type(value) in CASTS else value


def arrays(value):
    """The value with `.numpy()` after each tensor."""
    if isinstance(value, (list, tuple)):
        return type(value)([arrays(part) for part in value])
    return value.detach().numpy() if isinstance(value, torch.Tensor) and value.dtype is not torch.bfloat16 else value


def run_of(graders, exercise, change):
    """The run of the solution of an exercise, each call of which gives what `change` makes of it."""
    cells = [cell.source for cell in cells_for(exercise, right_answer(exercise))]
    odd = Odd(namespace_of(exercise, *cells), cells[-1], change, range(10**9))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return graders.run(exercise, odd, 1)


@pytest.mark.parametrize("exercise", ["learning_rate", "constant_vector_length", "accept", "PagedCache"])
def test_a_number_of_numpys_is_a_number(graders, exercise):
    assert run_of(graders, exercise, numbers).failed() == []


@pytest.mark.slow("trains, and says of a float in a list what the other exercises say of a single one")
def test_a_list_of_numpys_floats_is_a_list_of_floats(graders):
    assert run_of(graders, "train_by_recipe", numbers).failed() == []


@pytest.mark.parametrize("exercise", ["softmax", "masked_weights", "apply_rope"])
def test_an_array_is_no_tensor(graders, exercise):
    run = run_of(graders, exercise, arrays)
    asked = [check for check in run.checks if check.points]
    assert not run.unjudged and not any(check.passed for check in asked)
    says = (
        "a tensor, but it is a single NumPy array of shape",
        "a tensor, but it is something of type ndarray",
    )
    assert all(any(one in check.reason for one in says) for check in asked)
