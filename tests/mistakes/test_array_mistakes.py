"""What arrays and numbers of NumPy's show of a mistake: as much as tensors and Python's numbers do."""

import numpy as np
import pytest
import torch

from autograder.checks.proxies import Transcript
from autograder.mistakes import output_factor
from autograder.mistakes.bank import namespace_of
from autograder.mistakes.behaviour_cache import decoded, encoded
from autograder.mistakes.evidence import Observation, likeness
from autograder.mistakes.fingerprint import Print
from autograder.mistakes.output_factor import outputs_of

X = np.array([1.0, 2.0, 4.0])


def compared(student, mistake, right):
    """(alike, telling)."""
    found = likeness(*(Transcript([("called", [one])]) for one in (student, mistake, right)))
    return bool(found.alike), bool(found.telling)


@pytest.mark.parametrize("form", [np.array, lambda x: torch.from_numpy(np.array(x)), lambda x: np.array(x) * (1 + 1j)])
def test_arrays_compare_as_tensors_do(form):
    mistake, right = form(2 * X), form(X)
    assert compared(form(2 * X + 1e-12), mistake, right) == (True, True)
    assert compared(right, mistake, right) == (False, False)
    assert compared(mistake, right, right) == (False, False)
    assert compared(form(X[:2]), mistake, right) == (False, False)
    assert compared(form(X * np.nan), form(X * np.nan), right)[0]


@pytest.mark.parametrize("student", [6.0, np.float64(6), np.array(6.0), np.float32(6.0), np.int64(6)])
def test_a_number_is_one_however_it_is_held(student):
    assert compared(student, np.float64(6), np.float64(3)) == (True, True)
    assert compared(student, np.float64(6), np.float64(6)) == (True, False)
    assert compared(student, np.float64(5), np.float64(6)) == (False, False)
    assert compared(student, np.array([6.0]), np.float64(3)) == (False, False)


def test_kinds_dtypes_and_rounding_count():
    assert compared(torch.from_numpy(X), X, X)[0] is False
    assert compared(X.astype(np.float32), X, X)[0] is False
    assert compared(np.float32(1 / 3), np.float64(1 / 3), np.float64(1)) == (True, True)
    assert compared(1 / 3 + 1e-6, 1 / 3, 1.0)[0] is False
    assert compared(1j, np.complex128(1j), np.complex128(1)) == (True, True)
    assert compared(np.True_, np.True_, np.False_) == (True, True)


def form_of(*values):
    found = Print()
    found.add(list(values))
    return found.form, found.sums


def test_fingerprints_tell_arrays_apart_and_not_how_a_number_is_held():
    assert form_of(X) == form_of(X.copy()) != form_of(2 * X)
    assert form_of(X) != form_of(torch.from_numpy(X)) and form_of(X)[0] != form_of(X.astype(np.float32))[0]
    assert form_of(6.5) == form_of(np.float64(6.5)) == form_of(np.array(6.5)) != form_of(np.float64(7.5))
    assert form_of(6) == form_of(np.int64(6)) and form_of(True) == form_of(np.True_)
    assert form_of(1 + 2j) == form_of(np.complex128(1 + 2j)) != form_of(1 - 2j)
    assert form_of(X * 1j) != form_of(X * 2j)


def test_what_was_seen_is_cached_as_it_was():
    values = [X, X > 1, X[:0], X * 1j, np.zeros((2, 1), np.uint16), np.float32(2), np.int8(-3), np.True_, 1 + 2j]
    seen = Observation(True, Transcript([("called", values)]), "It is wrong.", "return x")
    ((_, came),) = decoded(encoded(seen)).transcript.entries
    for got, value in zip(came, values, strict=True):
        assert type(got) is type(value) and np.array_equal(got, value) and np.shape(got) == np.shape(value)
        assert getattr(got, "dtype", None) == getattr(value, "dtype", None)


def test_a_common_factor_is_looked_for_in_arrays():
    ((place, output),) = outputs_of(("answer", [2 * X]), ("answer", [X]), {})
    assert place == () and np.array_equal(output.came, 2 * output.right) and output.came.dtype == np.float64
    assert outputs_of(("answer", [torch.from_numpy(X)]), ("answer", [X]), {}) is None
    assert outputs_of(("answer", [X[:2]]), ("answer", [X]), {}) is None


def test_a_tensor_that_holds_no_numbers_has_no_factor():
    right = torch.from_numpy(X)
    assert outputs_of(("answer", [right.to("meta")]), ("answer", [right]), {}) is None
    assert outputs_of(("answer", [right]), ("answer", [right.to("meta")]), {}) == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", [np.inf, np.nan, 1.7e308])
def test_numbers_that_are_none_have_no_factor_and_raise_no_warning(odd):
    right = np.arange(4.0)
    outputs = [found for _, found in outputs_of(("answer", [np.array([odd, -odd, odd, 1.0])]), ("answer", [right]), {})]
    assert output_factor._common_factor(outputs * 2) is None and not output_factor.is_near(outputs[0], right)
    assert not any(compared(outputs[0].came, right, right))


def test_a_mistake_may_use_numpy_by_its_usual_name():
    assert namespace_of("norm/it", "size = np.zeros(3).size")["size"] == 3
