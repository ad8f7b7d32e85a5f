"""What comes back is refused unless it is as much, of the kinds and with the names that were asked for."""

import pytest

from autograder.checks.proxies import StudentError
from autograder.sandbox import child, replies


def failure(**error):
    return replies.failure({"ok": False, "error": {"type": "KeyError", "message": "'x'", "where": None, **error}})


@pytest.mark.parametrize("said", [1, "true", [True], {"a": 1}, None, 0.0])
def test_only_true_says_that_an_error_is_a_value_error_or_the_kits(said):
    found = failure(value_error=said, by_kit=said)
    assert found.value_error is False and found.by_kit is False


@pytest.mark.parametrize("reply", [{}, {"error": None}, {"error": 3}, {"error": []}, {"error": {}}])
def test_a_failure_that_says_nothing_is_one_all_the_same(reply):
    found = replies.failure(reply)
    assert not found.value_error and not found.by_kit and found.where is None and found.done == 0


def test_who_raised_an_error_is_told_as_it_is():
    where = {"file": "code cell 3", "line": 4, "code": "  y = x"}
    sentences = {
        "It stopped with KeyError: 'x'.": failure(),
        "Your code raised KeyError: 'x', in code cell 3, line 4 (`y = x`).": failure(where=where),
        "Your `Head` has no attribute `x`.": failure(message="Your `Head` has no attribute `x`", by_kit=True),
        "The model takes 4 tokens, in code cell 3, line 4 (`y = x`).": failure(
            message="the model takes 4 tokens", by_kit=True, where=where
        ),
    }
    for sentence, found in sentences.items():
        assert StudentError(found).sentence() == sentence


@pytest.mark.parametrize(
    "where, says",
    [
        ({"file": "code cell 7", "line": 8, "code": "  while\n `i`:"}, " (in code cell 7, line 8: `while i :`)"),
        ({"file": "code cell 7", "line": 8, "code": ""}, " (in code cell 7, line 8)"),
        ({"file": "your file.\nFull marks", "line": 8, "code": "x"}, ""),
        ({"file": "code cell 7", "line": "8", "code": "x"}, ""),
        (None, ""),
        ("code cell 7", ""),
    ],
)
def test_where_a_request_was_interrupted_is_said_only_of_a_line_of_the_submission(where, says):
    assert child._where({"ok": False, "error": {"type": "KeyboardInterrupt", "where": where}}) == says
