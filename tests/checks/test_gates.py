"""Easy cases that checks share: asked once in a run, apart from the checks."""

from types import ModuleType

import pytest
import torch

from autograder.checks import api, easy_case, runner
from autograder.checks.proxies import Local, Submission
from autograder.checks.runner import Graders


def module_of_checks():
    """Two checks of `double(x)` that stand on one easy case; the first has an object of its own before that."""
    module = ModuleType("checks")

    @easy_case
    def doubles(submission, draw, n=1):
        x = draw.normal(n)
        submission.build("Box", 1.0)
        api.close(submission.function("double")(x), 2 * x.double())
        return n

    @api.check("values", points=1)
    def test_one(submission, draw):
        """The first of two checks, which has something of its own in a box."""
        box = submission.build("Box", 5.0)
        submission.settle()
        assert doubles(submission, draw) == 1
        api.close(box(), torch.tensor(5.0).double())

    @api.check("values", points=1)
    def test_other(submission, draw):
        """The second of two checks, which asks for another size as well."""
        assert (doubles(submission, draw), doubles(submission, draw, n=3)) == (1, 3)

    vars(module).update(test_one=test_one, test_other=test_other)
    return module


class Box(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self):
        return torch.tensor(self.number)


@pytest.fixture
def graders():
    return Graders({"double": module_of_checks()})


def graded(graders, double, **how):
    return graders.run("double", Local({"double": double, "Box": Box}), 0, **how)


def test_an_easy_case_is_asked_once_and_apart(graders):
    seen = []

    def double(x):
        seen.append(x.tolist())
        return 2 * x

    run = graded(graders, double)
    assert [check.passed for check in run.checks] == [True, True]
    assert [len(x) for x in seen] == [1, 3]
    seen.clear()
    alone = graded(graders, double, only="test_other")
    assert [len(x) for x in seen] == [1, 3]
    assert len(alone.transcripts["test_other"].entries) == len(run.transcripts["test_other"].entries) == 4


def test_each_check_that_stands_on_it_fails_with_it(graders):
    run = graded(graders, lambda x: 3 * x)
    reasons = {check.reason for check in run.failed()}
    assert len(run.failed()) == 2 and len(reasons) == 1
    assert reasons.pop().startswith(runner.NOT_TRIED)
    one, other = (transcript.entries for transcript in run.transcripts.values())
    assert one[-1] is other[-1]


def test_what_was_asked_before_is_not_asked_again(graders):
    known, seen = {}, []

    def double(x):
        seen.append(x)
        return 2 * x

    for check in ("test_one", "test_other", "test_one"):
        graded(graders, double, only=check, gates=known)
    assert len(seen) == 2


def test_what_is_foreseen_is_asked_in_one_go(graders):
    class Joined(Local):
        asked = 0

        def ask(self, message, tensors):
            self.asked += 1
            return super().ask(message, tensors)

        def ask_all(self, requests, number, seconds):
            known = graders.request_log.known["double", 0]
            return [Local.ask(self, *request) for request in known.requests]

    graded(graders, lambda x: 2 * x, learning=True)
    for double, passed, asked in ((lambda x: 2 * x, True, 0), (lambda x: 3 * x, False, 0)):
        joined = Joined({"double": double, "Box": Box})
        run = graders.run("double", joined, 0)
        assert [check.passed for check in run.checks] == [passed] * 2
        assert joined.asked == asked


def test_without_a_run_it_is_asked_whenever_it_is_come_to():
    seen = []

    @easy_case
    def easy(submission, draw):
        seen.append(draw.normal(2).tolist())

    submission = Submission(Local({}))
    for check in ("double/one", "double/other"):
        easy(submission, api.Draw(0, check))
    assert len(seen) == 2 and seen[0] == seen[1]
